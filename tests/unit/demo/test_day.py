"""The day of the sample campus."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from twinframe.access.permission_grammar import parse_grant, parse_permission
from twinframe.cli.demo import _PERMISSIONS
from twinframe.control.tenants.catalogue import DATA_PERMISSIONS
from twinframe.demo.building import (
    FAILED_UNIT,
    WARM_FROM,
    WARM_ROOMS,
    Building,
    build_campus,
)
from twinframe.demo.day import DAY
from twinframe.demo.past import render_past, render_points

NOW = datetime(2026, 3, 4, 15, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def campus() -> Building:
    return build_campus()


@pytest.fixture(scope="module")
def changes(campus: Building) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in render_past(campus, NOW)]
    begin = lines.index({"Section": "Changes"}) + 1
    assert lines[-1] == {"changes": len(lines) - begin - 1}
    return lines[begin:-1]


def read_moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%f0Z").replace(tzinfo=UTC)


def drop_times(document: Any) -> Any:
    """The contents of a twin without its id and the times of its metadata."""
    if not isinstance(document, dict):
        return document
    left = {key: drop_times(value) for key, value in document.items() if key != "$metadata"}
    left.pop("$dtId", None)
    return left


def test_the_day_ends_with_the_campus(campus: Building, changes: list[dict[str, Any]]) -> None:
    last = {one["id"]: one["document"] for one in changes if one["change"].startswith("Twin")}
    assert {twin: drop_times(document) for twin, document in last.items()} == {
        twin: drop_times(json.loads(json.dumps(document)))
        for twin, document in campus.twins.items()
    }


def test_the_changes_come_in_their_order_and_within_the_day(changes: list[dict[str, Any]]) -> None:
    moments = [read_moment(one["time"]) for one in changes]
    assert moments == sorted(moments)
    assert moments[0] == NOW - DAY
    assert NOW - timedelta(minutes=1) < moments[-1] <= NOW


def test_each_change_is_one_and_has_its_times(changes: list[dict[str, Any]]) -> None:
    before: dict[str, Any] = {}
    for one in changes:
        if one["change"] == "TwinUpdated":
            assert drop_times(one["document"]) != drop_times(before[one["id"]])
            assert one["document"]["$metadata"]["$lastUpdateTime"] == one["time"]
        before[one["id"]] = one["document"]


def test_the_same_end_gives_the_same_day(campus: Building) -> None:
    assert b"".join(render_past(campus, NOW)) == b"".join(render_past(campus, NOW))


@pytest.mark.parametrize("hour", range(0, 24, 3))
def test_at_any_hour_the_rooms_of_the_failed_unit_alone_are_too_warm_since_an_hour(
    campus: Building, hour: int
) -> None:
    now = NOW.replace(hour=hour)
    since: dict[str, datetime] = {}
    for line in map(json.loads, render_past(campus, now)):
        room = line.get("id", "")
        if not (room.startswith("b1-") and "climate" in line.get("document", {})):
            continue
        if line["document"]["climate"]["temperature"] > WARM_FROM:
            since.setdefault(room, read_moment(line["time"]))
        else:
            since.pop(room, None)
    assert since.keys() == WARM_ROOMS.keys()
    for moment in since.values():
        assert timedelta(minutes=15) < now - moment < timedelta(minutes=80)


def test_the_warm_rooms_are_fed_by_the_failed_unit(campus: Building) -> None:
    fed: dict[str, str] = {
        str(edge.document["$targetId"]): edge.source
        for edge in campus.edges
        if edge.document["$relationshipName"] == "feeds"
    }
    assert {fed[fed[room]] for room in WARM_ROOMS} == {FAILED_UNIT}
    assert campus.twins[FAILED_UNIT]["status"] == "fault"


def test_telemetry_has_a_day_of_power_and_people(campus: Building) -> None:
    points = [json.loads(line) for line in render_points(campus, NOW)]
    assert {one["path"] for one in points} == {"power", "peopleCount"}
    power = [one for one in points if one["twinId"] == "b1-chiller"]
    assert len(power) > 280
    rated = campus.twins["b1-chiller"]["ratedPower"]
    assert isinstance(rated, float)
    assert all(0 < one["value"] < rated for one in power)


def test_the_token_of_the_demo_permits_all_that_a_graph_asks_for() -> None:
    grants = [parse_grant(text) for text in _PERMISSIONS]
    for name in (*DATA_PERMISSIONS, "jobs/read", "eventroutes/write", "auditlog/read"):
        permission = parse_permission(name.replace("*", "tools"))
        assert any(grant is not None and grant.covers(permission) for grant in grants), name
