"""Small graphs in memory, and the law that compiled SQL is held to. No tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import apsw
import orjson
import pytest

from twinframe.model.ids import build_model_name
from twinframe.model.values import Value
from twinframe.testing.query_law import (
    MODELS,
    ODD_EDGES,
    ODD_TWINS,
    Answer,
    LawGraph,
    QueryLaw,
    build_edge_document,
    build_twin_document,
    freeze,
)
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.migrations import load_migrations
from twinframe_storage_sqlite.session import SqliteSession

CheckLaw = Callable[..., Answer]
_LAW = QueryLaw(SqliteQueryEngine())


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


def check_law(
    text: str, graph: SqliteSession, parameters: Mapping[str, Value] | None = None, **how: Any
) -> Answer:
    """`QueryLaw.check` of the compiled SQL; the evaluator reads the same session."""
    return _LAW.check(text, LawGraph(graph, graph), parameters, **how)


@pytest.fixture(scope="session")
def law() -> CheckLaw:
    """`law(text, graph, parameters)` asserts that SQL and evaluator answer alike."""
    return check_law


@pytest.fixture(scope="session")
def frozen() -> Callable[[Any], Any]:
    """`frozen(value)` is a hashable that keeps types apart."""
    return freeze


@pytest.fixture(scope="session")
def odd_graph() -> SqliteSession:
    """Thirteen twins whose properties hold what typing gets wrong, and a few cycles."""
    return build_graph(ODD_TWINS, ODD_EDGES)


@pytest.fixture(scope="session")
def small_odd_graph() -> SqliteSession:
    """The first eight of the odd twins: small enough for patterns of several parts."""
    twins = ODD_TWINS[:8]
    ids = {twin[0] for twin in twins}
    return build_graph(twins, [e for e in ODD_EDGES if {e[0], e[2]} <= ids])


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., SqliteSession]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""
    return build_graph
