"""Small graphs in a PostgreSQL server, for the law of query engines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson
import psycopg

from tests.postgres.server import build_prefix, share_server
from twinframe.storage.base import GraphSession, GraphTransaction, RelationshipRecord, TwinRecord
from twinframe.testing.query_law import (
    EdgeSketch,
    TwinSketch,
    build_edge_document,
    build_twin_document,
    write_graph,
)
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore


class Graphs:
    """Graphs of the law: a store that is no longer used gets the next one."""

    def __init__(self, place: Path) -> None:
        self._settings = PostgresSettings(url=share_server(), schema_=build_prefix(place))
        self._stores: list[PostgresGraphStore] = []
        self._idle: list[PostgresGraphStore] = []

    def close(self) -> None:
        """Close all stores."""
        for store in self._stores:
            store.close()

    @contextmanager
    def open(
        self, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
    ) -> Iterator[GraphSession]:
        """A session on a graph of these."""
        store = self._idle.pop() if self._idle else self._make_store()
        _write(store, twins, edges)
        session = store.session()
        try:
            yield session
        finally:
            session.close()
            self._empty(store)
            self._idle.append(store)

    def _make_store(self) -> PostgresGraphStore:
        store = PostgresGraphStore(self._settings, f"law{len(self._stores)}")
        store.open()
        write_graph(store, (), ())
        self._stores.append(store)
        return store

    def _empty(self, store: PostgresGraphStore) -> None:
        url = self._settings.url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            schema = f'"{store.schema}"'
            connection.execute(
                f"TRUNCATE {schema}.twin, {schema}.relationship RESTART IDENTITY;"
                f" UPDATE {schema}.graph SET odd_texts = FALSE, twins = 0, content = 0"
            )


def _write(
    store: PostgresGraphStore, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
) -> None:
    """Write twins and relationships, whose models are there."""

    def apply(transaction: GraphTransaction) -> None:
        for row, twin in enumerate(twins, 1):
            body = orjson.dumps(build_twin_document(row, twin))
            transaction.put_twin(TwinRecord(twin[0], twin[1], f'W/"{row}"', body))
        for row, edge in enumerate(edges, 1):
            source, name, target, _ = edge
            body = orjson.dumps(build_edge_document(row, edge))
            transaction.put_relationship(
                RelationshipRecord(source, f"r{row}", name, target, f'W/"{row}"', body)
            )

    (outcome,) = store.write([apply])
    if outcome.error is not None:
        raise outcome.error
