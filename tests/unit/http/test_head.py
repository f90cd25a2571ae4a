"""HEAD at every route that has GET: the same head, without a body."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.http.operations import Route
from twinframe.http.routes import ROUTES

NAMES = {
    "twin_id": "t",
    "relationship_id": "r",
    "component": "c",
    "model_id": "dtmi:x;1",
    "name": "swagger-ui.css",
}
OWN = ("x-request-id", "content-length")


def build_target(route: Route) -> str:
    parts = (
        NAMES.get(part[1:-1], "x") if part[:1] == "{" else part for part in route.path.split("/")
    )
    return "/".join(parts)


@pytest.mark.parametrize("query", ["", "?filter=(&content=twin&format=no"])
@pytest.mark.parametrize(
    "route", [route for route in ROUTES if route.method == "GET"], ids=lambda one: one.operation_id
)
def test_head_tells_what_get_would(client: Any, graph: Any, route: Route, query: str) -> None:
    graph.documents.put(("t",), {"a": 1})
    graph.documents.put(("t", "r"), {"a": 1})
    target = build_target(route) + query
    got, told = client.send("GET", target), client.send("HEAD", target)
    assert (told.status, told.body) == (got.status, b"")
    for answer in (got, told):
        length = answer.headers.get("content-length")
        assert length is None or int(length) == len(got.body)
    assert [name for name in told.headers if name not in OWN] == [
        name for name in got.headers if name not in OWN
    ]
    same = ((name, value) for name, value in got.headers.items() if name not in OWN)
    assert all(told.headers[name] == value for name, value in same)
