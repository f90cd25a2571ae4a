"""The entry point of this distribution: the hooks by which the service uses PostgreSQL storage."""

from __future__ import annotations

from collections.abc import Sequence

from twinframe import hookimpl
from twinframe.query.engine import QueryEngine
from twinframe.runtime.diagnosis.findings import Finding
from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.control import ControlStore
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine
from twinframe_storage_postgres.control_store import PostgresControlStore
from twinframe_storage_postgres.findings import list_findings
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore


@hookimpl
def twinframe_settings() -> type[Section]:
    """The section `Storage__Postgres`."""
    return PostgresSettings


@hookimpl
def twinframe_findings(settings: Section) -> Sequence[Finding]:
    """Check the server, the rights and what it promises."""
    return list_findings(settings) if isinstance(settings, PostgresSettings) else ()


@hookimpl
def twinframe_graph_store(settings: Section, graph: str, database: str) -> GraphStore | None:
    """Build the graph's store, without a connection."""
    if not isinstance(settings, PostgresSettings):
        return None
    return PostgresGraphStore(settings, graph, database)


@hookimpl
def twinframe_control_store(settings: Section, name: str) -> ControlStore | None:
    """Build the store of the control records, without a connection."""
    return PostgresControlStore(settings, name) if isinstance(settings, PostgresSettings) else None


@hookimpl
def twinframe_query_engine(store: GraphStore) -> QueryEngine | None:
    """Build the engine that runs plans as SQL."""
    if not isinstance(store, PostgresGraphStore):
        return None
    return PostgresQueryEngine(lambda: store.abilities)
