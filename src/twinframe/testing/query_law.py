"""The law of query engines: the answer of an engine equals that of the evaluator.

`QueryLaw` asks both and compares. `twinframe.testing.query_contract` has the tests that need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import orjson

from twinframe.errors import QueryInvalid
from twinframe.model.rendering import render_json, render_row
from twinframe.model.values import Node, Path, Relationship, Value
from twinframe.query.algebra import Direction, LabelExpression, Query, ResultShape
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.reader import Hop
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.storage.memory import MemorySession, MemoryStore

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
    ("1", "dtmi:ex:Space;1", {"x": 0.1, "s": "false"}),
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
)
"""Twins whose properties have values that are easily mistyped.

NOTE: they are in the order of their ids: of 1 and 1.0 in one group, the first in the order of the
scan is the key.
"""

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


SMALL_TWINS: Final = ODD_TWINS[1:9]
SMALL_EDGES: Final = tuple(
    edge for edge in ODD_EDGES if {edge[0], edge[2]} <= {twin[0] for twin in SMALL_TWINS}
)
"""Eight of the odd twins: few enough for patterns of several parts."""

PLAIN_TWINS: Final[tuple[TwinSketch, ...]] = tuple(
    (name, model, {"s": contents["s"], "flag": contents.get("flag"), "x": at + 0.5})
    for at, (name, model, contents) in enumerate(ODD_TWINS)
    if name in "bcefl1"
)
PLAIN_EDGES: Final = tuple(
    edge for edge in ODD_EDGES if {edge[0], edge[2]} <= {twin[0] for twin in PLAIN_TWINS}
)
"""Twins without numbers that look alike, lists and maps: what an engine guards against is not here.
"""

OpenGraph: TypeAlias = Callable[
    [Sequence[TwinSketch], Sequence[EdgeSketch]], AbstractContextManager[GraphSession]
]
"""Makes a graph of these twins and relationships, with all models, and opens a session on it."""


class OrderedMemorySession(MemorySession):
    """Scans and hops come in the order of ids.

    NOTE: of 1 and 1.0 in one group the first is the key, so the order of a scan is seen in answers.
    """

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """By the id of the twin."""
        yield from sorted(super().scan_nodes(labels), key=lambda node: node.id)

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """By the id, which tells in which order they were written."""
        yield from sorted(super().scan_relationships(types), key=lambda one: (len(one.id), one.id))

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """By the id of the relationship, for each origin."""
        for origin in origins:
            hops = super().read_hops([origin], direction, types)
            yield from sorted(hops, key=lambda hop: (len(hop.relationship.id), hop.relationship.id))


class OrderedMemoryStore(MemoryStore):
    """The store of the reference answers."""

    def session(self) -> GraphSession:
        """A session that sees the newest state at each call."""
        graph = self._graph
        return OrderedMemorySession(graph.instance, lambda: graph.state)


@dataclass(frozen=True)
class Answer:
    """The result of a query in an engine: rows frozen, or the error.

    `bodies` are the rows as JSON of the engine's own, `rendered` that of its values. `declined` is
    the reason of `CannotRun`; `declined_as_written` that for the query before it was optimized.
    """

    rows: tuple[Any, ...] = ()
    bodies: tuple[Any, ...] = ()
    rendered: tuple[Any, ...] = ()
    error: str | None = None
    declined: str | None = None
    declined_as_written: str | None = None


@dataclass(frozen=True)
class LawGraph:
    """One graph twice: in the engine's store, and for the evaluator."""

    session: GraphSession
    reference: GraphSession


class QueryLaw:
    """Runs queries in an engine and the evaluator, and asserts that the answers are equal.

    The graphs `odd`, `small` and `plain` are opened when they are first used, until `close`.
    """

    def __init__(self, engine: QueryEngine, open_graph: OpenGraph) -> None:
        self.engine = engine
        self._open_graph = open_graph
        self._opened = ExitStack()

    @cached_property
    def odd(self) -> LawGraph:
        """Thirteen twins with values that are easily mistyped, and a few cycles."""
        return self._opened.enter_context(self.open(ODD_TWINS, ODD_EDGES))

    @cached_property
    def small(self) -> LawGraph:
        """Eight of the odd twins."""
        return self._opened.enter_context(self.open(SMALL_TWINS, SMALL_EDGES))

    @cached_property
    def plain(self) -> LawGraph:
        """Six twins of which no value is guarded against."""
        return self._opened.enter_context(self.open(PLAIN_TWINS, PLAIN_EDGES))

    @contextmanager
    def open(
        self, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch] = ()
    ) -> Iterator[LawGraph]:
        """Make this graph for the engine and for the evaluator."""
        with (
            self._open_graph(twins, edges) as session,
            open_stored(OrderedMemoryStore(), twins, edges) as reference,
        ):
            yield LawGraph(session, reference)

    def close(self) -> None:
        """Close the graphs that were opened."""
        self._opened.close()

    def check(
        self,
        text: str,
        graph: LawGraph | None = None,
        parameters: Mapping[str, Value] | None = None,
        *,
        ordered: bool = False,
        lenient: bool = False,
        composed: bool = False,
    ) -> Answer:
        """Assert that both answer alike; return the engine's answer, which may be that it declines.

        The engine runs the query as it is written and, as a service does, optimized; the answer is
        that to the second. The graph is `odd` by default. A text that the language refuses fails
        the test unless `lenient`. So does an error of the evaluator where the engine has rows,
        unless the text is `composed` of several clauses: an engine need not meet the error of what
        a later clause drops, and of equal numbers that are one group any may be its key.
        """
        graph, given = graph or self.odd, parameters or {}
        try:
            query = parse_query(text, parameters=tuple(given)).query
        except QueryInvalid:
            assert lenient, text
            return Answer(declined="the language refuses it")
        better = optimize(query)
        answers = [self.ask(each, graph, given) for each in (query, better)[better is query :]]
        if any(found.declined is None for found in answers):
            expected = ask_evaluator(query, graph.reference, given)
            keep = tuple if ordered else _sort_merged if composed else _sorted
            for found in answers:
                if found.declined is None and not (composed and expected.error is not None):
                    assert expected.error is None, f"{text}: rows, not the error {expected.error}"
                    assert keep(found.rows) == keep(expected.rows), text
                    assert keep(found.bodies) == keep(found.rendered), text
        return replace(answers[-1], declined_as_written=answers[0].declined)

    def ask(self, query: Query, graph: LawGraph, parameters: Mapping[str, Value]) -> Answer:
        """Return the answer of the engine, as values and as JSON."""
        try:
            compiled = self.engine.compile(query, parameters)
            with graph.session.snapshot():
                rows = list(compiled.run_rows(graph.session, parameters))
                bodies = [
                    freeze(orjson.loads(body))
                    for body, _ in compiled.run_json(graph.session, parameters)
                ]
        except CannotRun as error:
            return Answer(declined=error.message)
        return Answer(tuple(map(freeze, rows)), tuple(bodies), _render(query, rows))


def ask_evaluator(query: Query, session: GraphSession, parameters: Mapping[str, Value]) -> Answer:
    """Return the reference answer."""
    try:
        rows = list(evaluate(query, session, parameters))
    except QueryInvalid as error:
        return Answer(error=str(error))
    bodies = _render(query, rows)
    return Answer(tuple(map(freeze, rows)), bodies, bodies)


def _render(query: Query, rows: Sequence[Sequence[Value]]) -> tuple[Any, ...]:
    def render(row: Sequence[Value]) -> bytes:
        if query.shape is ResultShape.DOCUMENT:
            return render_json(row[0])
        return render_row(query.columns, row, omit_null=query.omit_null)

    return tuple(freeze(orjson.loads(render(row))) for row in rows)


def freeze(value: Any) -> Any:
    """Return a hashable that keeps types apart: 1, 1.0 and true are three values.

    A list of paths has no order: it is what a pattern matches, in any order.
    """
    match value:
        case [Path(), *others] if others and all(isinstance(one, Path) for one in others):
            return ("paths", *sorted(map(freeze, value), key=repr))
        case Node():
            labels = ("labels", *sorted(value.labels))
            return ("node", value.id, labels, repr(value.document), freeze(value.document))
        case Relationship():
            return (repr(value), freeze(value.document))
        case Path():
            return ("path", freeze(value.nodes), freeze(value.relationships))
        case dict():
            return ("map", *sorted((key, freeze(item)) for key, item in value.items()))
        case list() | tuple():
            return ("list", *(freeze(item) for item in value))
        case float() if math.isnan(value):
            return ("float", "NaN")  # which equals itself here
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


@contextmanager
def open_stored(
    store: GraphStore, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
) -> Iterator[GraphSession]:
    """Open an empty store, write this graph to it, and open a session; close both at the end."""
    store.open()
    write_graph(store, twins, edges)
    session = store.session()
    try:
        yield session
    finally:
        session.close()
        store.close()


def _sorted(rows: Sequence[Any]) -> list[Any]:
    return sorted(rows, key=repr)


def _sort_merged(rows: Sequence[Any]) -> list[Any]:
    return _sorted([_merge_numbers(row) for row in rows])


def _merge_numbers(frozen: Any) -> Any:
    """Whole floats as integers."""
    match frozen:
        case ("float", float() as number) if number.is_integer():
            return ("int", int(number))
        case tuple():
            return tuple(map(_merge_numbers, frozen))
        case _:
            return frozen
