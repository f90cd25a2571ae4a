"""A point store in a directory of its own, with a clock that tests set."""

from __future__ import annotations

from pathlib import Path

from twinframe_points.settings import PointsSettings
from twinframe_points.store import FilePointStore

NOW = 1_790_000_000
"""The seconds that the clock shows at first."""
DAY = 86_400_000_000


class Shelf:
    """A store that can be closed and opened again, and its clock."""

    def __init__(self, directory: Path, settings: PointsSettings | None = None) -> None:
        self.directory = directory
        self.settings = settings or PointsSettings()
        self.now = NOW
        self.store = self.open()

    def open(self) -> FilePointStore:
        return FilePointStore(self.directory, self.settings, lambda: self.now)

    def restart(self) -> None:
        self.store.close()
        self.store = self.open()

    def keep_up(self) -> int:
        """Do all upkeep; return its steps."""
        steps = 0
        while self.store.run_upkeep():
            steps += 1
        return steps

    def drain(self) -> None:
        """Make blocks of all points."""
        self.now += 1000
        self.keep_up()
