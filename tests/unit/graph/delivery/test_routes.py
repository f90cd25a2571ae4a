"""Event routes as callers see them: what is taken, what is refused and with which words."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    EventRouteEndpointInvalid,
    EventRouteFilterInvalid,
    EventRouteIdInvalid,
    EventRouteNotFound,
    EventsDisabled,
    InvalidArgument,
    LimitExceeded,
    TwinframeError,
)
from twinframe.graph import Graph
from twinframe.graph.delivery import routes as event_routes
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints
from twinframe.graph.delivery.log_sink import LogSink
from twinframe.graph.delivery.records import Route
from twinframe.graph.delivery.routes import EventRoutes
from twinframe.model.pages import PageRequest
from twinframe.settings import Settings
from twinframe.settings.events import MOST_ROUTES, EventsSettings
from twinframe.storage.base import OutboxEvent
from twinframe.testing.contracts.base import run

ENDPOINTS = Endpoints(
    {
        "alarms": Endpoint("alarms", "log", LogSink("alarms")),
        "shared": Endpoint("shared", "log", LogSink("shared"), hosted=True),
    }
)
GOOD: Any = {"endpointName": "alarms", "filter": "true"}


def build_routes(world: Any, host: str | None = None, **events: Any) -> EventRoutes:
    settings = Settings(events=EventsSettings(**events))
    runner = InlineRunner(world.store)
    return Graph(
        runner, settings, clock=world.read_clock, endpoints=ENDPOINTS, host=host
    ).event_routes


def test_a_route_is_put_read_replaced_and_deleted(world: Any) -> None:
    routes = build_routes(world)
    world.do(routes.put_route("r1", GOOD))
    assert world.do(routes.read_route("r1")) == Route("r1", "alarms", "true")
    world.do(routes.put_route("r1", {**GOOD, "filter": "false"}))
    assert world.do(routes.read_route("r1")).filter == "false"
    world.do(routes.delete_route("r1"))
    for gone in (routes.read_route("r1"), routes.delete_route("r1"), routes.read_status("r1")):
        with pytest.raises(EventRouteNotFound, match="no route available"):
            world.do(gone)


def test_routes_are_listed_by_id_in_pages(world: Any) -> None:
    routes = build_routes(world)
    names = [f"r{number}" for number in range(7)]
    for name in reversed(names):
        world.do(routes.put_route(name, GOOD))
    seen: list[str] = []
    token = None
    while True:
        page = world.do(routes.list_routes(PageRequest(3, token)))
        assert len(page.items) <= 3
        seen += [route.id for route in page.items]
        token = page.token
        if token is None:
            break
    assert seen == names


@pytest.mark.parametrize(
    ("route_id", "document", "error", "message"),
    [
        ("r", {"filter": "true"}, EventRouteEndpointInvalid, "missing.*alarms, shared"),
        (
            "r",
            {"endpointName": "alarm", "filter": "true"},
            EventRouteEndpointInvalid,
            "mean alarms",
        ),
        ("r", {"endpointName": "", "filter": "true"}, EventRouteEndpointInvalid, "missing"),
        ("r", {"endpointName": "alarms"}, EventRouteFilterInvalid, "filter is missing"),
        ("r", {"endpointName": "alarms", "filter": None}, EventRouteFilterInvalid, "missing"),
        ("r", {"endpointName": "alarms", "filter": "type is 'x'"}, EventRouteFilterInvalid, "'is'"),
        ("r", {"endpointName": "alarms", "filter": "x" * 9000}, EventRouteFilterInvalid, "8192"),
        ("r", [], InvalidArgument, "endpointName and filter"),
        ("", GOOD, EventRouteIdInvalid, "must not be empty"),
        ("a\nb", GOOD, EventRouteIdInvalid, "U\\+000A"),
        ("x" * 257, GOOD, EventRouteIdInvalid, "at most 256"),
    ],
)
def test_what_is_no_route_is_refused(
    world: Any, route_id: str, document: Any, error: type[TwinframeError], message: str
) -> None:
    routes = build_routes(world)
    with pytest.raises(error, match=message):
        world.do(routes.put_route(route_id, document))
    assert world.do(routes.list_routes()).items == ()


def test_there_are_only_so_many_routes(world: Any) -> None:
    routes = build_routes(world, max_routes=2)
    for name in ("a", "b", "a"):
        world.do(routes.put_route(name, GOOD))
    with pytest.raises(LimitExceeded, match="Events__MaxRoutes"):
        world.do(routes.put_route("c", GOOD))
    world.do(routes.delete_route("b"))
    world.do(routes.put_route("c", GOOD))


def test_no_more_routes_may_be_allowed_than_are_delivered() -> None:
    assert EventsSettings(max_routes=MOST_ROUTES).max_routes == MOST_ROUTES
    with pytest.raises(ValidationError, match="max_routes"):
        EventsSettings(max_routes=MOST_ROUTES + 1)


def test_routes_of_hosted_graphs_reach_only_endpoints_offered_to_them(world: Any) -> None:
    routes = build_routes(world, host="g.twins.example")
    world.do(routes.put_route("r", {"endpointName": "shared", "filter": "true"}))
    with pytest.raises(EventRouteEndpointInvalid, match="Known are: shared") as caught:
        world.do(routes.put_route("r", GOOD))
    assert "alarms'" in caught.value.message


def test_a_filter_is_tried_on_recent_events(world: Any) -> None:
    routes = build_routes(world)
    for twin_id, temperature in (("a", 20.0), ("b", 31.0), ("c", 32.0)):
        world.put(twin_id, temperature=temperature)
    world.patch("a", {"op": "replace", "path": "/temperature", "value": 40.0})
    trial = world.do(routes.try_filter("CROSSED_ABOVE(temperature, 30)", 100))
    assert trial.examined >= 4
    assert [event.document["subject"] for event in trial.events] == ["b", "c", "a"]
    trial = world.do(routes.try_filter("CROSSED_ABOVE(temperature, 30)", 1))
    assert [event.document["subject"] for event in trial.events] == ["a"]
    with pytest.raises(EventRouteFilterInvalid):
        world.do(routes.try_filter("nonsense(", 1))
    for limit in (0, 1001):
        with pytest.raises(InvalidArgument):
            world.do(routes.try_filter("true", limit))


def test_large_events_are_tried_few_at_a_time_and_answered_up_to_some_bytes(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    routes = build_routes(world)
    large = b'{"type":"Large","data":"%b"}' % (b"x" * 300_000)
    run(world.store, lambda t: t.append_events([OutboxEvent("a", large)] * 40))
    asked: list[int] = []
    session_class = type(world.store.session())
    read_events = session_class.read_events

    def note(session: Any, *, after: int, limit: int) -> Any:
        asked.append(limit)
        return read_events(session, after=after, limit=limit)

    monkeypatch.setattr(session_class, "read_events", note)
    trial = world.do(routes.try_filter("type = 'Large'", 1000))
    assert trial.examined >= 40
    assert max(asked) <= 8
    assert len(trial.events) == 40
    newest = [event.position for event in trial.events[-3:]]
    monkeypatch.setattr(event_routes, "_MOST_BYTES", 1_000_000)
    trial = world.do(routes.try_filter("type = 'Large'", 1000))
    assert [event.position for event in trial.events] == newest
    monkeypatch.setattr(event_routes, "_MOST_BYTES", 0)
    assert len(world.do(routes.try_filter("type = 'Large'", 1000)).events) == 1


def test_a_status_says_how_far_the_route_is(world: Any) -> None:
    routes = build_routes(world)
    world.put("a")
    world.do(routes.put_route("r", GOOD))
    world.put("b")
    status = world.do(routes.read_status("r"))
    assert (status.behind, status.progress.position) == (1, status.last - 1)
    world.do(routes.replay("r", 0))
    assert world.do(routes.read_status("r")).behind == status.last
    world.do(routes.replay("r", 10**9))
    assert world.do(routes.read_status("r")).behind == 0
    with pytest.raises(InvalidArgument):
        world.do(routes.replay("r", -1))
    with pytest.raises(EventRouteNotFound):
        world.do(routes.replay("x", 0))


def test_without_events_there_are_no_routes(world: Any) -> None:
    routes = build_routes(world, enabled=False)
    for refused in (routes.put_route("r", GOOD), routes.try_filter("true", 1)):
        with pytest.raises(EventsDisabled, match="Events__Enabled"):
            world.do(refused)
