"""The graph as RDF over HTTP: exports in every syntax on every storage, and SPARQL on triples."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
import rdflib
from rdflib.plugins.stores.sparqlstore import SPARQLStore

from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.storages import SERVED, choose, require
from tests.waiting import run_program

COUNT = 300
TYPES = {
    "text/turtle": "turtle",
    "application/n-triples": "nt",
    "application/n-quads": "nquads",
    "application/trig": "trig",
    "application/ld+json": "json-ld",
}
IDS = "SELECT ?id { ?t a <urn:twinframe:vocabulary:Twin> ; <urn:twinframe:vocabulary:id> ?id }"
BODY = "application/sparql-query"
FORM = "application/x-www-form-urlencoded"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's own, by itself


class Asker(Wire):
    """A connection whose answers are bytes."""

    def ask(
        self, target: str, method: str = "GET", body: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = self._connection
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, None if body is None else body.encode(), sent)
        with connection.getresponse() as answer:
            raw = answer.read()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, raw


def fill(asker: Wire) -> None:
    assert asker.call("POST", "/models", [COUNTER_MODEL])[0] == 201
    for number in range(COUNT):
        assert asker.call("PUT", f"/digitaltwins/c{number}", counter(number))[0] == 200
    link = {"$relationshipName": "next", "$targetId": "c1"}
    assert asker.call("PUT", "/digitaltwins/c0/relationships/r", link)[0] == 200


@pytest.fixture(scope="module", params=choose("sqlite", "oxigraph"))
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    require("oxigraph")  # its plugin writes triples for all storages
    folder = tmp_path_factory.mktemp("triples")
    environment = {**SERVED[request.param](folder), "Sparql__Enabled": "true"}
    with Server(folder, environment=environment) as server:
        first = Wire(server.port)
        fill(first)
        first.close()
        yield server
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


@pytest.fixture
def asker(served: Server) -> Iterator[Asker]:
    asker = Asker(served.port)
    yield asker
    asker.close()


@pytest.fixture
def triples(served: Server, asker: Asker) -> Asker:
    """The same, of a service that keeps triples."""
    if served.environment.get("Storage__Provider") != "rdf":
        pytest.skip("SPARQL is for graphs that are stored as RDF")
    return asker


def parse(document: bytes, media_type: str) -> set[Any]:
    found = rdflib.Dataset(default_union=True)
    found.parse(data=document, format=TYPES[media_type])
    return {quad[:3] for quad in found.quads()}


# --- exports --------------------------------------------------------------------------------------


def test_every_syntax_holds_the_same_triples(asker: Asker) -> None:
    found = {}
    for media_type in TYPES:
        status, headers, document = asker.ask("/export", Accept=media_type)
        assert status == 200
        assert headers["content-type"].partition(";")[0] == media_type
        assert headers["vary"] == "Accept"
        found[media_type] = parse(document, media_type)
    assert len(found["text/turtle"]) > COUNT * 7
    assert all(one == found["text/turtle"] for one in found.values())


def test_the_documents_in_an_export_are_those_of_the_api(asker: Asker) -> None:
    _, _, document = asker.ask("/export?content=twins")
    graph = rdflib.Graph().parse(data=document, format="turtle")
    stored = graph.value(
        rdflib.URIRef("urn:twinframe:twin:c7"), rdflib.URIRef("urn:twinframe:vocabulary:document")
    )
    assert asker.ask("/digitaltwins/c7")[2] == str(stored).encode()


@pytest.mark.parametrize("form", ["turtle", "nquads"])
def test_the_command_writes_the_same_bytes(
    served: Server, asker: Asker, form: str, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_program(
        [sys.executable, "-m", "twinframe", "export", "--format", form, str(out)],
        env={**os.environ, **served.environment},
        cwd=served.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == asker.ask(f"/export?format={form}")[2]


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, "text/turtle"),
        ("*/*", "text/turtle"),
        ("text/*;q=0.1, application/n-quads;q=0.9", "application/n-quads"),
        ("application/ld+json;q=0.5, text/turtle;q=0.4", "application/ld+json"),
        ("text/turtle;q=0, */*;q=0.1", "application/n-triples"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/turtle"),
    ],
)
def test_the_accept_header_chooses_by_quality(
    asker: Asker, accept: str | None, chosen: str
) -> None:
    headers = {} if accept is None else {"Accept": accept}
    status, answered, body = asker.ask("/export", "HEAD", **headers)
    assert (status, body) == (200, b"")
    assert answered["content-type"].partition(";")[0] == chosen


@pytest.mark.parametrize("target", ["/export", "/export/shapes", "/export/report", "/sparql"])
def test_head_has_the_head_of_get_and_tells_no_length(asker: Asker, target: str) -> None:
    target += f"?query={quote(IDS)}" if target == "/sparql" else ""
    told, got = asker.ask(target, "HEAD"), asker.ask(target)
    assert (told[0], told[2]) == (got[0], b"")
    own = {"date", "x-request-id", "content-length", "transfer-encoding"}
    assert {k: v for k, v in told[1].items() if k not in own} == {
        k: v for k, v in got[1].items() if k not in own
    }
    if got[0] == 200:
        assert got[2]
        assert "content-length" not in told[1]


@pytest.mark.parametrize("accept", ["image/png", "text/turtle;q=0", "application/json"])
def test_what_cannot_be_written_is_told_with_what_can(asker: Asker, accept: str) -> None:
    status, headers, body = asker.ask("/export", Accept=accept)
    assert status == 406
    assert headers["x-ms-error-code"] == "NotAcceptable"
    assert all(media_type in body.decode() for media_type in TYPES)


@pytest.mark.parametrize("target", ["/export?format=turtel", "/export?content=twin"])
def test_a_wrong_option_is_refused_with_the_nearest_right_one(asker: Asker, target: str) -> None:
    status, _, body = asker.ask(target)
    assert status == 400
    assert "Did you mean" in json.loads(body)["error"]["message"]


def test_a_browser_may_name_the_syntax_in_the_address(asker: Asker) -> None:
    _, headers, body = asker.ask("/export?format=jsonld&content=models", Accept="text/html")
    assert headers["content-disposition"] == 'attachment; filename="models.jsonld"'
    assert {node["@type"] for node in json.loads(body)["@graph"]} == {"tf:Interface"}


def test_shapes_of_the_models_are_written(asker: Asker) -> None:
    status, _, document = asker.ask("/export/shapes")
    assert status == 200
    assert (None, rdflib.SH.targetClass, rdflib.URIRef(COUNTER_MODEL["@id"])) in (
        rdflib.Graph().parse(data=document, format="turtle")
    )


def test_a_twin_that_its_changed_model_no_longer_allows_is_reported(asker: Asker) -> None:
    model = {
        "@context": "dtmi:dtdl:context;3",
        "@id": "dtmi:com:example:Valve;1",
        "@type": "Interface",
        "contents": [{"@type": "Property", "name": "state", "schema": "string"}],
    }
    twin = {"$metadata": {"$model": model["@id"]}, "state": "half open"}
    assert asker.call("POST", "/models", [model])[0] == 201
    assert asker.call("PUT", "/digitaltwins/valve", twin)[0] == 200
    whole = {"results": [], "twins": COUNT + 1, "whole": True, "conforms": True}
    assert asker.call("GET", "/export/report?format=json")[2] == whole
    assert asker.call("DELETE", f"/models/{model['@id']}")[0] == 204
    model["contents"] = [{"@type": "Property", "name": "state", "schema": "integer"}]
    assert asker.call("POST", "/models", [model])[0] == 201
    status, headers, found = asker.call("GET", "/export/report", Accept="application/json")
    assert (status, headers["content-type"]) == (200, "application/json")
    (result,) = found["results"]
    assert (result["twin"], result["property"], result["value"]) == ("valve", "state", "half open")
    assert (found["whole"], found["conforms"]) == (True, False)
    written = asker.ask("/export/report", Accept="text/turtle")[2]
    report = rdflib.Graph().parse(data=written, format="turtle")
    (focus,) = report.objects(None, rdflib.SH.focusNode)
    assert str(focus) == "urn:twinframe:twin:valve"
    assert asker.call("DELETE", "/digitaltwins/valve")[0] == 204
    assert asker.call("DELETE", f"/models/{model['@id']}")[0] == 204


def list_kept_files(folder: Path) -> list[str]:
    """Files without a name that processes of a service hold open below its folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            target = str(link.readlink())
        except OSError:
            continue
        if target.startswith(str(folder)) and target.endswith("(deleted)"):
            found.append(target)
    return found


def is_export_begun(port: int) -> bool:
    """Ask for an export and leave; whether it was begun, or those before had not ended yet."""
    with socket.create_connection(("127.0.0.1", port), timeout=120) as connection:
        connection.sendall(b"GET /export HTTP/1.1\r\nHost: x\r\n\r\n")
        begun = connection.recv(64)
    assert begun.startswith((b"HTTP/1.1 200", b"HTTP/1.1 503"))
    return begun.startswith(b"HTTP/1.1 200")


def test_a_client_that_leaves_early_leaves_nothing_behind(served: Server) -> None:
    for _ in range(3):  # more than may run at once
        while not is_export_begun(served.port):
            time.sleep(0.02)
    end = time.monotonic() + 120
    while list_kept_files(served.folder) and time.monotonic() < end:
        time.sleep(0.02)
    assert list_kept_files(served.folder) == []
    asker = Asker(served.port)
    assert asker.ask("/export")[0] == 200
    asker.close()


# --- SPARQL ---------------------------------------------------------------------------------------


def test_sparql_on_another_storage_says_what_to_do(served: Server, asker: Asker) -> None:
    if "Storage__Provider" in served.environment:
        pytest.skip("this one keeps triples")
    status, _, body = asker.ask(f"/sparql?query={quote(IDS)}")
    assert status == 501
    assert "Storage__Provider=rdf" in json.loads(body)["error"]["message"]


def test_a_query_may_be_sent_in_three_ways(triples: Asker) -> None:
    answers = [
        triples.ask(f"/sparql?query={quote(IDS)}"),
        triples.ask("/sparql", "POST", IDS, Content_Type=BODY),
        triples.ask("/sparql", "POST", urlencode({"query": IDS}), Content_Type=FORM),
    ]
    for status, headers, body in answers:
        assert status == 200
        assert headers["content-type"] == "application/sparql-results+json"
        assert len(json.loads(body)["results"]["bindings"]) == COUNT


def test_a_client_of_the_protocol_reads_the_graph(served: Server, triples: Asker) -> None:
    graph = rdflib.Graph(SPARQLStore(f"{served.url}/sparql"))
    rows = list(graph.query(f"{IDS} ORDER BY ?id LIMIT 2"))
    assert [str(row[0]) for row in rows] == ["c0", "c1"]
    about = graph.query("CONSTRUCT { ?s ?p ?o } { ?s a <urn:twinframe:vocabulary:Twin> ; ?p ?o }")
    assert about.graph is not None
    assert len(about.graph) >= COUNT * 7


@pytest.mark.parametrize(
    ("accept", "query", "status"),
    [
        ("text/csv", IDS, 200),
        ("text/turtle", IDS, 406),
        ("application/ld+json", "DESCRIBE <urn:twinframe:twin:c1>", 200),
        ("text/csv", "ASK {}", 406),
    ],
)
def test_the_form_of_the_query_says_what_can_be_answered(
    triples: Asker, accept: str, query: str, status: int
) -> None:
    assert triples.ask(f"/sparql?query={quote(query)}", Accept=accept)[0] == status


@pytest.mark.parametrize(
    ("method", "target", "body", "kind", "status"),
    [
        ("GET", "/sparql", None, "", 400),
        ("GET", "/sparql?query=ASK{}&query=ASK{}", None, "", 400),
        ("GET", "/sparql?update=CLEAR%20ALL", None, "", 400),
        ("POST", "/sparql", "update=CLEAR+ALL", FORM, 400),
        ("POST", "/sparql", "CLEAR ALL", "application/sparql-update", 400),
        ("POST", "/sparql", "CLEAR ALL", BODY, 400),
        ("POST", "/sparql?query=ASK{}", "ASK {}", BODY, 400),
        ("POST", "/sparql", "{}", "application/json", 415),
        ("POST", "/sparql", "query=%FF", FORM, 400),
        ("GET", "/sparql?query=ASK{}&default-graph-uri=urn:other", None, "", 400),
        ("GET", "/sparql?query=ASK{SERVICE%20<urn:x>{}}", None, "", 400),
        ("GET", "/sparql?query=ASK{?s%20?p}", None, "", 400),
        ("PUT", "/sparql", "ASK {}", BODY, 405),
    ],
)
def test_what_is_no_query_gets_an_error_in_the_envelope(
    triples: Asker, method: str, target: str, body: str | None, kind: str, status: int
) -> None:
    headers = {"Content_Type": kind} if kind else {}
    got, answered, raw = triples.ask(target, method, body, **headers)
    assert got == status
    assert json.loads(raw)["error"]["code"] == answered["x-ms-error-code"]


def test_an_answer_is_not_cut_without_a_word(triples: Asker) -> None:
    text = quote("SELECT * { ?a ?b ?c . ?d ?e ?f }")  # more than the answer may hold
    try:
        status, _, body = triples.ask(f"/sparql?query={text}")
    except http.client.IncompleteRead:
        return  # it had begun: the connection says it
    assert (status, json.loads(body)["error"]["code"]) == (400, "LimitExceeded")


def test_a_query_of_several_lines_may_stand_in_the_address(triples: Asker) -> None:
    lines = IDS.replace(" ", "\r\n\t", 3)
    assert triples.ask(f"/sparql?query={quote(lines)}")[0] == 200
    assert triples.ask("/sparql?query=ASK%00")[0] == 400
    assert triples.ask("/export?content=%0Atwins")[0] == 400
