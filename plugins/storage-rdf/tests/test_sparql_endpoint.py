"""Callers' SPARQL: what is answered on each engine, and what is refused before it runs."""

from __future__ import annotations

import csv
import io
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pyoxigraph
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib.compare import isomorphic

from twinframe.errors import (
    LimitExceeded,
    QueryTimeout,
    SparqlInvalid,
    StorageBusy,
    TwinframeError,
)
from twinframe.storage.triples import (
    JSON_LD,
    N_TRIPLES,
    RDF_XML,
    ROWS_CSV,
    ROWS_JSON,
    ROWS_TSV,
    ROWS_XML,
    TURTLE,
    QueryForm,
    SparqlLimits,
    Syntax,
)
from twinframe.testing.contracts.base import put
from twinframe.testing.factories import build_model_id, build_model_record, build_twin_record
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.endpoint.reading import Kind, iterate_tokens, parse_query
from twinframe_storage_rdf.plugin import Endpoint
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore

DATA = "urn:twinframe:graph:g"
STATE = "urn:twinframe:state:g"
LIMITS = SparqlLimits(64 * 1024, 32)
TF = "PREFIX tf: <urn:twinframe:vocabulary:> "
PRODUCT = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


class Asked:
    """An open store and its endpoint."""

    def __init__(self, store: RdfStore) -> None:
        self.store = store
        self.endpoint = Endpoint(store.engine, store.names)

    def ask(
        self,
        text: str,
        syntax: Syntax | None = None,
        *,
        seconds: float = 20.0,
        limit: int = 10**6,
        default: Sequence[str] = (),
        named: Sequence[str] = (),
    ) -> bytes:
        query = self.endpoint.parse_query(text, LIMITS, default, named)
        pieces: list[bytes] = []
        self.endpoint.run_query(
            query,
            syntax or query.form.syntaxes[0],
            time.monotonic() + seconds,
            limit,
            pieces.append,
        )
        return b"".join(pieces)

    def rows(self, text: str, **more: Any) -> list[dict[str, str]]:
        found = json.loads(self.ask(text, ROWS_JSON, **more))["results"]["bindings"]
        return [{name: term["value"] for name, term in row.items()} for row in found]


def open_store(place: Path, engine: str) -> RdfStore:
    chosen: dict[str, dict[str, Any]] = {
        "memory": {"engine": "oxigraph", "directory": ""},
        "process": {"engine": "oxigraph", "directory": str(place), "idle_seconds": 0.5},
        "rdflib": {"engine": "rdflib"},
    }
    return fill(build_store(RdfSettings(**chosen[engine]), "g"))


def fill(store: RdfStore) -> RdfStore:
    store.open()
    put(store, build_model_record("Space"), build_model_record("Room", extends=["Space"]))
    put(store, *[build_twin_record(f"t{n}", model="Room") for n in range(40)])
    return store


def end(store: RdfStore) -> None:
    """Close the store and take it away, with its process."""
    store.close()
    store.remove(5)


SERVERS = ("virtuoso", "oxigraph_server")


@pytest.fixture(scope="module", params=["memory", "process", "rdflib", *SERVERS])
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Asked]:
    if request.param in SERVERS:
        server = request.getfixturevalue(request.param)
        store = fill(build_store(server.build_settings(), "g"))
    else:
        store = open_store(tmp_path_factory.mktemp("rdf"), request.param)
    yield Asked(store)
    end(store)


# --- what is answered -----------------------------------------------------------------------------


def test_rows_come_from_the_graph(asked: Asked) -> None:
    found = asked.rows(TF + "SELECT ?id { ?t a tf:Twin ; tf:id ?id } ORDER BY ?id LIMIT 2")
    assert found == [{"id": "t0"}, {"id": "t1"}]


def test_paths_go_through_the_hierarchy(asked: Asked) -> None:
    text = (
        TF + "SELECT (COUNT(?t) AS ?n) { ?t tf:model/"
        f"<http://www.w3.org/2000/01/rdf-schema#subClassOf>* <{build_model_id('Space')}> }}"
    )
    assert asked.rows(text) == [{"n": "40"}]


def test_rows_are_written_in_each_syntax(asked: Asked) -> None:
    text = TF + "SELECT ?t ?id ?none { ?t a tf:Twin ; tf:id ?id FILTER(?id = 't7') }"
    assert asked.rows(text) == [{"t": "urn:twinframe:twin:t7", "id": "t7"}]
    table = list(csv.reader(io.StringIO(asked.ask(text, ROWS_CSV).decode())))
    assert table == [["t", "id", "none"], ["urn:twinframe:twin:t7", "t7", ""]]
    lines = asked.ask(text, ROWS_TSV).decode().splitlines()
    assert lines == ["?t\t?id\t?none", '<urn:twinframe:twin:t7>\t"t7"\t']
    names = "{http://www.w3.org/2005/sparql-results#}"
    (row,) = ET.fromstring(asked.ask(text, ROWS_XML)).iter(f"{names}result")  # noqa: S314  (ours)
    assert [binding.get("name") for binding in row] == ["t", "id"]


def test_rows_in_xml_hold_every_line_break(asked: Asked) -> None:
    written = asked.ask("SELECT ('x\\r\\ny' AS ?text) { }", ROWS_XML)
    assert "".join(ET.fromstring(written).itertext()).strip() == "x\r\ny"  # noqa: S314  (ours)


def test_rows_that_xml_cannot_hold_are_told(asked: Asked) -> None:
    with pytest.raises(SparqlInvalid, match="ask for JSON"):
        asked.ask("SELECT ('a\x01b' AS ?text) { }", ROWS_XML)


@pytest.mark.parametrize(
    ("syntax", "name"),
    [(TURTLE, "turtle"), (N_TRIPLES, "nt"), (JSON_LD, "json-ld"), (RDF_XML, "xml")],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates
def test_triples_are_written_in_each_syntax(asked: Asked, syntax: Syntax, name: str) -> None:
    written = asked.ask("CONSTRUCT WHERE { <urn:twinframe:twin:t1> a ?class }", syntax)
    assert len(rdflib.Graph().parse(data=written, format=name)) == 2


@pytest.mark.parametrize(
    "built",
    [
        "<urn:a> <urn:p> 'x\\r\\n <&> é🏢', 'hi'@en-GB, 3, 2.5e0, true, '', '\"'",
        "_:b a <dtmi:com:example:Room;1> ; <http://x.example/?b='#c1d> _:b",
        "<urn:a> <urn:twinframe:property:a/b-c> [ <urn:1a> <urn:b> ] . <urn:z> <urn:y> <urn:a>",
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib uses what it deprecates
def test_rdf_xml_holds_the_same_triples(asked: Asked, built: str) -> None:
    graphs = [
        rdflib.Graph().parse(data=asked.ask(f"CONSTRUCT {{ {built} }} {{}}", syntax), format=name)
        for syntax, name in ((RDF_XML, "xml"), (N_TRIPLES, "nt"))
    ]
    assert len(graphs[0]) >= 2
    assert isomorphic(*graphs)


@pytest.mark.parametrize("built", ["<urn:p/> 1", "<urn:1> 1", "<urn:p> 'a\x01b'"])
def test_what_rdf_xml_cannot_hold_is_told(asked: Asked, built: str) -> None:
    with pytest.raises(SparqlInvalid, match=r"RDF/XML .*Turtle"):
        asked.ask(f"CONSTRUCT {{ <urn:a> {built} }} {{}}", RDF_XML)


def test_describe_gives_the_triples_of_a_resource(asked: Asked) -> None:
    written = asked.ask("DESCRIBE <urn:twinframe:twin:t1>", N_TRIPLES)
    assert b'"t1"' in written
    assert b'"t2"' not in written


def test_an_ask_is_answered_as_json_and_xml(asked: Asked) -> None:
    text = TF + "ASK { ?t tf:id 't1' }"
    assert json.loads(asked.ask(text, ROWS_JSON))["boolean"] is True
    assert b"true</" in asked.ask(text, ROWS_XML)


# --- the graph, and nothing else ------------------------------------------------------------------


@pytest.mark.parametrize(
    "pattern",
    [
        "?s ?p ?o",
        "GRAPH ?g { ?s ?p ?o }",
        f"GRAPH <{STATE}> {{ ?s ?p ?o }}",
        f"{{ GRAPH <{STATE}> {{ ?s ?p ?o }} }} UNION {{ ?s ?p ?o }}",
    ],
)
def test_the_state_of_the_graph_is_not_to_be_seen(asked: Asked, pattern: str) -> None:
    rows = asked.rows(f"SELECT ?p {{ {pattern} FILTER(CONTAINS(STR(?p), 'secret')) }}")
    assert rows == []
    assert asked.rows(f"SELECT ?s {{ {pattern} FILTER(STRSTARTS(STR(?s), '{STATE}')) }}") == []


def test_the_only_named_graph_is_the_data(asked: Asked) -> None:
    assert asked.rows("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }") == [{"g": DATA}]


@pytest.mark.parametrize(
    ("clauses", "default", "named", "plain", "inside"),
    [
        ("", (), (), True, True),
        (f"FROM <{DATA}>", (), (), True, False),
        (f"FROM NAMED <{DATA}>", (), (), False, True),
        (f"FROM <{DATA}> FROM NAMED <{DATA}>", (), (), True, True),
        ("", (DATA,), (), True, False),
        ("", (), (DATA,), False, True),
        (f"FROM <{DATA}>", (), (DATA,), False, True),
    ],
)
def test_the_dataset_is_what_the_query_or_its_caller_says(
    asked: Asked,
    clauses: str,
    default: Sequence[str],
    named: Sequence[str],
    plain: bool,
    inside: bool,
) -> None:
    def holds(pattern: str) -> bool:
        text = f"ASK {clauses} {{ {pattern} }}"
        return bool(json.loads(asked.ask(text, default=default, named=named))["boolean"])

    assert holds("?s ?p ?o") is plain
    assert holds("GRAPH ?g { ?s ?p ?o }") is inside


@pytest.mark.parametrize(
    ("text", "default", "named"),
    [
        ("ASK FROM <urn:other> { ?s ?p ?o }", (), ()),
        (f"ASK FROM NAMED <{STATE}> {{ ?s ?p ?o }}", (), ()),
        ("PREFIX s: <urn:twinframe:state:> ASK FROM s:g { ?s ?p ?o }", (), ()),
        ("ASK FROM <http://127.0.0.1:1/> { ?s ?p ?o }", (), ()),
        ("ASK { ?s ?p ?o }", (STATE,), ()),
        ("ASK { ?s ?p ?o }", (), (DATA, STATE)),
    ],
)
def test_other_graphs_are_refused(
    asked: Asked, text: str, default: Sequence[str], named: Sequence[str]
) -> None:
    with pytest.raises(SparqlInvalid, match=r"no graph .* here"):
        asked.ask(text, default=default, named=named)


def test_the_graph_may_be_named_by_a_prefix(asked: Asked) -> None:
    text = "PREFIX d: <urn:twinframe:graph:> ASK FROM d:g { ?s ?p ?o }"
    assert json.loads(asked.ask(text))["boolean"] is True


# --- limits ---------------------------------------------------------------------------------------


def test_an_answer_ends_at_its_limit(asked: Asked) -> None:
    with pytest.raises(LimitExceeded, match="MaxResultBytes"):
        asked.ask("SELECT * { ?s ?p ?o }", limit=5000)


# NOTE: a hook of the garbage collector (hypothesis has one) may take the alarm; it comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_query_of_many_rows_ends_at_its_deadline(asked: Asked) -> None:
    def ask() -> None:
        asked.ask("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", seconds=0.5, limit=10**10)

    try:
        with pytest.raises((QueryTimeout, LimitExceeded)):
            ask()
    except StorageBusy:  # on a busy machine another read that is late may end the process
        with pytest.raises((QueryTimeout, LimitExceeded)):
            ask()
    assert asked.rows("SELECT (1 AS ?one) {}") == [{"one": "1"}]


@pytest.mark.parametrize("engine", ["process", "rdflib"])
def test_a_query_that_gives_nothing_for_long_is_stopped(tmp_path: Path, engine: str) -> None:
    store = open_store(tmp_path, engine)
    with pytest.raises(QueryTimeout):
        Asked(store).ask(PRODUCT, seconds=0.5)
    put(store, build_twin_record("after", model="Room"))
    assert Asked(store).rows(TF + "SELECT ?t { ?t tf:id 'after' }")
    end(store)


# NOTE: a hook of the garbage collector (hypothesis has one) may take the alarm; it comes again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_query_that_looks_at_no_triple_is_stopped_in_rdflib_too(tmp_path: Path) -> None:
    store = open_store(tmp_path, "rdflib")
    numbers = " ".join(map(str, range(3000)))
    a, b = (f"{{ SELECT ?{x} {{ VALUES ?{x} {{ {numbers} }} }} }}" for x in "ab")
    for text in (
        f"SELECT * {{ {a} {b} MINUS {{ {a} {b} }} }}",
        f"SELECT (COUNT(*) AS ?n) {{ {a} OPTIONAL {{ {b} OPTIONAL {{ {a} {b} }} }} }}",
    ):
        with pytest.raises(QueryTimeout, match="Sparql__Timeout"):
            Asked(store).ask(text, seconds=0.5)
    put(store, build_twin_record("after", model="Room"))
    assert Asked(store).rows(TF + "SELECT ?t { ?t tf:id 'after' }")
    end(store)


def test_a_query_that_fills_the_memory_is_refused_and_ends_no_data(tmp_path: Path) -> None:
    store = open_store(tmp_path, "process")
    doubled = "BIND(STR('0123456789abcdef') AS ?v0) " + " ".join(
        f"BIND(CONCAT(?v{n}, ?v{n}, ?v{n}, ?v{n}) AS ?v{n + 1})" for n in range(14)
    )
    with pytest.raises(LimitExceeded, match="Storage__Rdf__QueryBytes"):
        Asked(store).ask(f"SELECT (STRLEN(?v14) AS ?n) {{ {doubled} }}")
    assert Asked(store).rows(TF + "SELECT ?id { ?t tf:id ?id FILTER(?id = 't1') }")
    end(store)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {" * 33 + "}" * 33,
        "ASK { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }",
        "ASK { FILTER(" + "!" * 10_000 + "true) }",
        "ASK { FILTER(" + " || ".join(["true"] * 10_000) + ") }",
        "ASK { FILTER(" + "+".join(["1"] * 1000) + " = 1) }",
        "ASK { " + " UNION ".join(["{}"] * 1000) + " }",
        "ASK { " + "{}" * 1000 + " }",
        "ASK { " + " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(1000)) + " }",
        "ASK { ?s ?p " + ", ".join(["?o"] * 1000) + " }",
        "ASK { ?s ?p (" + "1 " * 1000 + ") }",
        "ASK { ?s ?p (" + "[] " * 1000 + ") }",
        "ASK { ?s ?p (" + "() " * 1000 + ") }",
        "ASK { [ " + " ; ".join(["?p ?o"] * 1000) + " ] ?q ?r }",
        "ASK { ?s ?p ?o " + "OPTIONAL { ?s ?q ?r } " * 100 + "}",
        "ASK { ?s " + "/".join(["<urn:p>"] * 1000) + " ?o }",
        "ASK { ?s " + "^" * 2000 + "<urn:p> ?o }",
        "SELECT " + " ".join(f"(1 AS ?v{n})" for n in range(1000)) + " {}",
        "ASK { FILTER(?a<x:y&&?b" + "&&?c" * 400 + ">?d) }",
        "ASK { FILTER(?a<" + "(" * 400 + "?b" + ")" * 400 + ">?d) }",
        "ASK { FILTER(?a<" + "!" * 900 + "?b>?d) }",
        "ASK { # " + "x" * 70_000 + "\n}",
    ],
    ids=lambda text: text[:24],
)
def test_texts_that_an_engine_may_die_of_never_reach_it(text: str) -> None:
    with pytest.raises((LimitExceeded, SparqlInvalid)):
        parse_query(text, DATA, LIMITS)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { VALUES ?id { " + " ".join(f"'t{n}'" for n in range(5000)) + " } ?t ?p ?id }",
        "SELECT * { VALUES (?a ?b) { " + "('x' 1) " * 3000 + "} }",
        "ASK { ?t ?p ?id FILTER(?id IN (" + ", ".join(["'x'"] * 5000) + ")) }",
        "SELECT (COUNT(?a) AS ?n) (MAX(?a - ?b) AS ?m) { ?a ?b ?c } GROUP BY ?c HAVING(?n > 3)",
    ],
    ids=lambda text: text[:24],
)
def test_long_lists_of_values_are_no_reason_to_refuse(text: str) -> None:
    assert parse_query(text, DATA, LIMITS).form in QueryForm


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> 1 }",
        "DELETE WHERE { ?s ?p ?o }",
        "PREFIX x: <urn:x> WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "LOAD <http://127.0.0.1:1/>",
        "CLEAR ALL",
        "DROP GRAPH <urn:g>",
        "ASK { ?s ?p ?o } ; DROP ALL",
        "SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "SELECT * { service silent <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "PREFIX : <http://127.0.0.1:1/> SELECT * { SERVICE:x { ?s ?p ?o } }",
        "SELECT * { ?s ?p trueSERVICE<http://127.0.0.1:1/>{ ?s ?p ?o } }",
        "SELECT * { # comment\nSERVICE ?x { ?s ?p ?o } }",
        "SELECT * { ?s ?p 'x\\u0027 } SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } #' }",
        "SELECT * { \\u0053ERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }",
        "",
        "   # nothing",
        "SELEC * { ?s ?p ?o }",
        "ASK { ?s ?p ?o",
        "ASK { ?s ?p ?o ) }",
        "ASK } { ?s ?p ?o",
        "ASK { ?s ?p 'never closed }",
        "ASK { ?s ?p \0 }",
        "ASK { ?s ?p \ud800 }",
        "PREFIX",
        "PREFIX x <urn:x> ASK {}",
        "SELECT (bif:http_get('http://127.0.0.1:1/') AS ?x) {}",
        "SELECT (<bif:http_get>('http://127.0.0.1:1/') AS ?x) {}",
        "PREFIX x: <bi> SELECT (x:f:http_get('http://127.0.0.1:1/') AS ?x) {}",
        "BASE <bif:x> SELECT (<http_get>('http://127.0.0.1:1/') AS ?x) {}",
        "PREFIX f: <http://x.example/> SELECT * { ?s ?p ?o FILTER f:call(?s) }",
        "PREFIX f: <http://x.example/> SELECT * { ?s ?p ?o FILTER f:call # (\n (?s) }",
        "ASK { ?s <java:org.example.Property> ?o }",
        "ASK { ?s <BIF:contains> 'x' }",
        "define input:default-graph-uri <urn:twinframe:state:g> ASK {}",
        "SELECT * { ?s ?p ?o OPTION (get:soft 'soft') }",
        "SELECT * { QUAD MAP ?x { ?s ?p ?o } }",
    ],
)
def test_what_is_no_plain_query_is_refused_before_it_runs(text: str) -> None:
    with pytest.raises(SparqlInvalid):
        parse_query(text, DATA, LIMITS)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?service { ?service ?p 'SERVICE <urn:x> {' }",
        "PREFIX p: <urn:p:> SELECT * { ?s p:customerService ?o } # INSERT DATA",
        "SELECT * { ?s <http://x.example/service#LOAD> ?o FILTER(?o < 3 && ?o > 1) }",
        'ASK { ?s ?p """DELETE "" \' WHERE""" , \'\'\'it\'s\'\'\'@en-GB, "\\"" }',
        "PREFIX x: <http://www.w3.org/2001/XMLSchema#> ASK { ?s ?p ?o FILTER(x:integer(?o) > 3) }",
        "BASE <http://x.example/> PREFIX : <a#> ASK { :a.b :c_d :%20\\,x . _:x ?p 1.5e3, true }",
        "construct { ?s ?p ?o } from <urn:twinframe:graph:g> where { ?s ?p ?o }",
    ],
)
def test_words_in_texts_names_and_comments_refuse_nothing(text: str) -> None:
    clause = "from <urn:twinframe:graph:g>"  # said beside the text, which keeps its places
    assert parse_query(text, DATA, LIMITS).text == text.replace(clause, " " * len(clause))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ASK {\n  ?s ?p ]\n}", "Line 2, column 9"),
        ("SELCT * {}", "did you mean SELECT"),
        ("ASK { OPTONAL {} }", r"column 7.*did you mean OPTIONAL\?$"),
        ("ASK {\n SERVICE <urn:x> {} }", "Line 2, column 2: SERVICE"),
    ],
)
def test_a_refusal_says_where_and_what_would_be_right(text: str, message: str) -> None:
    with pytest.raises(SparqlInvalid, match=message):
        parse_query(text, DATA, LIMITS)


def test_tokens_are_the_text_but_blanks_and_comments() -> None:
    text = "SELECT ?x{?x:p'a'@en,<urn:b>.FILTER(?x<3)}"
    tokens = list(iterate_tokens(text))
    assert "".join(token.text for token in tokens) == text.replace(" ", "")
    assert [token.kind for token in tokens][:3] == [Kind.WORD, Kind.VARIABLE, Kind.SYMBOL]


@pytest.mark.parametrize("engine", ["memory", "rdflib"])
def test_what_the_engine_cannot_read_is_the_callers_error(tmp_path: Path, engine: str) -> None:
    store = open_store(tmp_path, engine)
    for text in ("ASK { ?s ?p }", "ASK { x:y ?p ?o }", "SELECT ?x ?x2 ( {}"):
        with pytest.raises(SparqlInvalid):
            Asked(store).ask(text)


@pytest.mark.parametrize("function", ["REGEX(?o, '(a+)+$')", "REPLACE(?o, '(a+)+$', '') = ''"])
def test_rdflib_runs_no_regular_expression(tmp_path: Path, function: str) -> None:
    asked = Asked(open_store(tmp_path, "rdflib"))
    with pytest.raises(SparqlInvalid, match="is refused"):
        asked.ask(f"ASK {{ ?s ?p ?o OPTIONAL {{ ?s ?q ?r FILTER(!{function}) }} }}")


# --- nobody is called -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[int, list[int]]]:
    """A port of this machine, and how many came to it."""
    callers: list[int] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, address = server.accept()
                    callers.append(address[1])
                    connection.close()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1], callers


PIECES = [
    *("SERVICE", "service", "SILENT", "FROM", "NAMED", "LOAD", "true", "a", "OPTIONAL", "FILTER"),
    *("SELECT", "ASK", "PREFIX", "BASE", "UNION", "EXISTS", "GRAPH", "VALUES", "AS", "BIND"),
    *("{", "}", "(", ")", "[", "]", ".", ",", ";", "<", ">", "<<", "*", "/", "!", "&&", "||"),
    *("?s", "?p", "?o", ":x", "SERVICE:x", "x:y", "_:b", "1", "1.", "'t'", '"""', "'", "@en", "\\"),
    *(" ", " ", " ", "\n", "#", "\\u0053ERVICE", "?s ?p ?o", "{ ?s ?p ?o }", "URL", "URL"),
]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=12), st.lists(st.sampled_from(PIECES), max_size=8)
)
def test_no_text_that_is_taken_calls_another_server(
    listener: tuple[int, list[int]], before: list[str], after: list[str]
) -> None:
    port, callers = listener
    url = f"<http://127.0.0.1:{port}/x>"
    text = (
        f"PREFIX : {url} SELECT * {{ {''.join(before)} SERVICE{''.join(after)}"
        f"{url}{{ ?s ?p ?o }} }}"
    ).replace("URL", url)
    with suppress(TwinframeError):
        query = parse_query(text, DATA, LIMITS)
        with suppress(SyntaxError, ValueError, OSError):
            list(pyoxigraph.Store().query(query.text))  # type: ignore[arg-type]
    assert callers == []


def test_the_check_of_the_last_test_can_fail(listener: tuple[int, list[int]]) -> None:
    port, callers = listener
    text = f"SELECT * {{ SERVICE <http://127.0.0.1:{port}/x> {{ ?s ?p ?o }} }}"
    with suppress(OSError):
        list(pyoxigraph.Store().query(text))  # type: ignore[arg-type]
    assert callers
    callers.clear()
