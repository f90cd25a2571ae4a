"""The published contract of graph stores, kept by PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.postgres.server import build_prefix, share_server
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

if TYPE_CHECKING:
    from pathlib import Path


class TestPostgresGraphStore(GraphStoreContract):
    """Every store of one place opens the same schema."""

    def make_store(self, place: Path) -> PostgresGraphStore:
        """A store of a schema named after `place`."""
        prefix = build_prefix(place)
        settings = PostgresSettings(url=share_server(), schema_=prefix, directory=str(place))
        return PostgresGraphStore(settings, "graph")
