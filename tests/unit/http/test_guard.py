"""Names, ids, body limits and unexpected errors, as the guard handles them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import StorageFull
from twinframe.http.errors import BadRequestTarget
from twinframe.http.paths import TargetParser, parse_segments

Connect = Callable[..., Any]


def test_an_encoded_slash_stays_inside_the_id(client: Any, graph: Any) -> None:
    client.send("PUT", "/digitaltwins/devices%2Ft67", b"{}")
    assert graph.documents.calls[0][1] == "devices/t67"


@pytest.mark.parametrize(
    "path",
    [
        *("/digitaltwins/%00", "/digitaltwins/a%0d%0ab", "/digitaltwins/a%1f", "/digitaltwins/%7f"),
        *("/digitaltwins/%FF", "/digitaltwins/%C0%AF", "/digitaltwins/%ED%A0%80"),
        *("/digitaltwins/%zz", "/digitaltwins/%", "/digitaltwins/a%2", "/digitaltwins/%EF%BF%BD"),
        *("/digitaltwins/.", "/digitaltwins/..", "/digitaltwins/%2e%2E", "/digitaltwins/%C2%85"),
        *("/digitaltwins/a/../b", "/digitaltwins/\xe9", "/models?dependenciesFor=%FF"),
        "/digitaltwins/a/relationships?relationshipName=%00",
    ],
)
def test_a_name_that_is_not_clean_utf8_is_refused(client: Any, graph: Any, path: str) -> None:
    answer = client.send("GET", path)
    assert answer.status == 400
    assert answer.code == "InvalidArgument"
    assert answer.headers["x-ms-error-code"] == "InvalidArgument"
    assert "x-request-id" in answer.headers
    assert graph.documents.calls == []


@pytest.mark.parametrize("path", ["/Models", "/MODELS", "/models/", "/api/models", "/API/Models"])
def test_segments_of_the_api_match_in_any_case_and_under_the_base_path(
    client: Any, path: str
) -> None:
    assert client.send("GET", path).status == 200


def test_ids_keep_their_case(client: Any, graph: Any) -> None:
    client.send("PUT", "/DigitalTwins/Room-A", b"{}")
    assert graph.documents.calls[0][1] == "Room-A"


def test_the_base_path_is_a_setting(connect: Connect) -> None:
    client = connect(Server={"BasePath": "/graphs/one"})
    assert client.send("GET", "/Graphs/One/models").status == 200
    assert client.send("GET", "/api/models").status == 404
    assert client.send("GET", "/models").status == 200


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_every_segment_that_is_accepted_comes_back_as_it_was_encoded(texts: list[str]) -> None:
    raw = "".join(
        "/" + "".join(f"%{byte:02X}" for byte in text.encode("utf-8", "surrogatepass"))
        for text in texts
    )
    try:
        assert parse_segments(raw.encode("ascii")) == texts
    except BadRequestTarget:
        assert any(
            not text.isprintable() or "\ufffd" in text or text in (".", "..") for text in texts
        )


@given(st.binary(max_size=60))
def test_any_raw_path_is_parsed_or_refused(raw: bytes) -> None:
    try:
        target = TargetParser("/api").parse(b"/" + raw)
    except BadRequestTarget:
        return
    assert all("\0" not in segment for segment in target.segments)


def test_a_sane_request_id_is_taken_over_and_another_is_replaced(client: Any) -> None:
    kept = client.send("GET", "/models", headers={"x-request-id": "run-7/step:2"})
    assert kept.headers["x-request-id"] == "run-7/step:2"
    for bad in ("", "a b", "a\r\nset-cookie: x", "x" * 129, "é"):
        made = client.send("GET", "/models", headers={"x-request-id": bad})
        assert made.headers["x-request-id"].isalnum()
        assert made.headers["x-request-id"] != bad


def test_request_ids_that_are_made_differ(client: Any) -> None:
    ids = {client.send("GET", "/models").headers["x-request-id"] for _ in range(20)}
    assert len(ids) == 20


def test_a_trace_is_answered_with_its_own_id(client: Any) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    sent = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    version, trace_id, span, flags = (
        client.send("GET", "/models", headers=sent).headers["traceresponse"].split("-")
    )
    assert (version, trace_id, flags) == ("00", trace, "01")
    assert len(span) == 16


@pytest.mark.parametrize(
    "value",
    [
        "",
        "00-0-0-01",
        f"00-{'0' * 32}-b7ad6b7169203331-01",
        f"ff-{'a' * 32}-{'b' * 16}-01",
        "x\r\ny",
    ],
)
def test_a_trace_that_is_not_well_formed_is_not_answered(client: Any, value: str) -> None:
    assert (
        "traceresponse" not in client.send("GET", "/models", headers={"traceparent": value}).headers
    )


def test_a_declared_body_beyond_the_limit_is_413(connect: Connect) -> None:
    client = connect(Server={"MaxBodyBytes": 100})
    answer = client.send("PUT", "/digitaltwins/a", b" " * 101)
    assert (answer.status, answer.code) == (413, "RequestBodyTooLarge")


def test_a_chunked_body_beyond_the_limit_is_413(connect: Connect) -> None:
    client = connect(Server={"MaxBodyBytes": 100})
    chunked = {"transfer-encoding": "chunked", "content-length": "0"}
    answer = client.send("PUT", "/digitaltwins/a", b" " * 101, chunked)
    assert answer.status == 413


def test_a_body_that_breaks_off_is_not_written(client: Any, graph: Any) -> None:
    client.send("PUT", "/digitaltwins/a", b"{}", {"content-length": "10"}, truncated=True)
    assert graph.documents.calls == []


def test_an_unexpected_error_is_answered_500_without_its_reason_and_logged_once(
    client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = client.send("POST", "/query", b'{"query":"crash"}')
    assert (answer.status, answer.code) == (500, "InternalError")
    assert b"ZeroDivision" not in answer.body
    assert len(caplog.records) == 1
    assert answer.headers["x-request-id"] in caplog.text


def test_a_full_disk_is_answered_507_and_told_to_the_operator(
    client: Any, graph: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(*_args: Any, **_named: Any) -> None:
        raise StorageFull("No space is left for x.db.")

    monkeypatch.setattr(type(graph.queries), "run", refuse)
    with caplog.at_level(logging.WARNING):
        answer = client.send("POST", "/query", b'{"query":"RETURN 1 AS x"}')
    assert (answer.status, answer.code) == (507, "InsufficientStorage")
    (record,) = caplog.records
    assert record.getMessage() == "InsufficientStorage: No space is left for x.db."
    assert record.exc_info is None


def test_a_preflight_is_answered_for_patch(connect: Connect) -> None:
    client = connect(Cors={"Origins": ["https://app.example"]})
    asked = {
        "origin": "https://app.example",
        "access-control-request-method": "PATCH",
        "access-control-request-headers": "if-match,content-type,authorization",
    }
    answer = client.send("OPTIONS", "/digitaltwins/a", headers=asked)
    assert answer.status == 200
    assert "PATCH" in answer.headers["access-control-allow-methods"]
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "x-request-id" in answer.headers


def test_a_browser_may_read_refusals_of_the_guard(connect: Connect) -> None:
    client = connect(Cors={"Origins": ["https://app.example"]})
    answer = client.send("GET", "/digitaltwins/%00", headers={"origin": "https://app.example"})
    assert answer.status == 400
    assert answer.headers["access-control-allow-origin"] == "https://app.example"
    assert "ETag" in answer.headers["access-control-expose-headers"]


def test_another_origin_gets_no_leave(connect: Connect) -> None:
    client = connect(Cors={"Origins": ["https://app.example"]})
    answer = client.send("GET", "/models", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in answer.headers


def test_without_origins_no_cors_header_is_sent(client: Any) -> None:
    answer = client.send("GET", "/models", headers={"origin": "https://app.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]
