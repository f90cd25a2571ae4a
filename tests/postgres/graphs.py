"""Writes small graphs to databases of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import psycopg

from tests.postgres.engine import PostgresSession, swap_nul
from twinframe.model.ids import build_model_name
from twinframe.testing.query_law import MODELS, build_edge_document, build_twin_document

_SCHEMA = Path(__file__).with_name("schema.sql").read_text(encoding="utf-8")


class Graphs:
    """Makes graphs in schemas of one database, each in a transaction that is rolled back."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._schemas: list[psycopg.Connection[Any]] = []
        self._idle: list[psycopg.Connection[Any]] = []

    def close(self) -> None:
        """Close all connections."""
        for connection in self._schemas:
            connection.close()

    @contextmanager
    def open(
        self, twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]
    ) -> Iterator[PostgresSession]:
        """A session on a new graph, which is removed at the end."""
        connection = self._idle.pop() if self._idle else self._make_schema()
        try:
            with connection.transaction(force_rollback=True):
                _write_twins(connection, twins)
                _write_edges(connection, edges)
                yield PostgresSession(connection)
        finally:
            self._idle.append(connection)

    def _make_schema(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._address, autocommit=True)
        self._schemas.append(connection)
        name = f"graph{len(self._schemas)}"
        connection.execute(f"CREATE SCHEMA {name}; SET search_path = {name}; {_SCHEMA}")
        _write_models(connection)
        return connection


def _write_models(connection: psycopg.Connection[Any]) -> None:
    numbers = {model: number for number, model in enumerate(MODELS, 1)}
    for model, number in numbers.items():
        connection.execute(
            "INSERT INTO interface VALUES (%s, %s, %s, %s)",
            (number, model, build_model_name(model), number),
        )
    pairs = {
        (numbers[above], numbers[model]) for model in MODELS for above in _find_ancestors(model)
    }
    _insert(connection, "INSERT INTO interface_closure VALUES (%s, %s)", sorted(pairs))


def _find_ancestors(model: str) -> Iterator[str]:
    """The model and all that it extends, near or far."""
    yield model
    for parent in MODELS[model]:
        yield from _find_ancestors(parent)


def _write_twins(connection: psycopg.Connection[Any], twins: Sequence[tuple[Any, ...]]) -> None:
    models = {model: number for number, model in enumerate(MODELS, 1)}
    rows = [
        (row, twin[0], models[twin[1]], f'W/"{row}"', _write(build_twin_document(row, twin)))
        for row, twin in enumerate(twins, 1)
    ]
    _insert(connection, "INSERT INTO twin VALUES (%s, %s, %s, %s, %s)", rows)


def _write_edges(connection: psycopg.Connection[Any], edges: Sequence[tuple[Any, ...]]) -> None:
    twins = dict(connection.execute("SELECT dt_id, id FROM twin").fetchall())
    rows = [
        (
            row,
            twins[edge[0]],
            f"r{row}",
            edge[1],
            twins[edge[2]],
            f'W/"{row}"',
            _write(build_edge_document(row, edge)),
        )
        for row, edge in enumerate(edges, 1)
    ]
    _insert(connection, "INSERT INTO relationship VALUES (%s, %s, %s, %s, %s, %s, %s)", rows)


def _insert(connection: psycopg.Connection[Any], sql: str, rows: Sequence[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.executemany(sql, rows)


def _write(document: dict[str, Any]) -> str:
    return swap_nul(orjson.dumps(document).decode())
