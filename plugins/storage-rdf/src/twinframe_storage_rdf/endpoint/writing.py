"""Where engines write answers to: no longer than the limit and the deadline allow."""

from __future__ import annotations

import time
from collections.abc import Callable

from twinframe.errors import LimitExceeded, QueryTimeout


def check_deadline(deadline: float) -> None:
    """`QueryTimeout` once it has passed."""
    if time.monotonic() >= deadline:
        raise build_late_answer()


def build_late_answer() -> QueryTimeout:
    """What a caller's query is answered that passed its deadline."""
    return QueryTimeout("The query passed its deadline (Sparql__Timeout) and was stopped.")


class LimitedWriter:
    """A file as libraries want it, for at most `limit` bytes until `deadline`."""

    def __init__(self, limit: int, deadline: float, write: Callable[[bytes], object]) -> None:
        self._limit = limit
        self._size = 0
        self._deadline = deadline
        self._write = write

    def write(self, piece: bytes) -> int:
        """Take a piece. `LimitExceeded`, `QueryTimeout`."""
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
        """Nothing is held back."""
