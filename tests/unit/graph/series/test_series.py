"""Points in bulk and kept telemetry, and the series that are read of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.point_shelf import open_points
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import (
    ComponentNotFound,
    InvalidArgument,
    LimitExceeded,
    MissingArgument,
    OperationNotAllowed,
    SeriesNotFound,
    StorageError,
    TwinNotFound,
    Unsupported,
)
from twinframe.graph import Graph
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.model.pages import PageRequest
from twinframe.runtime.instruments.base import Level
from twinframe.settings import Settings
from twinframe.storage.points import Window
from twinframe.testing.factories import ROOM
from twinframe_points.settings import PointsSettings

FROM = "2024-01-31T00:00:00Z"


class Kept:
    """A world whose telemetry is kept."""

    def __init__(self, world: Any, directory: Path, models: tuple[str, ...]) -> None:
        self.world = world
        self.store = open_points(world.store, directory, PointsSettings(), lambda: world.now / 1e9)
        self.settings = Settings.model_validate({"history": {"telemetry": models}})
        self.graph = Graph(
            InlineRunner(world.store), self.settings, clock=world.read_clock, points=self.store
        )

    def do(self, coroutine: Any) -> Any:
        return self.world.do(coroutine)

    def write(self, *lines: Any) -> Any:
        body = b"\n".join(line if isinstance(line, bytes) else orjson.dumps(line) for line in lines)
        return self.do(self.graph.series.write_lines(body))

    def read(self, twin: str, path: str, **question: Any) -> list[tuple[int, Any]]:
        asked = SeriesQuestion(**{"start": FROM, **question})
        return list(self.do(self.graph.series.read_points(twin, path, asked)).items)


@pytest.fixture
def kept(world: Any, tmp_path: Path) -> Iterator[Kept]:
    world.put("r1", ROOM)
    world.put("r2", ROOM)
    kept = Kept(world, tmp_path / "beside", ("all",))
    yield kept
    kept.store.close()


def line(twin: str = "r1", second: int = 0, value: Any = 20.5, path: str = "noise") -> Any:
    time = f"2024-01-31T00:00:{second:02}Z"
    return {"twinId": twin, "path": path, "value": value, "time": time}


def test_lines_become_points_once_by_twin_path_and_time(kept: Kept) -> None:
    written = kept.write(line(second=3, value=1), line(value=2.5), b"", line(second=3, value=4))
    assert (written.lines, written.points, written.refused) == (3, 3, [])
    assert [value for _, value in kept.read("r1", "noise")] == [2.5, 4]


def test_a_payload_is_a_point_for_each_value_in_it(kept: Kept) -> None:
    payload = {"noise": 1, "at": {"x": True, "a/b": "on"}}
    kept.write({"twinId": "r1", "payload": payload, "time": "2024-01-31T01:00:00+01:00"})
    for path, value in (("noise", 1), ("at/x", True), ("at/a~1b", "on")):
        assert kept.read("r1", path) == [(1_706_659_200_000_000, value)]


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (b"{", InvalidArgument, "The text is not valid JSON: Expecting property name"),
        (b"{'", InvalidArgument, "at column 2"),
        (b"[1]", InvalidArgument, "JSON object"),
        ({"path": "t", "value": 1}, InvalidArgument, "needs its twinId"),
        ({"twinId": ["r1"], "path": "t", "value": 1}, InvalidArgument, "needs its twinId"),
        ({"twinId": "r1", "path": ["t"], "value": 1}, InvalidArgument, "path"),
        ({"twinId": "r1", "component": 1, "path": "t", "value": 1}, InvalidArgument, "component"),
        ({"twinId": "r1", "path": "t", "valeu": 1}, InvalidArgument, "Did you mean value"),
        ({"twinId": "r1", "path": "t"}, InvalidArgument, "either a path and a value"),
        ({"twinId": "r1", "payload": {}}, InvalidArgument, "no value"),
        ({"twinId": "r1", "payload": {"a": {}}}, InvalidArgument, "no value"),
        ({"twinId": "r1", "path": "t", "value": 1, "payload": {}}, InvalidArgument, "either"),
        ({"twinId": "r1", "path": "a//b", "value": 1}, InvalidArgument, "joined by /"),
        ({"twinId": "r1", "path": "~2", "value": 1}, InvalidArgument, "~ is not followed by 0 or"),
        (
            {"twinId": "r1", "path": "a/b~", "value": 1},
            InvalidArgument,
            "~ is not followed by 0 or",
        ),
        ({"twinId": "r1", "payload": {"": 1}}, InvalidArgument, "joined by /"),
        ({"twinId": "r1", "path": "t", "value": None}, InvalidArgument, "null"),
        ({"twinId": "r1", "payload": {"t": [1]}}, InvalidArgument, "an array"),
        ({"twinId": "r1", "path": "t", "value": 2**60}, InvalidArgument, "as a text"),
        ({"twinId": "r1", "path": "t", "value": 1, "time": 5}, InvalidArgument, "time of a line"),
        (
            {"twinId": "r1", "path": "t", "value": 1, "time": "2024-01-31T00:00:00"},
            InvalidArgument,
            "with an offset",
        ),
        (
            {"twinId": "r1", "path": "t", "value": 1, "time": "2054-01-31T00:00:00Z"},
            InvalidArgument,
            "in the future",
        ),
        (
            {"twinId": "r1", "path": "t", "value": 1, "time": "2022-01-31T00:00:00Z"},
            InvalidArgument,
            "is too old: points are kept from",
        ),
        (
            {"twinId": "r1", "path": "t", "value": 1, "time": "0001-01-01T00:00:00+14:00"},
            InvalidArgument,
            "with an offset",
        ),
        ({"twinId": "none", "path": "t", "value": 1}, TwinNotFound, "none"),
        ({"twinId": "r1", "component": "none", "path": "t", "value": 1}, ComponentNotFound, "none"),
    ],
)
def test_a_line_that_is_refused_does_not_affect_the_others(
    kept: Kept, bad: Any, error: type[Exception], text: str
) -> None:
    written = kept.write(line(second=1), bad, line(second=2))
    assert (written.lines, written.points) == (2, 2)
    (refused,) = written.refused
    assert refused.line == 2
    assert isinstance(refused.error, error)
    assert text in refused.error.message
    assert len(kept.read("r1", "noise")) == 2


def test_a_body_of_no_lines_and_one_of_too_many_points_are_refused(kept: Kept) -> None:
    with pytest.raises(InvalidArgument, match="a JSON object a line"):
        kept.write(b"\n \n")
    with pytest.raises(LimitExceeded, match="Bulk__MaxPoints"):
        kept.write({"twinId": "r1", "payload": {f"p{at}": at for at in range(10_001)}})
    assert kept.store.list_paths("r1") == []


def test_a_line_that_is_too_long_is_refused(kept: Kept) -> None:
    (refused,) = kept.write(line(), {"twinId": "r1", "path": "t", "value": "x" * 2**20}).refused
    assert isinstance(refused.error, LimitExceeded)
    assert "Graph__MaxTwinBytes" in refused.error.message


def test_only_telemetry_of_the_chosen_models_is_kept(world: Any, tmp_path: Path) -> None:
    world.put("r1", ROOM)
    kept = Kept(world, tmp_path, ("dtmi:example:Other;1",))
    (refused,) = kept.write(line()).refused
    assert isinstance(refused.error, OperationNotAllowed)
    kept.do(kept.graph.telemetry.publish("r1", None, {"noise": 1}, "m1"))
    assert kept.store.list_paths("r1") == []
    kept.store.close()


HISTORIZATION = "dtmi:dtdl:extension:historization;"


def build_historized(name: str, version: int = 2, *others: Any, **members: Any) -> dict[str, Any]:
    """A model whose `heat` is Historized, while its `rest` is not."""
    feature = f"{HISTORIZATION}{version}"
    return {
        "@context": [f"dtmi:dtdl:context;{version + 2}", feature],
        "@id": f"dtmi:test:{name};1",
        "@type": "Interface",
        "contents": [
            {"@type": ["Telemetry", "Historized"], "name": "heat", "schema": "double"},
            {"@type": "Telemetry", "name": "rest", "schema": "double"},
            *others,
        ],
        **members,
    }


@pytest.fixture
def rooms(world: Any) -> Any:
    """`base` of a Historized model, `sub` of one that extends it with a component, `r1` of ROOM."""
    part = {"@type": "Component", "name": "part", "schema": "dtmi:test:Part;1"}
    level = {
        "@type": ["Property", f"{HISTORIZATION[:-1]}:v2:Historized"],
        "name": "level",
        "schema": "double",
    }
    own = {"@type": "Telemetry", "name": "own", "schema": "double"}
    models = [
        build_historized("Part", 1),
        build_historized("Base", 2, level),
        {**build_historized("Sub"), "extends": "dtmi:test:Base;1", "contents": [part, own]},
    ]
    world.do(world.graph.models.create_models(models))
    world.put("r1", ROOM)
    world.put("base", "dtmi:test:Base;1")
    world.put("sub", "dtmi:test:Sub;1", part={"$metadata": {}})
    return world


PATHS = [
    "heat",
    "heat/x",
    "rest",
    "own",
    "level",
    "heater",
    "part/heat",
    "part/heat/y",
    "part/rest",
]


@pytest.mark.parametrize(
    ("models", "of_base", "of_sub", "of_room"),
    [
        (("historized",), PATHS[:2], ["heat", "heat/x", "part/heat", "part/heat/y"], []),
        (("historized", "dtmi:test:Sub;1"), PATHS[:2], PATHS, []),
        ((ROOM, "historized"), PATHS[:2], ["heat", "heat/x", "part/heat", "part/heat/y"], PATHS),
        (("historized", "dtmi:test:Base;1"), PATHS, PATHS, []),
        (("historized", "all"), PATHS, PATHS, PATHS),
    ],
)
def test_of_models_that_are_not_named_only_historized_telemetry_is_kept(
    rooms: Any, tmp_path: Path, models: Any, of_base: Any, of_sub: Any, of_room: Any
) -> None:
    kept = Kept(rooms, tmp_path, models)
    for twin, paths in (("base", of_base), ("sub", of_sub), ("r1", of_room)):
        written = kept.write(*(line(twin, path=path) for path in PATHS))
        assert sorted(kept.store.list_paths(twin)) == sorted(paths)
        assert [PATHS[one.line - 1] for one in written.refused] == [
            path for path in PATHS if path not in paths
        ]
        assert all("History__Telemetry" in one.error.message for one in written.refused)
        assert (written.lines, written.points) == (len(paths), len(paths))
    kept.store.close()


def test_of_a_payload_only_historized_telemetry_is_kept(rooms: Any, tmp_path: Path) -> None:
    kept = Kept(rooms, tmp_path, ("historized",))
    payload = {"heat": {"x": 1, "y": 2}, "rest": 3}
    time = "2024-01-31T00:00:00Z"
    written = kept.write(
        {"twinId": "base", "payload": payload, "time": time},
        {"twinId": "sub", "component": "part", "payload": payload, "time": time},
        {"twinId": "sub", "component": "part", "payload": {"rest": 1, "own": 2}, "time": time},
        {"twinId": "sub", "component": "none", "payload": payload, "time": time},
    )
    assert (written.lines, written.points) == (2, 4)
    assert [(one.line, type(one.error)) for one in written.refused] == [
        (3, OperationNotAllowed),
        (4, ComponentNotFound),
    ]
    assert "'part/rest' of sub is not kept" in written.refused[0].error.message
    publish = kept.graph.telemetry.publish
    kept.do(publish("sub", None, {"heat": 5, "own": 6, "part": {"rest": 7}}, "m1"))
    kept.do(publish("sub", "part", {"heat": {"z": 8}, "rest": 9}, "m2"))
    kept.do(publish("r1", None, {"motion": True}, "m3"))
    assert sorted(kept.store.list_paths("base")) == ["heat/x", "heat/y"]
    assert sorted(kept.store.list_paths("sub")) == [
        "heat",
        "part/heat/x",
        "part/heat/y",
        "part/heat/z",
    ]
    assert kept.store.list_paths("r1") == []
    kept.store.close()


def test_a_telemetry_message_is_kept_with_the_time_of_its_source(kept: Kept) -> None:
    publish = kept.graph.telemetry.publish
    message = {"noise": 3, "list": [1], "nothing": None, "at": {"x": "on"}}
    kept.do(publish("r1", None, message, "m1", "2024-01-31T00:00:07Z"))
    kept.do(publish("r1", None, {"noise": 4}, "m2", "yesterday"))
    kept.do(publish("r1", None, {"noise": 5}, "m3", "2020-01-31T00:00:00Z"))  # too old
    assert list(kept.store.list_paths("r1")) == ["at/x", "noise"]
    (first, value), (second, last) = kept.read("r1", "noise")
    assert (first, value, last) == (1_706_659_207_000_000, 3, 4)
    assert second > first


def test_pages_of_points_go_on_where_they_ended(kept: Kept) -> None:
    kept.write(*(line(second=at, value=at) for at in range(10)))
    series, asked = kept.graph.series, SeriesQuestion(FROM)
    found: list[Any] = []
    token = None
    while True:
        page = kept.do(series.read_points("r1", "noise", asked, PageRequest(3, token)))
        assert len(page.items) <= 3
        found += page.items
        token = page.token
        if token is None:
            break
    assert [value for _, value in found] == list(range(10))


def test_buckets_of_many_series_come_of_one_state(kept: Kept) -> None:
    kept.write(*(line(second=at, value=at) for at in range(10)), line("r2", 1, "on"))
    asked = SeriesQuestion(FROM, "2024-01-31T00:01:00Z", "4s", ("avg", "count", "last"))
    found = kept.do(kept.graph.series.read_buckets("r1", "noise", asked))
    start = 1_706_659_200_000_000
    assert list(found.starts) == [start, start + 4_000_000, start + 8_000_000]
    assert [list(column) for column in found.columns] == [[1.5, 5.5, 8.5], [4, 4, 2], [3, 7, 9]]
    window = Window(start, start + 60_000_000, 60_000_000)
    keys = [("r2", "noise"), ("none", "x"), ("r1", "noise")]
    many = kept.do(kept.graph.series.read_many(keys, window, ("last",)))
    assert [list(one.columns[0]) for one in many] == [["on"], [], [9]]


@pytest.mark.parametrize(
    ("question", "error", "text"),
    [
        ({"start": None}, MissingArgument, "from"),
        ({"start": "Tuesday"}, InvalidArgument, "from: 'Tuesday' is not a date and time"),
        ({"start": "2054-01-31T00:00:00Z"}, InvalidArgument, "in the future"),
        ({"start": "9999-12-31T23:59:59-14:00"}, InvalidArgument, "from: '9999"),
        ({"end": "2054-01-31T00:00:00Z"}, InvalidArgument, "to: 2054"),
        ({"end": FROM}, InvalidArgument, "must be before"),
        ({"every": "5 minutes"}, InvalidArgument, "such as 30s, 5m or 1h"),
        ({"every": "0s"}, InvalidArgument, "a step of time"),
        ({"every": "5m", "aggregates": ("aveg",)}, InvalidArgument, "Did you mean avg"),
        ({"aggregates": ("avg",)}, InvalidArgument, "needs every"),
        ({"every": "1ms"}, LimitExceeded, "Graph__MaxPageSize"),
    ],
)
def test_a_wrong_question_says_what_would_be_right(
    kept: Kept, question: dict[str, Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as raised:
        kept.graph.series.parse(SeriesQuestion(**{"start": FROM, **question}))
    assert text in str(raised.value)


@pytest.mark.parametrize("start", ["0001-01-01T00:00:00Z", FROM])
def test_the_longest_step_is_one_bucket(kept: Kept, start: str) -> None:
    kept.write(line(), line(second=59, value=2))
    asked = SeriesQuestion(start, None, "999999999d", ("count", "avg"))
    found = kept.do(kept.graph.series.read_buckets("r1", "noise", asked))
    assert [list(column) for column in found.columns] == [[2], [11.25]]
    assert len(kept.read("r1", "noise", start=start)) == 2


def test_a_series_that_is_not_there_names_those_that_are(kept: Kept) -> None:
    kept.write(line())
    with pytest.raises(SeriesNotFound, match="Did you mean noise"):
        kept.read("r1", "nose")
    with pytest.raises(TwinNotFound):
        kept.read("none", "noise")
    assert kept.read("r2", "motion") == []  # declared, without a point so far
    assert kept.read("r2", "thermostat/heat") == []


def test_points_of_a_deleted_twin_stay_readable(kept: Kept) -> None:
    kept.write(line())
    kept.do(kept.world.graph.twins.delete_twin("r1"))
    assert len(kept.read("r1", "noise")) == 1
    (refused,) = kept.write(line(second=1)).refused
    assert isinstance(refused.error, TwinNotFound)


def test_without_kept_telemetry_the_calls_say_what_to_set(world: Any) -> None:
    world.put("r1", ROOM)
    with pytest.raises(Unsupported, match="History__Telemetry"):
        world.do(world.graph.series.write_lines(b"{}"))
    with pytest.raises(Unsupported, match="History__Telemetry"):
        world.do(world.graph.series.read_points("r1", "motion", SeriesQuestion(FROM)))


def test_what_waits_together_is_stored_together_and_fails_together(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write_all() -> list[Any]:
        writes = [kept.graph.series.write_lines(orjson.dumps(line(second=at))) for at in range(8)]
        return await asyncio.gather(*writes, return_exceptions=True)

    assert all(not isinstance(one, Exception) for one in kept.do(write_all()))
    assert len(kept.read("r1", "noise")) == 8

    def fail(_points: Any) -> None:
        raise StorageError("no")

    monkeypatch.setattr(kept.store, "write", fail)
    assert all(isinstance(one, StorageError) for one in kept.do(write_all()))


def test_levels_say_what_was_stored_refused_and_waits_for_upkeep(kept: Kept) -> None:
    kept.write(line(), line("none"), line(second=5))
    runner = kept.graph.series._runner
    assert runner is not None
    runner._read_figures()
    levels = runner.read_levels()
    assert (levels[Level.POINTS_STORED], levels[Level.POINTS_REFUSED]) == (2, 1)
    assert (levels[Level.POINTS_BLOCKS], levels[Level.POINTS_FRESH]) == (0, 2)
    assert levels[Level.POINTS_BYTES] > 0
    kept.world.now += 700 * 10**9
    assert kept.store.read_figures().lag >= 700
    while kept.store.run_upkeep():
        pass
    runner._read_figures()
    levels = runner.read_levels()
    assert (levels[Level.POINTS_BLOCKS], levels[Level.POINTS_FRESH]) == (1, 0)
    assert levels[Level.POINTS_LAG] == 0
    runner.close()
    assert runner.read_levels()[Level.POINTS_STORED] == 2
