"""Memory accounting of the documents that a part of a write batch has read and changed.

A change is made in memory: until it is committed, its documents are in the draft, in the text that
is sent, and in the store process. The store process makes one change at a time and needs about five
times the size of the text for it, which the limit of the worker's texts bounds.
"""

from __future__ import annotations

from typing import Final

from twinframe.runtime.memory import Hold

_TEXT_COPIES: Final = 2
"""Copies of a text in the worker's memory: as it was read or put, and as it is sent."""
_RECORD_COPIES: Final = 4
"""Copies of a document whose members are also stored as triples."""
_STEP: Final = 64 * 1024


class Load:
    """Counter of bytes for a `hold` of the memory account; None means that nothing is charged.

    PERF: the account is charged in steps, and not at all for small writes.
    """

    def __init__(self, hold: Hold | None = None) -> None:
        self.size = 0
        self._hold = hold
        self._owed = 0

    def add_text(self, size: int) -> None:
        """Count a text of this size in bytes. Raises as `MemoryAccount.take` does."""
        self._add(size, _TEXT_COPIES)

    def add_record(self, size: int) -> None:
        """Count a document of this size in bytes that is put as triples. Raises the same."""
        self._add(size, _RECORD_COPIES)

    def _add(self, size: int, copies: int) -> None:
        self.size += size
        self._owed += copies * size
        if self._owed > _STEP and self._hold is not None:
            owed, self._owed = self._owed, 0
            self._hold.grow(owed)
