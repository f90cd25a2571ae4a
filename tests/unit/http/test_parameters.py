"""Query parameters that an operation does not take: refused by our own, passed over by others."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.http.operations import Route
from twinframe.http.routes import ROUTES

OWN = [route for route in ROUTES if route.is_strict]
LISTS = {each.name for route in OWN for each in route.parameters if each.kind == list[str]}
LENIENT = [route for route in ROUTES if not route.is_strict]


def call(client: Any, route: Route, query: str) -> Any:
    parts = ("x" if part[:1] == "{" else part for part in route.path.split("/"))
    body = None if route.method in ("GET", "DELETE") else b"{}"
    return client.send(route.method, f"{'/'.join(parts)}{query}", body)


def test_the_operations_beyond_the_vendors_are_strict() -> None:
    begins = ("/export", "/events", "/$transaction")
    assert {route.operation_id for route in ROUTES if route.path.startswith(begins)} < {
        route.operation_id for route in OWN
    }
    assert {"Bulk_PutTwins", "ImportJobs_Resume", "EventRoutes_ListDeadLetters"} < {
        route.operation_id for route in OWN
    }


@pytest.mark.parametrize("route", OWN, ids=lambda one: one.operation_id)
def test_a_strict_operation_takes_no_parameter_that_it_does_not_know(
    client: Any, route: Route
) -> None:
    answer = call(client, route, "?api_version=1")
    assert (answer.status, answer.code) == (400, "InvalidArgument")
    assert "no query parameter 'api_version'. Did you mean api-version?" in answer.body.decode()
    for passed_over in ("?api-version=x", "?api-version=x&api-version=y"):
        assert "query parameter" not in call(client, route, passed_over).body.decode()


@pytest.mark.parametrize(
    ("route", "name"),
    [(route, each.name) for route in OWN for each in route.parameters if each.position == "query"],
    ids=lambda one: getattr(one, "operation_id", one),
)
def test_a_strict_operation_repeats_only_lists(client: Any, route: Route, name: str) -> None:
    assert "no query parameter" not in call(client, route, f"?{name}=x").body.decode()
    repeated = call(client, route, f"?{name}=x&{name}=x").body.decode()
    assert ("stands there more than once" in repeated) is (name not in LISTS)
    near = call(client, route, f"?{name}s=x")
    assert f"Did you mean {name}?" in near.body.decode()


@pytest.mark.parametrize("route", LENIENT, ids=lambda one: one.operation_id)
def test_other_operations_pass_over_what_they_do_not_know(client: Any, route: Route) -> None:
    plain, more = (call(client, route, query) for query in ("", "?contents=x&api_version=1"))
    assert more.status == plain.status
