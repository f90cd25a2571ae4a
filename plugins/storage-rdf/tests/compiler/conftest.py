"""Small graphs as triples, and queries run by the compiled SPARQL and by the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from twinframe.cypher.algebra import Query
from twinframe.cypher.language import parse_query
from twinframe.errors import QueryInvalid
from twinframe.evaluator.engine import run as evaluate
from twinframe.model.rendering import render_row
from twinframe.model.values import Node, Relationship, Value
from twinframe.storage.base import (
    CannotRun,
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.storage.memory import MemoryStore
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.store import RdfStore

MODELS: dict[str, tuple[str, ...]] = {
    "dtmi:ex:Space;1": (),
    "dtmi:ex:Room;1": ("dtmi:ex:Space;1",),
    "dtmi:ex:Room;2": (),
    "dtmi:ex:Room;2.3": (),
    "dtmi:ex:Room": (),
    "dtmi:ex:deep:Hall;1": ("dtmi:ex:Room;1",),
    "dtmi:ex:Sensor;1": (),
}
"""Model -> what it extends."""
NAMES = GraphNames("test")


@dataclass(frozen=True)
class LawGraph:
    """One graph twice: as triples, and in the reference store."""

    triples: RdfSession
    reference: GraphSession


def _fill(store: GraphStore, twins: Sequence[tuple[Any, ...]], edges: Sequence[Any]) -> None:
    def work(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )
        for row, (twin_id, *rest) in enumerate(twins, 1):
            model = rest[0] if rest else "dtmi:ex:Space;1"
            document = {
                "$dtId": twin_id,
                "$etag": f'W/"{row}"',
                "$metadata": {"$model": model},
                **(rest[1] if len(rest) > 1 else {}),
            }
            record = TwinRecord(twin_id, model, f'W/"{row}"', orjson.dumps(document))
            transaction.put_twin(record)
        for row, (source, name, target, *rest) in enumerate(edges, 1):
            document = {
                "$relationshipId": f"r{row}",
                "$sourceId": source,
                "$targetId": target,
                "$relationshipName": name,
                "$etag": f'W/"{row}"',
                **(rest[0] if rest else {}),
            }
            transaction.put_relationship(
                RelationshipRecord(
                    source, f"r{row}", name, target, f'W/"{row}"', orjson.dumps(document)
                )
            )

    (outcome,) = store.write([work])
    if outcome.error is not None:
        raise outcome.error


def build_graph(twins: Sequence[tuple[Any, ...]], edges: Sequence[tuple[Any, ...]]) -> LawGraph:
    """The relationships are called `r1`, `r2`, ... in order."""
    store, reference = RdfStore(OxigraphEngine(), NAMES, shared=False), MemoryStore()
    for each in (store, reference):
        each.open()
        _fill(each, twins, edges)
    return LawGraph(store.session(), reference.session())


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
            # The last bits of a sum depend on its order.
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


def ask_evaluator(query: Query, graph: LawGraph, parameters: Mapping[str, Value]) -> Answer:
    """The reference answer."""
    try:
        rows = list(evaluate(query, graph.reference, parameters))
    except QueryInvalid as error:
        return Answer(error=str(error))
    bodies = [
        freeze(orjson.loads(render_row(query.columns, row, omit_null=query.omit_null)))
        for row in rows
    ]
    return Answer(tuple(map(freeze, rows)), tuple(bodies))


def ask_sparql(query: Query, graph: LawGraph, parameters: Mapping[str, Value]) -> Answer:
    """The answer of the compiled SPARQL, as values and as JSON."""
    try:
        compiled = SparqlQueryEngine(NAMES).compile(query, parameters)
        with graph.triples.snapshot():
            rows = [freeze(row) for row in compiled.run_rows(graph.triples, parameters)]
            bodies = [
                freeze(orjson.loads(body))
                for body, _ in compiled.run_json(graph.triples, parameters)
            ]
    except CannotRun as error:
        return Answer(declined=error.message)
    return Answer(tuple(rows), tuple(bodies))


def check_law(
    text: str,
    graph: LawGraph,
    parameters: Mapping[str, Value] | None = None,
    *,
    ordered: bool = False,
    lenient: bool = False,
    rewrite: Callable[[Query], Query] = lambda query: query,
) -> Answer:
    """Assert that both engines answer alike; the answer of SPARQL, which may be that it cannot.

    A text that the language refuses fails the test unless `lenient`. So does, always, an error of
    the evaluator where SPARQL has rows.
    """
    given = parameters or {}
    try:
        query = parse_query(text, parameters=tuple(given)).query
    except QueryInvalid:
        assert lenient, text
        return Answer(declined="the language refuses it")
    found = ask_sparql(rewrite(query), graph, given)
    if found.declined is None:
        expected = ask_evaluator(query, graph, given)
        assert expected.error is None, f"{text}: SPARQL gave rows, the evaluator {expected.error}"
        keep = tuple if ordered else _sorted
        assert keep(found.rows) == keep(expected.rows), text
        assert keep(found.bodies) == keep(expected.bodies), text
    return found


def _sorted(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=repr)


@pytest.fixture(scope="session")
def law() -> Callable[..., Answer]:
    """`law(text, graph, parameters)` asserts that SPARQL and evaluator answer alike."""
    return check_law


ODD_TWINS: tuple[tuple[Any, ...], ...] = (
    ("a", "dtmi:ex:Space;1", {"x": 1, "s": "foo", "list": [1, 2.0, "3", None]}),
    ("b", "dtmi:ex:Room;1", {"x": 1.0, "s": "bar", "m": {"k": 5, "deep": {"er": "x"}}}),
    ("c", "dtmi:ex:Room;2", {"x": "1", "s": "Foo", "m": {"k": "5"}}),
    ("d", "dtmi:ex:Room;2.3", {"x": True, "s": "", "m": {"k": None}}),
    ("e", "dtmi:ex:deep:Hall;1", {"x": None, "s": "f\0é😀", "m": {}}),
    ("f", "dtmi:ex:Sensor;1", {"s": "zz\uffff", "x": -0.0, "flag": True}),
    ("g", "dtmi:ex:Room", {"x": [1, 2], "s": "fo", "flag": False}),
    ("h", "dtmi:ex:Sensor;1", {"x": {"y": 1}, "s": "f\u0000", "flag": None}),
    ("i", "dtmi:ex:Room;1", {"x": 9223372036854775807, "s": "😀", "a.b": 1, "q\"'\\": 2}),
    ("j", "dtmi:ex:Room;1", {"x": 9007199254740993, "s": "é"}),
    ("k", "dtmi:ex:Room;1", {"x": 9007199254740992.0, "s": "true", "": 3}),
    ("l", "dtmi:ex:Space;1", {"x": False, "s": "1"}),
    ("1", "dtmi:ex:Space;1", {"x": 0.1, "s": "false"}),
)
ODD_EDGES: tuple[tuple[Any, ...], ...] = (
    ("a", "has", "b", {"w": 1}),
    ("a", "has", "b", {"w": 1.5}),
    ("b", "has", "c", {"w": "1"}),
    ("c", "has", "a", {}),
    ("c", "feeds", "c", {"w": True}),
    ("b", "feeds", "d", {"w": None}),
    ("d", "has", "e", {"w": 2}),
    ("e", "isPartOf", "a", {"w": 3}),
    ("k", "has", "l", {"w": 4}),
)


@pytest.fixture(scope="session")
def odd_graph() -> LawGraph:
    """Thirteen twins whose properties hold what typing gets wrong, and a few cycles."""
    return build_graph(ODD_TWINS, ODD_EDGES)


@pytest.fixture(scope="session")
def plain_graph() -> LawGraph:
    """The twins without numbers that look alike, lists and maps: what is guarded runs here."""
    kept = ("b", "c", "e", "f", "l", "1")
    twins = [
        (name, model, {"s": contents["s"], "flag": contents.get("flag"), "x": at + 0.5})
        for at, (name, model, contents) in enumerate(ODD_TWINS)
        if name in kept
    ]
    edges = [edge for edge in ODD_EDGES if edge[0] in kept and edge[2] in kept]
    return build_graph(twins, edges)


@pytest.fixture(scope="session")
def make_graph() -> Callable[..., LawGraph]:
    """`make_graph([(id, model, contents), ...], [(source, name, target, contents), ...])`."""
    return build_graph
