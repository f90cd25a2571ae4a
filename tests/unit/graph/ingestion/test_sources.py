"""Sources of messages: what is written and acknowledged, refused, tried again, and kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.point_shelf import open_points
from tests.unit.graph.inline_runner import InlineRunner
from tests.waiting import PATIENCE
from twinframe.errors import StorageBusy, StorageError
from twinframe.graph import Graph
from twinframe.graph.background.leases import Lease, LeaseManager
from twinframe.graph.ingestion import sources
from twinframe.graph.ingestion.mappings import parse_mappings
from twinframe.graph.ingestion.properties import WriteProperties
from twinframe.graph.ingestion.standing import Standing, read_standing
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.hooks.sources.base import (
    MessageSource,
    SourceFailed,
    SourceMessage,
    Subscription,
    TopicForm,
)
from twinframe.model.etags import UNCONDITIONED
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.instruments.base import Ingested, Instruments
from twinframe.runtime.leases import LeaseLost
from twinframe.settings import Settings
from twinframe.storage.points import Points
from twinframe.testing.factories import ROOM
from twinframe_points.settings import PointsSettings

MAPPINGS = [
    {"topic": "points/{twin}", "time": "payload.at", "points": {"motion": "payload.v"}},
    {"topic": "set/{twin}", "time": "payload.at", "properties": {"temperature": "payload.v"}},
    {"topic": "part/{twin}", "time": "payload.at", "properties": {"thermostat/mode": "payload.v"}},
    {"topic": "address/{twin}", "time": "payload.at", "properties": {"address/city": "payload.v"}},
]


def build_message(topic: str, value: Any, second: int | None = None) -> SourceMessage:
    at = None if second is None else f"2024-01-31T12:00:{second:02}Z"
    return SourceMessage(topic, orjson.dumps({"v": value, "at": at}), receipt=object())


class Script(MessageSource):
    """Gives batches, or raises errors, one after the other; then it says so and waits."""

    form = TopicForm("/", "+", "#")

    def __init__(self, *steps: Sequence[SourceMessage] | SourceFailed) -> None:
        self.steps = list(steps)
        self.acknowledged: list[object] = []
        self.subscriptions: list[Subscription] = []
        self.closed = 0
        self.done = asyncio.Event()

    async def open(self, subscription: Subscription) -> None:
        self.subscriptions.append(subscription)

    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        if not self.steps:
            self.done.set()
            await asyncio.Event().wait()
        step = self.steps.pop(0)
        if isinstance(step, SourceFailed):
            raise step
        return step

    async def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        self.acknowledged += [message.receipt for message in messages]

    async def close(self) -> None:
        self.closed += 1


class Counts(Instruments):
    def __init__(self) -> None:
        self.ingested: list[Ingested] = []
        self.failures = 0

    def note_ingested(self, ingested: Ingested) -> None:
        self.ingested.append(ingested)

    def note_source_failure(self, source: str) -> None:
        self.failures += 1


class Intake:
    """A world with a source, whose batches are taken in until there are no more."""

    def __init__(self, world: Any, directory: Path) -> None:
        self.world = world
        self.points = open_points(world.store, directory, PointsSettings(), lambda: world.now / 1e9)
        self.settings = Settings.model_validate(
            {
                "history": {"telemetry": ("all",)},
                "ingestion": {"dead_letters": 3},
                "bulk": {"max_points": 1},
            }
        )
        self.counts = Counts()
        self.runner = InlineRunner(world.store)
        self.mappings = MAPPINGS
        self.lease: Lease | None = None

    def run(self, *steps: Sequence[SourceMessage] | SourceFailed) -> Script:
        return asyncio.run(self._run(Script(*steps)))

    async def _run(self, script: Script) -> Script:
        kinds: list[sources.SourceKind] = []

        def ingest(context: Any, series: Any, told: Any) -> sources.SourceKind:
            source = sources.Source("s", script, parse_mappings(self.mappings, script.form))
            kinds.append(sources.SourceKind(context, series, [source], told))
            return kinds[0]

        self.graph = Graph(
            self.runner,
            self.settings,
            clock=self.world.read_clock,
            points=self.points,
            instruments=self.counts,
            ingest=ingest,
        )
        manager = LeaseManager(self.runner, 60.0)
        lease = self.lease or await manager.claim("source/s")
        assert lease is not None
        task = asyncio.create_task(kinds[0].run("s", lease))
        waiting = asyncio.create_task(script.done.wait())
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            task.result()
        task.cancel()
        await asyncio.wait([task])
        await manager.give_back(lease)
        return script

    def read(self, twin: str, path: str) -> list[Any]:
        question = SeriesQuestion("2024-01-31T00:00:00Z")
        found = self.world.do(self.graph.series.read_points(twin, path, question))
        return [value for _, value in found.items]

    def read_standing(self) -> Standing:
        session = self.world.store.session()
        try:
            return read_standing(session, "s")
        finally:
            session.close()


@pytest.fixture
def intake(world: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Intake]:
    monkeypatch.setattr(sources, "_PAUSES", Backoff(0.0, 0.0))
    for twin_id in ("r1", "r2"):
        world.put(twin_id, ROOM, temperature=1.0)
    intake = Intake(world, tmp_path / "beside")
    yield intake
    intake.points.close()


def list_events(world: Any) -> int:
    session = world.store.session()
    try:
        return int(session.read_event_bounds()[1])
    finally:
        session.close()


def test_points_and_properties_are_written_with_the_time_of_their_source(intake: Intake) -> None:
    messages = [
        build_message("points/r1", True, 1),
        build_message("points/r1", False, 2),
        build_message("set/r1", 21.5, 3),
        build_message("part/r1", "eco", 4),
        build_message("set/r2", 5.0),
        build_message("points/r1", False, 1),
    ]
    script = intake.run(messages[:4], messages[4:])
    assert script.acknowledged == [message.receipt for message in messages]
    assert intake.read("r1", "motion") == [False, False]
    twin = intake.world.read("r1")
    assert (twin["temperature"], twin["thermostat"]["mode"]) == (21.5, "eco")
    assert twin["$metadata"]["temperature"]["sourceTime"] == "2024-01-31T12:00:03Z"
    metadata = twin["thermostat"]["$metadata"]
    assert metadata["mode"]["sourceTime"] == "2024-01-31T12:00:04Z"
    assert "sourceTime" not in intake.world.read("r2")["$metadata"]["temperature"]
    assert intake.world.read("r2")["temperature"] == 5.0
    session = intake.world.store.session()
    assert b'"source/s"' in session.read_events(after=0, limit=100)[-1][1].body
    session.close()
    assert [dict(one.outcomes) for one in intake.counts.ingested] == [
        {"Stale": 0, "Stored": 4},
        {"Stale": 0, "Stored": 2},
    ]


def test_a_property_keeps_the_value_of_the_latest_time(intake: Intake) -> None:
    intake.run([build_message("set/r1", 9.0, 30)])
    twin, events = intake.world.read("r1"), list_events(intake.world)
    script = intake.run([build_message("set/r1", 8.0, 20), build_message("set/r1", 9.0, 30)])
    assert len(script.acknowledged) == 2
    assert intake.world.read("r1") == twin
    assert list_events(intake.world) == events
    assert intake.counts.ingested[-1].outcomes == {"Stale": 2, "Stored": 0}
    intake.run([build_message("set/r1", 7.0, 30)])
    assert intake.world.read("r1")["temperature"] == 7.0
    intake.run([build_message("set/r1", 6.0)])
    assert intake.world.read("r1")["temperature"] == 6.0


def test_refused_messages_stop_no_other_and_the_last_ones_are_kept(intake: Intake) -> None:
    bad = [
        build_message("nothing/r1", 1),
        SourceMessage("set/r1", b"{\x00", receipt=1),
        build_message("set/nobody", 1.0),
        build_message("points/nobody", 1.0),
        build_message("set/r1", "warm"),
        build_message("address/r1", "Bern"),
    ]
    script = intake.run([*bad, build_message("set/r1", 3.0)])
    assert len(script.acknowledged) == 7
    assert intake.world.read("r1")["temperature"] == 3.0
    standing = intake.read_standing()
    assert (standing.messages, standing.properties) == (7, 1)
    assert standing.refused == {
        "NoMapping": 1,
        "PayloadInvalid": 1,
        "DigitalTwinNotFound": 2,
        "ValidationFailed": 1,
        "JsonPatchInvalid": 1,
    }
    assert [(letter.topic, letter.reason) for letter in standing.letters] == [
        ("points/nobody", "DigitalTwinNotFound"),
        ("set/r1", "ValidationFailed"),
        ("address/r1", "JsonPatchInvalid"),
    ]
    assert "temperature" in standing.letters[1].message
    assert standing.letters[1].payload == '{"v":"warm","at":null}'
    assert intake.counts.ingested[0].outcomes["Stored"] == 1


def test_a_derived_property_is_refused_as_it_is_to_callers(intake: Intake) -> None:
    derivation = {"model": ROOM, "property": "temperature", "value": "1.5"}
    intake.world.do(intake.world.graph.derivations.put("d", derivation, UNCONDITIONED))
    intake.run([build_message("set/r1", 2.0), build_message("part/r1", "eco")])
    assert intake.read_standing().refused == {"DerivedPropertyReadOnly": 1}
    assert intake.world.read("r1")["thermostat"]["mode"] == "eco"


def test_nothing_is_acknowledged_before_it_is_stored(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failures = intake.points.write, 2
    seen: list[int] = []

    def fail(points: Points) -> None:
        nonlocal failures
        seen.append(len(script.acknowledged))
        if failures:
            failures -= 1
            raise StorageError("The disk is away.")
        write(points)

    monkeypatch.setattr(intake.points, "write", fail)
    script = Script([build_message("points/r1", 1, 1), build_message("set/r1", 4.0, 1)])
    asyncio.run(intake._run(script))
    assert seen == [0, 0, 0]
    assert len(script.acknowledged) == 2
    assert intake.read("r1", "motion") == [1]
    assert intake.world.read("r1")["temperature"] == 4.0


def test_a_refused_message_is_not_acknowledged_before_its_dead_letter_is_stored(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failures, seen = Standing.write, 2, []

    def fail(self: Standing, transaction: Any, name: str) -> None:
        nonlocal failures
        if self.letters:
            seen.append(len(script.acknowledged))
            if failures:
                failures -= 1
                raise StorageError("The disk is away.")
        write(self, transaction, name)

    monkeypatch.setattr(Standing, "write", fail)
    script = Script([build_message("set/r1", "warm"), build_message("set/r1", 4.0, 1)])
    asyncio.run(intake._run(script))
    assert seen == [0, 0, 0]
    assert len(script.acknowledged) == 2
    standing = intake.read_standing()
    assert (standing.messages, [one.reason for one in standing.letters]) == (
        2,
        ["ValidationFailed"],
    )


def test_nothing_is_subscribed_before_the_filters_are_stored(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, failures, seen = Standing.write, 2, []

    def fail(self: Standing, transaction: Any, name: str) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise StorageError("The disk is away.")
        write(self, transaction, name)

    async def open_source(subscription: Subscription) -> None:
        seen.append(intake.read_standing().filters)

    monkeypatch.setattr(Standing, "write", fail)
    script = Script()
    monkeypatch.setattr(script, "open", open_source)
    asyncio.run(intake._run(script))
    assert seen == [["points/+", "set/+", "part/+", "address/+"]]


def test_a_message_that_breaks_its_writer_stops_no_other(
    intake: Intake, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = WriteProperties.apply
    busy = [StorageBusy("Another writes.")]

    def break_down(self: WriteProperties, context: Any, transaction: Any) -> Any:
        if self.twin_id == "r2" and busy:
            raise busy.pop()
        if self.values[0][1] == 66.0:
            raise RuntimeError("poison")
        return apply(self, context, transaction)

    monkeypatch.setattr(WriteProperties, "apply", break_down)
    messages = [build_message("set/r1", value) for value in (2.0, 66.0, 3.0)]
    script = intake.run([*messages, build_message("set/r2", 4.0)])
    assert len(script.acknowledged) == 4
    assert intake.world.read("r1")["temperature"] == 3.0
    assert intake.world.read("r2")["temperature"] == 4.0
    assert intake.read_standing().refused == {"Unforeseen": 1}


def test_a_broken_connection_is_made_again_and_former_topics_are_left(intake: Intake) -> None:
    first = build_message("set/r1", 2.0)
    script = intake.run([first], SourceFailed("It is gone."), [build_message("set/r1", 3.0)])
    assert (len(script.acknowledged), script.closed) == (2, 2)
    assert intake.counts.failures == 1
    assert intake.read_standing().error == ""
    one, other = script.subscriptions
    assert one == other
    assert one.filters == ("points/+", "set/+", "part/+", "address/+")
    assert one.identity.startswith("twinframe-")
    assert one.identity.endswith("-s")
    intake.mappings = MAPPINGS[1:2]
    (later,) = intake.run().subscriptions
    assert (later.filters, later.former) == (("set/+",), ("points/+", "part/+", "address/+"))
    assert later.identity == one.identity


def test_what_lost_its_lease_writes_and_acknowledges_nothing(intake: Intake) -> None:
    script = Script([build_message("set/r1", 2.0)])
    intake.lease = Lease("source/s", 1, "another")
    with pytest.raises(LeaseLost):
        asyncio.run(intake._run(script))
    assert script.acknowledged == []
    assert intake.world.read("r1")["temperature"] == 1.0
