"""Uploads, the log of an import and the export of a graph over HTTP, and hostile requests there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Client
from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller, Trail
from twinframe.access.gate import Gate
from twinframe.graph import Graph
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints
from twinframe.graph.delivery.log_sink import LogSink
from twinframe.http.application import build_application
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore

Connect = Callable[..., Client]
BYTES = {"content-type": "application/octet-stream"}
BEGIN = {"name": "campus.ndjson", "bytes": 20}


@pytest.fixture
def connect() -> Connect:
    """Builds a client over a real graph in memory, with settings given as sections."""

    def build(*, gate: Any = None, **sections: Any) -> Client:
        own = Settings.model_validate(sections)
        sinks = {"lines": Endpoint("lines", "log", LogSink("lines"))}
        graph = Graph(InlineRunner(MemoryStore()), own, endpoints=Endpoints(sinks))
        return Client(build_application(graph, own, gate=gate))

    return build


def begin(client: Client, name: str = "u", body: Any = BEGIN, **headers: str) -> Any:
    sent = {key.replace("_", "-"): value for key, value in headers.items()}
    return client.send("PUT", f"/jobs/uploads/{name}", orjson.dumps(body), sent)


def put_piece(client: Client, number: Any, piece: bytes, name: str = "u") -> Any:
    return client.send("PUT", f"/jobs/uploads/{name}/pieces/{number}", piece, BYTES)


def test_a_file_is_handed_over_in_pieces(connect: Connect) -> None:
    client = connect(server={"max_body_bytes": 2000})
    body = {"name": "campus.ndjson", "bytes": 2005}
    made = begin(client, body=body)
    assert made.status == 200
    assert made.json == {
        "id": "u",
        **body,
        "receivedBytes": 0,
        "receivedPieces": 0,
        "pieceBytes": 2000,
        "lastActionDateTime": made.json["lastActionDateTime"],
        "inputBlobUri": "upload:u",
        "jobId": None,
    }
    assert put_piece(client, 0, b"x" * 2000).json["receivedPieces"] == 1
    assert client.send("GET", "/jobs/uploads/u").json["receivedBytes"] == 2000
    early = client.send("PUT", "/jobs/imports/j", b'{"inputBlobUri":"upload:u"}')
    assert (early.status, early.code) == (409, "UploadIncomplete")
    assert put_piece(client, 1, b"x" * 5).json["receivedBytes"] == 2005
    listed = client.send("GET", "/jobs/uploads").json
    assert [each["id"] for each in listed["value"]] == ["u"]
    assert (listed["mostBytes"], listed["pieceBytes"]) == (1 << 30, 2000)
    assert client.send("PUT", "/jobs/imports/j", b'{"inputBlobUri":"upload:u"}').status == 201
    assert client.send("GET", "/jobs/uploads/u").json["jobId"] == "j"
    assert client.send("DELETE", "/jobs/uploads/u").status == 204
    gone = client.send("GET", "/jobs/uploads/u")
    assert (gone.status, gone.code) == (404, "UploadNotFound")


@pytest.mark.parametrize(
    ("number", "piece", "status", "code"),
    [
        ("0", b"x" * 2001, 413, "RequestBodyTooLarge"),
        ("0", b"x" * 19, 409, "UploadPieceRefused"),
        ("0", b"", 409, "UploadPieceRefused"),
        ("1", b"x" * 20, 409, "UploadPieceRefused"),
        ("-1", b"x" * 20, 400, "InvalidArgument"),
        ("00", b"x" * 20, 400, "InvalidArgument"),
        ("1e9", b"x" * 20, 400, "InvalidArgument"),
        ("9999999999", b"x" * 20, 400, "InvalidArgument"),
        ("%D9%A1", b"x" * 20, 400, "InvalidArgument"),
    ],
)
def test_a_piece_that_does_not_fit_is_refused(
    connect: Connect, number: str, piece: bytes, status: int, code: str
) -> None:
    client = connect(server={"max_body_bytes": 2000})
    begin(client)
    answer = put_piece(client, number, piece)
    assert (answer.status, answer.code) == (status, code)
    assert client.send("GET", "/jobs/uploads/u").json["receivedBytes"] == 0


@pytest.mark.parametrize("name", ["..%2Fx", "%2e", "a%20b", "x" * 200, "%00", "a%2Fb", "-"])
def test_an_id_that_is_no_plain_word_is_refused(connect: Connect, name: str) -> None:
    client = connect()
    assert begin(client, name).status == 400
    assert put_piece(client, 0, b"x", name).status == 400
    assert client.send("DELETE", f"/jobs/uploads/{name}").status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"name":"a","bytes":1e400}'])
def test_a_body_that_is_no_upload_is_refused(connect: Connect, body: bytes) -> None:
    assert connect().send("PUT", "/jobs/uploads/u", body).status == 400


def test_a_piece_of_another_type_or_coding_is_refused(connect: Connect) -> None:
    client = connect()
    begin(client)
    target = "/jobs/uploads/u/pieces/0"
    for headers in ({"content-type": "application/json"}, {**BYTES, "content-encoding": "gzip"}):
        assert client.send("PUT", target, b"x" * 20, headers).status == 415


def test_uploads_need_the_permission_of_imports(connect: Connect) -> None:
    client = connect(gate=Gate(NamedCaller(), ClaimedPermissions(), Trail().append), **ACCESS)
    may = "jobs/imports/write"
    assert begin(client, x_caller="eve jobs/imports/read").status == 403
    assert begin(client, x_caller=f"ann {may}").status == 200
    reading = {"x-caller": "eve jobs/imports/read digitaltwins/*"}
    assert client.send("GET", "/jobs/uploads", headers=reading).status == 403
    assert client.send("DELETE", "/jobs/uploads/u", headers=reading).status == 403


def test_the_log_of_a_job_that_is_not_there(connect: Connect) -> None:
    client = connect()
    for method in ("GET", "HEAD"):
        assert client.send(method, "/jobs/imports/j/log").status == 404


def test_the_export_is_a_file_of_lines(connect: Connect) -> None:
    client = connect()
    answer = client.send("HEAD", "/export/graph")
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.headers["content-disposition"] == 'attachment; filename="graph.ndjson"'
    both = client.send("GET", "/export/graph?plain=true&history=true")
    assert both.code == "InvalidArgument"


def test_the_history_is_exported_to_those_who_may_read_all_that_it_has(connect: Connect) -> None:
    client = connect(gate=Gate(NamedCaller(), ClaimedPermissions(), Trail().append), **ACCESS)
    target = "/export/graph?history=true"
    assert client.send("GET", "/export/graph", headers={"x-caller": "ann query/read"}).status == 200
    assert client.send("GET", target, headers={"x-caller": "ann query/read"}).status == 403
    may = "query/read digitaltwins/read digitaltwins/relationships/read models/read"
    assert client.send("GET", target, headers={"x-caller": f"ann {may}"}).status == 200


def test_endpoints_are_listed_without_their_addresses(connect: Connect) -> None:
    answer = connect().send("GET", "/events/endpoints")
    assert answer.json == {"value": [{"name": "lines", "type": "log", "form": "cloudevents"}]}


def test_what_is_kept_names_its_settings(connect: Connect) -> None:
    client = connect(history={"keep_days": 7, "enabled": False})
    kept = client.send("GET", "/history").json
    assert kept["changes"]["kept"] is False
    assert "History__Enabled" in kept["changes"]["reason"]
    assert kept["points"] is None
    settings = {one["key"]: one for one in kept["settings"]}
    assert settings["History__KeepDays"]["value"] == 7
    assert settings["History__Telemetry"]["value"] == []
    assert "Days after which" in settings["History__KeepDays"]["description"]
    assert {"Events__KeepHours", "Events__RetryHours", "History__Who"} < settings.keys()
    assert not any("Endpoints" in key for key in settings)
