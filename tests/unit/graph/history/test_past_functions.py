"""The functions of Cypher on the past: a value at a moment, changes, and series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.unit.graph.conftest import START
from tests.unit.graph.series.test_property_series import Timed, moment, timed
from tests.unit.graph.series.test_series import Kept, line
from twinframe.errors import (
    HistoryNotKept,
    InvalidArgument,
    LimitExceeded,
    QueryInvalid,
    Unsupported,
)
from twinframe.graph.queries.past_values import QueryPast
from twinframe.query.evaluate import looking_ahead
from twinframe.settings import QuerySettings, Settings
from twinframe.storage.base import GraphSession
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import ROOM, SENSOR, build_interface, build_property

__all__ = ["timed"]


def ask(world: Any, text: str, **parameters: Any) -> list[Any]:
    rows = world.do(world.graph.queries.run(text, parameters)).rows
    return [orjson.loads(row) for row in rows]


def column(world: Any, text: str, **parameters: Any) -> list[Any]:
    return [row["x"] for row in ask(world, text, **parameters)]


@pytest.fixture
def rooms(timed: Timed) -> Timed:
    """Room a is at 20, at 30 after 10 s and at 10 after 20 s; room b is at 25, and 5 at 15 s."""
    timed.put("b", temperature=25.0)
    timed.put("s", SENSOR)
    timed.relate("a", "r", "s", "watchedBy", since="2024-01-01")
    timed.set(10, 30.0)
    timed.set(12, 7.5, "/thermostat/setPoint")
    timed.at = 15
    timed.patch("b", {"op": "replace", "path": "/temperature", "value": 5.0})
    patch = [{"op": "replace", "path": "/since", "value": "2024-01-02"}]
    timed.do(timed.graph.relationships.patch_relationship("a", "r", patch))
    timed.set(20, 10.0)
    timed.at = 60
    return timed


def test_a_value_at_a_moment_stands_in_every_clause(rooms: Timed) -> None:
    at = {"at": moment(16)}
    read = "MATCH (r:Room) "
    assert column(rooms, read + "RETURN valueAt(r.temperature, $at) AS x ORDER BY x", **at) == [
        5.0,
        30.0,
    ]
    assert column(
        rooms,
        read + "WHERE valueAt(r.temperature, $at) > r.temperature RETURN r.`$dtId` AS x",
        **at,
    ) == ["a"]
    assert column(
        rooms, read + "RETURN r.`$dtId` AS x ORDER BY valueAt(r.temperature, $at) DESC", **at
    ) == ["a", "b"]
    assert column(
        rooms,
        read + "RETURN r.temperature AS x ORDER BY valueAt(r.temperature, $at) DESC",
        **at,
    ) == [10.0, 5.0]
    assert column(rooms, read + "RETURN avg(valueAt(r.temperature, $at)) AS x", **at) == [17.5]
    assert column(
        rooms,
        read + "WITH r, valueAt(r['temperature'], datetime($at)) AS t RETURN max(t) AS x",
        **at,
    ) == [30.0]
    assert column(
        rooms, "MATCH (:Sensor)<-[w]-() RETURN valueAt(w.since, $at) AS x", at=moment(14)
    ) == ["2024-01-01"]
    assert column(
        rooms,
        "MATCH (r {`$dtId`: 'a'}) RETURN valueAt(r.thermostat.setPoint, $at) AS x",
        at=moment(11),
    ) == [5.0]


def test_what_was_not_there_is_null(rooms: Timed) -> None:
    for text in ("valueAt(r.area, $at)", "valueAt(r.temperature, null)", "valueAt(null, $at)"):
        assert column(rooms, f"MATCH (r:Room) RETURN {text} AS x", at=moment(16)) == [None, None]
    with reading(rooms.store) as session:
        first = session.read_event_bounds()[0]
    before = "MATCH (r:Room) RETURN valueAt(r.temperature, $at) AS x"
    assert column(rooms, before, at=first) == [None, None]


def test_changes_are_maps_in_the_order_of_time(rooms: Timed) -> None:
    text = "MATCH (r {`$dtId`: 'a'}) UNWIND changes(r, $from, $to) AS c RETURN c AS x"
    found = column(rooms, text, **{"from": moment(0), "to": moment(15)})
    assert [(item["action"], item["changes"]) for item in found] == [
        ("updated", [{"path": "temperature", "before": 20.0, "after": 30.0}]),
        ("updated", [{"path": "thermostat/setPoint", "before": 5.0, "after": 7.5}]),
    ]
    assert column(
        rooms, "MATCH (r:Room) WHERE size(changes(r, $from)) > 2 RETURN r.`$dtId` AS x",
        **{"from": moment(0)},
    ) == ["a"]  # fmt: skip
    assert column(
        rooms, "MATCH ()-[w]->() RETURN size(changes(w, $from)) AS x", **{"from": moment(0)}
    ) == [1]


def test_series_are_points_or_steps(rooms: Timed) -> None:
    one = "MATCH (r {`$dtId`: 'a'}) "
    bounds = {"from": moment(5), "to": moment(25)}
    assert column(rooms, one + "RETURN series(r.temperature, $from, $to) AS x", **bounds) == [
        [
            {"time": moment(5), "value": 20.0},
            {"time": moment(10), "value": 30.0},
            {"time": moment(20), "value": 10.0},
        ]
    ]
    for every in ("'10s'", "duration('PT10S')"):
        text = f"RETURN series(r.temperature, $from, datetime($to), {every}, 'avg') AS x"
        assert column(rooms, one + text, **bounds) == [
            [{"time": moment(5), "value": 25.0}, {"time": moment(15), "value": 20.0}]
        ]
    assert column(
        rooms,
        "MATCH (r:Room) UNWIND series(r.temperature, $from, $to, '20s', 'max') AS s "
        "RETURN sum(s.value) AS x",
        **bounds,
    ) == [55.0]
    assert column(rooms, one + "RETURN series(r.nothing, $from) AS x", **bounds) == [[]]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("valueAt(r.temperature, 'Tuesday')", InvalidArgument, "valueAt 'Tuesday' is neither"),
        ("valueAt(r.temperature, datetime('2054-01-01T00:00Z'))", InvalidArgument, "in the future"),
        ("valueAt(r.temperature, 1.5)", QueryInvalid, "valueAt() takes a datetime"),
        ("valueAt(r, 5)", QueryInvalid, "valueAt() takes a property of a Node or Relationship"),
        ("valueAt('x', 5)", QueryInvalid, "valueAt() takes a property"),
        ("valueAt({a: 1}.a, 5)", QueryInvalid, "valueAt() takes a property"),
        ("changes(r.temperature, 5)", QueryInvalid, "changes() takes a Node or Relationship"),
        ("changes(r, 5, 4)", InvalidArgument, "from (5) must not be after to (4)"),
        ("series(r.temperature, 5)", QueryInvalid, "series() takes a datetime"),
        ("series(r.temperature, $at, null, '5 min')", InvalidArgument, "not a step of time"),
        ("series(r.temperature, $at, null, '5s', 'aveg')", InvalidArgument, "Did you mean avg"),
        ("series(r.temperature, $at, null, '1ms')", QueryInvalid, "Graph__MaxPageSize"),
        ("valueAt(r.temperature)", QueryInvalid, "2"),
    ],
)
def test_a_wrong_call_says_what_would_be_right(
    rooms: Timed, text: str, error: type[Exception], message: str
) -> None:
    if "1ms" in text:
        rooms.at = 500
        error = Exception
    with pytest.raises(error) as raised:
        ask(rooms, f"MATCH (r {{`$dtId`: 'a'}}) RETURN {text} AS x", at=moment(1))
    assert message in str(raised.value)


def test_what_is_no_longer_kept_is_an_error(rooms: Timed) -> None:
    run(rooms.store, lambda t: t.delete_events(up_to=11, limit=99))
    for call in ("valueAt(r.temperature, $at)", "changes(r, $at)", "series(r.temperature, $at)"):
        with pytest.raises(HistoryNotKept):
            ask(rooms, f"MATCH (r:Room) RETURN {call} AS x", at=moment(0))


def test_a_query_of_an_earlier_state_may_ask_for_other_moments(rooms: Timed) -> None:
    text = (
        f"AS OF datetime('{moment(11)}') MATCH (r {{`$dtId`: 'a'}}) "
        "RETURN [r.temperature, valueAt(r.temperature, $at), valueAt(r.temperature, $later)] AS x"
    )
    assert column(rooms, text, at=moment(5), later=moment(30)) == [[30.0, 20.0, 10.0]]


def test_grouping_by_the_property_itself(rooms: Timed) -> None:
    text = "MATCH (r:Room) RETURN r.temperature AS t, {} AS x, count(*) AS n ORDER BY t"
    assert column(rooms, text.format("valueAt(r.temperature, $at)"), at=moment(16)) == [5.0, 30.0]
    mixed = text.format("valueAt(r.temperature, $at) + count(*)")
    with pytest.raises(QueryInvalid, match="beside an aggregate"):
        ask(rooms, mixed, at=moment(16))


def test_a_name_that_no_model_knows_is_a_warning(rooms: Timed) -> None:
    text = "MATCH (r:Room) RETURN valueAt(r.{}, $at) AS x"
    for path, near in (("temprature", "temperature"), ("thermostat.setpoint", "setPoint")):
        page = rooms.do(rooms.graph.queries.run(text.format(path), {"at": moment(16)}))
        (warning,) = page.warnings
        assert f"did you mean '{near}'?" in warning.message
        assert warning.column == text.index("{}") + 1 + path.index(path.split(".")[-1])
    page = rooms.do(rooms.graph.queries.run(text.format("thermostat.setPoint"), {"at": 5}))
    assert page.warnings == ()


def test_a_value_within_another_has_its_type(timed: Timed) -> None:
    date = {"@type": "Object", "fields": [{"name": "d", "schema": "date"}]}
    part = build_interface("dtmi:test:Part;1", [build_property("due", "date")])
    whole = build_interface(
        "dtmi:test:Whole;1",
        [
            build_property("own", "date"),
            build_property("o", {"@type": "Object", "fields": [{"name": "o", "schema": date}]}),
            {"@type": "Component", "name": "part", "schema": "dtmi:test:Part;1"},
        ],
    )
    timed.do(timed.graph.models.create_models([part, whole]))
    for at, day in enumerate(["2024-01-01", "2024-02-02"]):
        timed.at = 5 * at
        part_of = {"$metadata": {}, "due": day}
        timed.put("w", "dtmi:test:Whole;1", own=day, o={"o": {"d": day}}, part=part_of)
    timed.at = 30
    for path in ("own", "o.o.d", "part.due"):
        text = f"MATCH (w:Whole) WITH valueAt(w.{path}, $at) AS v, w RETURN "
        for given, was in ((moment(2), "2024-01-02"), (moment(9), "2024-02-03")):
            assert column(timed, text + "v + duration('P1D') AS x", at=given) == [was]
            assert column(timed, text + "v.day AS x", at=given) == [int(was[-2:]) - 1]
        assert column(timed, text + f"v < w.{path} AS x", at=moment(2)) == [True]
    assert column(timed, "MATCH (w:Whole) RETURN valueAt(w.o.o, $at) AS x", at=moment(2)) == [
        {"d": "2024-01-01"}
    ]
    call = "series(r.temperature, $at, null, duration('P9999D'), 'count')"
    (found,) = column(timed, f"MATCH (r:Room) RETURN {call} AS x", at=moment(1))
    assert [step["value"] for step in found] == [0]


def test_telemetry_has_a_series_too(world: Any, tmp_path: Path) -> None:
    world.put("r1", ROOM)
    kept = Kept(world, tmp_path, ("all",))
    kept.write(*(line(second=at, value=at) for at in range(10)))
    text = "MATCH (r:Room) RETURN series(r.noise, $from, $to, '5s', 'avg') AS x"
    found = column(kept, text, **{"from": "2024-01-31T00:00:00Z", "to": "2024-01-31T00:00:10Z"})
    assert [item["value"] for item in found[0]] == [2, 7]
    kept.store.close()


def test_a_storage_without_history_says_so(world: Any) -> None:
    with reading(world.store) as session:
        if session.keeps_history:
            pytest.skip("This storage keeps history.")
    world.put("r1", ROOM, temperature=1.0)
    assert isinstance(session, GraphSession)
    for call in ("valueAt(r.temperature, $at)", "changes(r, $at)", "series(r.temperature, $at)"):
        with pytest.raises(Unsupported, match="keeps no history"):
            ask(world, f"MATCH (r:Room) RETURN {call} AS x", at="2024-01-31T12:00:01Z")
    assert START


@pytest.mark.parametrize("call", ["changes(m, 0)", "valueAt(m.x, 0)", "series(m.x, $at)"])
def test_a_model_is_refused(rooms: Timed, call: str) -> None:
    with pytest.raises(QueryInvalid, match=r"is a model\. GET /changes"):
        ask(rooms, f"MATCH (m:Model) RETURN {call} AS x", at=moment(0))


@pytest.mark.parametrize(
    "call",
    [
        "changes(r, $at)",
        "series(r.name, $at)",
        "series(r.name, $at, null, '1s', 'last')",
        "series(r.name, $at, null, '1s', 'first')",
    ],
)
def test_long_values_end_at_a_bound_of_bytes(rooms: Timed, call: str) -> None:
    for at in range(30):
        rooms.set(at + 61, str(at) * 4000, "/name")
    rooms.at = 99
    text = f"MATCH (r {{`$dtId`: 'a'}}) RETURN size({call}) AS x"
    assert column(rooms, text, at=moment(60))[0] >= 30
    small = Timed(rooms.store, Settings(query=QuerySettings(max_bytes=100_000)))
    small.at = 99
    with pytest.raises(LimitExceeded, match=r"more than 100000 bytes \(Query__MaxBytes\)"):
        ask(small, text, at=moment(60))
    assert (
        column(
            small,
            text.replace("$at, null", "$at").replace("$at", "$at, $to"),
            at=moment(60),
            to=moment(64),
        )[0]
        >= 3
    )


_AT_ONCE = (
    "MATCH (r:Room) WHERE valueAt(r.area, $at) > 20 RETURN r.`$dtId` AS x",
    "MATCH (r:Room) RETURN valueAt(r.area, $at) AS x",
    "MATCH (r:Room) RETURN valueAt(r.area, $at) AS x, r.area AS y ORDER BY x DESC",
    "MATCH (r:Room) RETURN r.area AS x ORDER BY valueAt(r.area, $at) DESC LIMIT 30",
    "MATCH (r:Room) RETURN avg(valueAt(r.area, $at)) AS x, r.area > 20 AS y",
    "MATCH (r:Room) RETURN count(*) AS x, valueAt(r.area, $at) AS y",
    "MATCH (r:Room) WITH collect(r) AS all RETURN [r IN all | valueAt(r.area, $at)] AS x",
    "MATCH (r:Room) WITH collect(r) AS all RETURN [r IN all WHERE valueAt(r.area, $at) > 9] AS x",
    "MATCH (r:Room) WITH collect(r) AS l RETURN reduce(s = 0, r IN l | s + valueAt(r.area, $at))",
    "MATCH (r:Room) WITH collect(r) AS l RETURN any(r IN l WHERE valueAt(r.area, $at) > 38)",
    "MATCH (r:Room) WITH collect(r) AS l RETURN all(r IN l WHERE valueAt(r.area, $at) >= 0)",
    "MATCH (r:Room) RETURN CASE WHEN r.area % 2 = 0 THEN valueAt(r.area, $at) ELSE 0 END AS x",
    "MATCH (r:Room) RETURN coalesce(valueAt(r.name, $at), valueAt(r.area, $at)) AS x",
    "MATCH (r:Room) RETURN [(r)-->(s) | valueAt(s.area, $at)] AS x",
    "MATCH (r:Room) RETURN COUNT { (r)-->(s) WHERE valueAt(s.area, $at) > 3 } AS x",
    "MATCH (r:Room) UNWIND series(r.area, $at, null, '10s', 'max') AS s RETURN s.value AS x",
    "MATCH (r:Room) RETURN max(size(series(r.area, $at))) AS x",
    "MATCH (r:Room) WHERE size(changes(r, $at)) = 1 RETURN r.`$dtId` AS x",
    "MATCH (r:Room) WHERE valueAt(r.area, $at + 0 * toInteger(valueAt(r.area, $at))) > 1 RETURN r",
)


def test_the_past_of_many_rows_is_asked_for_at_once(
    rooms: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answers are those to one question after the other."""
    for at in range(40):
        rooms.put(f"r{at}", area=float(at))
        if at:
            rooms.relate(f"r{at - 1}", "r", f"r{at}", "relatedTo")
    rooms.at = 70
    for at in range(40):
        rooms.patch(f"r{at}", {"op": "add", "path": "/area", "value": float(40 - at)})
    rooms.at = 80
    with reading(rooms.store) as session:
        position = session.read_event_bounds()[1] - 40
    asked: list[int] = []

    def watch(name: str) -> None:
        read = getattr(QueryPast, name)

        def count(past: QueryPast, questions: Any) -> Any:
            asked.append(len(questions))
            return read(past, questions)

        monkeypatch.setattr(QueryPast, name, count)

    for name in ("read_values", "list_changes", "read_series"):
        watch(name)

    def ask_all(world: Timed) -> list[tuple[list[Any], list[int]]]:
        found = []
        for text in _AT_ONCE:
            asked.clear()
            rows = ask(world, text, at=moment(65) if "series" in text else position)
            found.append((rows, asked.copy()))
        return found

    together = ask_all(rooms)
    monkeypatch.setattr(looking_ahead, "_MOST_ROUNDS", 0)
    alone = Timed(rooms.store, Settings())
    alone.at = 80
    for text, (rows, counts), (expected, single) in zip(
        _AT_ONCE, together, ask_all(alone), strict=True
    ):
        assert rows == expected, text
        assert max(single) == 1
        assert len(counts) <= 8, text
        # One after the other, `any` asks of no room after the first that it finds.
        assert sum(counts) <= 1.5 * max(len(single), 40) + 20, text


def test_an_answer_that_cannot_be_had_fails_where_it_is_needed(rooms: Timed) -> None:
    rooms.put("wrong", name="no moment")
    rooms.put("zero", area=0.0)
    text = "MATCH (r:Room) WITH r ORDER BY r.`$dtId` RETURN "
    with pytest.raises(InvalidArgument, match="no moment"):
        ask(rooms, text + "valueAt(r.temperature, coalesce(r.name, $at)) AS x", at=moment(16))
    limited = text + "valueAt(r.temperature, coalesce(r.name, $at)) AS x LIMIT 2"
    assert column(rooms, limited, at=moment(16)) == [30.0, 5.0]
    guarded = text + "CASE WHEN r.name IS NULL THEN valueAt(r.temperature, $at) END AS x"
    assert column(rooms, guarded, at=moment(16)) == [30.0, 5.0, None, None]
