"""The law test of query engines: an engine's answer must equal the evaluator's.

A plugin's tests make a `QueryLaw` of their engine and check the texts of `query_corpora`, over the
graph that is described here or over graphs of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson

from twinframe.errors import QueryInvalid
from twinframe.model.rendering import render_row
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.language import parse_query
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)

TwinSketch: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""Id, model and contents of a twin."""

EdgeSketch: TypeAlias = tuple[str, str, str, Mapping[str, Any]]
"""Source, name, target and contents of a relationship; their ids are `r1`, `r2` ... in order."""

MODELS: Final[Mapping[str, tuple[str, ...]]] = {
    "dtmi:ex:Space;1": (),
    "dtmi:ex:Room;1": ("dtmi:ex:Space;1",),
    "dtmi:ex:Room;2": (),
    "dtmi:ex:Room;2.3": (),
    "dtmi:ex:Room": (),
    "dtmi:ex:deep:Hall;1": ("dtmi:ex:Room;1",),
    "dtmi:ex:Sensor;1": (),
}
"""The models of all graphs, each with those it extends."""

ODD_TWINS: Final[tuple[TwinSketch, ...]] = (
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
"""Twins whose properties have values that are easily mistyped."""

ODD_EDGES: Final[tuple[EdgeSketch, ...]] = (
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
"""A few cycles, a loop, and parallel relationships between them."""


@dataclass(frozen=True)
class Answer:
    """The result of a query in an engine: rows frozen, or the error. `declined` is `CannotRun`."""

    rows: tuple[Any, ...] = ()
    bodies: tuple[Any, ...] = ()
    error: str | None = None
    declined: str | None = None


@dataclass(frozen=True)
class LawGraph:
    """One graph twice: in the engine's store, and for the evaluator."""

    session: GraphSession
    reference: GraphSession


class QueryLaw:
    """Runs queries in an engine and the evaluator, and asserts that the answers are equal."""

    def __init__(self, engine: QueryEngine) -> None:
        self.engine = engine

    def check(
        self,
        text: str,
        graph: LawGraph,
        parameters: Mapping[str, Value] | None = None,
        *,
        ordered: bool = False,
        lenient: bool = False,
        rewrite: Callable[[Query], Query] = lambda query: query,
    ) -> Answer:
        """Assert that both answer alike; return the engine's answer, which may be that it declines.

        A text that the language refuses fails the test unless `lenient`. So does, always, an error
        of the evaluator where the engine has rows. The engine gets the result of `rewrite` on the
        query.
        """
        given = parameters or {}
        try:
            query = parse_query(text, parameters=tuple(given)).query
        except QueryInvalid:
            assert lenient, text
            return Answer(declined="the language refuses it")
        found = self.ask(rewrite(query), graph, given)
        if found.declined is None:
            expected = ask_evaluator(query, graph.reference, given)
            assert expected.error is None, f"{text}: rows, but the evaluator: {expected.error}"
            keep = tuple if ordered else _sorted
            assert keep(found.rows) == keep(expected.rows), text
            assert keep(found.bodies) == keep(expected.bodies), text
        return found

    def ask(self, query: Query, graph: LawGraph, parameters: Mapping[str, Value]) -> Answer:
        """Return the answer of the engine, as values and as JSON."""
        try:
            compiled = self.engine.compile(query, parameters)
            with graph.session.snapshot():
                rows = [freeze(row) for row in compiled.run_rows(graph.session, parameters)]
                bodies = [
                    freeze(orjson.loads(body))
                    for body, _ in compiled.run_json(graph.session, parameters)
                ]
        except CannotRun as error:
            return Answer(declined=error.message)
        return Answer(tuple(rows), tuple(bodies))


def ask_evaluator(query: Query, session: GraphSession, parameters: Mapping[str, Value]) -> Answer:
    """Return the reference answer."""
    try:
        rows = list(evaluate(query, session, parameters))
    except QueryInvalid as error:
        return Answer(error=str(error))
    bodies = [
        freeze(orjson.loads(render_row(query.columns, row, omit_null=query.omit_null)))
        for row in rows
    ]
    return Answer(tuple(map(freeze, rows)), tuple(bodies))


def freeze(value: Any) -> Any:
    """Return a hashable that keeps types apart: 1, 1.0 and true are three values."""
    match value:
        case Node() | Relationship():
            return (repr(value), freeze(value.document))
        case dict():
            return ("map", *sorted((key, freeze(item)) for key, item in value.items()))
        case list() | tuple():
            return ("list", *(freeze(item) for item in value))
        case float():
            # NOTE: the last bits of a sum depend on its order; engines may drop the sign of zero.
            return ("float", float(f"{value:.12g}") or 0.0)
        case _:
            return (type(value).__name__, value)


def build_twin_document(row: int, twin: TwinSketch) -> dict[str, Any]:
    """The document of the twin that is number `row`."""
    twin_id, model, contents = twin
    head = {"$dtId": twin_id, "$etag": f'W/"{row}"', "$metadata": {"$model": model}}
    return {**head, **contents}


def build_edge_document(row: int, edge: EdgeSketch) -> dict[str, Any]:
    """The document of the relationship that is number `row`."""
    source, name, target, contents = edge
    return {
        "$relationshipId": f"r{row}",
        "$sourceId": source,
        "$targetId": target,
        "$relationshipName": name,
        "$etag": f'W/"{row}"',
        **contents,
    }


def write_graph(
    store: GraphStore, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
) -> None:
    """Write the models and these twins and relationships to an empty, open store."""

    def apply(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )
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


def _sorted(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=repr)
