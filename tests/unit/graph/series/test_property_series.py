"""Series of properties: a value holds until the next change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import START, World
from tests.unit.graph.events.test_outbox_reading import open_store
from twinframe.errors import (
    HistoryNotKept,
    InvalidArgument,
    SeriesNotFound,
    TwinframeError,
    TwinNotFound,
    Unsupported,
)
from twinframe.graph.history.history import Range
from twinframe.graph.series import held
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.model.moments import SECOND, render_moment
from twinframe.model.pages import PageRequest
from twinframe.settings import GraphSettings, Settings
from twinframe.storage.points import AGGREGATES
from twinframe.testing.contracts.base import reading, run
from twinframe.testing.factories import ROOM, build_building_interfaces, build_interface

BEGIN = START // 1000
"""The time of the first write, in microseconds."""
FROM = render_moment(BEGIN)


class Timed(World):
    """A world whose clock stands where it is set, in seconds after the beginning."""

    at = 0.0

    def read_clock(self) -> int:
        self.now = START + int(self.at * 1_000_000_000)
        return self.now

    def set(self, at: float, value: Any, path: str = "/temperature") -> None:
        self.at = at
        operation: dict[str, Any] = {"op": "add", "path": path, "value": value}
        if value is None:
            operation = {"op": "remove", "path": path}
        self.patch("a", operation)

    def points(self, path: str = "temperature", size: int = 99, **asked: Any) -> list[Any]:
        question = SeriesQuestion(**{"start": FROM, **asked})
        found: list[Any] = []
        token = None
        while True:
            read = self.graph.series.read_points("a", path, question, PageRequest(size, token))
            page = self.do(read)
            assert len(page.items) <= size
            found += [((time - BEGIN) / SECOND, value) for time, value in page.items]
            token = page.token
            if token is None:
                return found

    def buckets(self, every: str, path: str = "temperature", **asked: Any) -> list[Any]:
        names = asked.pop("aggregates", AGGREGATES)
        question = SeriesQuestion(**{"start": FROM, "every": every, "aggregates": names, **asked})
        found = self.do(self.graph.series.read_buckets("a", path, question))
        starts = [(start - BEGIN) / SECOND for start in found.starts]
        rows = zip(*found.columns, strict=True)
        return [
            (start, dict(zip(names, row, strict=True)))
            for start, row in zip(starts, rows, strict=True)
        ]


@pytest.fixture(params=["memory", "sqlite"])
def timed(request: pytest.FixtureRequest) -> Iterator[Timed]:
    with open_store(request.param) as store:
        world = Timed(store, Settings())
        world.do(world.graph.models.create_models(build_building_interfaces()))
        world.put("a", temperature=20.0, thermostat={"$metadata": {}, "setPoint": 5.0})
        yield world


def moment(second: float) -> str:
    return render_moment(BEGIN + int(second * SECOND))


def test_points_are_the_value_that_held_and_each_change(timed: Timed) -> None:
    timed.set(10, 21.0)
    timed.set(15, 6.0, "/thermostat/setPoint")
    timed.set(20, 21.0)
    timed.set(30, None)
    timed.set(40, 22.0)
    timed.at = 60
    changes = [(10, 21.0), (30, None), (40, 22.0)]
    for size in (1, 2, 99):
        assert timed.points(size=size) == [(0, 20.0), *changes]
        assert timed.points(start=moment(5), size=size) == [(5, 20.0), *changes]
    assert timed.points(start=moment(10), end=moment(30)) == [(10, 21.0)]
    assert timed.points(start=moment(12), end=moment(30.001)) == [(12, 21.0), (30, None)]
    assert timed.points(start=moment(35)) == [(40, 22.0)]
    assert timed.points("thermostat/setPoint", start=moment(1)) == [(1, 5.0), (15, 6.0)]
    assert timed.points("name", start=moment(1)) == []


def test_an_average_is_weighted_by_time_and_the_rest_is_of_what_held(timed: Timed) -> None:
    timed.set(10, 30.0)
    timed.set(25, 10.0)
    timed.set(26, 40.0)
    timed.at = 50
    found = timed.buckets("20s", start=moment(0.001), end=moment(50))
    empty = {"count": 0, "sum": 0}
    assert found[0][1] == {
        "avg": pytest.approx((20 * 9.999 + 30 * 10.001) / 20),
        "count": 1,
        "first": 20.0,
        "last": 30.0,
        "max": 30.0,
        "min": 20.0,
        "sum": 30.0,
    }
    assert found[1][1] == {
        "avg": pytest.approx((30 * 4.999 + 10 + 40 * 14.001) / 20),
        "count": 2,
        "first": 30.0,
        "last": 40.0,
        "max": 40.0,
        "min": 10.0,
        "sum": 50.0,
    }
    assert found[2][1] == {"avg": 40, "first": 40, "last": 40, "max": 40, "min": 40, **empty}
    assert [start for start, _ in found] == [0.001, 20.001, 40.001]


def test_what_is_no_number_has_no_average(timed: Timed) -> None:
    timed.set(10, "on", "/name")
    timed.set(30, None, "/name")
    timed.at = 90
    assert timed.buckets("20s", "name", start=moment(1), aggregates=("last", "avg", "count")) == [
        (1, {"last": "on", "avg": None, "count": 1}),
        (21, {"last": "on", "avg": None, "count": 0}),
    ]


def test_long_texts_come_in_pages_and_are_not_held(
    timed: Timed, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [str(at) * 1500 for at in range(1, 9)]
    for at, value in enumerate(values, 1):
        timed.set(at, value, "/name")
    narrow = Timed(timed.store, Settings(graph=GraphSettings(max_page_bytes=4000)))
    narrow.at = 60
    assert narrow.points("name", start=moment(0.5)) == [*enumerate(values, 1)]
    monkeypatch.setattr(held, "_FEW", 2)
    monkeypatch.setattr(held, "_BYTES", 4000)
    most = 0
    read = type(reader := timed.store.session()).read_change_rows
    reader.close()

    def count(*given: Any, **bounds: Any) -> Any:
        nonlocal most
        rows = read(*given, **bounds)
        most = max(most, len(rows))
        return rows

    monkeypatch.setattr(type(reader), "read_change_rows", count)
    question = SeriesQuestion(start=moment(0.5))
    page = narrow.do(narrow.graph.series.read_points("a", "name", question, PageRequest(99)))
    assert len(page.items) == 2
    assert most == 2
    (bucket,) = narrow.buckets("99s", "name", aggregates=("count", "sum", "last"))
    assert bucket[1] == {"count": 8, "sum": 0, "last": values[-1]}


def test_the_series_of_a_deleted_twin_ends_and_goes_on(timed: Timed) -> None:
    timed.at = 10
    timed.do(timed.graph.twins.delete_twin("a"))
    timed.at = 20
    assert timed.points(start=moment(5)) == [(5, 20.0), (10, None)]
    with pytest.raises(SeriesNotFound, match="Did you mean temperature"):
        timed.points("temprature", start=moment(5))
    timed.at = 30
    timed.put("a", temperature=25.0)
    assert timed.points(start=moment(5)) == [(5, 20.0), (10, None), (30, 25.0)]


def test_a_value_of_another_model_is_found(timed: Timed) -> None:
    lamp = build_interface("dtmi:test:Lamp;1")
    timed.do(timed.graph.models.create_models([lamp]))
    timed.at = 10
    timed.put("a", "dtmi:test:Lamp;1")
    timed.at = 20
    assert timed.points(start=moment(5)) == [(5, 20.0), (10, None)]
    assert timed.buckets("10s", start=moment(5), aggregates=("avg",)) == [(5, {"avg": 20})]
    with pytest.raises(SeriesNotFound):
        timed.points(start=moment(15))


@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        ({"path": "tags"}, InvalidArgument, "is an object or an array"),
        ({"path": "temprature"}, SeriesNotFound, "Did you mean temperature"),
        ({"path": "thermostat/setpoint"}, SeriesNotFound, "Did you mean thermostat/setPoint"),
        ({"start": "Tuesday"}, InvalidArgument, "from: 'Tuesday'"),
        ({"end": "2054-01-31T00:00:00Z"}, InvalidArgument, "in the future"),
    ],
)
def test_a_wrong_question_says_what_would_be_right(
    timed: Timed, asked: dict[str, Any], error: type[Exception], text: str
) -> None:
    timed.at = 5
    with pytest.raises(error) as raised:
        timed.points(**asked)
    assert text in str(raised.value)


def test_what_is_no_longer_kept_is_not_answered(timed: Timed) -> None:
    for at in range(1, 5):
        timed.set(at, float(at))
    timed.at = 9
    with reading(timed.store) as session:
        last = session.read_event_bounds()[1]
    run(timed.store, lambda t: t.delete_events(up_to=last - 2, limit=99))
    with pytest.raises(HistoryNotKept):
        timed.points(start=moment(2))
    assert timed.points(start=moment(3.5)) == [(3.5, 3.0), (4, 4.0)]


def test_without_history_a_property_has_no_series(world: Any) -> None:
    world.put("a", temperature=1.0)
    with pytest.raises(TwinNotFound):
        world.do(world.graph.series.read_points("none", "temperature", SeriesQuestion(FROM)))
    off = World(world.store, Settings.model_validate({"history": {"enabled": False}}))
    with pytest.raises(Unsupported, match=r"keeps no history"):
        off.do(off.graph.series.read_points("a", "temperature", SeriesQuestion(FROM)))


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    writes=st.lists(
        st.tuples(st.integers(0, 9), st.one_of(st.none(), st.integers(-5, 5))), max_size=12
    ),
    start=st.integers(0, 40),
    every=st.integers(1, 30),
)
def test_buckets_are_what_held_in_each_second(
    kind: str, writes: list[tuple[int, Any]], start: int, every: int
) -> None:
    with open_store(kind) as store:
        timed = Timed(store, Settings())
        timed.do(timed.graph.models.create_models(build_building_interfaces()))
        timed.put("a", ROOM)
        second, present, held = 0, None, {0: None}
        for wait, value in writes:
            second += wait
            if value is None and present is None:
                continue
            timed.set(second, None if value is None else float(value))
            present = held[second] = value
        end = second + 60
        timed.at = end
        values: list[Any] = []
        for at in range(end):
            values.append(held.get(at, values[-1] if values else None))
        found = timed.buckets(
            f"{every}s", start=moment(start), end=moment(end), aggregates=("avg", "min", "last")
        )
        expected = []
        for at in range(start, end, every):
            some = [value for value in values[at : min(at + every, end)] if value is not None]
            if some:
                mean = pytest.approx(sum(some) / len(some))
                expected.append((at, {"avg": mean, "min": min(some), "last": some[-1]}))
        assert found == expected


_PATHS = (
    "temperature",
    "name",
    "thermostat",
    "thermostat/setPoint",
    "thermostat/mode",
    "tags/a",
    "tags/a~1b",
    "tags",
    "readings/0",
    "$metadata/$model",
)


def _choose_operation(random: Random) -> dict[str, Any]:
    path, value = random.choice(
        [
            ("/temperature", random.choice([20.5, -0.0, 0.0, 7.0])),
            ("/name", random.choice(["x", 'a","path":"/name","op":"add"}]}', "ü"])),
            ("/thermostat", {"$metadata": {}, "setPoint": random.choice([1.0, 2.0])}),
            ("/thermostat/setPoint", random.choice([1.0, 3.0])),
            ("/tags", {"a": random.choice("xy"), "a/b": "z"}),
            ("/tags/a", random.choice("xyz")),
            ("/tags/a~1b", random.choice("xyz")),
            ("/readings", [random.choice([1.0, 2.0]), 3.0]),
        ]
    )
    if path != "/thermostat" and random.random() < 0.2:
        return {"op": "remove", "path": path}
    return {"op": "add", "path": path, "value": value}


@pytest.mark.parametrize("seed", range(4))
def test_rows_say_the_same_as_documents(timed: Timed, seed: int) -> None:
    """Patches of one and of more operations, replacements, deletions, rows without events."""
    random = Random(seed)
    silent = Timed(timed.store, Settings.model_validate({"events": {"enabled": False}}))
    for second in range(1, 120):
        world = silent if seed % 2 and second > 100 else timed
        world.at = second
        with suppress(TwinframeError):
            match random.randrange(12):
                case 0:
                    world.do(world.graph.twins.delete_twin("a"))
                case 1 | 2:
                    members = {"temperature": 5.0, "tags": {"a": "x"}, "name": "x"}
                    world.put("a", **dict(random.sample([*members.items()], 2)))
                case _:
                    some = [_choose_operation(random) for _ in range(random.choice((1, 1, 2)))]
                    world.do(world.graph.twins.patch_twin("a", some))
    with reading(timed.store) as session:
        within = Range(5, session.read_event_bounds()[1])
        for path in _PATHS:
            key = ("a", path)
            value = held.read_beginnings(session, [key], within.after)[key]
            columns = [
                [each for column in columns for each in column]
                for columns in zip(*held.iterate_held(session, key, within, value), strict=True)
            ]
            expected = [
                [each for column in columns for each in column]
                for columns in zip(
                    *held._iterate_documents(session, key, within, value), strict=True
                )
            ]
            assert [*map(repr, columns)] == [*map(repr, expected)], path


MARKED = ["Property", "Historized"]


def build_marked() -> list[Any]:
    """`Tank` has two Historized properties, one in a component, and one of a relationship."""
    level = {"@type": MARKED, "name": "level", "schema": "double"}
    note = {"@type": "Property", "name": "note", "schema": "double"}
    part = {"@type": "Component", "name": "part", "schema": "dtmi:test:Part;1"}
    link = {"@type": "Relationship", "name": "feeds", "properties": [level, note]}
    tank = build_interface("dtmi:test:Tank;1", [level, note, part, link])
    other = build_interface("dtmi:test:Other;1", [note], extends=["dtmi:test:Tank;1"])
    other["contents"][0] = {**note, "name": "own"}  # type: ignore[index,call-overload]
    made = [build_interface("dtmi:test:Part;1", [level, note]), tank, other]
    contexts = ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:historization;1"]
    return [{**each, "@context": contexts} for each in made]


@pytest.mark.parametrize(
    ("chosen", "kept"),
    [
        ("all", "level note part/level part/note own f.level f.note"),
        ("historized", "level part/level f.level"),
        ("dtmi:test:Tank;1", "level note part/level part/note own f.level f.note"),
        ("dtmi:test:Other;1 historized", "level note part/level part/note own f.level f.note"),
        ("dtmi:test:Part;1", ""),
        ("", ""),
    ],
)
def test_models_choose_which_properties_have_series(chosen: str, kept: str) -> None:
    settings = Settings.model_validate({"history": {"properties": chosen}})
    with open_store("memory") as store:
        world = Timed(store, settings)
        world.do(world.graph.models.create_models(build_marked()))
        members: dict[str, Any] = {"level": 1.0, "note": 2.0, "own": 3.0}
        part = {"$metadata": {}, "level": 4.0, "note": 5.0}
        world.put("a", "dtmi:test:Other;1", **members, part=part)
        world.put("b", "dtmi:test:Tank;1", part={"$metadata": {}})
        world.relate("a", "f", "b", "feeds", level=6.0, note=7.0)
        world.at = 1.0
        found = []
        for path in ("level", "note", "part/level", "part/note", "own"):
            call = "x." + path.replace("/", ".")
            texts = [f"valueAt({call}, $at)", f"series({call}, $at)"]
            readers = [lambda path=path: world.points(path)]
            readers += [lambda t=t: query(world, f"MATCH (x:Other) RETURN {t}") for t in texts]
            found += [path] if check_readers(readers) else []
        for name in ("level", "note"):
            text = f"MATCH ()-[x]->() RETURN valueAt(x.{name}, $at)"
            found += [f"f.{name}"] if check_readers([lambda t=text: query(world, t)]) else []
        assert found == kept.split()


def query(world: World, text: str) -> None:
    world.do(world.graph.queries.run(text, {"at": FROM}))


def check_readers(readers: list[Any]) -> bool:
    """Return whether all answer; otherwise none does, with an error that names the setting."""
    refused = 0
    for reader in readers:
        try:
            reader()
        except Unsupported as error:
            refused += "History__Properties" in error.message
    assert refused in (0, len(readers))
    return not refused
