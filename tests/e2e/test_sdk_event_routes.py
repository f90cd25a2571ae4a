"""Event routes through the vendor's SDK, sync and async, and what its recordings ask."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from azure.core.exceptions import HttpResponseError, ResourceNotFoundError
from azure.digitaltwins.core import DigitalTwinsEventRoute

from tests.e2e.conftest import Client

Unique = Callable[[str], str]

# SPEC: the filter of the SDK's own tests.
FILTER = (
    "$eventType = 'DigitalTwinTelemetryMessages' or $eventType = 'DigitalTwinLifecycleNotification'"
)


def build_route(filter_: str = FILTER, endpoint: str = "lines") -> DigitalTwinsEventRoute:
    return DigitalTwinsEventRoute(endpoint_name=endpoint, filter=filter_)


def test_a_route_is_created_read_listed_replaced_and_deleted(
    client: Client, unique: Unique
) -> None:
    route_id = unique("route")
    assert client.upsert_event_route(route_id, build_route()) is None
    read = client.get_event_route(route_id)
    assert (read.id, read.endpoint_name, read.filter) == (route_id, "lines", FILTER)
    assert route_id in [route.id for route in client.list_event_routes()]
    client.upsert_event_route(route_id, build_route("true"))
    assert client.get_event_route(route_id).filter == "true"
    client.delete_event_route(route_id)
    for gone in (client.get_event_route, client.delete_event_route):
        with pytest.raises(ResourceNotFoundError) as caught:
            gone(route_id)
        assert caught.value.error is not None
        assert caught.value.error.code == "EventRouteNotFound"


def test_routes_come_in_pages(client: Client, unique: Unique) -> None:
    names = [unique("paged") for _ in range(5)]
    for name in names:
        client.upsert_event_route(name, build_route("false"))
    found = [route.id for route in client.list_event_routes(headers={"max-items-per-page": "2"})]
    assert set(names) <= set(found)
    assert len(found) == len(set(found))
    for name in names:
        client.delete_event_route(name)


@pytest.mark.parametrize(
    ("route", "code", "message"),
    [
        (build_route(endpoint="nowhere"), "EventRouteEndpointInvalid", "does not exist"),
        (build_route("this is"), "EventRouteFilterInvalid", "Line=1, Position=0"),
        (build_route("type is 'x'"), "EventRouteFilterInvalid", "Unexpected input 'is'"),
    ],
)
def test_what_the_service_refuses(
    client: Client, unique: Unique, route: DigitalTwinsEventRoute, code: str, message: str
) -> None:
    with pytest.raises(HttpResponseError) as caught:
        client.upsert_event_route(unique("bad"), route)
    assert caught.value.status_code == 400
    error = caught.value.error
    assert error is not None
    assert error.code == code
    assert message in str(error.message)
