"""The service's log: one line a record on standard error. It is not the access log."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

import orjson

from twinframe.settings import LoggingSettings

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "taskName",
    "color_message",  # the same message again, from uvicorn
}

_QUIET = ("httpx", "httpx2", "httpcore", "httpcore2", "stevedore", "asyncio")
"""Libraries whose informational lines say nothing to an operator."""


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time, level, logger, message, the record's extra fields, error."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON text; values that JSON has no form for become their text."""
        document: dict[str, object] = {
            "time": _render_time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        document |= read_extra(record)
        if record.exc_info:
            document["error"] = self.formatException(record.exc_info)
        return orjson.dumps(document, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


class TextFormatter(logging.Formatter):
    """One line of text a record, for people; a traceback follows on its own lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as text, control characters of its message escaped."""
        extra = "".join(f" {name}={value!r}" for name, value in read_extra(record).items())
        # SEC: a value of a request must not be able to write a line of its own.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = (
            f"{_render_time(record.created)} {record.levelname:7} {record.name}: {message}{extra}"
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure_logging(settings: LoggingSettings) -> None:
    """Send the records of all loggers to standard error, in the form and from the level set."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if settings.format == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        if isinstance(old.formatter, (JsonFormatter, TextFormatter)):
            root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(settings.level.upper())
    for name in _QUIET:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))


def read_extra(record: logging.LogRecord) -> dict[str, object]:
    """The fields that were given with `extra`."""
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


def _render_time(created: float) -> str:
    moment = datetime.fromtimestamp(created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
