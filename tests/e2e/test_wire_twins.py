"""The rows of twins, components and telemetry, one request each against a running server."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    CLIMATE,
    ETAG,
    JSON_TYPE,
    OTHER_ETAG,
    ROOM,
    UPDATE_TIME,
    VERSION,
    check_no_content,
    check_refusal,
    must,
    put_room,
    room,
    twin_path,
)

Json = Any


def test_a_new_twin_has_the_vendors_layout(wire: Wire) -> None:
    body = {
        "$dtId": "another",
        "$etag": None,
        "Climate": {"$metadata": {}, "Mode": "auto"},
        "Temperature": 68,
        "Address": {"street": "Main"},
        "$metadata": {"$model": ROOM},
    }
    status, headers, twin = wire.call("PUT", twin_path("layout"), body)
    assert (status, headers["content-type"]) == (200, JSON_TYPE)
    assert headers["etag"] == twin["$etag"]
    assert ETAG.fullmatch(twin["$etag"])
    assert list(twin) == ["$dtId", "$etag", "Temperature", "Address", "Climate", "$metadata"]
    assert (twin["$dtId"], twin["Temperature"]) == ("layout", 68)
    now = twin["$metadata"]["$lastUpdateTime"]
    assert UPDATE_TIME.fullmatch(now)
    entry = {"lastUpdateTime": now}
    assert list(twin["$metadata"].items()) == [
        ("$model", ROOM),
        ("$lastUpdateTime", now),
        ("Temperature", entry),
        ("Address", entry),
    ]
    assert twin["Climate"] == {"Mode": "auto", "$metadata": {"$lastUpdateTime": now, "Mode": entry}}
    status, headers, read = wire.call("GET", twin_path("layout"))
    assert (status, headers["etag"], read) == (200, twin["$etag"], twin)
    assert list(read) == list(twin)


def test_a_put_replaces_everything_and_keeps_source_times_only(wire: Wire) -> None:
    first = put_room(wire, "replaced", Temperature=1, Name="n")
    source = "2021-01-01T00:00:00.123456789Z"
    second = must(
        wire.call(
            "PUT",
            twin_path("replaced"),
            {
                **first,
                "Temperature": 2,
                "$metadata": {
                    **first["$metadata"],
                    "$lastUpdateTime": "stale",
                    "Temperature": {"lastUpdateTime": "stale", "sourceTime": source},
                    "Gone": {"lastUpdateTime": "stale"},
                },
            },
        )
    )
    now = second["$metadata"]["$lastUpdateTime"]
    assert now > first["$metadata"]["$lastUpdateTime"]
    assert second["$metadata"]["Temperature"] == {"lastUpdateTime": now, "sourceTime": source}
    assert second["$metadata"]["Name"] == {"lastUpdateTime": now}
    assert "Gone" not in second["$metadata"]
    assert second["Climate"] == {"$metadata": {"$lastUpdateTime": now}}
    assert second["$etag"] != first["$etag"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([{}], "InvalidArgument"),
        ("text", "InvalidArgument"),
        (b"", "BadRequest"),
        (b'{"a":1,"a":2}', "InvalidArgument"),
        ({"Climate": {}}, "ValidationFailed"),
        ({"$metadata": {}, "Climate": {}}, "ValidationFailed"),
        ({"$metadata": {"$model": "dtmi:com:wire:No;1"}}, "ValidationFailed"),
        ({"$metadata": {"$model": ROOM}}, "ValidationFailed"),  # no component
        (room(Climate=None), "ValidationFailed"),
        (room(Climate={"Unknown": 1}), "ValidationFailed"),
        (room(Unknown=1), "ValidationFailed"),
        (room(Humidity=1), "ValidationFailed"),
        (room(has="x"), "ValidationFailed"),
        (room(Temperature=None), "ValidationFailed"),
        (room(**{"$unknown": 1}), "ValidationFailed"),
    ],
)
def test_a_bad_twin_is_refused_and_not_stored(wire: Wire, body: Json, code: str) -> None:
    check_refusal(wire.call("PUT", twin_path("bad"), body), 400, code)
    check_refusal(wire.call("GET", twin_path("bad")), 404, "DigitalTwinNotFound")


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"Unknown": 1}, "Unknown does not appear on the DTDL for Twin."),
        ({"Climate": {"Unknown": 1}}, "Unknown does not appear on the DTDL for Climate."),
        ({"Humidity": 1}, "Humidity is not a property - it is a Telemetry."),
        ({"Climate": {"Mode": 1}}, "Expected value of type string for Mode on Climate."),
    ],
)
def test_the_reason_stands_in_the_details(
    wire: Wire, contents: dict[str, Json], message: str
) -> None:
    answer = wire.call("PUT", twin_path("bad"), room(**contents))
    check_refusal(answer, 400, "ValidationFailed")
    assert answer[2]["error"]["details"][0]["message"].startswith(message)


def test_each_violation_is_a_detail(wire: Wire) -> None:
    answer = wire.call("PUT", twin_path("bad"), room(Unknown=1, Temperature="x", Seats=1.5))
    assert len(answer[2]["error"]["details"]) == 3


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("Open", [True, False], [1, "true"]),
        ("Seats", [-(2**31), 2**31 - 1], [2**31, 1.0, "1", True]),
        ("Visits", [2**63 - 1, -(2**63)], [1.5, "1"]),
        ("Temperature", [68, 68.25, -0.5, 1e300], ["22.3", False]),
        ("Gain", [1, 1.5], [1e300, "1"]),
        ("Name", ["", "ü"], [1, ["a"]]),
        ("Built", ["2024-02-29"], ["2023-02-29", "2024-2-1"]),
        ("Wakes", ["12:00:00Z", "12:00:00.5+01:00"], ["12:00:00", "25:00:00Z"]),
        (
            "Checked",
            ["2024-02-29T12:00:00Z", "2024-02-29T12:00:00.123-05:00"],
            ["2024-02-29T12:00:00", "2024-02-29t12:00:00z", "2024-02-29"],
        ),
        ("Lease", ["P1D", "PT1.5S", "P2W"], ["P", "PT", "1D"]),
        ("State", ["f"], ["free", 1]),
        ("Address", [{}, {"street": "a", "number": 1}], [{"zip": 1}, "a", {"number": "1"}]),
        ("Stock", [{}, {"any key/at~all": 1}], [{"a": "1"}, [1]]),
    ],
)
def test_values_follow_their_schema(
    wire: Wire, name: str, good: list[Json], bad: list[Json]
) -> None:
    for value in good:
        assert put_room(wire, "schema", **{name: value})[name] == value
    for value in bad:
        answer = wire.call("PUT", twin_path("schema"), room(**{name: value}))
        check_refusal(answer, 400, "ValidationFailed")


@pytest.mark.parametrize("value", ["XXX", OTHER_ETAG, ""])
def test_only_a_star_may_stand_in_if_none_match(wire: Wire, value: str) -> None:
    answer = wire.call("PUT", twin_path("conditional"), room(), If_None_Match=value)
    check_refusal(answer, 400, "InvalidArgument")
    check_refusal(wire.call("GET", twin_path("conditional")), 404, "DigitalTwinNotFound")


def test_if_none_match_creates_and_never_replaces(wire: Wire) -> None:
    first = must(wire.call("PUT", twin_path("once"), room(), If_None_Match="*"))
    answer = wire.call("PUT", twin_path("once"), room(Name="n"), If_None_Match="*")
    check_refusal(answer, 412, "PreconditionFailed")
    assert must(wire.call("GET", twin_path("once"))) == first


@pytest.mark.parametrize(
    ("method", "below"),
    [
        ("PATCH", ()),
        ("DELETE", ()),
        ("PATCH", ("components", "Climate")),
        ("PATCH", ("relationships", "e")),
        ("DELETE", ("relationships", "e")),
    ],
)
@pytest.mark.parametrize(
    ("if_match", "status", "code"),
    [
        (OTHER_ETAG, 412, "PreconditionFailed"),
        ("XXX", 400, "InvalidArgument"),
        ("", 400, "InvalidArgument"),
    ],
)
def test_a_precondition_that_does_not_hold_changes_nothing(
    wire: Wire, method: str, below: tuple[str, ...], if_match: str, status: int, code: str
) -> None:
    put_room(wire, "guarded")
    put_room(wire, "guarded2")
    edge = {"$relationshipName": "knows", "$targetId": "guarded2"}
    must(wire.call("PUT", twin_path("guarded", "relationships", "e"), edge))
    path = twin_path("guarded", *below)
    before = must(wire.call("GET", path))
    body: Json = [] if method == "PATCH" else None
    check_refusal(wire.call(method, path, body, If_Match=if_match), status, code)
    assert must(wire.call("GET", path)) == before


def test_a_star_and_the_current_etag_let_writes_through(wire: Wire) -> None:
    etag = put_room(wire, "open")["$etag"]
    part = twin_path("open", "components", "Climate")
    for path in (twin_path("open"), part):
        for condition in (etag, "*"):
            answer = wire.call("PATCH", path, [], If_Match=condition)
            check_no_content(answer, etag=True)
            assert answer[1]["etag"] != etag
            etag = answer[1]["etag"]
            assert must(wire.call("GET", twin_path("open")))["$etag"] == etag
    check_no_content(wire.call("DELETE", twin_path("open"), If_Match="*"), etag=False)


@pytest.mark.parametrize(
    ("method", "below", "body"),
    [
        ("GET", (), None),
        ("PATCH", (), []),
        ("DELETE", (), None),
        ("GET", ("components", "Climate"), None),
        ("PATCH", ("components", "Climate"), []),
        ("POST", ("telemetry",), {}),
        ("POST", ("components", "Climate", "telemetry"), {}),
        ("GET", ("relationships",), None),
        ("GET", ("incomingrelationships",), None),
        ("GET", ("relationships", "e"), None),
        ("PATCH", ("relationships", "e"), []),
        ("DELETE", ("relationships", "e"), None),
        ("PUT", ("relationships", "e"), {"$relationshipName": "knows", "$targetId": "x"}),
    ],
)
@pytest.mark.parametrize("twin", ["nobody", "devices/t67", "dtmi:a;1", "ü %?#"])
def test_what_is_below_a_missing_twin_is_not_found(
    wire: Wire, method: str, below: tuple[str, ...], body: Json, twin: str
) -> None:
    answer = wire.call(method, twin_path(twin, *below), body)
    check_refusal(answer, 404, "DigitalTwinNotFound")
    assert twin in answer[2]["error"]["message"]


def test_a_component_is_its_properties_and_own_metadata_under_the_twins_etag(wire: Wire) -> None:
    twin = put_room(wire, "parts", Climate={"Mode": "auto"})
    status, headers, part = wire.call("GET", twin_path("parts", "components", "Climate"))
    assert (status, headers["etag"], part) == (200, twin["$etag"], twin["Climate"])
    assert list(part) == ["Mode", "$metadata"]
    for other in ("Unknown", "Temperature"):
        answer = wire.call("GET", twin_path("parts", "components", other))
        check_refusal(answer, 404, "ComponentNotFound")


@pytest.mark.parametrize(
    ("below", "body", "headers", "outcome"),
    [
        (("telemetry",), {"Humidity": 1}, {"Message_Id": "1"}, None),
        (
            ("telemetry",),
            {"anything": ["at", "all"]},
            {"Message_Id": "1", "Telemetry_Source_Time": "01/01/01 0:00:00 +00:00"},
            None,
        ),
        (("telemetry",), {}, {}, None),
        (("telemetry",), [1], {}, "ValidationFailed"),
        (("telemetry",), b"", {}, "BadRequest"),
        (("components", "Climate", "telemetry"), {"any": 1}, {"Message_Id": "1"}, None),
        (("components", "Unknown", "telemetry"), {"any": 1}, {}, "ComponentNotFound"),
    ],
)
def test_telemetry_takes_any_object(
    wire: Wire, below: tuple[str, ...], body: Json, headers: dict[str, str], outcome: str | None
) -> None:
    put_room(wire, "sender")
    answer = wire.call("POST", twin_path("sender", *below), body, **headers)
    if outcome is None:
        check_no_content(answer, etag=False)
    else:
        check_refusal(answer, 404 if outcome == "ComponentNotFound" else 400, outcome)


def test_a_twin_with_relationships_at_either_end_is_not_deleted(wire: Wire) -> None:
    put_room(wire, "from")
    put_room(wire, "to")
    edge = {"$relationshipName": "knows", "$targetId": "to"}
    must(wire.call("PUT", twin_path("from", "relationships", "e"), edge))
    for twin in ("from", "to"):
        answer = wire.call("DELETE", twin_path(twin), If_Match="*")
        check_refusal(answer, 400, "RelationshipsNotDeleted")
    check_no_content(wire.call("DELETE", twin_path("from", "relationships", "e")), etag=False)
    for twin in ("from", "to"):
        check_no_content(wire.call("DELETE", twin_path(twin)), etag=False)
        check_refusal(wire.call("DELETE", twin_path(twin)), 404, "DigitalTwinNotFound")


def test_another_model_may_be_put_or_patched_in(wire: Wire) -> None:
    put_room(wire, "moved", Temperature=1)
    moved = must(
        wire.call("PUT", twin_path("moved"), {"$metadata": {"$model": CLIMATE}, "Mode": "auto"})
    )
    assert moved["$metadata"]["$model"] == CLIMATE
    back = [{"op": "replace", "path": "/$metadata/$model", "value": ROOM}]
    answer = wire.call("PATCH", twin_path("moved"), back)
    check_refusal(answer, 400, "ValidationFailed")
    whole = [
        *back,
        {"op": "remove", "path": "/Mode"},
        {"op": "add", "path": "/Climate", "value": {"$metadata": {}}},
    ]
    check_no_content(wire.call("PATCH", twin_path("moved"), whole), etag=True)
    read = must(wire.call("GET", f"/DigitalTwins/moved?{VERSION}"))
    assert read["$metadata"]["$model"] == ROOM
    assert "Climate" not in read["$metadata"]
