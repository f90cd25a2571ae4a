"""Small graphs in memory, and the law that compiled SQL is held to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw
import orjson
import pytest

from twinframe.model.ids import build_model_name
from twinframe.storage.base import GraphSession
from twinframe.testing.query_law import (
    MODELS,
    QueryLaw,
    build_edge_document,
    build_twin_document,
)
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.migrations import load_migrations
from twinframe_storage_sqlite.session import SqliteSession


def build_graph(
    twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]
) -> SqliteSession:
    """A session on a new graph in memory; what a twin or relationship leaves out is as usual."""
    connection = apsw.Connection(":memory:")
    for migration in load_migrations():
        connection.execute(migration.script).fetchall()
    connection.execute("INSERT INTO meta VALUES ('model_version', 1)")
    numbers = {model: number for number, model in enumerate(MODELS, 1)}
    for model in MODELS:
        connection.execute(
            "INSERT INTO interface (id, dtmi, name, position) VALUES (?, ?, ?, ?)",
            (numbers[model], model, build_model_name(model), numbers[model]),
        )
        for ancestor in _find_ancestors(model):
            connection.execute(
                "INSERT INTO interface_closure VALUES (?, ?)", (numbers[ancestor], numbers[model])
            )
    rows: dict[str, int] = {}
    for row, (twin_id, *rest) in enumerate(twins, 1):
        rows[twin_id] = row
        model = rest[0] if rest else "dtmi:ex:Space;1"
        document = build_twin_document(row, (twin_id, model, rest[1] if len(rest) > 1 else {}))
        connection.execute(
            "INSERT INTO twin VALUES (?, ?, ?, ?, jsonb(?))",
            (row, twin_id, numbers[model], f'W/"{row}"', orjson.dumps(document).decode()),
        )
    for row, (source, name, target, *rest) in enumerate(edges, 1):
        document = build_edge_document(row, (source, name, target, rest[0] if rest else {}))
        text = orjson.dumps(document).decode()
        connection.execute(
            "INSERT INTO relationship VALUES (?, ?, ?, ?, ?, ?, jsonb(?))",
            (row, rows[source], f"r{row}", name, rows[target], f'W/"{row}"', text),
        )
    return SqliteSession(connection)


def _find_ancestors(model: str) -> Iterator[str]:
    """The model and all that it extends, near or far, each once."""
    yield model
    for parent in MODELS[model]:
        yield from _find_ancestors(parent)


@contextmanager
def open_graph(
    twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]
) -> Iterator[SqliteSession]:
    """A session on a new graph in memory, closed at the end."""
    session = build_graph(twins, edges)
    yield session
    session.close()


@pytest.fixture(scope="session")
def query_law() -> Iterator[QueryLaw]:
    """The law of this engine."""
    law = QueryLaw(SqliteQueryEngine(), open_graph)
    yield law
    law.close()


@pytest.fixture(scope="session")
def odd_graph(query_law: QueryLaw) -> GraphSession:
    """Thirteen twins whose properties hold what typing gets wrong, and a few cycles."""
    return query_law.odd.session


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., SqliteSession]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""
    return build_graph
