"""Lanes: order per key, several keys at a time, patience with what fails."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.quick_loop import QuickLoop
from twinframe.graph.delivery import dispatcher as dispatcher_module
from twinframe.graph.delivery.dispatcher import KeyedDispatcher, build_pause
from twinframe.graph.events.event import Event
from twinframe.hooks.event_sinks.base import DeliveryFailed, DeliveryRefused, EndpointGone

Send = Callable[[Event], Awaitable[None]]


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(dispatcher_module, "LONGEST_PAUSE", 0.004)


class Run:
    """Lanes over a scripted endpoint, run until all is settled."""

    def __init__(
        self,
        *,
        in_flight: int = 4,
        patience: float = 60.0,
        now: int = 0,
        failing: dict[int, int] | None = None,
    ) -> None:
        self.taken: list[Event] = []
        self.given_up: list[tuple[int, str, int]] = []
        self.tries: Counter[int] = Counter()
        self.script: Send = self._take
        self.forgotten: set[int] = set()
        self.loaded: list[int] = []
        self._keys = ""
        self.dispatcher = KeyedDispatcher(
            self._send,
            self._give_up,
            self._load,
            in_flight=in_flight,
            patience=patience,
            clock=lambda: now,
            failing=failing,
        )

    def play(self, keys: str) -> None:
        asyncio.run(asyncio.wait_for(self._play(keys), 120))

    async def _play(self, keys: str) -> None:
        self._keys = keys
        serving = asyncio.create_task(self.dispatcher.run())
        for position, key in enumerate(keys, 1):
            self.dispatcher.add(Event(position, key, b"{}"))
        while self.dispatcher.unsettled:
            self.dispatcher.settled.clear()
            waiting = asyncio.create_task(self.dispatcher.settled.wait())
            await asyncio.wait([waiting, serving], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
        serving.cancel()
        await asyncio.wait([serving])

    async def _send(self, event: Event) -> None:
        self.tries[event.position] += 1
        await asyncio.sleep(0)
        await self.script(event)
        self.taken.append(event)

    async def _take(self, event: Event) -> None:
        pass

    async def _load(self, position: int) -> Event | None:
        self.loaded.append(position)
        await asyncio.sleep(0)
        if position in self.forgotten:
            return None
        return Event(position, self._keys[position - 1], b"{}")

    async def _give_up(self, event: Event, reason: str, attempts: int) -> None:
        self.given_up.append((event.position, reason, attempts))

    @property
    def orders(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for event in self.taken:
            found[event.key].append(event.position)
        return found


@settings(max_examples=60, deadline=None)
@given(
    st.text("abcd", max_size=40),
    st.dictionaries(st.integers(1, 40), st.integers(1, 3)),
    st.integers(1, 5),
)
def test_events_of_a_key_arrive_in_order_whatever_fails(
    keys: str, failures: dict[int, int], in_flight: int
) -> None:
    run = Run(in_flight=in_flight)
    left = dict(failures)

    async def fail_sometimes(event: Event) -> None:
        if left.get(event.position, 0):
            left[event.position] -= 1
            raise DeliveryFailed("not now")

    run.script = fail_sometimes
    run.play(keys)
    for key in set(keys):
        assert run.orders[key] == [at for at, other in enumerate(keys, 1) if other == key]
    assert run.dispatcher.delivered == len(keys)
    assert run.given_up == []
    assert run.dispatcher.find_lowest() is None


@settings(max_examples=60, deadline=None)
@given(
    st.text("ab", min_size=10, max_size=40),
    st.dictionaries(st.integers(1, 40), st.integers(1, 2)),
    st.sets(st.integers(1, 40)),
)
def test_what_stands_far_behind_in_a_queue_is_loaded_when_it_is_the_first(
    keys: str, failures: dict[int, int], forgotten: set[int]
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dispatcher_module, "HELD", 2)
        run = Run(in_flight=2)
        left = dict(failures)
        run.forgotten = forgotten

        async def fail_sometimes(event: Event) -> None:
            if left.get(event.position, 0):
                left[event.position] -= 1
                raise DeliveryFailed("not now")

        run.script = fail_sometimes
        run.play(keys)
    lost = forgotten & set(run.loaded)
    for key in set(keys):
        own = [at for at, other in enumerate(keys, 1) if other == key]
        assert set(own[2:]) == {at for at in run.loaded if keys[at - 1] == key}
        assert run.orders[key] == [at for at in own if at not in lost]
    dispatcher = run.dispatcher
    assert (
        dispatcher.parked,
        dispatcher.unsettled,
        dispatcher.unsettled_bytes,
        dispatcher.failing,
    ) == (0, 0, 0, {})


def test_a_large_event_is_in_memory_only_when_it_is_the_first() -> None:
    run = Run()
    for position in (1, 2, 3):
        run.dispatcher.add(Event(position, "a", b"x" * 20_000))
    assert (run.dispatcher.parked, run.dispatcher.unsettled_bytes) == (2, 20_000)
    run.dispatcher.add(
        Event(9, "a", b"x" * 20_000), counted=False
    )  # a letter: it is read nowhere else
    assert (run.dispatcher.parked, run.dispatcher.unsettled_bytes) == (2, 40_000)


def test_keys_do_not_wait_for_each_other() -> None:
    run = Run(in_flight=2)
    others = asyncio.Event()

    async def hold_a(event: Event) -> None:
        if event.key == "a":
            await others.wait()
        elif event.position == 4:
            others.set()

    run.script = hold_a
    run.play("abab")
    assert [event.key for event in run.taken] == ["b", "b", "a", "a"]


def test_a_key_that_waits_to_be_tried_again_takes_no_place_of_others() -> None:
    run = Run(in_flight=1)

    async def fail_once(event: Event) -> None:
        if event.key == "a" and run.tries[event.position] == 1:
            raise DeliveryFailed("not now", retry_after=0.02)

    run.script = fail_once
    run.play("abc")
    assert [event.key for event in run.taken] == ["b", "c", "a"]


def test_what_is_refused_is_given_up_at_once_and_the_next_goes_on() -> None:
    run = Run()

    async def refuse(event: Event) -> None:
        if event.position == 1:
            raise DeliveryRefused("never")

    run.script = refuse
    run.play("aa")
    assert run.given_up == [(1, "never", 1)]
    assert run.orders["a"] == [2]


def test_what_fails_for_too_long_is_given_up() -> None:
    run = Run(patience=0.0)

    async def fail(event: Event) -> None:
        if event.key == "a":
            raise DeliveryFailed("down")

    run.script = fail
    run.play("ab")
    assert [(at, reason) for at, reason, _ in run.given_up] == [(1, "down")]
    assert run.orders == {"b": [2]}


def test_patience_goes_on_where_an_earlier_process_left_it() -> None:
    second = 10**9
    run = Run(patience=60.0, now=100 * second, failing={1: 40 * second, 2: 41 * second, 9: 0})

    async def fail_twice(event: Event) -> None:
        if run.tries[event.position] < 3:
            raise DeliveryFailed("down")

    run.script = fail_twice
    run.play("abc")
    assert run.given_up == [(1, "down", 1)]
    assert run.orders == {"b": [2], "c": [3]}
    assert run.dispatcher.failing == {9: 0}  # which may be added yet


def test_an_endpoint_that_is_gone_ends_the_queues_and_its_event_is_given_up() -> None:
    run = Run(in_flight=1)

    async def be_gone(event: Event) -> None:
        raise EndpointGone("gone")

    run.script = be_gone
    with pytest.raises(ExceptionGroup) as caught:
        run.play("abc")
    assert [type(error) for error in caught.value.exceptions] == [EndpointGone]
    assert run.given_up == [(1, "gone", 1)]
    assert run.dispatcher.find_lowest() == 2
    assert run.dispatcher.error == "gone"


def test_of_what_is_on_its_way_to_an_endpoint_that_is_gone_one_event_is_given_up() -> None:
    run = Run(in_flight=4)
    waiting: list[asyncio.Future[None]] = []

    async def be_gone(event: Event) -> None:
        if len(waiting) < 3:  # all are on their way before the first is answered
            waiting.append(asyncio.get_running_loop().create_future())
            await waiting[-1]
        else:
            for one in waiting:
                one.set_result(None)
        raise EndpointGone("gone")

    async def give_up_slowly(event: Event, reason: str, attempts: int) -> None:
        for _ in range(9):
            await asyncio.sleep(0)
        run.given_up.append((event.position, reason, attempts))

    run.script = be_gone
    run.dispatcher._give_up = give_up_slowly
    with pytest.raises(ExceptionGroup) as caught:
        run.play("abcdefgh")
    assert [type(error) for error in caught.value.exceptions] == [EndpointGone]
    assert run.given_up == [(4, "gone", 1)]
    assert sorted(run.tries) == [1, 2, 3, 4]
    assert sorted(run.dispatcher.find_waiting().values()) == [1, 2, 3, 5, 6, 7, 8]


def test_an_endpoint_that_is_down_is_asked_by_one_at_a_time() -> None:
    run = Run(in_flight=4)
    asked = at_once = 0
    beside: list[int] = []

    async def be_down_for_a_while(event: Event) -> None:
        nonlocal asked, at_once
        asked += 1
        if asked > 12:
            beside.append(at_once)
        at_once += 1
        await asyncio.sleep(0.001)
        at_once -= 1
        if asked < 40:
            raise DeliveryFailed("down")

    run.script = be_down_for_a_while
    run.play("abcdefghijklmnop")
    assert set(beside[:20]) == {0}
    assert run.dispatcher.delivered == 16
    assert run.dispatcher.error == ""


def test_an_error_that_is_no_matter_of_delivery_ends_the_queues() -> None:
    run = Run()

    async def break_down(event: Event) -> None:
        raise ValueError("a fault of the sink")

    run.script = break_down
    with pytest.raises(ExceptionGroup):
        run.play("a")


def test_pauses_grow_to_a_bound_and_keep_to_what_the_endpoint_asks() -> None:
    first, longest = dispatcher_module.FIRST_PAUSE, dispatcher_module.LONGEST_PAUSE
    for attempts in range(1, 200):
        pause = build_pause(attempts)
        assert first / 2 <= pause <= longest
    assert build_pause(1) <= first
    assert build_pause(1, retry_after=0.02) == 0.02
    assert build_pause(1, retry_after=1e9) == 10 * longest


def test_the_bytes_on_their_way_are_known() -> None:
    run = Run()
    seen: list[int] = []

    async def look(_event: Event) -> None:
        seen.append(run.dispatcher.unsettled_bytes)

    run.script = look
    run.play("aab")
    assert max(seen) == 6
    assert run.dispatcher.unsettled_bytes == 0


def test_an_endpoint_that_refuses_is_there_again() -> None:
    run = Run(in_flight=1)

    async def fail_once_then_refuse(event: Event) -> None:
        if run.tries[event.position] == 1:
            raise DeliveryFailed("down")
        raise DeliveryRefused("never")

    run.script = fail_once_then_refuse
    run.play("a")
    assert run.given_up == [(1, "never", 2)]
    assert run.dispatcher.error == ""


def test_a_short_outage_with_many_queues_is_followed_by_short_pauses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, asked = Run(in_flight=8), []

    def note(attempts: int, retry_after: float | None = None, **longest: float) -> float:
        asked.append(attempts)
        return build_pause(attempts, retry_after, **longest)

    monkeypatch.setattr(dispatcher_module, "build_pause", note)
    attempts = 0

    async def fail_for_a_moment(_event: Event) -> None:
        nonlocal attempts
        attempts += 1
        await asyncio.sleep(0.001)  # so that many are on their way when the first fails
        if attempts <= 20:
            raise DeliveryFailed("down")

    run.script = fail_for_a_moment
    run.play("".join(chr(0x100 + number) for number in range(60)))
    assert len(run.taken) == 60
    assert max(asked) <= 6


@pytest.mark.parametrize(("in_flight", "failing"), [(1, "x"), (4, "x"), (4, "xyz")])
def test_few_keys_of_which_nothing_is_taken_keep_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, in_flight: int, failing: str
) -> None:
    run = Run(in_flight=in_flight)
    paused = asyncio.Event()

    def pause_long_soon(
        attempts: int, retry_after: float | None = None, **_longest: float
    ) -> float:
        if attempts <= 4:
            return 0.001
        paused.set()
        return 3600.0

    async def take_others(event: Event) -> None:
        if event.key in failing:
            raise DeliveryFailed("not this one")

    async def play() -> None:
        serving = asyncio.create_task(run.dispatcher.run())
        for position, key in enumerate(failing, 1):
            run.dispatcher.add(Event(position, key, b"{}"))
        await paused.wait()
        for position, key in enumerate("abcdef", 11):
            run.dispatcher.add(Event(position, key, b"{}"))
        while run.dispatcher.delivered < 6:
            run.dispatcher.settled.clear()
            await run.dispatcher.settled.wait()
        serving.cancel()
        await asyncio.wait([serving])

    monkeypatch.setattr(dispatcher_module, "build_pause", pause_long_soon)
    run.script = take_others
    asyncio.run(asyncio.wait_for(play(), 120))
    assert sorted(event.key for event in run.taken) == list("abcdef")
    assert run.dispatcher.find_lowest() == 1


def test_an_endpoint_that_is_down_is_asked_next_by_a_key_that_has_not_failed() -> None:
    run, asked = Run(in_flight=2), []

    async def fail_until_the_new_one(event: Event) -> None:
        asked.append(event.key)
        if len(asked) == 30:
            run.dispatcher.add(Event(9, "new", b"{}"))
        if "new" not in asked:
            raise DeliveryFailed("down")

    run.script = fail_until_the_new_one
    run.play("abcdef")
    assert asked[30] == "new"
    for begun in range(12, 24, 6):  # each time another
        assert sorted(asked[begun : begun + 6]) == list("abcdef")
    assert len(run.taken) == 7


# --- how soon it goes on, by a clock of its own ---------------------------------------------------


def play_outage(
    keys: str, outage: float, *, poison: str = "", every: float = 0.0
) -> tuple[Run, dict[int, float]]:
    """When each event was taken by an endpoint that answers nothing for so many seconds; they come
    `every` so many seconds. What is of a key in `poison` it never takes.
    """
    run, taken = Run(patience=1e9), dict[int, float]()
    done = asyncio.Event()

    async def script(event: Event) -> None:
        now = asyncio.get_running_loop().time()
        if now < outage or event.key in poison:
            raise DeliveryFailed("down")
        taken[event.position] = now
        if len(taken) == sum(key not in poison for key in keys):
            done.set()

    async def play() -> None:
        serving = asyncio.create_task(run.dispatcher.run())
        for position, key in enumerate(keys, 1):
            run.dispatcher.add(Event(position, key, b"{}"))
            await asyncio.sleep(every)
        await done.wait()
        serving.cancel()
        await asyncio.wait([serving])

    run.script = script
    with asyncio.Runner(loop_factory=QuickLoop) as runner:
        runner.run(play())
    return run, taken


@pytest.fixture
def usual_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "FIRST_PAUSE", 0.2)
    monkeypatch.setattr(dispatcher_module, "LONGEST_PAUSE", 60.0)


@pytest.mark.usefixtures("usual_pauses")
@pytest.mark.parametrize("keys", ["a", "aaaa", "ab", "abcabc", "abcdefghijklmnopqrst" * 3])
@pytest.mark.parametrize("outage", [3.0, 90.0, 7200.0])
def test_what_waited_for_an_endpoint_goes_on_within_seconds_when_it_is_back(
    keys: str, outage: float
) -> None:
    run, taken = play_outage(keys, outage)
    assert max(taken.values()) <= outage + dispatcher_module.LONGEST_PROBE + 0.5
    asked = sum(run.tries.values()) - len(keys)
    assert asked <= 40 + len(set(keys)) * (outage / 2.5 + 8)  # nor is it asked all the time


@pytest.mark.usefixtures("usual_pauses")
def test_an_event_that_fails_alone_is_not_tried_more_often_since_others_are_taken() -> None:
    run, taken = play_outage("x" + "abcdef" * 200, 0.0, poison="x", every=0.5)
    assert len(taken) == 1200
    assert run.tries[1] <= 30
