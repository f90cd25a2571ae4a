"""Runs callers' queries in forked children of the store process, each with limits of its own.

An engine's query cannot be stopped, but a process can: if a query takes too long or too much
memory, only its child ends.
"""

from __future__ import annotations

import ctypes
import gc
import os
import re
import resource
import select
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from enum import Enum
from pathlib import Path
from typing import Final, Literal, TypeAlias

_PR_SET_PDEATHSIG: Final = 1
_NICE: Final = 19
"""The niceness of children, so that the workers, which answer short requests, come first."""
_TICK_MILLISECONDS: Final = 50
_STILL: Final = 6
"""How many looks in a row must find a child asleep without CPU time: it then waits for a lock for
ever.
"""
_FORKS: Final = 5
_EXIT_LARGE: Final = 5
_GONE: Final = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_OVERRUN: Final = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGKILL})
"""The exit codes of a child that ran out of memory or stack, or was killed by the system for it."""


class Step(bytes, Enum):
    """What a child reports: it is sending, it has sent a piece, or the next piece was requested."""

    SENDS = b"s"
    SENT = b"d"
    ASKED = b"a"


Report: TypeAlias = Callable[[Step], None]

Ending: TypeAlias = Literal["answered", "late", "large", "crowded", "forsaken", "failed", "cut"]
"""How a query ended.

`answered`: the child sent the answer. `cut`: it ended while sending. `large`: it took more memory
than one may; `crowded`: all together took more than they may.
"""


class _Crowd:
    """The memory of all children together."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._taken: dict[int, tuple[int, int]] = {}
        self._lock = threading.Lock()

    def look(self, child: int) -> bool:
        """Return whether all together take too much, and this child the most of it.

        NOTE: the memory at the first look is the store process's own.
        """
        size = _read_size(child)
        with self._lock:
            first, _ = self._taken.get(child, (size, 0))
            self._taken[child] = (first, size - first)
            grown = [each for _, each in self._taken.values()]
        return sum(grown) > self._most_bytes and size - first == max(grown)

    def leave(self, child: int) -> None:
        """Forget a child that has ended."""
        with self._lock:
            self._taken.pop(child, None)


class Children:
    """The children of a store process. Thread-safe.

    `at_once` of them run, each with `most_bytes` more than the store process has; together they may
    take `all_bytes`. `still` is held while a child is forked, so that no write of the engine is
    under way. `own` are descriptors that children must close: a client that waits for their end
    would wait for the child.
    """

    def __init__(
        self,
        at_once: int,
        most_bytes: int,
        all_bytes: int,
        still: AbstractContextManager[object],
        own: Callable[[], list[int]],
    ) -> None:
        self._most_bytes = most_bytes
        self._slots = threading.BoundedSemaphore(at_once)
        self._crowd = _Crowd(all_bytes)
        self._forking = threading.Lock()
        self._still = still
        self._own = own

    def run(
        self, connection: socket.socket, deadline: float, answer: Callable[[Report], None]
    ) -> Ending:
        """Call `answer` in a child; it sends the answer on the connection.

        `answer` gets a function to report its steps with. `deadline` is a `time.monotonic()`
        moment.
        """
        while not self._slots.acquire(timeout=_TICK_MILLISECONDS / 1000):
            if time.monotonic() >= deadline:
                return "late"
            if is_gone(connection):
                return "forsaken"
        try:
            for _ in range(_FORKS):
                ending = self._run_once(connection, deadline, answer)
                if ending is not None:
                    return ending
            return "failed"
        finally:
            self._slots.release()

    def _run_once(
        self, connection: socket.socket, deadline: float, answer: Callable[[Report], None]
    ) -> Ending | None:
        """Run one child; None if it inherited a lock that no thread in it can release.

        NOTE: a child has the memory of all threads but runs only one of them. The library's own
        threads hold their locks for microseconds, now and then.
        """
        with self._forking, self._still:
            told, telling = os.pipe()
            parent = os.getpid()
            child = os.fork()
            if child == 0:
                _be_child(parent, self._most_bytes, [told, *self._own()], telling, answer)
            os.close(telling)
        try:
            return _watch(child, told, connection, deadline, self._crowd)
        finally:
            self._crowd.leave(child)
            os.close(told)


def _be_child(
    parent: int, most_bytes: int, others: list[int], telling: int, answer: Callable[[Report], None]
) -> None:
    code = 1
    try:
        gc.disable()  # pages that this process does not write are not copied
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # it was gone before the line above
                os._exit(code)
        for handle in others:
            os.close(handle)
        os.nice(_NICE)
        _limit_size(most_bytes)
        answer(lambda step: _report(telling, step))
        code = 0
    except MemoryError:
        code = _EXIT_LARGE
    finally:
        os._exit(code)


def _report(telling: int, step: Step) -> None:
    os.write(telling, step)


def _watch(
    child: int, told: int, connection: socket.socket, deadline: float, crowd: _Crowd
) -> Ending | None:
    """Wait for a child to end; kill it at the deadline, or when its client is gone."""
    poll = select.poll()
    poll.register(told, select.POLLIN)
    poll.register(connection, select.POLLRDHUP)
    sends = rests = has_sent = False
    seen, still = -1, 0
    ending: Ending | None
    while True:
        events = dict(poll.poll(_TICK_MILLISECONDS))
        if told in events:
            said = os.read(told, 4096)
            if not said:
                return _read_ending(child, sends)
            sends, rests = said.endswith(Step.SENDS), said.endswith(Step.SENT)
            has_sent = True
        ending = None
        if events.get(connection.fileno(), 0) & _GONE:
            ending = "forsaken"
        elif time.monotonic() >= deadline:
            ending = "cut" if sends else "late"
        elif crowd.look(child):
            ending = "cut" if sends else "crowded"
        if ending is None and not events and not sends and not rests:
            spent = _read_spent(child)
            still = still + 1 if spent == seen else 0
            seen = -1 if spent is None else spent
            if still < _STILL:
                continue
            ending = "failed" if has_sent else None  # pieces that were sent cannot be sent again
        elif ending is None:
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return ending


def _read_ending(child: int, sends: bool) -> Ending:
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == 0:
        return "answered"
    if sends:
        return "cut"
    return "large" if code == _EXIT_LARGE or -code in _OVERRUN else "failed"


def _read_size(child: int) -> int:
    """Return the bytes of its memory that belong to no file; 0 when it has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{child}/status").read_text(encoding="ascii")
        sizes = [line.split()[1] for line in text.splitlines() if line.startswith("RssAnon:")]
        return sum(map(int, sizes)) * 1024
    return 0


def _read_spent(child: int) -> int | None:
    """Return its CPU time in ticks; None when it is not asleep, or waits for a disk."""
    with suppress(OSError):
        fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        if fields[0] == "S":
            return int(fields[11]) + int(fields[12])
    return None


def is_gone(connection: socket.socket) -> bool:
    """Return whether the other side has closed the connection."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return any(events & _GONE for _, events in poll.poll(0))


def _limit_size(most_bytes: int) -> None:
    """Limit the memory of the process to this size."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * _PAGE_BYTES + most_bytes
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


_VARYING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|-?\b\d[\d.eE+-]*')


class ShortQueries:
    """Query forms that were measured to be short; these run without a child.

    Two queries have one form when they differ in constants alone. A form is forgotten when one of
    its queries took long, and after a number of writes, which may have made it long.
    """

    def __init__(self, most: int = 1000, seconds: float = 0.02, writes: int = 10_000) -> None:
        self._most, self._seconds, self._writes = most, seconds, writes
        self._forms: OrderedDict[str, int] = OrderedDict()
        self._written = 0
        self._lock = threading.Lock()

    def is_short(self, text: str) -> bool:
        """Whether the last query of this form was short."""
        form = _VARYING.sub("?", text)
        with self._lock:
            until = self._forms.get(form)
            return until is not None and self._written <= until

    def note(self, text: str, seconds: float) -> None:
        """Record the duration of a query."""
        form = _VARYING.sub("?", text)
        with self._lock:
            self._forms.pop(form, None)
            if seconds <= self._seconds:
                self._forms[form] = self._written + self._writes
                if len(self._forms) > self._most:
                    self._forms.popitem(last=False)

    def note_write(self) -> None:
        """Record a write to the store."""
        self._written += 1
