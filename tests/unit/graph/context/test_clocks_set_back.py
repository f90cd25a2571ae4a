"""After a restart with an earlier clock nothing that is written gets an earlier time."""

from __future__ import annotations

import io
from typing import Any

import orjson
import pytest

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import ValidationFailed
from twinframe.graph import Graph
from twinframe.graph.context.write_clock import WINDOW
from twinframe.graph.events import outbox
from twinframe.graph.events.event import Event
from twinframe.model import clock
from twinframe.settings import Settings
from twinframe.testing.factories import ROOM, build_interface, build_twin_document

DAY = 86_400 * 1_000_000_000
NOW = 1_800_000_000_000_000_000
BEFORE = (NOW - DAY, NOW - 3 * 365 * DAY, NOW - 1)
SILENT: Any = {"Events": {"Enabled": False}}
MODEL = "dtmi:test:Late;1"


class SetClock:
    """A clock that stands where it was set."""

    def __init__(self, moment: int) -> None:
        self.moment = moment

    def __call__(self) -> int:
        return self.moment


def at(world: Any, moment: int, settings: Settings | None = None) -> Graph:
    """The graph as another process has it, whose clock stands there."""
    return Graph(InlineRunner(world.store), settings or Settings(), clock=SetClock(moment))


def silent() -> Settings:
    return Settings.model_validate(SILENT)


def read_time(world: Any, twin_id: str) -> str:
    return str(world.read(twin_id)["$metadata"]["$lastUpdateTime"])


def put(world: Any, graph: Graph, twin_id: str, temperature: float = 1.0) -> str:
    document = build_twin_document(ROOM, temperature=temperature)
    world.do(graph.twins.put_twin(twin_id, document))
    return read_time(world, twin_id)


def read_event_times(world: Any) -> list[str]:
    session = world.store.session()
    try:
        events = outbox.read_events(session, after=0, limit=1000)
        return [Event(at, x.key, x.text).document["time"] for at, x in events if x.text]
    finally:
        session.close()


def read_mark(world: Any) -> int:
    session = world.store.session()
    try:
        return int(session.read_entry("clock", "latest") or 0)
    finally:
        session.close()


@pytest.mark.parametrize("earlier", BEFORE)
def test_what_is_written_again_keeps_its_order(world: Any, earlier: int) -> None:
    first = put(world, at(world, NOW), "r1")
    patch = [{"op": "replace", "path": "/temperature", "value": 2.0}]
    world.do(at(world, earlier).twins.patch_twin("r1", patch))
    metadata = world.read("r1")["$metadata"]
    second = metadata["$lastUpdateTime"]
    assert metadata["temperature"]["lastUpdateTime"] == second >= first
    assert put(world, at(world, earlier), "r1", 3.0) == second
    world.do(at(world, NOW + DAY).twins.patch_twin("r1", patch))
    assert read_time(world, "r1") > second


@pytest.mark.parametrize("settings", [Settings(), silent()], ids=["events", "no events"])
@pytest.mark.parametrize("earlier", BEFORE)
def test_new_and_replaced_twins_are_not_earlier(
    world: Any, earlier: int, settings: Settings
) -> None:
    first = put(world, at(world, NOW, settings), "r1")
    late = at(world, earlier, settings)
    assert first <= put(world, late, "r2") <= put(world, late, "r1")


def test_events_of_all_kinds_keep_their_order(world: Any) -> None:
    for moment in (NOW, NOW - DAY, NOW - 400 * DAY):
        graph = at(world, moment)
        put(world, graph, f"a{moment}")
        put(world, graph, f"b{moment}")
        body: Any = {"$relationshipName": "relatedTo", "$targetId": f"b{moment}"}
        world.do(graph.relationships.put_relationship(f"a{moment}", "r", body))
        world.do(graph.telemetry.publish(f"a{moment}", None, {"x": 1}, "m"))
        world.do(graph.relationships.delete_relationship(f"a{moment}", "r"))
        world.do(graph.twins.delete_twin(f"a{moment}"))
    times = read_event_times(world)
    assert len(times) > 17
    assert times == sorted(times)


def test_models_are_not_uploaded_earlier(world: Any) -> None:
    first = put(world, at(world, NOW), "r1")
    (text,) = world.do(at(world, NOW - DAY).models.create_models([build_interface(MODEL)]))
    assert orjson.loads(text)["uploadTime"] >= first[:19]


def test_imported_lines_are_not_earlier_than_what_they_replace(world: Any) -> None:
    first = put(world, at(world, NOW), "r1")
    lines: list[Any] = [
        {"Section": "Header"},
        {"fileVersion": "1.0.0"},
        {"Section": "Models"},
        build_interface(MODEL),
        {"Section": "Twins"},
        {"$dtId": "r1", **build_twin_document(ROOM)},
        {"$dtId": "r2", **build_twin_document(ROOM)},
    ]
    file = b"\n".join(map(orjson.dumps, lines))
    graph = at(world, NOW - DAY)
    progress = world.do(graph.portable.import_graph(io.BytesIO(file)))
    assert (progress.models, progress.twins, progress.errors) == (1, 2, 0)
    assert min(read_time(world, "r1"), read_time(world, "r2")) >= first
    uploaded = orjson.loads(world.do(graph.models.read_model(MODEL)))["uploadTime"]
    assert uploaded >= first[:19]
    assert read_event_times(world) == sorted(read_event_times(world))


def test_jobs_are_not_earlier(world: Any) -> None:
    first = put(world, at(world, NOW), "r1")
    _, text = world.do(at(world, NOW - DAY).delete_jobs.start_job("late"))
    assert orjson.loads(text)["createdDateTime"] >= first


def test_workers_beside_each_other_agree_on_the_time(world: Any) -> None:
    one, other = at(world, NOW), at(world, NOW + WINDOW)
    put(world, one, "r1")
    last = put(world, other, "r1")
    late, later = at(world, NOW - DAY), at(world, NOW - DAY + 5)
    times = [put(world, graph, f"n{n}") for n, graph in enumerate((late, later, late, later))]
    assert times[0] >= last
    assert len(set(times)) == 1


def test_the_mark_is_kept_only_with_what_was_written(world: Any) -> None:
    graph = at(world, NOW)
    before = read_mark(world)
    with pytest.raises(ValidationFailed):
        world.do(graph.twins.put_twin("r1", build_twin_document(ROOM, temperature="warm")))
    assert read_mark(world) == before < NOW
    put(world, graph, "r1")
    assert read_mark(world) == NOW


def test_the_mark_is_written_no_more_often_than_its_window(world: Any) -> None:
    told = SetClock(NOW)
    graph = Graph(InlineRunner(world.store), Settings(), clock=told)
    marks = set()
    for number in range(25):
        told.moment = NOW + number * WINDOW // 10
        put(world, graph, "r1")
        marks.add(read_mark(world))
    assert len(marks) == 3


def test_an_earlier_clock_is_told_of_once_a_day(
    world: Any, caplog: pytest.LogCaptureFixture
) -> None:
    clock._warn_of_clock.cache_clear()
    put(world, at(world, NOW), "r1")
    earlier = at(world, NOW - 9 * 365 * DAY)
    for _ in range(3):
        world.do(earlier.twins.patch_twin("r1", []))
    told = [record.message for record in caplog.records]
    assert [one.startswith("The clock says 2018-") for one in told] == [True]
