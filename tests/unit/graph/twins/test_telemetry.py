"""Telemetry is checked for its form and accepted (wire facts §2.2, conflict 7)."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.errors import (
    ComponentNotFound,
    InvalidArgument,
    LimitExceeded,
    TwinNotFound,
    ValidationFailed,
)


def publish(world: Any, twin_id: str, component: str | None, payload: Any, **more: Any) -> None:
    more = {"message_id": "m1", "source_time": None, **more}
    world.do(
        world.graph.telemetry.publish(
            twin_id, component, payload, more["message_id"], more["source_time"]
        )
    )


@pytest.mark.parametrize("payload", [{"motion": True}, {"motion": "wrong type"}, {"other": 1}, {}])
@pytest.mark.parametrize("source_time", [None, "2024-01-01T00:00:00Z", "01/01/01 0:00:00 +00:00"])
def test_any_object_is_accepted(world: Any, payload: Any, source_time: str | None) -> None:
    before = world.put("r")
    publish(world, "r", None, payload, source_time=source_time)
    publish(world, "r", "thermostat", payload, source_time=source_time)
    assert world.read("r") == before


def test_telemetry_needs_its_twin_and_component(world: Any) -> None:
    with pytest.raises(TwinNotFound):
        publish(world, "x", None, {})
    with pytest.raises(TwinNotFound):
        publish(world, "x", "thermostat", {})
    world.put("r")
    with pytest.raises(ComponentNotFound):
        publish(world, "r", "none", {})


@pytest.mark.parametrize("payload", [[], [{}], 1, "x", None])
def test_a_payload_that_is_no_object_is_refused(world: Any, payload: Any) -> None:
    world.put("r")
    with pytest.raises(ValidationFailed):
        publish(world, "r", None, payload)


def test_a_message_id_and_the_size_are_bounded(world: Any) -> None:
    world.put("r")
    for message_id in ("", "x" * 1025):
        with pytest.raises(InvalidArgument, match="Message-Id"):
            publish(world, "r", None, {}, message_id=message_id)
    with pytest.raises(LimitExceeded):
        publish(world, "r", None, {"x": "y" * 1024 * 1024})
