"""Graphs written as RDF are read by other libraries as the very triples they were."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import orjson
import pyoxigraph
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.storage.triples import (
    GRAPH_SYNTAXES,
    JSON_LD,
    N_QUADS,
    N_TRIPLES,
    TRIG,
    TURTLE,
    Content,
    Syntax,
)
from twinframe.testing.factories import (
    build_model_record,
    build_relationship_record,
    build_twin_record,
)
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames, Triple, build_twin_triples
from twinframe_storage_rdf.plugin import RdfWriter
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Iri, render_term
from twinframe_storage_rdf.triples.nodes import iterate_nodes
from twinframe_storage_rdf.triples.syntaxes import write_nodes
from twinframe_storage_rdf.vocabulary import DOCUMENT

NAMES = GraphNames("g 1")
FORMATS = {
    TURTLE: pyoxigraph.RdfFormat.TURTLE,
    N_TRIPLES: pyoxigraph.RdfFormat.N_TRIPLES,
    N_QUADS: pyoxigraph.RdfFormat.N_QUADS,
    TRIG: pyoxigraph.RdfFormat.TRIG,
    JSON_LD: pyoxigraph.RdfFormat.JSON_LD,
}
RDFLIB_NAMES = {TURTLE: "turtle", N_TRIPLES: "nt", N_QUADS: "nquads", TRIG: "trig"}
TWINS = [build_twin_record("a b/ü", model="Room"), build_twin_record("c", model="Gone")]
RELATIONSHIPS = [build_relationship_record("a b/ü", key, "c") for key in ("r1", "r2")]
every_syntax = pytest.mark.parametrize("syntax", GRAPH_SYNTAXES, ids=lambda one: one.name)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
members = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda name: not name.startswith("$")
)
values = st.recursive(
    texts
    | st.booleans()
    | st.none()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=3),
    max_leaves=6,
)


def parse(document: bytes, syntax: Syntax) -> set[str]:
    """The triples as another library reads them."""
    quads = pyoxigraph.parse(document, format=FORMATS[syntax])
    return {str(quad.triple) for quad in quads}


def expect(triples: Iterable[Triple]) -> set[str]:
    """The same in that library's own words."""
    lines = "".join(f"{' '.join(map(render_term, triple))} .\n" for triple in triples)
    found = pyoxigraph.parse(lines.encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    return {str(quad.triple) for quad in found}


def fill(store: GraphStore) -> GraphStore:
    store.open()
    outcomes = store.write([_fill])
    assert [outcome.error for outcome in outcomes] == [None]
    return store


def _fill(transaction: Any) -> None:
    transaction.put_models(
        [
            build_model_record("Space"),
            build_model_record("Gone", extends=["Space"]),
            build_model_record("Room", extends=["Gone"]),
        ]
    )
    for twin in TWINS:
        transaction.put_twin(twin)
    for relationship in RELATIONSHIPS:
        transaction.put_relationship(relationship)


def write(store: GraphStore, syntax: Syntax, content: Content = Content.ALL) -> bytes:
    session = store.session()
    with session.snapshot():
        document = b"".join(RdfWriter(NAMES).write_graph(session, syntax, content))
    session.close()
    return document


@every_syntax
@settings(max_examples=20, deadline=None)
@given(st.dictionaries(members, values, max_size=4), texts.filter(bool))
def test_any_document_is_read_back_as_its_triples(
    syntax: Syntax, contents: dict[str, Any], twin_id: str
) -> None:
    body = orjson.dumps({"$dtId": twin_id, **contents}, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    record = build_twin_record(twin_id, model="Room")
    record = type(record)(twin_id, record.model_id, record.etag, body)
    triples = build_twin_triples(NAMES, record)
    written = b"".join(write_nodes([triples], syntax, NAMES.data))
    assert parse(written, syntax) == expect(triples)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates
@every_syntax
def test_rdflib_reads_the_same_graph(syntax: Syntax) -> None:
    store = fill(MemoryStore())
    wanted = rdflib.Graph().parse(data=write(store, N_TRIPLES), format="nt")
    found = rdflib.Dataset(default_union=True)
    found.parse(data=write(store, syntax), format=RDFLIB_NAMES.get(syntax, "json-ld"))
    merged = rdflib.Graph()
    for subject, predicate, value, _ in found.quads():
        merged.add((subject, predicate, value))
    assert len(wanted) > 40
    assert isomorphic(merged, wanted)


@every_syntax
def test_quads_stand_in_the_named_graph_of_the_mapping(syntax: Syntax) -> None:
    document = write(fill(MemoryStore()), syntax)
    graphs = {str(quad.graph_name) for quad in pyoxigraph.parse(document, format=FORMATS[syntax])}
    is_named = syntax in (N_QUADS, TRIG)
    assert graphs == {"<urn:twinframe:graph:g%201>" if is_named else "DEFAULT"}


@every_syntax
def test_an_empty_graph_is_a_document_too(syntax: Syntax) -> None:
    store = MemoryStore()
    store.open()
    assert parse(write(store, syntax), syntax) == set()


@pytest.mark.parametrize("engine", [OxigraphEngine, RdflibEngine])
def test_a_graph_in_any_storage_is_written_alike(engine: Any) -> None:
    stored = fill(RdfStore(engine(), NAMES, shared=False))
    assert parse(write(stored, N_QUADS), N_QUADS) == parse(
        write(fill(MemoryStore()), N_QUADS), N_QUADS
    )


def test_the_export_is_what_an_rdf_store_holds() -> None:
    engine = OxigraphEngine()
    store = fill(RdfStore(engine, NAMES, shared=False))
    rows = engine.select(
        f"SELECT ?s ?p ?o WHERE {{ GRAPH <{NAMES.data}> {{ ?s ?p ?o }} "
        "FILTER(?p != <urn:twinframe:vocabulary:place>) }"
    )
    assert parse(write(store, TURTLE), TURTLE) == expect(rows)  # type: ignore[arg-type]


def test_parts_of_a_graph_make_the_whole() -> None:
    store = fill(MemoryStore())
    models, twins, everything = (
        parse(write(store, N_TRIPLES, part), N_TRIPLES)
        for part in (Content.MODELS, Content.TWINS, Content.ALL)
    )
    assert models
    assert twins
    assert not models & twins
    assert models | twins == everything


def test_what_twins_still_name_keeps_its_place_in_the_hierarchy() -> None:
    store = fill(MemoryStore())
    before = write(store, N_TRIPLES, Content.MODELS).decode()
    gone, room = build_model_record("Gone").model_id, build_model_record("Room").model_id
    outcomes = store.write([lambda transaction: transaction.delete_models([room, gone])])
    assert outcomes[0].error is None
    after = write(store, N_TRIPLES, Content.MODELS).decode()
    kept = [line for line in before.splitlines() if "subClassOf" in line]
    assert len(kept) == 2
    assert all(line in after for line in kept)
    assert f"<{gone}> <{DOCUMENT}>" not in after


def test_parallel_relationships_have_one_direct_triple() -> None:
    lines = write(fill(MemoryStore()), N_TRIPLES).decode().splitlines()
    assert sum("urn:twinframe:edge:" in line for line in lines) == 1
    assert len(lines) == len(set(lines))


def test_json_ld_is_one_document_with_a_node_a_line() -> None:
    document = json.loads(write(fill(MemoryStore()), JSON_LD))
    assert set(document) == {"@context", "@graph"}
    assert len(document["@graph"]) == 3 + 2 + 1 + 2


def test_writing_holds_no_more_than_a_piece() -> None:
    seen = 0

    def nodes() -> Any:
        nonlocal seen
        for number in range(100_000):
            seen = number
            yield [(Iri(f"urn:x:{number}"), DOCUMENT, "x" * 100)]

    pieces = write_nodes(nodes(), N_TRIPLES, NAMES.data)
    assert len(next(pieces)) < 100_000
    assert seen < 1000


def test_nodes_come_while_they_are_read() -> None:
    session = fill(MemoryStore()).session()
    first = next(iterate_nodes(NAMES, session, Content.TWINS))
    assert {str(triple[0]) for triple in first} == {"urn:twinframe:twin:a%20b%2F%C3%BC"}
