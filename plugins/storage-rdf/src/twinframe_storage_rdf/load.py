"""The bytes of documents that a part of a batch has read and changed, against the memory account.

A change is made in memory: until it is committed, its documents stand in the draft, in the text
that is sent, and in the store process. That one makes one change at a time, in about five times the
text; what it takes is bounded by what a worker may send.
"""

from __future__ import annotations

from typing import Final

from twinframe.memory import Hold

_TEXT_COPIES: Final = 2
"""How often a text is in the worker's memory: as it was read or put, and as it is sent."""
_RECORD_COPIES: Final = 4
"""The same of a document whose members are triples beside it."""
_STEP: Final = 64 * 1024


class Load:
    """Counts for a `hold` of the account; None: nobody counts.

    PERF: the account is asked in steps, and not at all by who writes little.
    """

    def __init__(self, hold: Hold | None = None) -> None:
        self.size = 0
        self._hold = hold
        self._owed = 0

    def add_text(self, size: int) -> None:
        """A text of so many bytes is in the change. Raises as `MemoryAccount.take` does."""
        self._add(size, _TEXT_COPIES)

    def add_record(self, size: int) -> None:
        """A document of so many bytes is put as triples. Raises the same."""
        self._add(size, _RECORD_COPIES)

    def _add(self, size: int, copies: int) -> None:
        self.size += size
        self._owed += copies * size
        if self._owed > _STEP and self._hold is not None:
            owed, self._owed = self._owed, 0
            self._hold.grow(owed)
