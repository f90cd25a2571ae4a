"""Values over time leave with their graph and come back, whatever they are."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.point_shelf import DAY, NOW, Shelf
from tests.unit.graph.conftest import World
from tests.unit.graph.transfer.test_importing import File, whole
from twinframe.errors import ImportFileInvalid, Unsupported
from twinframe.graph.graph import Graph
from twinframe.graph.transfer.progress import Finding, Progress
from twinframe.settings import Settings
from twinframe.settings.history import HistorySettings
from twinframe.storage.base import GraphStore
from twinframe.storage.points import Points
from twinframe.storage.tables import TableKeeper
from twinframe.testing.factories import ROOM, SENSOR, build_building_interfaces
from twinframe_points.settings import PointsSettings

START = NOW // 86_400 * DAY


class Moving:
    """A graph with points, or without."""

    def __init__(self, world: World, shelf: Shelf | None, **history: Any) -> None:
        settings = Settings(history=HistorySettings(**history))
        self.world, store = world, None if shelf is None else shelf.store
        self.graph = Graph(world.graph.twins._context.runner, settings, points=store)
        self.findings: list[Finding] = []

    def export(self, **more: Any) -> bytes:
        out = io.BytesIO()
        self.world.do(self.graph.portable.export_graph(out.write, history=True, **more))
        return out.getvalue()

    def take(self, text: bytes, **more: Any) -> Progress:
        source = self.graph.portable.import_graph(io.BytesIO(text), report=self.report, **more)
        done: Progress = self.world.do(source)
        return done

    def report(self, _progress: Progress, findings: Any) -> None:
        self.findings += findings


@pytest.fixture
def shelves(tmp_path: Path, store: GraphStore) -> Any:
    storage = "postgres" if isinstance(store, TableKeeper) else "sqlite"
    settings = PointsSettings(keep_days=0)
    made = [Shelf(tmp_path / name, settings, storage) for name in ("one", "other")]
    yield made
    for shelf in made:
        shelf.store.close()


def fill(shelf: Shelf) -> int:
    points = Points()
    for at in range(2600):
        points.add("r1", "temperature", START - at * 40_000_000, at / 8)
    values: list[Any] = ["on", "", "ä \U0001f321", True, False, -0.0, 1e-300, 2.0**53, -7]
    for at, value in enumerate(values):
        points.add("r1", "a/odd", START + at, value)
        points.add("gone \u00e4", "x", START + at, value)
    points.add("r1", "long", START, "x" * 200_000)
    points.add("r1", "long", START + 1, "y" * 200_000)
    shelf.store.write(points)
    return len(points.times)


def test_points_come_back_as_they_were_and_the_file_has_the_same_bytes(
    empty: World, shelves: list[Shelf]
) -> None:
    one, other = shelves
    count = fill(one)
    first = Moving(empty, one, telemetry="all")
    text = first.export()
    assert text.count(b'"path":"temperature"') == 3  # 1,024 points a line
    one.drain()
    assert first.export() == text  # blocks or fresh rows
    second = Moving(empty, other, telemetry="all")
    done = second.take(text)
    assert (done.points, second.findings) == (count, [])
    assert list(other.store.walk(10)) == list(one.store.walk(10))
    assert second.take(text).points == count  # again: each point is kept once
    assert second.export() == text


def test_a_file_without_points_is_as_before(empty: World, shelves: list[Shelf]) -> None:
    text = Moving(empty, shelves[0]).export()
    assert b"Points" not in text
    assert b'"points"' not in text
    assert Moving(empty, None).export() == text


def test_points_are_refused_before_anything_is_stored_where_none_are_kept(
    empty: World, shelves: list[Shelf]
) -> None:
    fill(shelves[0])
    text = Moving(empty, shelves[0], telemetry="all").export()
    for shelf in (None, shelves[1]):
        target = Moving(empty, shelf)
        with pytest.raises(Unsupported, match="History__Telemetry"):
            target.take(text)
        assert target.take(text, history=False).points == 0
    assert list(shelves[1].store.walk(10)) == []


def test_too_old_points_are_left_out(empty: World, shelves: list[Shelf], tmp_path: Path) -> None:
    fill(shelves[0])
    text = Moving(empty, shelves[0], telemetry="all").export()
    young = Shelf(tmp_path / "young", PointsSettings(keep_days=1))
    done = Moving(empty, young, telemetry="all").take(text)
    found = [time for part in young.store.walk(10) for time in part.times]
    assert min(found) >= START - DAY
    assert 0 < len(found) == done.points < 2600
    young.store.close()


BAD: list[tuple[Any, str]] = [
    ({"$dtId": "a", "path": "x", "times": [1]}, "is an object with"),
    ({"$dtId": "a", "path": "x", "times": [1], "values": []}, "equal length"),
    ({"$dtId": "a", "path": "x", "times": [1.5], "values": [1]}, "not an integer"),
    ({"$dtId": "a", "path": "x", "times": [True], "values": [1]}, "not an integer"),
    ({"$dtId": "a", "path": "x", "times": [2**62], "values": [1]}, "not an integer"),
    ({"$dtId": "a", "path": "x", "times": [1], "values": [None]}, "null"),
    ({"$dtId": "a", "path": "x//y", "times": [1], "values": [1]}, "is not one"),
    ({"$dtId": "", "path": "x", "times": [1], "values": [1]}, "id"),
    ({"$dtId": 1, "path": "x", "times": [1], "values": [1]}, "texts"),
    ([1], "is an object with"),
]


def test_a_bad_line_is_refused_alone(empty: World, shelves: list[Shelf]) -> None:
    good = {"$dtId": "r1", "path": "x", "times": [START], "values": [2]}
    file = whole().section("Points", *(line for line, _ in BAD), good)
    target = Moving(empty, shelves[0], telemetry="all")
    done = target.take(file.render())
    assert (done.points, done.errors, done.twins) == (1, len(BAD), 2)
    for finding, (_, text) in zip(target.findings, BAD, strict=True):
        assert text in finding.message
        assert finding.section.value == "Points"
    (part,) = shelves[0].store.walk(10)
    assert (part.twin, part.times, part.values) == ("r1", [START], [2.0])


def test_points_come_last(empty: World, shelves: list[Shelf]) -> None:
    file = File().section("Points").section("Twins")
    with pytest.raises(ImportFileInvalid, match="cannot come behind"):
        Moving(empty, shelves[0], telemetry="all").take(file.render())


def test_points_of_models_that_are_not_chosen_are_left_out(
    empty: World, shelves: list[Shelf]
) -> None:
    one, other = shelves
    fill(one)
    text = Moving(empty, one, telemetry="all").export()
    moving = Moving(empty, other, telemetry=[ROOM])
    empty.do(empty.graph.models.create_models(build_building_interfaces()))
    empty.put("r1")
    moving.take(text, changes=False)
    assert set(other.store.list_paths("r1")) == {"temperature", "a/odd", "long"}
    assert not other.store.list_paths("gone \u00e4")
    third = Moving(empty, other, telemetry=[SENSOR])
    assert third.take(text, changes=False).points == 0
