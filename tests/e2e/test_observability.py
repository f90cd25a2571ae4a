"""What an operator sees of two workers from outside: metrics, spans, slow queries, refusals."""

from __future__ import annotations

import http.server
import json
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.server import Server, free_port
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.waiting import Threads, join, start

QUERY = "SELECT COUNT() FROM DIGITALTWINS T WHERE T.$dtId != 'hunter2'"
TRACE = "0af7651916cd43dd8448eb211c80319c"
Sample = tuple[str, frozenset[tuple[str, str]]]


class Collector:
    """An OTLP endpoint that keeps the spans it is sent, by trace."""

    def __init__(self) -> None:
        spans: list[tuple[str, str, str, str]] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # the name the library calls
                size = int(self.headers["content-length"])
                sent = ExportTraceServiceRequest.FromString(self.rfile.read(size))
                for group in sent.resource_spans:
                    for scope in group.scope_spans:
                        for span in scope.spans:
                            ids = (span.trace_id.hex(), span.span_id.hex())
                            spans.append((span.name, *ids, span.parent_span_id.hex()))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # as there
                """Nobody reads it."""

        self.spans = spans
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = start(self.server.serve_forever)

    def close(self) -> None:
        self.server.shutdown()
        join(self.thread)
        self.server.server_close()


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    made = Collector()
    yield made
    made.close()


@pytest.fixture(scope="module")
def service(
    tmp_path_factory: pytest.TempPathFactory, collector: Collector
) -> Iterator[tuple[Server, int]]:
    port = free_port()
    environment = {
        "Metrics__Enabled": "true",
        "Metrics__Bind": f"127.0.0.1:{port}",
        "Traces__Enabled": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
        "Logging__SlowQuery": "0.000001",
        "RateLimits__Enabled": "true",
        "RateLimits__PerSecond__Query": "0",
        "RateLimits__PerSecond__Read": "50",
        "RateLimits__BurstSeconds": "2",
    }
    running = Server(tmp_path_factory.mktemp("seen"), workers=2, environment=environment)
    with running:
        wire = Wire(running.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        assert wire.call("PUT", "/digitaltwins/a", counter(1))[0] == 200
        wire.close()
        yield running, port
    assert "Traceback" not in running.log.read_text(encoding="utf-8")


def read_metrics(port: int) -> dict[Sample, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        assert answer.headers["content-type"].startswith("text/plain")
        families = text_string_to_metric_families(answer.read().decode())
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def at(name: str, **labels: str) -> Sample:
    return f"twinframe_{name}", frozenset(labels.items())


def call_many(service: Server, path: str, times: int) -> list[int]:
    """Statuses of calls on connections of their own, so that both workers get some."""

    def call(_number: int) -> int:
        wire = Wire(service.port)
        try:
            return wire.call("GET", path)[0]
        finally:
            wire.close()

    with Threads(8) as pool:
        return list(pool.map(call, range(times)))


def list_slow(server: Server, request_id: str) -> list[dict[str, Any]]:
    """The lines of the log about slow queries of one request."""
    lines = server.log.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if '"slow query"' in line and line.endswith("}")]
    return [line for line in found if line["request_id"] == request_id]


def test_a_scrape_has_the_requests_of_all_workers_whoever_answers_it(
    service: tuple[Server, int],
) -> None:
    server, port = service
    route = at("requests_total", route="/health/live", method="GET", status="200")
    before = read_metrics(port).get(route, 0)
    assert set(call_many(server, "/health/live", 60)) == {200}
    # NOTE: a request is counted when its answer is out, so the last one may be on its way yet.
    end = time.monotonic() + 120
    while read_metrics(port).get(route) != before + 60 and time.monotonic() < end:
        time.sleep(0.02)
    for _ in range(4):
        found = read_metrics(port)
        assert found[route] == before + 60
    seconds = at("request_seconds_count", route="/health/live", method="GET")
    assert found[seconds] == found[route]
    # The service writes as well, such as its leases.
    assert found[at("writes_total", outcome="done")] >= 2
    assert {dict(labels)["pid"] for name, labels in found if name.endswith("open_fds")} == {
        "0",
        "1",
    }


def test_a_query_is_counted_traced_and_logged(
    service: tuple[Server, int], collector: Collector
) -> None:
    server, port = service
    wire = Wire(server.port)
    parent = "b7ad6b7169203331"
    traceparent = f"00-{TRACE}-{parent}-01"
    status, headers, _ = wire.call("POST", "/query", {"query": QUERY}, traceparent=traceparent)
    wire.close()
    assert status == 200
    found = read_metrics(port)
    assert found[at("queries_total", language="adt", engine="sqlite", outcome="done")] >= 1
    version, trace, span, _flags = headers["traceresponse"].split("-")
    assert (version, trace) == ("00", TRACE)
    end = time.monotonic() + 120
    mine: dict[str, tuple[str, str]] = {}
    while not {"POST /query", "query run"} <= set(mine) and time.monotonic() < end:
        time.sleep(0.05)
        mine = {name: (own, above) for name, of, own, above in list(collector.spans) if of == TRACE}
    assert mine["POST /query"] == (span, parent)
    assert mine["query"][1] == span
    assert mine["query run"][1] == mine["query"][0]
    logged = list_slow(server, headers["x-request-id"])
    while not logged and time.monotonic() < end:  # a thread writes the log
        time.sleep(0.05)
        logged = list_slow(server, headers["x-request-id"])
    assert [line["query"] for line in logged] == [QUERY.replace("'hunter2'", "?")]
    assert (logged[0]["engine"], logged[0]["rows"]) == ("sqlite", 1)
    assert "hunter2" not in server.log.read_text(encoding="utf-8")


def test_a_rate_holds_over_both_workers_together(service: tuple[Server, int]) -> None:
    server, port = service
    start, statuses = time.monotonic(), list[int]()
    while 429 not in statuses:  # a machine that is slower than the rate calls more often
        statuses += call_many(server, "/digitaltwins/a", 400)
    seconds = time.monotonic() - start
    assert set(statuses) == {200, 429}
    assert 100 <= statuses.count(200) <= 100 + 50 * seconds + 8
    assert read_metrics(port)[at("rate_limited_total", kind="read")] == statuses.count(429)


def test_nothing_but_metrics_stands_at_their_address(service: tuple[Server, int]) -> None:
    _, port = service
    wire = Wire(port)
    connection = wire._connection
    for method, path, status in (
        ("GET", "/digitaltwins/a", 404),
        ("POST", "/metrics", 405),
        ("HEAD", "/metrics", 200),
    ):
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        assert (method, path, answer.status) == (method, path, status)
    wire.close()
