"""The published contract of control stores, kept by PostgreSQL."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tests.postgres.server import build_prefix, share_server
from twinframe.testing.control_contract import SharedControlStoreContract
from twinframe_storage_postgres.control_store import PostgresControlStore
from twinframe_storage_postgres.settings import PostgresSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from twinframe.storage.control import ControlStore


class TestPostgresControlStore(SharedControlStoreContract):
    """Every store of one place opens the same schema."""

    def make_opener(self, place: Path) -> Callable[[], ControlStore]:
        """Stores of a schema named after `place`; a busy machine may let a turn wait long."""
        settings = PostgresSettings(
            url=share_server(), schema_=build_prefix(place), turn_timeout=60
        )
        return partial(PostgresControlStore, settings, "control")
