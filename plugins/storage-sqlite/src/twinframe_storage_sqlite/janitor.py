"""Keeps the write-ahead log small without delaying writers for long."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Final

import apsw

_COMMITS_PER_LOOK: Final = 16
_PAUSE: Final = 1.0
_WAIT_FOR_READERS_MS: Final = 20

_log = logging.getLogger(__name__)


class WalJanitor:
    """Checkpoints the log and truncates its file when it has passed `limit` bytes.

    SQLite's own checkpoints continue; they cannot shrink the file, and do not finish while a reader
    holds an old snapshot. The writer lock must be held: only then is the log not growing.
    """

    def __init__(self, wal: Path, limit: int) -> None:
        self._wal = str(wal)
        self._path = wal
        self._limit = limit
        self._commits = 0
        self._next = 0.0

    def tidy(self, connection: apsw.Connection) -> None:
        """Check the file's size at intervals, and empty the log when it is too large."""
        self._commits += 1
        if self._commits < _COMMITS_PER_LOOK:
            return
        self._commits = 0
        if self.read_size() > self._limit and time.monotonic() >= self._next:
            self._truncate(connection)

    def read_size(self) -> int:
        """Bytes of the log's file."""
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _truncate(self, connection: apsw.Connection) -> None:
        patience = connection.pragma("busy_timeout")
        connection.set_busy_timeout(_WAIT_FOR_READERS_MS)
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            # A reader is in the way, or there is no space to copy into: the next check tries again.
            # The previous commit is durable, so nothing here may fail a write.
            self._next = time.monotonic() + _PAUSE
            _log.warning(
                "%s has %d bytes and cannot be cut: %s", self._wal, self.read_size(), error
            )
        finally:
            connection.set_busy_timeout(patience)
