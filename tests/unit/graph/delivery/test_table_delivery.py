"""Delivering routes to endpoints that store rows of tables: which rows, and once each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.unit.graph.delivery.test_route_delivery import Delivered, delivering, wait_until
from twinframe.graph.delivery import tables as tables_module
from twinframe.graph.delivery.records import DeadLetter, put_dead_letter
from twinframe.graph.events.outbox import read_events
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused
from twinframe.hooks.event_sinks.tables import TableRow, TableSink
from twinframe.storage.base import GraphStore
from twinframe.testing.factories import SENSOR, build_twin_document

TWINS = "AdtTwinLifeCycleEvents"


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables_module, "_FIRST_PAUSE", 0.005)
    monkeypatch.setattr(tables_module, "_LOOK_SECONDS", 0.02)


class Tables(TableSink):
    """Keeps rows by name, as files would; `before` and `after` run around that."""

    def __init__(self, rows: int = 1000, seconds: float = 0.02) -> None:
        self.rows = rows
        self.seconds = seconds
        self.stored: dict[str, list[TableRow]] = {}
        self.calls: list[str] = []
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], Any] | None = None

    async def write(self, name: str, rows: Sequence[TableRow]) -> None:
        self.calls.append(name)
        self.before()
        self.stored[name] = list(rows)
        if self.after is not None:
            await self.after()

    @property
    def twins(self) -> list[str | None]:
        """The ids of the new twins, in the order of the names."""
        every = [row for name in sorted(self.stored) for row in self.stored[name]]
        return [row.values[0] for row in every if row.table.name == TWINS]


def play(
    store: GraphStore, sink: Tables, scenario: Callable[[Delivered], Any], **events: Any
) -> None:
    async def run() -> None:
        made: Delivered
        async with delivering(store, sink, **events) as made:  # type: ignore[arg-type]  # a sink
            await scenario(made)

    asyncio.run(run())


def test_many_events_are_stored_at_a_time_and_in_order(store: GraphStore) -> None:
    sink = Tables(rows=6, seconds=60)

    async def scenario(made: Delivered) -> None:
        await made.route()
        ids = [f"t{number:02d}" for number in range(20)]
        await made.put(*ids[:10])
        # Of the tenth twin on, rows wait for more; the route says that it is behind.
        await wait_until(lambda: len(sink.twins) >= 6)
        await made.put(*ids[10:])
        await wait_until(lambda: len(sink.twins) >= 18)
        assert sink.twins == ids[: len(sink.twins)]
        assert all(len(rows) >= 6 for rows in sink.stored.values())

    play(store, sink, scenario)


def test_large_rows_are_stored_though_they_are_few(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables_module, "MOST_SIZE", 1000)
    sink = Tables(seconds=3600)

    async def scenario(made: Delivered) -> None:
        await made.route()
        await made.put("a")
        await wait_until(lambda: (one := made.find_delivery()) is not None and one.unsettled == 1)
        assert sink.calls == []
        document = {**build_twin_document(SENSOR), "serial": "x" * 1000}
        await made.graph.twins.put_twin("b", document)
        await wait_until(lambda: sink.twins == ["a", "b"])

    play(store, sink, scenario)


def test_events_that_do_not_pass_or_have_no_row_move_the_position(store: GraphStore) -> None:
    sink = Tables()

    async def scenario(made: Delivered) -> None:
        await made.route("NOT subject = 'b'")
        await made.put("a", "b", "c")
        status = await made.catch_up()
        assert (sink.twins, status.progress.delivered) == (["a", "c"], 2)
        before = made.find_delivery()
        await made.route("subject = 'b'")
        await made.wait_for_another(before)
        await made.put("d")
        await made.catch_up()
        assert sink.twins == ["a", "c"]

    play(store, sink, scenario)


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_crash_interrupted_is_stored_again_under_its_name(
    store: GraphStore, when: str
) -> None:
    sink = Tables()
    hung = asyncio.Event()

    def fail() -> None:
        hung.set()
        raise DeliveryFailed("not now")

    async def hang() -> None:
        hung.set()
        await asyncio.sleep(3600)

    async def scenario(made: Delivered) -> None:
        await made.route()
        await made.put("a", "b")
        await made.catch_up()
        if when == "before":
            sink.before = fail
        else:
            sink.after = hang
        await made.put("c")
        await hung.wait()
        await made.put("d", "e")  # not of what was interrupted
        await made.background.stop()
        sink.before, sink.after = lambda: None, None
        interrupted = sink.calls[-1]
        calls = len(sink.calls)
        made.background = made.build_background()
        made.background.start()
        status = await made.catch_up()
        assert sink.calls[calls] == interrupted
        assert interrupted not in sink.calls[calls + 1 :]
        assert sink.twins == ["a", "b", "c", "d", "e"]
        assert status.progress.delivered == 5

    play(store, sink, scenario)


@pytest.mark.parametrize("error", [DeliveryFailed, DeliveryRefused, RuntimeError])
def test_a_location_that_fails_is_tried_again_and_no_event_is_given_up(
    store: GraphStore, error: type[Exception]
) -> None:
    sink = Tables()
    fails = True

    def fail() -> None:
        if fails:
            raise error("the disk is full")

    sink.before = fail

    async def scenario(made: Delivered) -> None:
        nonlocal fails
        await made.route()
        await made.put("a", "b")
        status = await made.reach(
            lambda status: len(sink.calls) > 5 and bool(status.progress.error)
        )
        made.ahead = 10**18  # past all patience
        await made.put("c")
        fails = False
        status = await made.catch_up()
        assert (status.progress.error, status.progress.letters) == ("", 0)
        assert sink.twins == ["a", "b", "c"]
        assert len(set(sink.calls)) == 2  # tried again with the same rows under the same name

    play(store, sink, scenario)


def test_a_replay_stores_rows_again_under_other_names(store: GraphStore) -> None:
    sink = Tables()

    async def scenario(made: Delivered) -> None:
        await made.route()
        await made.put("a", "b")
        await made.catch_up()
        await made.graph.event_routes.replay("r", 0)
        await wait_until(lambda: len(sink.twins) == 4)
        assert sorted(map(str, sink.twins)) == ["a", "a", "b", "b"]

    play(store, sink, scenario)


def test_a_new_filter_holds_for_what_was_not_stored(store: GraphStore) -> None:
    sink = Tables(seconds=3600)

    async def scenario(made: Delivered) -> None:
        await made.route()
        await made.put("a", "b")
        await wait_until(
            lambda: (found := made.find_delivery()) is not None and found.unsettled == 2
        )
        sink.seconds = 0.02
        await made.route("subject = 'b'")
        await made.catch_up()
        assert "b" in sink.twins
        assert len(sink.twins) == len(set(sink.twins))

    play(store, sink, scenario)


def test_dead_letters_of_an_endpoint_before_are_stored(store: GraphStore) -> None:
    sink = Tables()

    async def scenario(made: Delivered) -> None:
        await made.route()
        await made.put("a")
        await made.catch_up()
        event = sink.stored[sink.calls[0]]

        def give_up(transaction: Any) -> None:
            ((position, read),) = [
                x for x in read_events(transaction, after=0, limit=100) if x[1].key == "a"
            ]
            assert read.text is not None
            letter = DeadLetter(position, "a", read.text.decode(), "no", 1, "")
            put_dead_letter(transaction, "r", letter, 10)

        await made.runner.write(give_up)
        await made.graph.event_routes.replay_dead_letters("r")
        await wait_until(lambda: len(sink.stored) == 2)
        assert sink.stored[sink.calls[1]] == event
        status = await made.catch_up()
        assert status.progress.letters == 0

    play(store, sink, scenario)
