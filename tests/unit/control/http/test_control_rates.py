"""Rates at the control plane: its callers are held to them, in its own form of errors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.control.http.control_world import World
from twinframe.access.rates import CallerRates, Kind, SharedBuckets
from twinframe.control.http.application import build_control_application
from twinframe.settings.operations import RateLimitSettings, RateSettings


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    rates = RateSettings.model_validate({kind.value: 0 for kind in Kind} | {"read": 2, "write": 1})
    settings = RateLimitSettings(enabled=True, per_second=rates, burst_seconds=1)
    limits = CallerRates(settings, SharedBuckets(10), clock=lambda: 5.0)
    made.app = build_control_application(made.plane, made.settings, made.gate, rates=limits)
    yield made
    made.close()


def test_a_caller_who_is_too_fast_is_refused_and_others_are_not(world: World) -> None:
    statuses = [world.send("GET", "/organizations", "root").status for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = world.send("GET", "/organizations", "root")
    assert set(refused.json) == {"error"}
    assert refused.headers["retry-after"] == "1"
    assert world.send("GET", "/organizations", "somebody").status == 200


def test_what_changes_something_is_a_write_and_is_not_done(world: World) -> None:
    sent = [{"name": "one"}, {"name": "two"}]
    statuses = [world.send("POST", "/organizations", "root", body).status for body in sent]
    assert statuses == [201, 429]
    listed = world.send("GET", "/organizations", "root").body
    assert (b'"one"' in listed, b'"two"' in listed) == (True, False)


def test_who_is_not_known_is_not_counted(world: World) -> None:
    assert {world.send("GET", "/organizations", None).status for _ in range(5)} == {401}


def test_a_program_that_asks_for_others_permissions_is_not_held_back_and_people_are(
    world: World,
) -> None:
    target = "/permissions/check?scopeType=platform&scopeId=platform"
    somebody = [world.send("GET", target, "somebody").status for _ in range(3)]
    assert somebody[2] == 429
    program = "server;client_id=server"
    assert 429 not in [world.send("GET", target, program).status for _ in range(5)]
    listed = [world.send("GET", "/organizations", program).status for _ in range(3)]
    assert listed == [200, 200, 429]
