"""A point store in a place of its own, with a clock that tests set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psycopg

from tests.postgres.server import build_prefix, share_server
from tests.storages import require
from twinframe.storage.base import GraphStore
from twinframe.storage.tables import TableKeeper
from twinframe_points.database import PREFIX, STATEMENTS, VERSION
from twinframe_points.settings import PointsSettings
from twinframe_points.store import BlockPointStore, DatabasePointStore, FilePointStore

NOW = 1_790_000_000
"""The seconds that the clock shows at first."""
DAY = 86_400_000_000


def open_in_database(
    place: Path, settings: PointsSettings, clock: Callable[[], float]
) -> BlockPointStore:
    """Open the points of a graph in a schema of its own, which is made where it is missing."""
    require("postgres")
    from twinframe_storage_postgres.settings import PostgresSettings
    from twinframe_storage_postgres.store import PostgresGraphStore

    connection = PostgresSettings(url=share_server(), schema_=build_prefix(place))  # type: ignore[arg-type]  # pydantic makes a secret of it
    store = PostgresGraphStore(connection, "points")
    with psycopg.connect(share_server(), autocommit=True) as server:
        server.execute(f'CREATE SCHEMA IF NOT EXISTS "{store.schema}"')
    return open_points(store, place, settings, clock)


def open_points(
    store: GraphStore, place: Path, settings: PointsSettings, clock: Callable[[], float]
) -> BlockPointStore:
    """Open the points of a graph: in its database if it has one, else in a file."""
    if not isinstance(store, TableKeeper):
        return FilePointStore(place, settings, clock)
    return DatabasePointStore(store.build_tables(PREFIX, VERSION, STATEMENTS), settings, clock)


class Shelf:
    """A store that can be closed and opened again, and its clock."""

    def __init__(
        self, directory: Path, settings: PointsSettings | None = None, storage: str = "sqlite"
    ) -> None:
        """`storage` may be `postgres`: a schema of its own in the server of this process."""
        self.directory = directory
        self.settings = settings or PointsSettings()
        self.storage = storage
        self.now = NOW
        self.store = self.open()

    def open(self) -> BlockPointStore:
        if self.storage == "postgres":
            return open_in_database(self.directory, self.settings, lambda: self.now)
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
