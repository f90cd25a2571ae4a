"""The entry point of this distribution: the hooks by which the service keeps points."""

from __future__ import annotations

import time

from twinframe import hookimpl
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.points import PointStore
from twinframe.storage.tables import TableKeeper
from twinframe_points.database import PREFIX, STATEMENTS, VERSION
from twinframe_points.keeper import Keeper
from twinframe_points.settings import PointsSettings
from twinframe_points.store import DatabasePointStore, FilePointStore


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Points`."""
    return PointsSettings


@hookimpl
def twinframe_point_store(settings: Section, store: GraphStore) -> PointStore | None:
    """The points of a graph: in its database, or in a file in its directory."""
    if not isinstance(settings, PointsSettings):
        raise TypeError(f"the settings are of {type(settings).__name__}, not PointsSettings")
    if isinstance(store, TableKeeper):
        tables = store.build_tables(PREFIX, VERSION, STATEMENTS)
        return DatabasePointStore(tables, settings, time.time)
    if store.beside is None:
        return None
    keeper = Keeper(store.beside, settings.model_dump_json())
    return FilePointStore(store.beside, settings, keeper=keeper)
