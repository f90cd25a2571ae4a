"""Logs with one line per entry, written by threads of their own: access and audit.

They are separate from the application's logging and never make a request wait for a file or a pipe:
if lines come faster than they can be written, the newest are dropped and counted.
"""

from __future__ import annotations

import contextlib
import os
import select
import stat
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import BinaryIO, Final, Generic, Literal, NamedTuple, TypeVar

import orjson

from twinframe.access.gate import AuditEntry
from twinframe.errors.masking import mask_path
from twinframe.http.errors import render_text
from twinframe.settings import LoggingSettings

Entry = TypeVar("Entry")

_FLUSH_SECONDS = 0.2
# PERF: rendering 64 lines takes 0.1 ms on the calling thread. A thread that renders them all costs
# three times that, since it takes the interpreter from the event loop each time it runs.
_LINES_AT_ONCE = 64

# SPEC: POSIX write(2): up to this many bytes of one call stay together in a pipe. The workers and
# the logs of each share one pipe: longer writes could be interleaved with the lines of others.
_WHOLE_BYTES: Final = select.PIPE_BUF


class LineLog(Generic[Entry]):
    """A bounded queue of entries and the thread that writes them to `stream`.

    `name` is the name of the log in its own line about dropped lines.
    """

    def __init__(
        self,
        stream: BinaryIO,
        render: Callable[[Entry], bytes],
        *,
        name: str,
        capacity: int = 65_536,
    ) -> None:
        self._stream = stream
        self._render = render
        self._name = name
        self._pieces_at_most = capacity // _LINES_AT_ONCE
        self._queue: deque[Entry] = deque()
        self._pieces: deque[bytes] = deque()
        self._dropped = 0
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, entry: Entry) -> None:
        """Queue an entry; never blocks. Call it from one thread."""
        self._queue.append(entry)
        if len(self._queue) >= _LINES_AT_ONCE:
            if len(self._pieces) < self._pieces_at_most:
                self._pieces.append(self._render_queue())
            else:
                # NOTE: the thread may have taken it a moment ago; then it is not lost.
                with contextlib.suppress(IndexError):
                    self._queue.pop()
                    self._dropped += 1

    def start(self) -> None:
        """Start writing. Call it in the process that serves."""
        self._ending.clear()
        self._thread = threading.Thread(target=self._run, name=f"{self._name}-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what is queued and end the thread."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while not self._ending.wait(_FLUSH_SECONDS):
            self._write_all()
        self._write_all()

    def _write_all(self) -> None:
        pieces = [self._pieces.popleft() for _ in range(len(self._pieces))]
        pieces.append(self._render_queue())
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            pieces.append(
                b'{"message":"%b log lines dropped","count":%d}\n' % (self._name.encode(), dropped)
            )
        # NOTE: written past the buffer, which would join the pieces again.
        stream: BinaryIO = getattr(self._stream, "raw", self._stream)
        try:
            text = b"".join(pieces)
            stream.writelines([text] if _is_file(stream) else split_lines(text, _WHOLE_BYTES))
        except (OSError, ValueError):  # the stream is closed: the error cannot be reported
            pieces.clear()

    def _render_queue(self) -> bytes:
        """Return the queued entries as text.

        Either thread may take an entry, but only one gets it.
        """
        lines: list[bytes] = []
        with contextlib.suppress(IndexError):
            while len(lines) < _LINES_AT_ONCE:
                lines.append(self._render(self._queue.popleft()))
        return b"".join(lines)


def _is_file(stream: BinaryIO) -> bool:
    """Return whether a stream writes to a regular file, where any write stays together.

    PERF: a write of each few lines takes the interpreter from the event loop each time: 4 us a line
    instead of 1.
    """
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except OSError:  # it has no descriptor, as a stream in memory
        return False


def split_lines(text: bytes, most: int) -> Iterator[bytes]:
    """Yield lines in pieces of at most `most` bytes; a longer line is a piece of its own."""
    start = 0
    while len(text) - start > most:
        end = text.rfind(b"\n", start, start + most) + 1 or text.find(b"\n", start) + 1
        yield text[start:end]
        start = end
    yield text[start:]


def render_moment(moment: float) -> str:
    """Return the seconds since the epoch in the form `2024-01-31T12:00:00.123Z`."""
    second = int(moment)
    return _render_millisecond(second, int((moment - second) * 1000))


@lru_cache(maxsize=64)
def _render_millisecond(second: int, millisecond: int) -> str:
    # PERF: a busy worker writes many lines in one.
    return f"{_render_second(second)}.{millisecond:03d}Z"


@lru_cache(maxsize=4)
def _render_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


class AccessEntry(NamedTuple):
    """One request: `moment` in seconds since the epoch, `seconds` from its head to its answer.

    PERF: made in 0.4 us; a frozen dataclass of eight fields takes 1.2 us.
    """

    moment: float
    seconds: float
    method: str
    path: bytes
    status: int
    sent: int
    request_id: bytes
    client: str


class AccessLog(LineLog[AccessEntry]):
    """The log of requests."""

    def __init__(
        self, stream: BinaryIO, form: Literal["json", "text"] = "json", *, capacity: int = 65_536
    ) -> None:
        render = render_json if form == "json" else render_line
        super().__init__(stream, render, name="access", capacity=capacity)


def open_access_log(settings: LoggingSettings) -> AccessLog | None:
    """Open the log of requests on standard error; None where the settings want none."""
    if not settings.access:
        return None
    form = settings.choose_format(is_terminal=sys.stderr.isatty())
    return AccessLog(sys.stderr.buffer, form)


def render_json(entry: AccessEntry) -> bytes:
    """Render the entry as one JSON object and a line end.

    PERF: concatenated by hand, 1.1 us a line where a dictionary and its rendering take 2.0.
    """
    moment, seconds, method, path, status, sent, request_id, client = entry
    name = _render_path(path)
    if '"' in name or "\\" in name:
        name = name.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'{{"time":"{render_moment(moment)}","level":"info","message":"request",'
        f'"method":"{method}","path":"{name}","status":{status},'
        f'"milliseconds":{seconds * 1000:.3f},"bytes":{sent},'
        f'"request_id":"{request_id.decode("ascii")}","client":"{client}"}}\n'
    ).encode()


def render_line(entry: AccessEntry) -> bytes:
    """Render the entry as one line of text."""
    return (
        f"{render_moment(entry.moment)} {entry.client} {entry.method} {_render_path(entry.path)}"
        f" {entry.status} {entry.sent}B {entry.seconds * 1000:.3f}ms"
        f" {entry.request_id.decode('ascii')}\n"
    ).encode()


def _render_path(path: bytes) -> str:
    # SEC: raw paths are printable ASCII by the time they come here; anything else is escaped.
    return mask_path(path.decode("ascii", "backslashreplace"))


class AuditLog(LineLog[AuditEntry]):
    """The log of all decisions, as JSON lines.

    `action` is method and path of a request, or the name of a tool; a path's query is left out.
    """

    def __init__(self, stream: BinaryIO, *, capacity: int = 65_536) -> None:
        super().__init__(stream, render_entry, name="audit", capacity=capacity)


def render_entry(entry: AuditEntry) -> bytes:
    """Render the entry as one JSON object and a line end.

    PERF: what a caller's decisions have in common is rendered once: 1.3 us a line, where one
    dictionary with all of it takes 3.0.
    """
    moment, allowed, subject, kind, (action, request_id, client), needed, reason = entry
    before, between, after = _render_decision(allowed, subject, kind, needed, reason, client)
    return b'{"time":"%b%b%b%b%b%b' % (
        render_moment(moment).encode("ascii"),
        before,
        orjson.dumps(mask_path(action)),
        between,
        orjson.dumps(request_id),
        after,
    )


@lru_cache(maxsize=4096)
def _render_decision(
    allowed: bool, subject: str, kind: str, needed: str, reason: str, client: str
) -> tuple[bytes, bytes, bytes]:
    """Return what stands before the action, between it and the request id, and after that."""
    head = {
        "level": "info" if allowed else "warning",
        "message": "audit",
        "decision": "allowed" if allowed else "refused",
        # SEC: a subject is the issuer's text; a lone surrogate must not stop the log.
        "subject": render_text(subject),
        "credential": kind,
    }
    tail = {"needed": needed, "reason": render_text(reason)}
    return (
        b'",' + orjson.dumps(head)[1:-1] + b',"action":',
        b"," + orjson.dumps(tail)[1:-1] + b',"request_id":',
        b',"client":' + orjson.dumps(client) + b"}\n",
    )
