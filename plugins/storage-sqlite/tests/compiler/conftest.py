"""Small graphs in memory, and queries run by the compiled SQL and by the evaluator side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import apsw
import orjson
import pytest

from twinframe.cypher.algebra import Query
from twinframe.cypher.language import parse_query
from twinframe.errors import QueryInvalid
from twinframe.evaluator.engine import run as evaluate
from twinframe.model.ids import build_model_name
from twinframe.model.rendering import render_row
from twinframe.model.values import Node, Relationship, Value
from twinframe.storage.base import CannotRun
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.migrations import load_migrations
from twinframe_storage_sqlite.session import SqliteSession

MODELS: dict[str, tuple[str, ...]] = {
    "dtmi:ex:Space;1": (),
    "dtmi:ex:Room;1": ("dtmi:ex:Space;1",),
    "dtmi:ex:Room;2": (),
    "dtmi:ex:Room;2.3": (),
    "dtmi:ex:Room": (),
    "dtmi:ex:deep:Hall;1": ("dtmi:ex:Room;1", "dtmi:ex:Space;1"),
    "dtmi:ex:Sensor;1": (),
}
"""Model -> its ancestors."""


@dataclass(frozen=True)
class Twin:
    id: str
    model: str = "dtmi:ex:Space;1"
    contents: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Edge:
    source: str
    name: str
    target: str
    contents: Mapping[str, Any] = field(default_factory=dict)


def build_graph(twins: Sequence[Twin], edges: Sequence[Edge]) -> SqliteSession:
    """A session on a new graph; the relationships are called `r1`, `r2`, ... in order."""
    connection = apsw.Connection(":memory:")
    for migration in load_migrations():
        connection.execute(migration.script).fetchall()
    connection.execute("INSERT INTO meta VALUES ('model_version', 1)")
    numbers = {model: number for number, model in enumerate(MODELS, 1)}
    for model, ancestors in MODELS.items():
        connection.execute(
            "INSERT INTO interface (id, dtmi, name, position) VALUES (?, ?, ?, ?)",
            (numbers[model], model, build_model_name(model), numbers[model]),
        )
        for ancestor in (model, *ancestors):
            connection.execute(
                "INSERT INTO interface_closure VALUES (?, ?)", (numbers[ancestor], numbers[model])
            )
    rows: dict[str, int] = {}
    for row, twin in enumerate(twins, 1):
        rows[twin.id] = row
        document = {
            "$dtId": twin.id,
            "$etag": f'W/"{row}"',
            "$metadata": {"$model": twin.model},
            **twin.contents,
        }
        connection.execute(
            "INSERT INTO twin VALUES (?, ?, ?, ?, jsonb(?))",
            (row, twin.id, numbers[twin.model], f'W/"{row}"', orjson.dumps(document).decode()),
        )
    for row, edge in enumerate(edges, 1):
        document = {
            "$relationshipId": f"r{row}",
            "$sourceId": edge.source,
            "$targetId": edge.target,
            "$relationshipName": edge.name,
            "$etag": f'W/"{row}"',
            **edge.contents,
        }
        source, target = rows[edge.source], rows[edge.target]
        text = orjson.dumps(document).decode()
        connection.execute(
            "INSERT INTO relationship VALUES (?, ?, ?, ?, ?, ?, jsonb(?))",
            (row, source, f"r{row}", edge.name, target, f'W/"{row}"', text),
        )
    return SqliteSession(connection)


def freeze(value: Any) -> Any:
    """A hashable that keeps types apart: 1, 1.0 and true are three values."""
    match value:
        case Node() | Relationship():
            return (repr(value), freeze(value.document))
        case dict():
            return ("map", *sorted((key, freeze(item)) for key, item in value.items()))
        case list() | tuple():
            return ("list", *(freeze(item) for item in value))
        case float():
            # The last bits of a sum depend on its order; SQLite may drop the sign of zero.
            return ("float", float(f"{value:.12g}") or 0.0)
        case _:
            return (type(value).__name__, value)


@dataclass(frozen=True)
class Answer:
    """What an engine made of a query: rows frozen, or the error. `declined` is `CannotRun`."""

    rows: tuple[Any, ...] = ()
    bodies: tuple[Any, ...] = ()
    error: str | None = None
    declined: str | None = None


def ask_evaluator(query: Query, graph: SqliteSession, parameters: Mapping[str, Value]) -> Answer:
    """The reference answer."""
    try:
        rows = list(evaluate(query, graph, parameters))
    except QueryInvalid as error:
        return Answer(error=str(error))
    bodies = [
        freeze(orjson.loads(render_row(query.columns, row, omit_null=query.omit_null)))
        for row in rows
    ]
    return Answer(tuple(map(freeze, rows)), tuple(bodies))


def ask_sqlite(query: Query, graph: SqliteSession, parameters: Mapping[str, Value]) -> Answer:
    """The answer of the compiled SQL, as values and as JSON."""
    try:
        compiled = SqliteQueryEngine().compile(query, parameters)
        rows = [freeze(row) for row in compiled.run_rows(graph, parameters)]
        bodies = [freeze(orjson.loads(body)) for body, _ in compiled.run_json(graph, parameters)]
    except CannotRun as error:
        return Answer(declined=error.message)
    return Answer(tuple(rows), tuple(bodies))


def check_law(
    text: str,
    graph: SqliteSession,
    parameters: Mapping[str, Value] | None = None,
    *,
    ordered: bool = False,
    lenient: bool = False,
    rewrite: Callable[[Query], Query] = lambda query: query,
) -> Answer:
    """Assert that both engines answer alike; the answer of SQLite, which may be that it cannot.

    A text that the language refuses fails the test unless `lenient`. So does, always, an error of
    the evaluator where SQL has rows. SQL is given what `rewrite` makes of the query.
    """
    given = parameters or {}
    try:
        query = parse_query(text, parameters=tuple(given)).query
    except QueryInvalid:
        assert lenient, text
        return Answer(declined="the language refuses it")
    found = ask_sqlite(rewrite(query), graph, given)
    if found.declined is None:
        expected = ask_evaluator(query, graph, given)
        assert expected.error is None, f"{text}: SQL gave rows, the evaluator {expected.error}"
        keep = tuple if ordered else _sorted
        assert keep(found.rows) == keep(expected.rows), text
        assert keep(found.bodies) == keep(expected.bodies), text
    return found


def _sorted(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=repr)


CheckLaw = Callable[..., Answer]


@pytest.fixture(scope="session")
def law() -> CheckLaw:
    """`law(text, graph, parameters)` asserts that SQL and evaluator answer alike."""
    return check_law


ODD_TWINS = (
    Twin("a", contents={"x": 1, "s": "foo", "list": [1, 2.0, "3", None]}),
    Twin("b", "dtmi:ex:Room;1", {"x": 1.0, "s": "bar", "m": {"k": 5, "deep": {"er": "x"}}}),
    Twin("c", "dtmi:ex:Room;2", {"x": "1", "s": "Foo", "m": {"k": "5"}}),
    Twin("d", "dtmi:ex:Room;2.3", {"x": True, "s": "", "m": {"k": None}}),
    Twin("e", "dtmi:ex:deep:Hall;1", {"x": None, "s": "f\0é😀", "m": {}}),
    Twin("f", "dtmi:ex:Sensor;1", {"s": "zz\uffff", "x": -0.0, "flag": True}),
    Twin("g", "dtmi:ex:Room", {"x": [1, 2], "s": "fo", "flag": False}),
    Twin("h", "dtmi:ex:Sensor;1", {"x": {"y": 1}, "s": "f\u0000", "flag": None}),
    Twin("i", "dtmi:ex:Room;1", {"x": 9223372036854775807, "s": "😀", "a.b": 1, "q\"'\\": 2}),
    Twin("j", "dtmi:ex:Room;1", {"x": 9007199254740993, "s": "é"}),
    Twin("k", "dtmi:ex:Room;1", {"x": 9007199254740992.0, "s": "true", "": 3}),
    Twin("l", "dtmi:ex:Space;1", {"x": False, "s": "1"}),
    Twin("1", "dtmi:ex:Space;1", {"x": 0.1, "s": "false"}),
)
ODD_EDGES = (
    Edge("a", "has", "b", {"w": 1}),
    Edge("a", "has", "b", {"w": 1.5}),
    Edge("b", "has", "c", {"w": "1"}),
    Edge("c", "has", "a", {}),
    Edge("c", "feeds", "c", {"w": True}),
    Edge("b", "feeds", "d", {"w": None}),
    Edge("d", "has", "e", {"w": 2}),
    Edge("e", "isPartOf", "a", {"w": 3}),
    Edge("k", "has", "l", {"w": 4}),
)


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
    ids = {twin.id for twin in twins}
    return build_graph(twins, [e for e in ODD_EDGES if {e.source, e.target} <= ids])


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., SqliteSession]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""

    def make(twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]) -> SqliteSession:
        return build_graph([Twin(*each) for each in twins], [Edge(*each) for each in edges])

    return make
