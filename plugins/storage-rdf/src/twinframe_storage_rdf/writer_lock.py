"""A fair writer lock, for this process and optionally all processes of this machine.

The guard of each change makes writes correct, not this lock: it avoids running a batch twice.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy
from twinframe.storage.writer_lock import WriterLock

_MARK: Final = struct.Struct("<q")


class MarkedLock:
    """A lock within this process and, if there is a file, between all that lock the same file."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._handle = -1
        self._mark = -1

    @contextmanager
    def taken(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Raises `StorageBusy` when it is not free before the `time.monotonic()` moment.
        """
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StorageBusy("The turn to write did not come in time; nothing was changed.")
        try:
            if self._file is None:
                yield
            else:
                with closing(WriterLock(self._file, self._file.with_name("queue"))) as lock:
                    self._handle = lock.file
                    with lock.hold(max(0.0, deadline - time.monotonic())):
                        yield
        finally:
            self._handle = -1
            self._lock.release()

    def read_mark(self) -> int:
        """Return the number that the last holder left, if any, in any process. Requires the lock.

        It is a hint: a holder that died, or that does not lock the same file, left no number.
        """
        if self._handle < 0:
            return self._mark
        held = os.pread(self._handle, _MARK.size, 0)
        return int(_MARK.unpack(held)[0]) if len(held) == _MARK.size else -1

    def leave_mark(self, number: int) -> None:
        """Leave a number for the next holder. Requires the lock."""
        self._mark = number
        if self._handle >= 0:
            os.pwrite(self._handle, _MARK.pack(number), 0)
