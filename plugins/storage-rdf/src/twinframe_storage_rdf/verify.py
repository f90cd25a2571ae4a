"""Verifies a stored graph: compares its triples with those that its documents require."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Final

import orjson

from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import State
from twinframe_storage_rdf.draft import measure_record
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.hierarchy import HierarchyCache
from twinframe_storage_rdf.mapping import (
    Triple,
    build_edge_triple,
    build_relationship_triples,
    build_twin_triples,
)
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, batched
from twinframe_storage_rdf.terms import Iri, OtherLiteral, Term, render_iri, render_term
from twinframe_storage_rdf.view import View

_MOST_FAULTS: Final = 100


def find_faults(engine: Engine, queries: Queries) -> Iterator[str]:
    """Yield all faults, in one state of the graph as long as there is no writer."""
    view = View(engine, queries)
    records = Records(queries, view, HierarchyCache())
    known = records.read_hierarchy().interfaces
    faults = chain(
        _find_all(engine, queries, records, frozenset(known)),
        _find_miscounts(queries, records, view.read_state()),
        _find_lost_events(records, view.read_state()),
    )
    yield from islice(faults, _MOST_FAULTS)
    if next(faults, None) is not None:
        yield "and more"


def _find_all(
    engine: Engine, queries: Queries, records: Records, known: frozenset[str]
) -> Iterator[str]:
    names = queries.names
    twins: set[str] = set()
    expected_edges: dict[str, list[Triple]] = {}
    relationships = list(records.scan_relationships(()))
    for record in relationships:
        expected_edges.setdefault(record.source_id, []).append(build_edge_triple(record))
    for batch in batched(records.scan_twins(None)):
        expected: list[Triple] = []
        for twin in batch:
            twins.add(twin.twin_id)
            expected += build_twin_triples(names, twin)
            expected += expected_edges.get(twin.twin_id, ())
            if orjson.loads(twin.body).get("$dtId") != twin.twin_id:
                yield f"the document of the twin {twin.twin_id!r} has another id"
            if twin.model_id not in known:
                yield f"the interface {twin.model_id} of the twin {twin.twin_id!r} is not known"
        yield from _compare(engine, queries, expected)
    for some in batched(relationships):
        for record in some:
            for end in (record.source_id, record.target_id):
                if end not in twins:
                    yield (
                        f"the relationship {record.relationship_id!r} of {record.source_id!r} "
                        f"ends at {end!r}, which is no twin"
                    )
        yield from _compare(
            engine, queries, [t for record in some for t in build_relationship_triples(record)]
        )
    yield from _find_strays(engine, queries, len(twins), len(relationships))


def _compare(engine: Engine, queries: Queries, expected: Iterable[Triple]) -> Iterator[str]:
    """Yield the subjects whose triples are not exactly the expected ones."""
    render = render_term if engine.keeps_numbers else _render_loosely
    wanted = {tuple(map(render, triple)) for triple in expected}
    subjects = " ".join(dict.fromkeys(triple[0] for triple in wanted))
    data = render_iri(queries.names.data)
    rows = engine.select(
        f"SELECT ?s ?p ?o WHERE {{ GRAPH {data} {{ VALUES ?s {{ {subjects} }} ?s ?p ?o }} }}"
    )
    found = {tuple(map(render, row)) for row in rows}
    for triple in sorted(wanted - found):
        yield f"the triple {' '.join(triple)} is missing"
    for triple in sorted(found - wanted):
        yield f"the triple {' '.join(triple)} should not be there"


def _render_loosely(term: Term) -> str:
    is_number = isinstance(term, (int, float, OtherLiteral)) and not isinstance(term, bool)
    return "a number" if is_number else render_term(term)


def _find_miscounts(queries: Queries, records: Records, state: State) -> Iterator[str]:
    twins = content = 0
    for twin in records.scan_twins(None):
        twins += 1
        content += measure_record(queries.names, twin)
    for relationship in records.scan_relationships(()):
        content += measure_record(queries.names, relationship)
    for model in records.list_models(0, None):
        content += measure_record(queries.names, model)
    if twins != state.twins:
        yield f"there are {twins} twins, but {state.twins} are counted"
    if content != state.content:
        yield f"triples take {content} bytes, but {state.content} are counted"


def _find_lost_events(records: Records, state: State) -> Iterator[str]:
    for batch in batched(range(state.first_event, state.last_event + 1)):
        found = records.read_events(batch)
        yield from (f"the event {at} is missing" for at in batch if at not in found)


def _find_strays(engine: Engine, queries: Queries, twins: int, relationships: int) -> Iterator[str]:
    data = render_iri(queries.names.data)
    for kind, count in ((v.TWIN, twins), (v.RELATIONSHIP, relationships)):
        rows = engine.select(
            f"SELECT (COUNT(?x) AS ?n) WHERE {{ GRAPH {data} "
            f"{{ ?x {render_iri(v.RDF_TYPE)} {render_iri(Iri(kind))} }} }}"
        )
        ((found,),) = rows
        if found != count:
            yield f"{found!r} resources are {kind}, but {count} can be read"
