"""Statuses, headers and bodies of the graph API over a graph in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.http.conftest import Client
from twinframe.http.application import build_application
from twinframe.model.etags import parse_condition
from twinframe.model.pages import PageRequest
from twinframe.settings import Settings

PATCH = b'[{"op":"add","path":"/a","value":1}]'


def test_a_twin_is_answered_as_stored_with_its_etag(client: Any, graph: Any) -> None:
    stored = graph.documents.put(("t",), {"$dtId": "t", "a": 1.50})
    answer = client.send("GET", "/digitaltwins/t?api-version=2023-10-31")
    assert (answer.status, answer.body) == (200, stored.body)
    assert answer.headers["etag"] == stored.etag
    assert answer.headers["content-type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize(
    "query", ["", "?api-version=2020-10-31", "?api-version=x", "?api-version="]
)
def test_any_api_version_or_none_is_accepted(client: Any, graph: Any, query: str) -> None:
    graph.documents.put(("t",), {})
    assert client.send("GET", f"/digitaltwins/t{query}").status == 200


def test_a_missing_twin_is_404_in_the_envelope(client: Any) -> None:
    answer = client.send("GET", "/digitaltwins/t")
    assert answer.status == 404
    assert answer.headers["x-ms-error-code"] == answer.code == "DigitalTwinNotFound"


def test_put_answers_200_for_create_and_replace(client: Any) -> None:
    first = client.send("PUT", "/digitaltwins/t", b'{"a":1}')
    second = client.send("PUT", "/digitaltwins/t", b'{"a":2}')
    assert (first.status, second.status) == (200, 200)
    assert first.headers["etag"] != second.headers["etag"]
    assert second.json == {"a": 2}


def test_put_hands_on_its_precondition(client: Any) -> None:
    sent = {"if-none-match": "*"}
    assert client.send("PUT", "/digitaltwins/t", b"{}", sent).status == 200
    answer = client.send("PUT", "/digitaltwins/t", b"{}", sent)
    assert (answer.status, answer.code) == (412, "PreconditionFailed")


@pytest.mark.parametrize(
    ("path", "call"),
    [
        ("/digitaltwins/t", ("patch_twin", "t")),
        ("/digitaltwins/t/components/c", ("patch_component", "t", "c")),
    ],
)
def test_patch_answers_204_with_the_new_etag(
    client: Any, graph: Any, path: str, call: tuple[str, ...]
) -> None:
    graph.documents.put(("t",), {})
    answer = client.send(
        "PATCH", path, PATCH, {"if-match": "*"}, content_type="application/json-patch+json"
    )
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["etag"].startswith('W/"')
    assert "content-type" not in answer.headers
    operations = [{"op": "add", "path": "/a", "value": 1}]
    assert graph.documents.calls[-1] == (*call, operations, parse_condition("*"))


def test_delete_answers_204_without_an_etag(client: Any, graph: Any) -> None:
    graph.documents.put(("t",), {})
    answer = client.send("DELETE", "/digitaltwins/t", headers={"if-match": 'W/"x"'})
    assert (answer.status, answer.body) == (204, b"")
    assert "etag" not in answer.headers
    assert graph.documents.calls == [("delete_twin", "t", parse_condition('W/"x"'))]


def test_a_component_is_read_by_twin_and_name(client: Any) -> None:
    answer = client.send("GET", "/digitaltwins/t/components/c")
    assert answer.json == {"twin": "t", "component": "c"}
    assert "etag" in answer.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("PUT", "/digitaltwins/t"),
        ("PATCH", "/digitaltwins/t"),
        ("POST", "/models"),
        ("POST", "/query"),
        ("PUT", "/digitaltwins/t/relationships/r"),
        ("POST", "/digitaltwins/t/telemetry"),
    ],
)
def test_an_empty_body_is_refused_without_a_code_header(
    client: Any, method: str, path: str
) -> None:
    for body in (None, b"", b"  "):
        answer = client.send(method, path, body)
        assert (answer.status, answer.code) == (400, "BadRequest")
        assert "x-ms-error-code" not in answer.headers


@pytest.mark.parametrize("body", [b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff", b'"\\ud800"'])
def test_a_body_that_is_not_strict_json_is_refused(client: Any, body: bytes) -> None:
    answer = client.send("PUT", "/digitaltwins/t", body)
    assert (answer.status, answer.code) == (400, "InvalidArgument")


@pytest.mark.parametrize(
    ("method", "content_type", "status"),
    [
        ("PUT", None, 200),
        ("PUT", "application/json", 200),
        ("PUT", "Application/JSON; Charset=UTF-8", 200),
        ("PUT", 'application/json; charset="utf-8"', 200),
        ("PUT", "application/json; charset=utf-16", 415),
        ("PUT", "application/json; charset=\xff", 415),
        ("PUT", "text/plain", 415),
        ("PUT", "application/json-patch+json", 415),
        ("PATCH", "application/json-patch+json; charset=utf-8", 204),
        ("PATCH", "application/json", 204),
        ("PATCH", "application/xml", 415),
    ],
)
def test_the_media_type_of_a_body_decides(
    client: Any, graph: Any, method: str, content_type: str | None, status: int
) -> None:
    graph.documents.put(("t",), {})
    answer = client.send(method, "/digitaltwins/t", b"[]", content_type=content_type)
    assert answer.status == status


def test_a_compressed_body_is_415(client: Any) -> None:
    answer = client.send("PUT", "/digitaltwins/t", b"{}", {"content-encoding": "gzip"})
    assert (answer.status, answer.code) == (415, "UnsupportedMediaType")


def test_relationships_are_listed_with_an_absolute_next_link(client: Any, graph: Any) -> None:
    for number in range(3):
        graph.documents.put(("t", f"r{number}"), {"n": number})
    path = "/api/DigitalTwins/t/relationships?relationshipName=feeds%20all&api-version=2022-05-31"
    first = client.send("GET", path, headers={"max-items-per-page": "2"})
    assert list(first.json) == ["nextLink", "value"]
    assert first.json["value"] == [{"n": 0}, {"n": 1}]
    link = urlsplit(first.json["nextLink"])
    assert f"{link.scheme}://{link.netloc}" == "https://localhost:8080"
    assert link.path == "/api/DigitalTwins/t/relationships"
    assert parse_qs(link.query) == {
        "relationshipName": ["feeds all"],
        "continuationToken": ["next/page+1="],
        "api-version": ["2022-05-31"],
    }
    second = client.send("GET", f"{link.path}?{link.query}")
    assert second.json["nextLink"] is None
    assert graph.documents.calls[-1][2:] == ("feeds all", PageRequest(None, "next/page+1="))


def test_incoming_relationships_have_four_keys_and_an_absolute_link(client: Any) -> None:
    answer = client.send("GET", "/api/digitaltwins/t/incomingrelationships?api-version=2020-10-31")
    assert answer.json == {
        "nextLink": None,
        "value": [
            {
                "$relationshipId": "rel 1",
                "$sourceId": "röom/1",
                "$relationshipName": "feeds",
                "$relationshipLink": "https://localhost:8080/api/digitaltwins/r%C3%B6om%2F1"
                "/relationships/rel%201?api-version=2020-10-31",
            }
        ],
    }


def test_links_take_the_public_url_when_it_is_set(connect: Callable[..., Any]) -> None:
    client = connect(Server={"PublicUrl": "https://public.example/"})
    assert (
        client.send("GET", "/models").json["nextLink"].startswith("https://public.example/models?")
    )


def test_links_are_relative_for_a_host_that_is_no_name_of_the_service(client: Any) -> None:
    forged = {"host": "evil.example"}
    listed = client.send("GET", "/models", headers=forged)
    assert listed.json["nextLink"].startswith("/models?includeModelDefinition=")
    incoming = client.send("GET", "/api/digitaltwins/t/incomingrelationships", headers=forged)
    link = incoming.json["value"][0]["$relationshipLink"]
    assert link.startswith("/api/digitaltwins/r%C3%B6om%2F1/relationships/rel%201?")
    own = client.send("GET", "/models", headers={"host": "127.0.0.1:8080"})
    assert own.json["nextLink"].startswith("https://127.0.0.1:8080/models?")


def test_a_relationship_is_put_read_patched_and_deleted(client: Any) -> None:
    path = "/digitaltwins/t/relationships/r"
    assert client.send("PUT", path, b'{"$targetId":"u"}').status == 200
    assert client.send("GET", path).json == {"$targetId": "u"}
    patched = client.send("PATCH", path, b"[]")
    assert (patched.status, "etag" in patched.headers) == (204, True)
    assert client.send("DELETE", path).status == 204
    missing = client.send("GET", path)
    assert (missing.status, missing.code) == (404, "RelationshipNotFound")


def test_models_are_created_with_201_in_order(client: Any) -> None:
    answer = client.send("POST", "/models", b'["b","a"]')
    assert (answer.status, answer.json) == (201, [{"id": "b"}, {"id": "a"}])
    assert client.send("POST", "/models", b"{}").code == "InvalidArgument"
    assert client.send("POST", "/models", b"[]").code == "InvalidArgument"


def test_models_are_listed_with_their_parameters_kept_in_the_next_link(
    client: Any, graph: Any
) -> None:
    path = "/models?dependenciesFor=dtmi%3Aa%3B1&dependenciesFor=dtmi%3Ab%3B1"
    answer = client.send(
        "GET", f"{path}&includeModelDefinition=True", headers={"max-items-per-page": "2"}
    )
    assert list(answer.json) == ["value", "nextLink"]
    query = parse_qs(urlsplit(answer.json["nextLink"]).query)
    assert query["dependenciesFor"] == ["dtmi:a;1", "dtmi:b;1"]
    assert query["includeModelDefinition"] == ["True"]
    expected = ("list_models", ("dtmi:a;1", "dtmi:b;1"), True, PageRequest(2, None))
    assert graph.documents.calls == [expected]


@pytest.mark.parametrize("size", ["0", "-1", "x", "1.5", "", "99999999999", "2147483648", "٣"])
def test_a_page_size_that_is_no_positive_integer_is_refused(client: Any, size: str) -> None:
    if size == "٣":
        size = size.encode().decode("latin-1")
    answer = client.send("GET", "/models", headers={"max-items-per-page": size})
    assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_a_model_id_is_decoded(client: Any) -> None:
    answer = client.send("GET", "/models/dtmi%3Acom%3Ax%3B1?includeModelDefinition=true")
    assert answer.json == {"id": "dtmi:com:x;1", "definition": True}
    assert client.send("GET", "/models/dtmi:com:x;1").json["definition"] is False
    whole = client.send("GET", "/models/dtmi:com:x;1?includeBaseModelContents=True")
    assert whole.json == {"id": "dtmi:com:x;1", "whole": True}
    for flag in ("false", ""):
        plain = client.send("GET", f"/models/dtmi:com:x;1?includeBaseModelContents={flag}")
        assert plain.json["definition"] is False
    refused = client.send("GET", "/models/dtmi:com:x;1?includeBaseModelContents=yes")
    assert refused.code == "InvalidArgument"
    refused = client.send("GET", "/models/dtmi:com:x;1?includeModelDefinition=yes")
    assert refused.code == "InvalidArgument"


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [
        ("DELETE", "/models/dtmi:x;1", ("delete_model", "dtmi:x;1")),
        ("DELETE", "/models", ("delete_all_models",)),
    ],
)
def test_models_are_deleted_with_204(
    client: Any, graph: Any, method: str, path: str, call: tuple[str, ...]
) -> None:
    assert client.send(method, path).status == 204
    assert graph.documents.calls == [call]


def test_a_model_is_decommissioned_with_204_and_no_etag(client: Any, graph: Any) -> None:
    body = b'[{"op":"replace","path":"/decommissioned","value":true}]'
    answer = client.send("PATCH", "/models/dtmi:x;1", body)
    assert (answer.status, "etag" in answer.headers) == (204, False)
    assert graph.documents.calls[0][0] == "decommission_model"


def test_telemetry_is_published_with_its_headers(client: Any, graph: Any) -> None:
    sent = {"message-id": "m1", "telemetry-source-time": "01/01/01 0:00:00 +00:00"}
    answer = client.send("POST", "/digitaltwins/t/components/c/telemetry", b'{"a":1}', sent)
    assert (answer.status, answer.body) == (204, b"")
    expected = ("publish", "t", "c", {"a": 1}, "m1", "01/01/01 0:00:00 +00:00")
    assert graph.documents.calls == [expected]


def test_telemetry_without_a_message_id_gets_one(client: Any, graph: Any) -> None:
    assert client.send("POST", "/digitaltwins/t/telemetry", b"{}").status == 204
    _, twin, component, _, message_id, source_time = graph.documents.calls[0]
    assert (twin, component, source_time) == ("t", None, None)
    assert len(message_id) == 36


def test_a_query_answers_rows_token_and_charge(client: Any, graph: Any) -> None:
    body = b'{"query":"SELECT *","parameters":{"p":1},"continuationToken":null}'
    answer = client.send("POST", "/query", body, {"max-items-per-page": "5"})
    assert answer.json == {"value": [{"a": 1}, {"a": 2}], "continuationToken": 'k"1'}
    assert answer.headers["query-charge"] == "6.19"
    assert graph.documents.calls == [("run", "SELECT *", {"p": 1}, None, 5)]
    last = client.send("POST", "/query", b'{"continuationToken":"k"}')
    assert last.json["continuationToken"] is None


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b"null", b'{"query":1}', b'{"query":"q","parameters":[1]}']
)
def test_a_query_body_of_another_form_is_refused(client: Any, body: bytes) -> None:
    answer = client.send("POST", "/query", body)
    assert (answer.status, answer.code) == (400, "InvalidArgument")


def test_an_unknown_path_is_404_and_a_wrong_method_405(client: Any) -> None:
    assert client.send("GET", "/nothing").code == "NotFound"
    assert client.send("GET", "/digitaltwins//relationships").status == 404
    answer = client.send("DELETE", "/query")
    assert (answer.status, answer.code) == (405, "MethodNotAllowed")
    assert answer.headers["allow"] == "OPTIONS, POST"


def test_head_answers_like_get_without_a_body(client: Any, graph: Any) -> None:
    stored = graph.documents.put(("t",), {"a": 1})
    answer = client.send("HEAD", "/digitaltwins/t")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["content-length"] == str(len(stored.body))


def test_options_names_the_methods(client: Any) -> None:
    answer = client.send("OPTIONS", "/digitaltwins/t")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["allow"] == "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"


def test_the_service_is_ready_while_its_store_answers_and_no_drain_has_begun(
    connect: Callable[..., Any],
) -> None:
    answers = [True]

    async def is_ready() -> bool:
        return answers[0]

    client = connect(is_ready=is_ready)
    assert client.send("GET", "/health/ready").status == 200
    answers[0] = False
    assert client.send("GET", "/api/health/ready").status == 503
    answers[0] = True
    client.app.begin_drain()
    assert client.send("GET", "/health/ready").status == 503
    assert client.send("GET", "/health/live").status == 200


def test_a_service_without_room_for_writes_is_ready_and_says_so(graph: Any) -> None:
    full = [True]
    app = build_application(graph, Settings(), is_full=lambda: full[0])
    answer = Client(app).send("GET", "/health/ready")
    assert (answer.status, answer.json["status"], answer.json["writes"]) == (
        200,
        "ready",
        "refused",
    )
    full[0] = False
    assert Client(app).send("GET", "/health/ready").json == {"status": "ready"}
    full[0] = True
    app.begin_drain()
    answer = Client(app).send("GET", "/health/ready")
    assert (answer.status, answer.json) == (503, {"status": "not ready"})
