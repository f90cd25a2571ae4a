"""The entry point of this distribution: the hooks by which the service uses columns."""

from __future__ import annotations

from twinframe import hookimpl
from twinframe.query.engine import QueryEngine
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe_columns.choosing import ChoosingEngine
from twinframe_columns.holder import ProjectionHolder
from twinframe_columns.settings import ColumnsSettings


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Columns`."""
    return ColumnsSettings


@hookimpl
def twinframe_query_projection(
    settings: Section, store: GraphStore, engine: QueryEngine
) -> QueryEngine | None:
    """The engine that answers from columns where it can.

    None where they are turned off, have no place, or cannot follow the store.
    """
    if not isinstance(settings, ColumnsSettings) or not settings.enabled:
        return None
    if store.scratch is None or not store.traits.followed:
        return None
    return ChoosingEngine(engine, ProjectionHolder(store, settings))
