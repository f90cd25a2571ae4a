"""The service's log on standard error, one line per record; the access log is separate."""

from __future__ import annotations

import logging
import sys
import threading
from datetime import UTC, datetime
from queue import Full, Queue
from typing import TextIO

import orjson

from twinframe.errors.masking import mask_secrets
from twinframe.settings import LoggingSettings

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",  # a copy of the message, from uvicorn
}

_QUIET = ("httpx", "httpx2", "httpcore", "httpcore2", "stevedore", "asyncio")
"""Libraries whose informational lines are of no use to an operator."""


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: time, level, logger, message, extra fields, error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON text; values without a JSON form are converted to text."""
        document: dict[str, object] = {
            "time": _render_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": mask_secrets(record.getMessage()),
        }
        document |= read_extra(record)
        if record.exc_info:
            document["error"] = mask_secrets(self.formatException(record.exc_info))
        return orjson.dumps(document, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class TextFormatter(logging.Formatter):
    """Formats a record as one line of text; a traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with control characters of its message escaped."""
        extra = "".join(f" {name}={value!r}" for name, value in read_extra(record).items())
        # SEC: a value of a request must not be able to forge a line of its own.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = (
            f"{_render_time(record.created)} {record.levelname:7} {record.name}: {message}{extra}"
        )
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return mask_secrets(line)


class ServiceHandler(logging.StreamHandler[TextIO]):
    """Writes records to standard error; while its thread runs, no caller waits for the stream.

    SEC: a pipe that is not read would block the event loop with the first line that does not fit.
    Lines that come faster than they can be written are dropped and counted.
    """

    def __init__(self, stream: TextIO, capacity: int = 10_000) -> None:
        super().__init__(stream)
        self._capacity = capacity
        self._lines: Queue[str | None] | None = None
        self._dropped = 0
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record, or queue it for the thread."""
        lines = self._lines
        if lines is None:
            super().emit(record)
            return
        try:
            lines.put_nowait(self.format(record))
        except Full:
            self._dropped += 1
        except (TypeError, ValueError):  # a record whose arguments do not fit its message
            self.handleError(record)

    def begin(self) -> None:
        """Start the thread. Call it in the process that serves."""
        lines = self._lines = Queue(self._capacity)
        self._thread = threading.Thread(
            target=self._run, args=(lines,), name="service-log", daemon=True
        )
        self._thread.start()

    def end(self, seconds: float = 2.0) -> None:
        """Write the queued records, and from now on write directly; waits at most this long."""
        lines, self._lines = self._lines, None
        if lines is None or self._thread is None:
            return
        try:
            lines.put(None, timeout=seconds)
        except Full:  # the stream is not read: the queued records are lost
            return
        self._thread.join(seconds)

    def _run(self, lines: Queue[str | None]) -> None:
        while (line := lines.get()) is not None:
            self._write(line)
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                self._write(f'{{"message":"service log lines dropped","count":{dropped}}}')

    def _write(self, line: str) -> None:
        try:
            self.stream.write(line + self.terminator)
            self.flush()
        except (OSError, ValueError):  # the stream is closed, so the error cannot be reported
            return


class LogService:
    """The service's log as a lifespan service: first to start, last to stop."""

    async def start(self) -> None:
        """Write through the thread from now on, so that no caller waits for standard error."""
        for handler in _find_handlers():
            handler.begin()

    async def stop(self) -> None:
        """Write the queued records."""
        for handler in _find_handlers():
            handler.end()


def _find_handlers() -> list[ServiceHandler]:
    return [each for each in logging.getLogger().handlers if isinstance(each, ServiceHandler)]


def configure_logging(settings: LoggingSettings) -> None:
    """Send the records of all loggers to standard error, in the form and from the level set."""
    handler = ServiceHandler(sys.stderr)
    form = settings.choose_format(is_terminal=sys.stderr.isatty())
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        if isinstance(old.formatter, (JsonFormatter, TextFormatter)):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def read_extra(record: logging.LogRecord) -> dict[str, object]:
    """Return the fields that were given with `extra`."""
    return {
        name: mask_secrets(value) if isinstance(value, str) else value
        for name, value in vars(record).items()
        if name not in _PLAIN
    }


def _render_time(created: float) -> str:
    moment = datetime.fromtimestamp(created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
