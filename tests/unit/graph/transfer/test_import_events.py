"""What an import tells of: the same as the same writes one by one, in chunks of any size."""

from __future__ import annotations

import io
import re
from typing import Any

import orjson
import pytest

from tests.unit.graph.conftest import World
from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.graph.transfer.test_importing import File
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.write_clock import WriteClock
from twinframe.graph.events import outbox
from twinframe.graph.events.event import Event
from twinframe.graph.transfer.importing import Importer
from twinframe.model.clock import render_update_time
from twinframe.settings import Settings
from twinframe.settings.jobs import JobsSettings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import ROOM, SENSOR, build_building_interfaces

TIME = re.compile(rb"2024-01-31T12:\d\d:\d\d\.\d{7}Z")
GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def build_world(store: Any, **jobs: Any) -> World:
    world = World(store, Settings(jobs=JobsSettings(**jobs)))
    world.do(world.graph.models.create_models(build_building_interfaces()))
    return world


def read_events(world: World) -> list[Event]:
    session = world.store.session()
    try:
        rows = outbox.read_events(session, after=0, limit=999)
    finally:
        session.close()
    events = [Event(position, read.key, read.text) for position, read in rows if read.text]
    return [event for event in events if not event.type.startswith("Twinframe.Model.")]


def plain(event: Event) -> tuple[str, str]:
    """Key and text, without the ids and times that are new each time."""
    text = TIME.sub(b"TIME", event.text).decode("utf-8")
    return event.key, GUID.sub("GUID", text)


def load(*lines: Any) -> list[dict[str, Any]]:
    return [orjson.loads(orjson.dumps(line)) for line in lines]


def relate(world: World, edge: dict[str, Any]) -> None:
    world.relate(
        edge["$dtId"], edge["$relationshipId"], edge["$targetId"], edge["$relationshipName"]
    )


@pytest.mark.parametrize("rows", [1, 3, 500])
def test_an_import_tells_what_single_writes_tell(store: Any, rows: int) -> None:
    file = File()
    there = file.twin("there", temperature=1.0)
    twins = load(
        file.twin("a", temperature=1.5),
        file.twin("s\u00e9", SENSOR),
        file.twin("there", temperature=2.0),
        file.twin("a", temperature=2.5),
        file.twin("a", temperature=3.5),
        file.twin("z"),
    )
    edges = load(
        file.edge("a", "e", "s\u00e9", "watchedBy"),
        file.edge("z", "e", "a"),
        file.edge("there", "old", "z"),
        file.edge("a", "e", "s\u00e9", "watchedBy"),
        file.edge("a", "e", "z"),
    )
    file.section("Twins", *twins).section("Relationships", *edges)

    single_store = MemoryStore()
    single_store.open()
    imported, single = build_world(store, chunk_rows=rows), build_world(single_store)
    for world in (imported, single):
        for line in load(there, file.twin("z"), file.twin("end")):
            world.do(world.graph.twins.put_twin(line["$dtId"], line))
        relate(world, file.edge("there", "old", "end"))
    progress = imported.do(imported.graph.portable.import_graph(io.BytesIO(file.render())))
    assert (progress.twins, progress.relationships, progress.errors) == (6, 5, 0)
    for line in load(*twins):
        single.do(single.graph.twins.put_twin(line["$dtId"], line))
    for edge in edges:
        relate(single, edge)
    assert [*map(plain, read_events(imported))] == [*map(plain, read_events(single))]
    single_store.close()


def test_all_times_of_a_chunk_are_those_of_its_transaction(store: Any) -> None:
    world = build_world(store)
    file = File()
    file.section("Twins", file.twin("a", temperature=1.5), file.twin("b", SENSOR))
    file.section("Relationships", file.edge("a", "e", "b", "watchedBy"))
    world.do(world.graph.portable.import_graph(io.BytesIO(file.render())))
    *twins, relationship = read_events(world)
    times = {event.document["time"] for event in twins}
    for event in twins:
        stored = world.read(event.key)
        assert event.document["data"] == stored
        assert stored["$metadata"]["$lastUpdateTime"] in times
    assert world.read("a")["$metadata"]["temperature"]["lastUpdateTime"] in times
    assert len(times) == 1
    assert TIME.fullmatch(min(times).encode())
    assert TIME.fullmatch(relationship.document["time"].encode())
    assert relationship.document["time"] == min(times)
    assert relationship.model_id == ROOM


def test_a_chunk_that_waits_is_stamped_when_it_is_written(store: Any) -> None:
    world = build_world(store)
    file = File()
    file.section("Twins", file.twin("a"))
    before = ""

    class Late(Importer):
        async def _store(self, *prepared: Any) -> Any:
            nonlocal before
            before = render_update_time(world.read_clock())
            return await super()._store(*prepared)

    context = GraphContext(
        InlineRunner(store), world.settings, write_clock=WriteClock(world.read_clock)
    )
    world.do(Late(context).run(io.BytesIO(file.render())))
    assert world.read("a")["$metadata"]["$lastUpdateTime"] > before > ""


def test_what_was_judged_before_its_model_went_is_judged_again(store: Any) -> None:
    world = build_world(store)
    file = File()
    file.section("Twins", file.twin("a", SENSOR), file.twin("b", ROOM))
    found: list[Any] = []

    class Late(Importer):
        async def _store(self, *prepared: Any) -> Any:
            await world.graph.models.delete_model(SENSOR)
            return await super()._store(*prepared)

    context = GraphContext(
        InlineRunner(store), world.settings, write_clock=WriteClock(world.read_clock)
    )
    importer = Late(context, report=lambda _, findings: found.extend(findings))
    progress = world.do(importer.run(io.BytesIO(file.render())))
    assert (progress.twins, progress.errors) == (1, 1)
    assert [(one.line, one.item, one.code) for one in found] == [(4, "a", "ValidationFailed")]
    assert world.read("b")["$dtId"] == "b"
