"""Query shapes on an embedded Oxigraph, each beside the same question as SPARQL written by hand.

`python -m benchmarks.rdf [--twins N] [--seconds S]`. Ours is a cached plan run in a snapshot of a
session, to rows of JSON. By hand is the bare library: the query, and the same rows of JSON made of
its terms. Both are times of this thread, taken in turns, each with draws of its own.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pyoxigraph

from benchmarks.graph import Shape, fill
from benchmarks.queries import QUESTIONS, Bindings, Question
from benchmarks.report import Figure, Report
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import Execution, WholeExecution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe_storage_rdf.compiler.engine import SparqlQueryEngine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import render_iri, render_term
from twinframe_storage_rdf.vocabulary import BASE, build_edge_iri, build_twin_iri

NAMES = GraphNames("bench")
_PAGE = 1000
_PREFIXES = (
    f"PREFIX tf: <{BASE}vocabulary:> PREFIX p: <{BASE}property:> "
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
)
_LABEL = '?c rdfs:subClassOf* ?l . ?l tf:label "{}" . ?t tf:model ?c .'
_HOP = '?{0} tf:source ?{1} ; tf:target ?{2} ; tf:name "{3}" .'

HAND = {
    "point by $dtId": "SELECT ?name { ?t tf:id $id OPTIONAL { ?t p:name ?name } }",
    "1 hop": f"SELECT ?name {{ ?s tf:id $id . {_HOP.format('r', 's', 't', 'contains')} "
    "OPTIONAL { ?t p:name ?name } }",
    "incoming": f"SELECT ?name {{ ?t tf:id $id . {_HOP.format('r', 's', 't', 'observes')} "
    "OPTIONAL { ?s p:name ?name } }",
    "3 hops with a filter": (
        f"SELECT ?id ?value {{ ?b tf:id $id . {_HOP.format('r1', 'b', 'l', 'contains')} "
        f"{_HOP.format('r2', 'l', 'r', 'contains')} {_HOP.format('r3', 's', 'r', 'observes')} "
        "?s p:value ?value . ?s tf:id ?id FILTER(?r1 != ?r2 && ?value > $least) }"
    ),
    "3 hops, counted": (
        f"SELECT (COUNT(*) AS ?n) {{ ?b tf:id $id . {_HOP.format('r1', 'b', 'l', 'contains')} "
        f"{_HOP.format('r2', 'l', 'r', 'contains')} {_HOP.format('r3', 's', 'r', 'observes')} "
        "FILTER(?r1 != ?r2) }"
    ),
    "label, range, order, limit": (
        f"SELECT ?name ?area {{ {_LABEL.format('Room')} ?t p:area ?area . "
        "OPTIONAL { ?t p:name ?name } FILTER(?area > $least) } ORDER BY DESC(?area) LIMIT 20"
    ),
    "aggregate by group": (
        f"SELECT ?maker (COUNT(*) AS ?n) (AVG(?v) AS ?mean) {{ {_LABEL.format('Sensor')} "
        "OPTIONAL { ?t p:maker ?maker } OPTIONAL { ?t p:value ?v } } GROUP BY ?maker"
    ),
    "count": f"SELECT (COUNT(*) AS ?n) {{ {_LABEL.format('Sensor')} }}",
    "substring scan": (
        f"SELECT ?id {{ {_LABEL.format('Room')} ?t p:name ?name ; tf:id ?id "
        "FILTER(CONTAINS(?name, $part)) }"
    ),
    "page of 1,000 documents": (
        "SELECT ?d { { SELECT ?t ?p ?id { ?t a tf:Twin ; tf:place ?p ; tf:id ?id } "
        "ORDER BY ?p ?id LIMIT 1000 } ?t tf:document ?d } ORDER BY ?p ?id"
    ),
}
"""By the name of the question; parallel relationships count in all of them, as they do in Cypher.

The order of a page is part of the question: without one, nothing says where the next page starts.
It is by places, which ours looks at one after the other; by hand, all twins are put in order.
"""


@dataclass(frozen=True, slots=True)
class ByHand:
    """The bare library."""

    store: Any

    def run(self, question: Question, bindings: Bindings) -> list[bytes]:
        """The rows of a question as JSON."""
        if question.name == "shortest path":
            return self._search(bindings)
        if question.name == "variable length 1..4":
            return self._ask(_build_walk(), bindings)
        return self._ask(HAND[question.name], bindings)

    def _ask(self, text: str, bindings: Bindings) -> list[bytes]:
        for name, value in bindings.items():
            text = text.replace(f"${name}", render_term(value))
        found = self.store.query(_PREFIXES + text, default_graph=_GRAPH)
        names = [variable.value for variable in found.variables]
        if names == ["d"]:
            return [row[0].value.encode() for row in found]
        return [
            orjson.dumps({name: _read(row[at]) for at, name in enumerate(names)}) for row in found
        ]

    def _search(self, bindings: Bindings) -> list[bytes]:
        """SPARQL gives no length of a path: one question for each length, until one says yes."""
        edges = [render_iri(build_edge_iri(name)) for name in ("contains", "adjacentTo")]
        step = "(" + "|".join(f"{edge}|^{edge}" for edge in edges) + ")"
        ends = [render_iri(build_twin_iri(str(bindings[name]))) for name in ("from", "to")]
        for length in range(1, 7):
            path = "/".join([step] * length)
            if self.store.query(f"ASK {{ {ends[0]} {path} {ends[1]} }}", default_graph=_GRAPH):
                return [orjson.dumps({"n": length})]
        return []


_GRAPH = pyoxigraph.NamedNode(str(NAMES.data))


def _build_walk() -> str:
    arms = []
    for length in range(1, 5):
        nodes = ["b", *(f"n{length}{at}" for at in range(1, length)), "x"]
        rows = [f"r{length}{at}" for at in range(length)]
        hops = [
            _HOP.format(row, nodes[at], nodes[at + 1], "contains") for at, row in enumerate(rows)
        ]
        apart = [f"?{one} != ?{two}" for one in rows for two in rows if one < two]
        condition = f"FILTER({' && '.join(apart)})" if apart else ""
        # NOTE: the start stands in each arm: beside them, it would be joined behind all walks.
        arms.append(f"{{ ?b tf:id $id . {' '.join(hops)} {condition} }}")
    return f"SELECT ?id {{ ?b tf:id $id . {' UNION '.join(arms)} ?x tf:id ?id }}"


def _read(term: Any) -> object:
    if term is None:
        return None
    kind = term.datatype.value.rpartition("#")[2]
    if kind == "string":
        return term.value
    return int(term.value) if kind == "integer" else float(term.value)


def measure(report: Report, twins: int, *, seconds: float) -> None:
    """All shapes on a graph in memory; aim: at most 1.5 times the SPARQL by hand and 0.3 ms."""
    engine, shape = OxigraphEngine(), Shape(twins)
    store = RdfStore(engine, NAMES, shared=False)
    store.open()
    start = time.perf_counter()
    fill(store, shape)
    print(f"made a graph of {twins} twins in {time.perf_counter() - start:.0f} s", flush=True)
    by_hand = ByHand(engine._store)
    for question in QUESTIONS:
        _measure(report, question, store.session(), by_hand, shape, seconds)


def main() -> None:
    """Make the graph in memory, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rdf")
    parser.add_argument("--twins", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=2.0, help="for each shape")
    asked, report = parser.parse_args(), Report()
    measure(report, asked.twins, seconds=asked.seconds)
    report.render()


def _measure(
    report: Report,
    question: Question,
    session: RdfSession,
    by_hand: ByHand,
    shape: Shape,
    seconds: float,
) -> None:
    bindings = question.draw(random.Random(1), shape)
    query = optimize(parse_query(question.cypher, parameters=tuple(bindings)).query)
    execution = split(query, SparqlQueryEngine(NAMES), bindings)

    def ours(drawn: Bindings) -> list[bytes]:
        return list(_run(execution, session, drawn))

    def hand(drawn: Bindings) -> list[bytes]:
        return by_hand.run(question, drawn)

    _check_equal(question, ours(bindings), hand(bindings))
    own, floor = _time(ours, hand, question, shape, seconds)
    whole = "" if isinstance(execution, WholeExecution) else " (evaluator)"
    aim = "≤ 1.5 × by hand + 0.3 ms"
    name = f"rdf: {question.name}{whole}"
    kept = own <= 1.5 * floor + 0.3
    report.add(Figure(name, own, "ms", floor, own / floor, aim, kept))


def _run(execution: Execution, session: RdfSession, bindings: Bindings) -> Iterator[bytes]:
    with session.snapshot(time.monotonic() + 60):
        for body, _ in execution.run_json(session, bindings, Limits(), limit=_PAGE):
            yield body


def _time(
    ours: Callable[[Bindings], object],
    hand: Callable[[Bindings], object],
    question: Question,
    shape: Shape,
    seconds: float,
) -> tuple[float, float]:
    dice = (random.Random(2), random.Random(4))
    times: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + seconds
    while len(times[0]) < 5 or (time.perf_counter() < end and len(times[0]) < 500):
        for call, own_dice, kept in zip((ours, hand), dice, times, strict=True):
            drawn = question.draw(own_dice, shape)
            start = time.thread_time()
            call(drawn)
            kept.append(time.thread_time() - start)
    return statistics.median(times[0]) * 1000, statistics.median(times[1]) * 1000


def _check_equal(question: Question, ours: list[bytes], hand: list[bytes]) -> None:
    def keys(rows: list[bytes]) -> list[str]:
        found = [orjson.loads(row) for row in rows]
        return sorted(
            repr(sorted((k, round(v, 6) if isinstance(v, float) else v) for k, v in row.items()))
            for row in found
        )

    if keys(ours) != keys(hand[:_PAGE]):
        raise RuntimeError(f"{question.name}: ours and by hand differ")


if __name__ == "__main__":
    main()
