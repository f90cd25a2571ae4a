"""Delivering routes: from where, what, in which order, and what stays when it is cut off."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import orjson
import pytest

from twinframe.graph import Graph
from twinframe.graph.background.runner import BackgroundRunner
from twinframe.graph.delivery import deliverer as deliverer_module
from twinframe.graph.delivery import dispatcher as dispatcher_module
from twinframe.graph.delivery import reading as reading_module
from twinframe.graph.delivery.deliverer import RouteDelivery, RouteKind
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints, EventForm
from twinframe.graph.delivery.records import read_failing, read_seen
from twinframe.graph.delivery.routes import RouteStatus
from twinframe.hooks.event_sinks.base import (
    DeliveryFailed,
    DeliveryRefused,
    EndpointGone,
    EventSink,
    Message,
)
from twinframe.hooks.event_sinks.trust import build_trust
from twinframe.model.clock import read_clock
from twinframe.runtime.instruments.base import Level, RouteStanding
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.storage.base import GraphStore
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import SENSOR, build_building_interfaces, build_twin_document


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(dispatcher_module, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(deliverer_module, "FLUSH_SECONDS", 0.02)


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(120):
        while not holds():  # noqa: ASYNC110  (what is waited for happens outside of the loop)
            await asyncio.sleep(0.01)


class ScriptedSink(EventSink):
    """Takes what its script lets it."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.opened = 0
        self.script: Callable[[Message], None] = lambda _message: None

    async def open(self) -> None:
        self.opened += 1

    async def send(self, message: Message) -> None:
        await asyncio.sleep(0)
        self.script(message)
        self.taken.append(message)

    @property
    def subjects(self) -> list[str]:
        return [message.subject for message in self.taken]


class Delivered:
    """A graph on a store whose background work can be begun and ended."""

    def __init__(self, store: GraphStore, sink: EventSink, **events: Any) -> None:
        settings = Settings(events=EventsSettings(**events))
        self.store = store
        self.runner = StoreRunner(store, settings.storage)
        endpoints = {
            "out": Endpoint("out", "scripted", sink),
            "rows": Endpoint("rows", "scripted", sink, EventForm.HISTORY),
        }
        self.ahead = 0
        self.graph = Graph(
            self.runner, settings, endpoints=Endpoints(endpoints), clock=self.read_clock
        )
        self.background = self.build_background()

    def build_background(self) -> BackgroundRunner:
        return BackgroundRunner(
            self.runner, self.graph.background_tasks, lease_seconds=60.0, look_seconds=0.02
        )

    def read_clock(self) -> int:
        return read_clock() + self.ahead

    def find_delivery(self, name: str = "r") -> RouteDelivery | None:
        """What delivers the route just now in this process."""
        return cast("RouteKind", self.graph.background_tasks[0])._running.get(name)

    async def wait_for_another(self, before: RouteDelivery | None) -> None:
        """Until the route is delivered anew: as it is now, and by nobody else."""
        await wait_until(lambda: self.find_delivery() not in (None, before))

    async def put(self, *twin_ids: str) -> None:
        for twin_id in twin_ids:
            await self.graph.twins.put_twin(twin_id, build_twin_document(SENSOR))

    async def route(self, filter_: str = "true", endpoint: str = "out", name: str = "r") -> None:
        body: Any = {"endpointName": endpoint, "filter": filter_}
        await self.graph.event_routes.put_route(name, body)

    async def reach(self, holds: Callable[[RouteStatus], bool], name: str = "r") -> RouteStatus:
        async with asyncio.timeout(120):
            while True:
                status = await self.graph.event_routes.read_status(name)
                if holds(status):
                    return status
                await asyncio.sleep(0.01)

    async def catch_up(self, name: str = "r") -> RouteStatus:
        return await self.reach(lambda status: status.behind == 0, name)


@asynccontextmanager
async def delivering(
    store: GraphStore, sink: EventSink, *, begin: bool = True, **events: Any
) -> AsyncIterator[Delivered]:
    made = Delivered(store, sink, **events)
    interfaces: Any = build_building_interfaces()
    await made.graph.models.create_models(interfaces)
    if begin:
        made.background.start()
    try:
        yield made
    finally:
        await made.background.stop()
        await made.runner.close()


def test_a_route_delivers_what_happens_from_its_creation_on(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.put("before")
            await made.route()
            await made.put("a", "b")
            status = await made.catch_up()
            assert sink.subjects == ["a", "b"]
            assert (status.progress.delivered, status.progress.error) == (2, "")
            assert sink.opened == 1
            assert sink.taken[0].key == "a"
            assert sink.taken[0].type == "Microsoft.DigitalTwins.Twin.Create"
            assert sink.taken[0].body.startswith(b'{"specversion":"1.0","id":"')

    asyncio.run(play())


def test_the_metrics_hear_how_far_behind_a_route_is_and_what_it_gave_up(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        down = True

        def script(message: Message) -> None:
            if message.subject == "bad":
                raise DeliveryRefused("no")
            if down:
                raise DeliveryFailed("down")

        sink.script = script
        async with delivering(store, sink) as made:
            kind = made.graph.background_tasks[0]
            assert isinstance(kind, RouteKind)
            await made.route()
            await made.put("bad", "a", "b")
            await made.reach(lambda status: status.progress.letters == 1)
            await wait_until(lambda: RouteStanding("", "r", 2, 1, True) in kind.read_standings())
            down = False
            await wait_until(lambda: RouteStanding("", "r", 0, 1, False) in kind.read_standings())

    asyncio.run(play())


def test_only_what_the_filter_passes_is_delivered_and_a_new_filter_holds_soon(
    store: GraphStore,
) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.route("subject = 'b'")
            await made.put("a", "b", "c")
            await made.catch_up()
            assert sink.subjects == ["b"]
            before = made.find_delivery()
            await made.route("IS_OF_MODEL('" + SENSOR + "') AND NOT subject = 'b'")
            await made.wait_for_another(before)
            await made.put("d", "b")
            await made.catch_up()
            assert sink.subjects == ["b", "d"]

    asyncio.run(play())


def test_events_of_a_twin_arrive_in_order_though_one_in_three_fails(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        count = 0

        def fail(_message: Message) -> None:
            nonlocal count
            count += 1
            if count % 3 == 0:
                raise DeliveryFailed("not now")

        sink.script = fail
        async with delivering(store, sink) as made:
            await made.route()
            for number in range(10):
                for twin_id in ("a", "b", "c"):
                    body = build_twin_document(SENSOR, serial=f"{number}")
                    await made.graph.twins.put_twin(twin_id, body)
            await made.catch_up()
        for twin_id in ("a", "b", "c"):
            own = [message.body for message in sink.taken if message.key == twin_id]
            assert len(own) == 10
            assert all(b'"%d"' % number in text for number, text in enumerate(own))

    asyncio.run(play())


def test_who_goes_on_begins_where_the_one_before_was_stopped(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.route()
            await made.put("a")
            await made.catch_up()
            await made.put("b", "c")
            await made.background.stop()
            assert (await made.graph.event_routes.read_status("r")).progress.position > 0
            await made.put("d")
            made.background = made.build_background()
            made.background.start()
            await made.catch_up()
        assert sink.subjects == sorted(sink.subjects)
        assert set(sink.subjects) == {"a", "b", "c", "d"}

    asyncio.run(play())


def test_of_two_workers_one_delivers(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            second = made.build_background()
            second.start()
            await made.route()
            await made.put("a", "b", "c")
            await made.catch_up()
            await asyncio.sleep(0.1)
            await second.stop()
        assert sink.subjects == ["a", "b", "c"]

    asyncio.run(play())


def test_what_is_refused_becomes_a_dead_letter_and_can_be_sent_again(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()

        def refuse(message: Message) -> None:
            if message.subject in ("a", "b"):
                raise DeliveryRefused("the answer was 400")

        sink.script = refuse
        async with delivering(store, sink) as made:
            routes = made.graph.event_routes
            await made.route()
            await made.put("a", "b", "c")
            await made.reach(lambda status: status.behind == 0 and status.progress.dead == 2)
            assert sink.subjects == ["c"]
            letters = (await routes.list_dead_letters("r")).items
            assert [letter.event.document["subject"] for letter in letters] == ["a", "b"]
            assert {(one.error, one.attempts) for one in letters} == {("the answer was 400", 1)}
            sink.script = lambda _message: None
            assert await routes.replay_dead_letters("r") == 2
            await wait_until(lambda: sorted(sink.subjects) == ["a", "b", "c"])
            assert (await routes.list_dead_letters("r")).items == ()
            await made.put("d")
            await made.catch_up()
            assert sink.subjects[-1] == "d"

    asyncio.run(play())


def test_a_dead_letter_that_is_refused_again_stays_one(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()

        def refuse(_message: Message) -> None:
            raise DeliveryRefused("never")

        sink.script = refuse
        async with delivering(store, sink, max_dead_letters=2) as made:
            routes = made.graph.event_routes
            await made.route()
            await made.put("a")
            await made.reach(lambda status: status.progress.dead == 1)
            await routes.replay_dead_letters("r")
            await made.reach(lambda status: status.progress.dead == 2)
            assert len((await routes.list_dead_letters("r")).items) == 1
            await made.put("b", "c")
            await made.reach(lambda status: status.progress.dead == 4)
            letters = (await routes.list_dead_letters("r")).items
            assert [letter.event.document["subject"] for letter in letters] == ["b", "c"]
            assert await routes.delete_dead_letters("r") == 2
            assert (await routes.list_dead_letters("r")).items == ()

    asyncio.run(play())


@pytest.mark.parametrize("how", ["put", "replay", "dead letters"])
def test_a_route_whose_endpoint_is_gone_is_halted_until_somebody_has_it_go_on(
    store: GraphStore, how: str
) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        asked: list[str] = []

        def be_gone(message: Message) -> None:
            asked.append(message.subject)
            raise EndpointGone("it answered 410")

        sink.script = be_gone
        async with delivering(store, sink, in_flight=1) as made:
            routes = made.graph.event_routes
            await made.route()
            await made.put("a", "b")
            status = await made.reach(lambda status: status.progress.halted)
            assert (status.progress.error, status.progress.dead) == ("it answered 410", 1)
            await wait_until(lambda: made.background.is_idle)
            await made.put("c")
            await asyncio.sleep(0.1)
            assert asked == ["a"]
            assert (await routes.read_status("r")).behind == 2
            sink.script = lambda _message: None
            match how:
                case "put":
                    await made.route()
                case "replay":
                    await routes.replay("r", status.progress.position + 1)
                case _:
                    assert await routes.replay_dead_letters("r") == 1
            status = await made.catch_up()
            assert (status.progress.halted, status.progress.error) == (False, "")
            wanted = ["a", "b", "c"] if how == "dead letters" else ["b", "c"]
            await wait_until(lambda: sorted(sink.subjects) == wanted)

    asyncio.run(play())


def test_a_route_whose_endpoint_is_gone_gives_one_event_up_and_sends_all_others_once(
    store: GraphStore,
) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        twins = [f"twin{number}" for number in range(12)]

        def take_three(message: Message) -> None:
            if len(sink.taken) >= 3:
                raise EndpointGone("it answered 410")

        sink.script = take_three
        async with delivering(store, sink, begin=False, in_flight=4) as made:
            await made.route()
            await made.put(*twins)
            made.background.start()
            status = await made.reach(lambda status: status.progress.halted)
            assert (status.progress.dead, status.progress.letters) == (1, 1)
            (letter,) = (await made.graph.event_routes.list_dead_letters("r")).items
            await wait_until(lambda: made.background.is_idle)
            sink.script = lambda _message: None
            await made.route()
            await made.catch_up()
            assert sorted(sink.subjects) == sorted(set(twins) - {letter.key})
            await wait_until(lambda: not read_seen(store.session(), "r").position)

    asyncio.run(play())


def test_an_event_that_fails_too_long_is_given_up_however_often_the_service_is_restarted(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer_module, "LASTING_SECONDS", 0.0)

    async def play() -> None:
        sink = ScriptedSink()

        def fail(_message: Message) -> None:
            raise DeliveryFailed("nobody answers")

        def read(name: str = "r") -> dict[int, int]:
            return read_failing(store.session(), name)

        sink.script = fail
        async with delivering(store, sink, retry_hours=1) as made:
            await made.route()
            await made.put("a")
            await wait_until(lambda: bool(read()))
            first = read()
            for _ in range(3):
                await made.background.stop()
                made.ahead += 15 * 60 * 10**9
                made.background = made.build_background()
                made.background.start()
                await made.reach(lambda status: bool(status.progress.error))
                await asyncio.sleep(0.05)
                assert read() == first
            assert (await made.graph.event_routes.read_status("r")).progress.dead == 0
            await made.background.stop()
            made.ahead += 15 * 60 * 10**9
            made.background = made.build_background()
            made.background.start()
            status = await made.reach(lambda status: status.progress.dead == 1)
            assert status.progress.letters == 1
            await wait_until(lambda: not read())

    asyncio.run(play())


def test_a_replay_and_another_endpoint_have_patience_begin_anew(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer_module, "LASTING_SECONDS", 0.0)

    async def play() -> None:
        sink = ScriptedSink()

        def fail(_message: Message) -> None:
            raise DeliveryFailed("nobody answers")

        sink.script = fail
        async with delivering(store, sink) as made:
            await made.route()
            await made.put("a")
            await wait_until(lambda: bool(read_failing(store.session(), "r")))
            await made.background.stop()
            await made.route()  # the same
            assert read_failing(store.session(), "r")
            await made.route(endpoint="rows")
            assert not read_failing(store.session(), "r")

    asyncio.run(play())


def test_an_endpoint_that_is_down_loses_nothing_and_the_route_says_so(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()

        def fail(_message: Message) -> None:
            raise DeliveryFailed("nobody answers")

        sink.script = fail
        async with delivering(store, sink, in_flight=2) as made:
            await made.route()
            await made.put("a", "b", "c", "d")
            status = await made.reach(lambda status: bool(status.progress.error))
            assert status.progress.error == "nobody answers"
            kind = cast("RouteKind", made.graph.background_tasks[0])
            levels = {Level.EVENTS_UNSETTLED: 4, Level.EVENT_ROUTES_FAILING: 1}
            await wait_until(lambda: kind.read_levels() == levels)
            assert status.behind == 4
            sink.script = lambda _message: None
            status = await made.catch_up()
            assert sorted(sink.subjects) == ["a", "b", "c", "d"]
            assert (await made.reach(lambda s: not s.progress.error)).progress.dead == 0

    asyncio.run(play())


def test_replay_sends_again_from_a_position_on(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.put("before")
            await made.route("STARTS_WITH(type, 'Microsoft.DigitalTwins.Twin')")
            await made.put("a", "b")
            last = (await made.catch_up()).last
            sink.taken.clear()
            await made.graph.event_routes.replay("r", last)
            await wait_until(lambda: bool(sink.taken))
            await made.catch_up()
            assert sink.subjects == ["b"]
            sink.taken.clear()
            await made.graph.event_routes.replay("r", 0)
            await made.reach(lambda status: status.behind == 0 and len(sink.taken) == 3)
            assert sink.subjects == ["before", "a", "b"]

    asyncio.run(play())


def test_a_deleted_route_delivers_no_more(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.route()
            await made.put("a")
            await made.catch_up()
            await made.graph.event_routes.delete_route("r")
            await wait_until(lambda: made.background.is_idle)
            assert store.session().read_entry("lease", "event-route/r") is None
            await made.put("b")
            await asyncio.sleep(0.1)
        assert sink.subjects == ["a"]

    asyncio.run(play())


def test_a_route_that_is_deleted_and_made_anew_sends_nothing_of_the_one_before(
    store: GraphStore,
) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        tried: list[str] = []

        def fail(message: Message) -> None:
            tried.append(message.subject)
            raise DeliveryFailed("down")

        sink.script = fail
        async with delivering(store, sink) as made:
            routes = made.graph.event_routes
            await made.route()
            await made.put("before")
            await made.reach(lambda status: bool(status.progress.error))
            delivery = made.find_delivery()
            await routes.delete_route("r")
            await made.put("between")
            await made.route()
            await made.put("after")
            await made.wait_for_another(delivery)
            tried.clear()
            await wait_until(lambda: len(tried) > 5)
            assert set(tried) == {"after"}
            sink.script = lambda _message: None
            status = await made.catch_up()
            assert (sink.subjects, status.progress.delivered) == (["after"], 1)
            await routes.delete_route("r")
            await wait_until(lambda: made.background.is_idle)
            assert store.session().read_entry("lease", "event-route/r") is None

    asyncio.run(play())


def test_data_history_goes_out_as_rows_in_order(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.route(endpoint="rows")
            body = build_twin_document(SENSOR, serial="1")
            await made.graph.twins.put_twin("a", body)
            await made.catch_up()
        assert [b"Twin.Lifecycle" in sink.taken[0].body, b"Property.Event" in sink.taken[1].body]
        assert [message.id[-2:] for message in sink.taken] == ["-0", "-1"]

    asyncio.run(play())


def test_an_endpoint_that_is_configured_no_more_is_waited_for(store: GraphStore) -> None:
    async def play() -> None:
        sink = ScriptedSink()
        async with delivering(store, sink, begin=False) as made:
            await made.route()
            await made.put("a")
            other = Graph(made.runner, Settings(), endpoints=Endpoints({}))
            background = BackgroundRunner(
                made.runner, other.background_tasks, lease_seconds=5.0, look_seconds=0.02
            )
            background.start()
            status = await made.reach(lambda status: bool(status.progress.error))
            assert "endpoint out is not configured" in status.progress.error
            await background.stop()
            made.background.start()
            await made.catch_up()
        assert sink.subjects == ["a"]

    asyncio.run(play())


def test_a_sink_that_fails_as_nobody_foresaw_is_told_of_and_tried_again(
    store: GraphStore, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        sink = ScriptedSink()

        def fail(_message: Message) -> None:
            raise UnicodeError("s3cret")

        sink.script = fail
        async with delivering(store, sink) as made:
            await made.route()
            await made.put("a", "b")
            status = await made.reach(lambda status: bool(status.progress.error))
            assert status.progress.error == (
                "The endpoint out failed with UnicodeError; the log of the service says where."
            )
            sink.script = lambda _message: None
            status = await made.catch_up()
            assert (sorted(sink.subjects), status.progress.dead) == (["a", "b"], 0)

    asyncio.run(play())
    told = [record for record in caplog.records if "failed in its sink" in record.message]
    assert len(told) == 1


def test_a_file_that_cannot_be_used_is_named_to_the_operator_alone(
    store: GraphStore, caplog: pytest.LogCaptureFixture
) -> None:
    async def play() -> None:
        sink = ScriptedSink()

        def fail(_message: Message) -> None:
            build_trust("/none/ca.pem")

        sink.script = fail
        async with delivering(store, sink) as made:
            await made.route()
            await made.put("a", "b")
            status = await made.reach(lambda status: bool(status.progress.error))
            made.ahead = 1000 * 3600 * 10**9
            await made.reach(lambda status: status.progress.dead == 2)
            letters = (await made.graph.event_routes.list_dead_letters("r")).items
            shown = [status.progress.error, *(letter.error for letter in letters)]
            for text in shown:
                assert "CertificateAuthority cannot be used: No such file" in text
                assert "/none" not in text

    asyncio.run(play())
    told = [record.getMessage() for record in caplog.records if "/none" in record.getMessage()]
    assert len(told) == 1
    assert "CertificateAuthority /none/ca.pem cannot be used: No such file" in told[0]


def test_a_twin_whose_events_fail_for_long_holds_up_no_other(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher_module, "HELD", 3)
    monkeypatch.setattr(deliverer_module, "WINDOW", 8)

    async def play() -> None:
        sink = ScriptedSink()

        def fail(message: Message) -> None:
            if message.key == "bad":
                raise DeliveryFailed("not this one")

        sink.script = fail
        async with delivering(store, sink) as made:
            await made.route()
            for number in range(30):
                document = build_twin_document(SENSOR, serial=f"{number}")
                await made.graph.twins.put_twin("bad", document)
                await made.put(f"good{number}")
            await wait_until(lambda: len(sink.taken) == 30)
            sink.script = lambda _message: None
            status = await made.catch_up()
            assert (status.progress.dead, status.progress.lost) == (0, 0)
        own = [message.body for message in sink.taken if message.key == "bad"]
        assert len(own) == 30
        assert all(b'"%d"' % number in text for number, text in enumerate(own))

    asyncio.run(play())


def read_serials(sink: ScriptedSink, key: str) -> list[int]:
    """The serials that a twin was told to have, in the order of the events that were taken."""
    found = [orjson.loads(message.body)["data"] for message in sink.taken if message.key == key]
    return [
        int(data["serial"] if "serial" in data else data["patch"][0]["value"]) for data in found
    ]


async def write_serials(made: Delivered, numbers: range, *keys: str) -> None:
    for number in numbers:
        for key in keys:
            document = build_twin_document(SENSOR, serial=f"{number}")
            await made.graph.twins.put_twin(key, document)


def refuse_now(keys: set[str]) -> Callable[[Message], None]:
    def fail(message: Message) -> None:
        if message.key in keys:
            raise DeliveryFailed("not this one")

    return fail


def test_who_goes_on_sends_nothing_again_that_came_behind_an_event_that_fails(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer_module, "LASTING_SECONDS", 0.0)

    async def play() -> None:
        sink = ScriptedSink()
        sink.script = refuse_now({"bad"})
        async with delivering(store, sink, in_flight=1000) as made:
            await made.route()
            for begun in (0, 10, 20):
                await write_serials(made, range(begun, begun + 10), "bad", "a", "b")
                await wait_until(lambda most=begun + 10: len(sink.taken) == 2 * most)  # type: ignore[misc]  # the default binds
                # NOTE: not the error of the delivery before, which has no reason yet.
                status = await made.reach(
                    lambda status: status.progress.error.endswith(". not this one")
                )
                position = status.progress.position + 1
                assert status.progress.error == (
                    f"Events that are not taken for long: 1, the oldest at position {position}. "
                    "not this one"
                )
                await made.background.stop()
                assert read_seen(store.session(), "r").keys.keys() == {"bad"}
                made.background = made.build_background()
                made.background.start()
            sink.script = lambda _message: None
            await made.catch_up()
            await wait_until(lambda: not read_seen(store.session(), "r").position)
            await made.reach(lambda status: not status.progress.error)
        for key in ("bad", "a", "b"):
            assert read_serials(sink, key) == list(range(30))

    asyncio.run(play())


def test_whatever_fails_and_whenever_it_is_cut_off_all_comes_in_order(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliverer_module, "LASTING_SECONDS", 0.0)
    monkeypatch.setattr(dispatcher_module, "HELD", 2)
    # Some are cut off while they still read what was seen before.
    monkeypatch.setattr(deliverer_module, "FLUSH_SECONDS", 0.0)
    monkeypatch.setattr(reading_module, "_FIRST", 1)
    monkeypatch.setattr(reading_module, "BATCH", 1)
    chance = random.Random(7)
    keys = ("a", "b", "c", "d")
    flush = RouteDelivery._flush
    died = False

    async def flush_unless_dead(delivery: RouteDelivery) -> bool:
        return True if died else await flush(delivery)

    monkeypatch.setattr(RouteDelivery, "_flush", flush_unless_dead)

    async def play() -> None:
        nonlocal died
        sink = ScriptedSink()
        async with delivering(store, sink) as made:
            await made.route()
            for begun in range(0, 60, 6):
                sink.script = refuse_now(set(chance.sample(keys, chance.randint(0, 3))))
                await write_serials(made, range(begun, begun + 6), *keys)
                for _ in range(chance.randint(1, 5)):
                    await asyncio.sleep(chance.random() * 0.05)
                    died = chance.random() < 0.5  # nothing is written down from now on
                    await asyncio.sleep(chance.random() * 0.02)
                    await made.background.stop()
                    died = False
                    made.background = made.build_background()
                    made.background.start()
            sink.script = lambda _message: None
            status = await made.catch_up()
            assert (status.progress.dead, status.progress.lost) == (0, 0)
        for key in keys:
            assert list(dict.fromkeys(read_serials(sink, key))) == list(range(60))

    asyncio.run(play())


@pytest.mark.parametrize("change", ["replay", "filter"])
def test_what_was_seen_is_forgotten_when_a_caller_has_the_route_begin_anew(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr(deliverer_module, "LASTING_SECONDS", 0.0)

    async def play() -> None:
        sink = ScriptedSink()
        sink.script = refuse_now({"bad"})
        async with delivering(store, sink) as made:
            await made.route()
            await write_serials(made, range(3), "bad", "a")
            await wait_until(lambda: read_seen(store.session(), "r").position > 0)
            await wait_until(lambda: len(sink.taken) == 3)
            sink.script = lambda _message: None
            if change == "replay":
                await made.graph.event_routes.replay("r", 0)
            else:
                await made.route("NOT subject = 'x'")
            await wait_until(lambda: read_serials(sink, "bad")[-3:] == [0, 1, 2])
            await made.catch_up()
        assert read_serials(sink, "a") == [0, 1, 2, 0, 1, 2]

    asyncio.run(play())
