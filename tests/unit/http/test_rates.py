"""Rates over HTTP: which operations count as what, and what a caller who is too fast is told."""

from __future__ import annotations

import pytest

from tests.unit.http.conftest import Client
from tests.unit.http.served_app import FakeGraph
from twinframe.access.rates import CallerRates, Kind, SharedBuckets
from twinframe.control.http.routes import CONTROL_ROUTES
from twinframe.http.access import find_control_kind, find_kind
from twinframe.http.application import build_application
from twinframe.http.routes import ROUTES
from twinframe.settings import Settings
from twinframe.settings.operations import RateLimitSettings, RateSettings

KINDS = {route.operation_id: find_kind(route) for route in ROUTES}


def build_client(**rates: float) -> Client:
    per_second = RateSettings.model_validate({kind.value: 0 for kind in Kind} | rates)
    settings = RateLimitSettings(enabled=True, per_second=per_second, burst_seconds=1)
    graph = FakeGraph()
    graph.documents.put(("room-1",), {"$dtId": "room-1"})
    limits = CallerRates(settings, SharedBuckets(10), clock=lambda: 5.0)
    return Client(build_application(graph, Settings(), rates=limits))


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        ("DigitalTwins_GetById", Kind.READ),
        ("DigitalTwins_Update", Kind.WRITE),
        ("DigitalTwins_SendTelemetry", Kind.WRITE),
        ("DigitalTwins_ListRelationships", Kind.READ),
        ("Query_QueryTwins", Kind.QUERY),
        ("DigitalTwinModels_Add", Kind.BULK),
        ("DigitalTwinModels_List", Kind.READ),
        ("ImportJobs_Add", Kind.BULK),
        ("ImportJobs_GetById", Kind.READ),
        ("DeleteJobs_Add", Kind.BULK),
        ("Health_Live", None),
    ],
)
def test_an_operation_has_its_kind(operation: str, kind: Kind | None) -> None:
    assert KINDS[operation] is kind


def test_whatever_asks_for_a_permission_has_a_rate() -> None:
    for route in (*ROUTES, *CONTROL_ROUTES):
        assert (find_kind(route) is None) == (route.permission is None)
        assert find_control_kind(route) is not Kind.BULK


def test_who_is_too_fast_is_told_so_and_when_to_come_again() -> None:
    client = build_client(read=2)
    statuses = [client.send("GET", "/digitaltwins/room-1").status for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = client.send("GET", "/digitaltwins/room-1")
    assert refused.code == refused.headers["x-ms-error-code"] == "TooManyRequests"
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["cache-control"] == "no-store"
    assert client.send("PUT", "/digitaltwins/room-1", b"{}").status == 200
    assert client.send("GET", "/health/live").status == 200


def test_queries_have_the_code_of_the_vendor() -> None:
    client = build_client(query=1)
    body = b'{"query":"SELECT * FROM DIGITALTWINS"}'
    assert client.send("POST", "/query", body).status == 200
    assert client.send("POST", "/query", body).code == "QuotaReachedError"


def test_what_is_refused_is_not_done() -> None:
    client = build_client(write=1)
    assert client.send("PUT", "/digitaltwins/a", b'{"v":1}').status == 200
    assert client.send("PUT", "/digitaltwins/a", b'{"v":2}').status == 429
    assert client.send("GET", "/digitaltwins/a").json == {"v": 1}
