"""The router over the table."""

from __future__ import annotations

import pytest

from twinframe.http.routes import ROUTES
from twinframe.http.routing import TableRouter


async def answer(*_: object, **__: object) -> None:
    """A responder that does nothing."""


def test_a_route_that_stands_twice_is_a_mistake() -> None:
    router = TableRouter()
    router.add("/models/{model_id}", "GET", answer)
    with pytest.raises(ValueError, match="twice"):
        router.add("/Models/{model_id}", "GET", answer)


def test_one_place_has_one_parameter_name() -> None:
    router = TableRouter()
    router.add("/models/{model_id}", "GET", answer)
    with pytest.raises(ValueError, match="model_id"):
        router.add("/models/{other}", "PUT", answer)


def test_routes_come_from_the_table_alone() -> None:
    with pytest.raises(NotImplementedError):
        TableRouter().add_route("/models", object())


def test_the_whole_table_fits_one_router() -> None:
    router = TableRouter()
    for route in ROUTES:
        router.add(route.path, route.method, answer)
    assert {template for template, _ in router.paths()} == {route.path for route in ROUTES}
