"""The published contract of graph stores, kept by SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.testing.contracts.removal import BackupContract
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

if TYPE_CHECKING:
    from pathlib import Path


class TestSqliteGraphStore(GraphStoreContract, BackupContract):
    """Every store of one place opens the same file."""

    def make_store(self, place: Path) -> SqliteGraphStore:
        """A store of the file in `place`."""
        return SqliteGraphStore(SqliteSettings(directory=str(place)), "graph")
