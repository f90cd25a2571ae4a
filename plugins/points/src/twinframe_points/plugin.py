"""The entry point of this distribution: the hooks by which the service keeps points."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from twinframe import hookimpl
from twinframe.runtime.late import build_late
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.points import PointStore
from twinframe.storage.tables import TableKeeper
from twinframe_points.database import PREFIX, STATEMENTS, VERSION
from twinframe_points.keeper import Keeper
from twinframe_points.settings import PointsSettings


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
        return _build_late(lambda stores: stores.DatabasePointStore(tables, settings, time.time))
    if (beside := store.beside) is None:
        return None
    keeper = Keeper(beside, settings.model_dump_json())
    return _build_late(lambda stores: stores.FilePointStore(beside, settings, keeper=keeper))


def _build_late(build: Callable[[Any], PointStore]) -> PointStore:
    """PERF: numpy alone takes a tenth of the time in which a graph is opened."""
    return build_late(
        PointStore,  # type: ignore[type-abstract]  # its methods are those of what is built
        lambda: build(import_module("twinframe_points.store")),
        close=lambda: None,
    )
