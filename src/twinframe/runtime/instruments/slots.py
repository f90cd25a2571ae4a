"""Numbered slots for workers, so that there are no more metrics files than workers.

A worker that starts continues with the numbers of one that has ended: counters never go back, and a
service that is reloaded a thousand times has no more files than one that never was.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from twinframe.errors import ConfigurationError
from twinframe.runtime.locks import hold_abandoned, try_acquire_lock

_MOST: Final = 1024
_NAME: Final = "slot-{}.lock"


class Slot:
    """A number that no other live process has in this directory; freed when the process ends."""

    def __init__(self, directory: Path) -> None:
        """Take the lowest free one. Raises `ConfigurationError` when the directory is missing."""
        self._directory = directory
        self._handle = -1
        for number in range(_MOST):
            if self._take(number):
                self.number = number
                return
        raise ConfigurationError(f"{directory} has no free place for the metrics of a worker.")

    def close(self) -> None:
        """Release it for another process."""
        os.close(self._handle)

    def clear_dead(self, clear: Callable[[int], object]) -> None:
        """Call `clear` with each number that a process once had and none has now.

        NOTE: the number is held meanwhile: no process that starts may take it half cleared.
        """
        for path in self._directory.glob(_NAME.format("*")):
            number = int(path.stem.removeprefix("slot-"))
            if number == self.number:
                continue
            with hold_abandoned(path) as is_abandoned:
                if is_abandoned:
                    clear(number)

    def _take(self, number: int) -> bool:
        path = self._directory / _NAME.format(number)
        try:
            handle = try_acquire_lock(path)
        except OSError as error:
            raise ConfigurationError(
                f"The metrics of this worker have no place: {path}: {error.strerror}."
            ) from error
        if handle is not None:
            self._handle = handle
        return handle is not None
