"""A connection that writes, with the lock that writers of all processes take in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import apsw

from twinframe_points.file import PointsFile


class Overtaken(Exception):
    """Another process changed what this one was about to replace; nothing was changed."""


class Writes:
    """Short transactions of one thread at a time."""

    def __init__(self, file: PointsFile, *, synchronous: str = "FULL") -> None:
        """Open the file. Raises `StorageError`."""
        self.file = file
        self.connection = file.open(synchronous=synchronous)
        try:
            self._lock = file.open_lock()
        except BaseException:
            self.connection.close(force=True)
            raise

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Commit what is done inside, or undo it. Raises `StorageError`."""
        with self.file.writing(self.connection, self._lock):
            yield self.connection

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """See one state inside. Raises `StorageError`."""
        with self.file.reading(self.connection):
            yield self.connection

    def close(self) -> None:
        """Close the connection and the lock."""
        self.connection.close(force=True)
        self._lock.close()
