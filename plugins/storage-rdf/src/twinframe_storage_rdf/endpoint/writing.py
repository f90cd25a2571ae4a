"""A file-like writer for answers that enforces their size limit and deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

from twinframe.errors import LimitExceeded, QueryTimeout


def check_deadline(deadline: float) -> None:
    """Raise `QueryTimeout` if the deadline has passed."""
    if time.monotonic() >= deadline:
        raise build_late_answer()


def build_late_answer() -> QueryTimeout:
    """Build the error for a caller's query that passed its deadline."""
    return QueryTimeout("The query passed its deadline (Sparql__Timeout) and was stopped.")


class LimitedWriter:
    """A file object for libraries that accepts at most `limit` bytes until `deadline`."""

    def __init__(self, limit: int, deadline: float, write: Callable[[bytes], object]) -> None:
        self._limit = limit
        self._size = 0
        self._deadline = deadline
        self._write = write

    def write(self, piece: bytes) -> int:
        """Write a piece. Raises `LimitExceeded`, `QueryTimeout`."""
        self._size += len(piece)
        if self._size > self._limit:
            raise LimitExceeded(
                f"The answer has more than {self._limit} bytes (Sparql__MaxResultBytes); "
                "say LIMIT, or GET /export for the whole graph."
            )
        check_deadline(self._deadline)
        self._write(bytes(piece))
        return len(piece)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""
