"""The entry point of this distribution: the hooks by which the service uses SQLite storage."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.query.engine import QueryEngine
from twinframe.runtime.diagnosis.findings import Finding
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.control import ControlStore
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.control_store import SqliteControlStore
from twinframe_storage_sqlite.findings import list_findings
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Storage__Sqlite`."""
    return SqliteSettings


@hookimpl
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """Check the library and the directory."""
    return list_findings(settings) if isinstance(settings, SqliteSettings) else ()


@hookimpl
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore | None:
    """Build the graph's store, without opening its file."""
    return SqliteGraphStore(settings, graph) if isinstance(settings, SqliteSettings) else None


@hookimpl
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """Build the SQL compiler, for stores of this plugin."""
    return SqliteQueryEngine() if isinstance(store, SqliteGraphStore) else None


@hookimpl
def twinframe_control_store(settings: Section, name: str) -> ControlStore | None:
    """Build the store of the control records, without opening its file."""
    return SqliteControlStore(settings, name) if isinstance(settings, SqliteSettings) else None
