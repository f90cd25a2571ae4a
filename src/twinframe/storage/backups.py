"""Backups of a graph: an ability some stores have beside the seam. It keeps no list of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path


class Backups(ABC):
    """What a store can do whose graph lies in files of this machine. Calls may block for long."""

    @abstractmethod
    def back_up(self, target: Path) -> None:
        """Write the graph as it is at one moment into the new file `target`; writes go on.

        The store must be open. The file is whole and on stable storage when it has its name.
        """

    @abstractmethod
    def restore(self, source: Path, timeout: float) -> None:
        """Put the graph of the backup `source` in the place of what is there, in a new epoch
        (`epochs.renew_epoch`).

        The store must not be open, here or elsewhere: `StorageBusy` when it is not closed
        everywhere within `timeout` seconds. A file that is no sound backup is `StorageDamaged`,
        and then nothing is changed. Cut off at any point, it leaves the old graph or the new one.
        """

    @abstractmethod
    def measure(self) -> int:
        """Bytes that the graph takes on disk now."""
