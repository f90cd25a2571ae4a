"""The rows of JSON Patch on twins and components: outcomes, times and source times."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.wire import Wire
from tests.e2e.wire_world import check_no_content, check_refusal, must, put_room, twin_path

Json = Any
SOURCE = "2021-01-01T00:00:00.123456789Z"
START = {
    "Temperature": 1,
    "Name": "n",
    "Address": {"street": "a"},
    "Stock": {"k": 1},
    "Climate": {"Mode": "auto"},
}


def add(path: str, value: Json) -> Json:
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Json) -> Json:
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> Json:
    return {"op": "remove", "path": path}


def patch(wire: Wire, twin: str, *operations: Json) -> Json:
    """Patch and give the twin after it."""
    check_no_content(wire.call("PATCH", twin_path(twin), list(operations)), etag=True)
    return must(wire.call("GET", twin_path(twin)))


REFUSED: list[tuple[Json, str]] = [
    (b"", "BadRequest"),
    (b"null", "JsonPatchInvalid"),
    ({"op": "add", "path": "/Name", "value": "x"}, "JsonPatchInvalid"),
    ([{}], "JsonPatchInvalid"),
    (["Name"], "problem"),
    ([["Name"]], "problem"),
    ([{"op": "move", "from": "/Name", "path": "/Name"}], "JsonPatchInvalid"),
    ([{"op": "copy", "from": "/Name", "path": "/Name"}], "JsonPatchInvalid"),
    ([{"op": "test", "path": "/Name", "value": "n"}], "JsonPatchInvalid"),
    ([{"op": "add", "path": "/Name"}], "JsonPatchInvalid"),
    ([{"op": "add", "value": 1}], "JsonPatchInvalid"),
    ([add("", {})], "JsonPatchInvalid"),
    ([add("Name", "x")], "JsonPatchInvalid"),
    ([add("/Name~2", "x")], "JsonPatchInvalid"),
    ([replace("/Area", 1)], "JsonPatchInvalid"),
    ([remove("/Area")], "JsonPatchInvalid"),
    ([remove("/Unknown")], "JsonPatchInvalid"),
    ([remove("/Address"), add("/Address/street", "x")], "JsonPatchInvalid"),
    ([replace("/Climate2/Mode", "x")], "JsonPatchInvalid"),
    ([replace("/Climate/Setpoint", 1)], "JsonPatchInvalid"),
    ([replace("/$dtId", "x")], "JsonPatchInvalid"),
    ([replace("/$etag", "x")], "JsonPatchInvalid"),
    ([replace("/$metadata", {})], "JsonPatchInvalid"),
    ([replace("/$metadata/$lastUpdateTime", SOURCE)], "JsonPatchInvalid"),
    ([replace("/$metadata/Name/lastUpdateTime", SOURCE)], "JsonPatchInvalid"),
    ([add("/$metadata/Name/sourceTime", "yesterday")], "JsonPatchInvalid"),
    ([add("/$metadata/Area/sourceTime", SOURCE)], "JsonPatchInvalid"),
    ([add("/$metadata/$model", "dtmi:com:wire:Climate;1")], "JsonPatchInvalid"),
    ([replace("/$metadata/$model", "dtmi:com:wire:No;1")], "ValidationFailed"),
    ([add("/Unknown", 1)], "ValidationFailed"),
    ([add("/Humidity", 1)], "ValidationFailed"),
    ([add("/Temperature", "warm")], "ValidationFailed"),
    ([add("/Temperature", None)], "ValidationFailed"),
    ([add("/Address/zip", "1")], "ValidationFailed"),
    ([add("/Climate/Unknown", 1)], "ValidationFailed"),
    ([add("/Climate/Mode", 1)], "ValidationFailed"),
    ([remove("/Climate")], "ValidationFailed"),
    ([add("/Name", "changed"), add("/Unknown", 1)], "ValidationFailed"),
]


@pytest.mark.parametrize(("body", "code"), REFUSED)
def test_a_bad_patch_is_refused_and_changes_nothing(wire: Wire, body: Json, code: str) -> None:
    before = put_room(wire, "refused", **START)
    answer = wire.call("PATCH", twin_path("refused"), body)
    check_refusal(answer, 400, code)
    if code == "problem":
        assert answer[2]["errors"]["jsonPatchDocument"]
    assert must(wire.call("GET", twin_path("refused"))) == before


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ([{}], "JsonPatchInvalid"),
        (["Mode"], "problem"),
        ([replace("/Setpoint", 1)], "JsonPatchInvalid"),
        ([add("/Unknown", 1)], "ValidationFailed"),
        ([replace("/Mode", 1)], "ValidationFailed"),
    ],
)
def test_a_bad_patch_of_a_component_is_refused(wire: Wire, body: Json, code: str) -> None:
    before = put_room(wire, "refused", **START)
    answer = wire.call("PATCH", twin_path("refused", "components", "Climate"), body)
    check_refusal(answer, 400, code)
    if code == "problem":  # the member of whole twins only
        assert answer[2]["errors"].keys() == {"[0]"}
    assert must(wire.call("GET", twin_path("refused"))) == before


def test_an_unknown_component_is_a_bad_patch_and_not_missing(wire: Wire) -> None:
    put_room(wire, "refused", **START)
    for body in ([replace("/Mode", "x")], []):
        answer = wire.call("PATCH", twin_path("refused", "components", "Climate2"), body)
        check_refusal(answer, 400, "JsonPatchInvalid")
        assert "Climate2" in answer[2]["error"]["message"]


@pytest.mark.parametrize(
    ("operations", "contents"),
    [
        ([], START),
        ([add("/Temperature", 2)], {**START, "Temperature": 2}),
        ([replace("/Temperature", 2.5)], {**START, "Temperature": 2.5}),
        ([add("/Area", 3)], {**START, "Area": 3}),
        ([remove("/Name")], {key: START[key] for key in START if key != "Name"}),
        (
            [add("/Address/number", 7), replace("/Address/street", "b")],
            {**START, "Address": {"street": "b", "number": 7}},
        ),
        (
            [add("/Stock/a~1b~0c", 2), remove("/Stock/k")],
            {**START, "Stock": {"a/b~c": 2}},
        ),
        (
            [add("/Climate/Setpoint", 20), replace("/Climate/Mode", "off")],
            {**START, "Climate": {"Mode": "off", "Setpoint": 20}},
        ),
        ([remove("/Climate/Mode")], {**START, "Climate": {}}),
        ([replace("/Climate", {"Setpoint": 1})], {**START, "Climate": {"Setpoint": 1}}),
        (
            [add("/Area", 1), replace("/Area", 2), remove("/Area"), add("/Area", 3)],
            {**START, "Area": 3},
        ),
    ],
)
def test_a_patch_changes_what_it_names_and_the_etag(
    wire: Wire, operations: list[Json], contents: Json
) -> None:
    before = put_room(wire, "patched", **START)
    after = patch(wire, "patched", *operations)
    assert after["$etag"] != before["$etag"]
    assert after["$metadata"]["$lastUpdateTime"] > before["$metadata"]["$lastUpdateTime"]
    part = {key: value for key, value in after["Climate"].items() if key != "$metadata"}
    plain = {key: after[key] for key in after if not key.startswith("$")}
    assert {**plain, "Climate": part} == contents
    # Each property that is set has an entry in its owner's metadata; components have none.
    system = {"$model", "$lastUpdateTime"}
    assert after["$metadata"].keys() - system == contents.keys() - {"Climate"}
    assert after["Climate"]["$metadata"].keys() - system == part.keys()
    assert list(after)[:2] == ["$dtId", "$etag"]
    assert list(after)[-2:] == ["Climate", "$metadata"]


def test_times_move_as_the_vendors_do(wire: Wire) -> None:
    before = put_room(wire, "times", **START)
    then = before["$metadata"]["$lastUpdateTime"]

    after = patch(wire, "times", replace("/Temperature", 2), remove("/Name"))
    now = after["$metadata"]["$lastUpdateTime"]
    assert after["$metadata"]["Temperature"] == {"lastUpdateTime": now}
    assert after["$metadata"]["Stock"] == {"lastUpdateTime": then}
    assert after["Climate"] == before["Climate"]

    for path, name in ((twin_path("times"), "/Climate/Mode"), (_climate("times"), "/Mode")):
        check_no_content(wire.call("PATCH", path, [replace(name, "off")]), etag=True)
        after = must(wire.call("GET", twin_path("times")))
        now = after["$metadata"]["$lastUpdateTime"]
        part = after["Climate"]["$metadata"]
        assert part == {"$lastUpdateTime": now, "Mode": {"lastUpdateTime": now}}

    # Recorded: removing leaves the component's own time as it was.
    check_no_content(wire.call("PATCH", _climate("times"), [remove("/Mode")]), etag=True)
    removed = must(wire.call("GET", twin_path("times")))
    assert removed["$metadata"]["$lastUpdateTime"] > now
    assert removed["Climate"] == {"$metadata": {"$lastUpdateTime": now}}


def test_a_source_time_is_replaced_though_never_set_and_outlives_its_value(wire: Wire) -> None:
    before = put_room(wire, "source", **START)
    then = before["$metadata"]["$lastUpdateTime"]
    after = patch(wire, "source", replace("/$metadata/Temperature/sourceTime", SOURCE))
    assert after["$metadata"]["Temperature"] == {"lastUpdateTime": then, "sourceTime": SOURCE}
    assert after["$metadata"]["$lastUpdateTime"] > then
    assert after["$etag"] != before["$etag"]

    after = patch(wire, "source", replace("/Temperature", 2))
    assert after["$metadata"]["Temperature"]["sourceTime"] == SOURCE
    after = patch(wire, "source", remove("/$metadata/Temperature/sourceTime"))
    assert "sourceTime" not in after["$metadata"]["Temperature"]


@pytest.mark.parametrize("value", ["2021-06-01T12:00:00Z", "2021-06-01T12:00:00.5+02:00", SOURCE])
def test_a_source_time_of_a_component_is_set_from_either_end_and_echoed(
    wire: Wire, value: str
) -> None:
    for path, pointer in (
        (twin_path("source2"), "/Climate/$metadata/Mode/sourceTime"),
        (_climate("source2"), "/$metadata/Mode/sourceTime"),
    ):
        put_room(wire, "source2", **START)
        check_no_content(wire.call("PATCH", path, [replace(pointer, value)]), etag=True)
        part = must(wire.call("GET", _climate("source2")))
        assert part["$metadata"]["Mode"]["sourceTime"] == value


def test_a_removed_property_forgets_its_source_time(wire: Wire) -> None:
    put_room(wire, "source3", **START)
    patch(wire, "source3", replace("/$metadata/Temperature/sourceTime", SOURCE))
    after = patch(wire, "source3", remove("/Temperature"))
    assert "Temperature" not in after["$metadata"]
    after = patch(wire, "source3", add("/Temperature", 1))
    assert after["$metadata"]["Temperature"].keys() == {"lastUpdateTime"}


def _climate(twin: str) -> str:
    return twin_path(twin, "components", "Climate")
