"""Spans of requests, queries and writes: whose children they are and what they carry."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from twinframe.errors import ConfigurationError
from twinframe.runtime.instruments.base import Commit, QueryRun, Write
from twinframe.runtime.instruments.traces import Traces

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Kept(SpanExporter):
    """An exporter that keeps what it is given."""

    def __init__(self) -> None:
        self.spans: dict[str, ReadableSpan] = {}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans.update({span.name: span for span in spans})
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Nothing is held."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def traces(kept: Kept) -> Traces:
    made = Traces("1.2.3", kept)
    made.start()
    return made


def build_run(error: str = "") -> QueryRun:
    return QueryRun(
        text="MATCH (n {pin: 'hunter2'}) RETURN n",
        language="cypher",
        engine="sqlite",
        started=100.0,
        seconds=2.0,
        compiling=(100.25, 100.5),
        running=(100.5, 102.0),
        rows=7,
        charge=3.5,
        error=error,
        fingerprint=str,
    )


def find_parent(span: ReadableSpan) -> int:
    assert span.parent is not None
    return span.parent.span_id


def find_id(span: ReadableSpan) -> int:
    assert span.context is not None
    found: int = span.context.span_id
    return found


def test_a_request_goes_on_a_trace_and_its_query_and_write_are_below_it(
    traces: Traces, kept: Kept
) -> None:
    async def play() -> None:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        span, token = traces.begin_request("POST", headers, {"url.path": "/query"})
        await asyncio.sleep(0)
        traces.note_query(build_run())
        traces.note_write(Write(101.0, 0.5, Commit(3, 0, 101.25, 0.25), ""))
        traces.end_request(span, token, "POST", "/query", 200)

    asyncio.run(play())
    traces.stop()
    spans = kept.spans
    request = spans["POST /query"]
    assert request.context is not None
    assert f"{request.context.trace_id:032x}" == TRACE
    assert f"{find_parent(request):016x}" == PARENT
    assert request.attributes is not None
    assert request.attributes["http.route"] == "/query"
    assert find_parent(spans["query"]) == find_id(request)
    assert find_parent(spans["write"]) == find_id(request)
    assert find_parent(spans["commit"]) == find_id(spans["write"])
    for name, moments in (("query compile", (100.25, 100.5)), ("query run", (100.5, 102.0))):
        child = spans[name]
        assert find_parent(child) == find_id(spans["query"])
        assert (child.start_time, child.end_time) == tuple(int(m * 10**9) for m in moments)


def test_a_query_is_told_without_its_literals(traces: Traces, kept: Kept) -> None:
    traces.note_query(build_run(error="TimeoutError"))
    traces.stop()
    span = kept.spans["query"]
    assert span.attributes is not None
    assert span.attributes["db.query.text"] == "MATCH (n {pin: ?}) RETURN n"
    assert span.attributes["error.type"] == "TimeoutError"
    assert not span.status.is_ok
    assert span.attributes["twinframe.query.engine"] == "sqlite"


def test_a_refusal_is_no_error_of_the_service(traces: Traces, kept: Kept) -> None:
    for status in (404, 503):
        span, token = traces.begin_request("GET", {}, {})
        traces.end_request(span, token, "GET", f"/{status}", status)
    traces.stop()
    assert kept.spans["GET /404"].status.is_ok or kept.spans["GET /404"].status.is_unset
    assert not kept.spans["GET /503"].status.is_ok


@pytest.mark.parametrize("header", ["", "00-zz-yy-01", f"00-{'0' * 32}-{PARENT}-01", "\xff" * 300])
def test_a_trace_that_is_none_begins_a_new_one(traces: Traces, kept: Kept, header: str) -> None:
    span, token = traces.begin_request("GET", {"traceparent": header}, {})
    traces.end_request(span, token, "GET", "", 404)
    traces.stop()
    assert kept.spans["GET"].parent is None


def test_an_exporter_that_is_not_there_is_said_with_the_way_to_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    with pytest.raises(ConfigurationError, match="pip install opentelemetry-exporter-otlp-proto-g"):
        Traces("1.2.3")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "zipkin")
    with pytest.raises(ConfigurationError, match="no exporter of spans named 'zipkin'"):
        Traces("1.2.3")


def test_spans_may_be_made_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    made = Traces("1.2.3")
    made.start()
    made.note_query(build_run())
    made.stop()
