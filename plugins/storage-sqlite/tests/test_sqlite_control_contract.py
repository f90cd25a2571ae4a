"""The published contract of control stores, kept by SQLite."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from twinframe.testing.control_contract import SharedControlStoreContract
from twinframe_storage_sqlite.control_store import SqliteControlStore
from twinframe_storage_sqlite.settings import SqliteSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from twinframe.storage.control import ControlStore


class TestSqliteControlStore(SharedControlStoreContract):
    """Every store of one place opens the same file."""

    def make_opener(self, place: Path) -> Callable[[], ControlStore]:
        """Stores of the file in `place`; a busy machine may let a turn wait long."""
        settings = SqliteSettings(directory=str(place), turn_timeout=60)
        return partial(SqliteControlStore, settings, "control")
