"""Turns of writers: one at a time, in this process and among those of this machine.

It makes nobody right: what makes writes safe is the guard of each change. It saves running twice.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from twinframe.errors import StorageBusy

_PAUSE: Final = 0.0005


class Turn:
    """A lock of this process and, if there is a file, of all that lock the same one."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, deadline: float) -> Iterator[None]:
        """Have the turn; `StorageBusy` when it does not come before the `time.monotonic()`."""
        if not self._lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise StorageBusy("The turn to write did not come in time; nothing was changed.")
        try:
            if self._file is None:
                yield
            else:
                with _locked(self._file, deadline):
                    yield
        finally:
            self._lock.release()


@contextmanager
def _locked(file: Path, deadline: float) -> Iterator[None]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StorageBusy(
                        "The turn to write did not come in time; nothing was changed."
                    ) from None
                time.sleep(_PAUSE)
        yield
    finally:
        os.close(handle)
