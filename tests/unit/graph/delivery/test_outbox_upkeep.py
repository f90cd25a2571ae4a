"""Forgetting events: by age and size, not before they are delivered, and never measured twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph.background.leases import Lease, LeaseManager
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery import upkeep
from twinframe.graph.delivery.records import Route, put_route, read_progress, restart
from twinframe.graph.delivery.upkeep import OutboxKind, Stretch, find_end, merge, read_ledger
from twinframe.runtime.leases import LeaseLost
from twinframe.settings import Settings
from twinframe.settings.events import EventsSettings
from twinframe.settings.history import HistorySettings
from twinframe.storage.base import GraphStore, GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import reading, run

HOUR = 3_600_000_000_000


class Upkeep:
    """The upkeep over a store, with a clock that stands still unless moved."""

    def __init__(
        self, store: GraphStore, history: HistorySettings | None = None, **events: Any
    ) -> None:
        self.store = store
        self.now = 1_000 * HOUR
        history = history or HistorySettings(enabled=False)
        settings = Settings(events=EventsSettings(**events), history=history)
        self.runner = InlineRunner(store)
        self.kind = OutboxKind(GraphContext(self.runner, settings, lambda: self.now))

    def append(self, count: int, size: int = 100) -> None:
        events = [OutboxEvent("a", b"x" * size)] * count
        run(self.store, lambda t: t.append_events(events))

    def play(self) -> bool:
        """Run if there is something to do; whether there was."""
        with reading(self.store) as session:
            pending = list(self.kind.list_pending(session))
        for key in pending:
            asyncio.run(self._run(key))
        return bool(pending)

    async def _run(self, key: str) -> None:
        manager = LeaseManager(self.runner, 5.0)
        lease = await manager.claim(f"outbox/{key}")
        assert lease is not None
        await self.kind.run(key, lease)
        await manager.give_back(lease)

    @property
    def kept(self) -> int:
        with reading(self.store) as session:
            first, last = session.read_event_bounds()
        return last - first + 1 if last else 0


def test_nothing_is_to_do_where_nothing_happened(store: GraphStore) -> None:
    assert not Upkeep(store).play()


def test_events_go_when_they_are_old(store: GraphStore) -> None:
    made = Upkeep(store, keep_hours=2)
    made.append(50)
    assert made.play()
    assert not made.play()
    made.now += HOUR
    made.append(30)
    made.play()
    assert made.kept == 80
    made.now += HOUR + 1
    assert made.play()
    assert made.kept == 30
    made.now += HOUR
    made.play()
    assert made.kept == 0
    assert not made.play()


def test_events_go_when_they_are_too_much(store: GraphStore) -> None:
    made = Upkeep(store, keep_bytes=200_000, undelivered_bytes=400_000)
    for _ in range(5):
        made.append(1000, size=68)
        made.play()
    assert made.kept <= 2000
    assert made.kept >= 1000


def test_history_keeps_events_longer_by_age_and_the_last_of_the_old_ones(
    store: GraphStore,
) -> None:
    made = Upkeep(store, HistorySettings(keep_days=1), keep_hours=2)
    made.append(50)
    made.play()
    made.now += 23 * HOUR
    made.append(30)
    made.play()
    assert made.kept == 80
    made.now += HOUR + 1
    assert made.play()
    assert made.kept == 31
    assert not made.play()
    for _ in range(3):
        made.now += 25 * HOUR
        made.play()
        assert made.kept == 1
    made.play()
    assert not made.play()


def test_history_ends_by_its_bytes_and_never_before_the_events(store: GraphStore) -> None:
    made = Upkeep(
        store, HistorySettings(keep_bytes=200_000), keep_bytes=100_000, undelivered_bytes=400_000
    )
    for _ in range(5):
        made.append(1000, size=68)
        made.play()
    assert 1000 < made.kept <= 2001
    short = Upkeep(
        store, HistorySettings(keep_bytes=1000), keep_bytes=200_000, undelivered_bytes=400_000
    )
    short.play()
    assert short.kept > 1000


def test_undelivered_events_stay_until_they_are_far_too_much(store: GraphStore) -> None:
    made = Upkeep(store, keep_bytes=200_000, undelivered_bytes=400_000)
    run(store, lambda t: put_route(t, Route("r", "out", "true")))
    for _ in range(3):
        made.append(1000, size=68)
        made.play()
    assert made.kept == 3000
    for _ in range(3):
        made.append(1000, size=68)
        made.play()
    assert 3000 <= made.kept <= 4000
    with reading(store) as session:
        last = session.read_event_bounds()[1]
        assert read_progress(session, "r") is not None
    run(store, lambda t: restart(t, "r", last))
    made.play()
    assert made.kept <= 2000


def test_who_lost_the_lease_forgets_nothing(store: GraphStore) -> None:
    made = Upkeep(store, keep_bytes=1000, undelivered_bytes=1000)
    made.append(50)
    with pytest.raises(LeaseLost):
        asyncio.run(made.kind.run("ledger", Lease("outbox/ledger", 1, "nobody")))
    assert made.kept == 50


def test_the_ledger_stays_short(store: GraphStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_STRETCH", 10)
    made = Upkeep(store, keep_bytes=1_000_000, undelivered_bytes=1_000_000)
    for _ in range(40):
        made.append(10)
        made.play()
    with reading(store) as session:
        ledger = read_ledger(session)
    assert len(ledger) <= 4
    assert ledger[-1].position == 400
    assert sum(stretch.size for stretch in ledger) == 400 * (100 + 1 + 32)


def test_events_are_measured_few_at_a_time_and_not_while_others_wait_to_write(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "_MUCH", 1000)
    made = Upkeep(store)
    made.append(125)
    session_class: Any = type(store.session())
    read_events = session_class.read_events
    asked: list[int] = []

    def note(session: Any, *, after: int, limit: int) -> Any:
        assert not isinstance(session, GraphTransaction)
        asked.append(limit)
        return read_events(session, after=after, limit=limit)

    monkeypatch.setattr(session_class, "read_events", note)
    assert made.play()
    assert sum(asked) >= 125
    assert max(asked) <= 25
    with reading(store) as session:
        (stretch,) = read_ledger(session)
    assert (stretch.position, stretch.size) == (125, 125 * (100 + 1 + 32))


stretches = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 500), st.integers(0, 30)), max_size=12
)


def build_ledger(parts: Sequence[tuple[int, int, int]]) -> list[Stretch]:
    ledger: list[Stretch] = []
    position = moment = 0
    for events, size, waited in parts:
        position, moment = position + events, moment + waited
        ledger.append(Stretch(position, size, moment))
    return ledger


@given(stretches, st.integers(0, 400), st.integers(0, 2000))
def test_what_stays_is_young_and_fits_and_no_more_goes_than_must(
    parts: Sequence[tuple[int, int, int]], old: int, most: int
) -> None:
    ledger = build_ledger(parts)
    end = find_end(ledger, old, most)
    staying = [stretch for stretch in ledger if stretch.position > end]
    assert all(stretch.moment >= old for stretch in staying)
    assert sum(stretch.size for stretch in staying) <= most or not staying
    if end:
        last_gone = next(stretch for stretch in ledger if stretch.position == end)
        size = last_gone.size + sum(stretch.size for stretch in staying)
        assert last_gone.moment < old or size > most


@given(stretches)
def test_merging_changes_neither_end_nor_size(parts: Sequence[tuple[int, int, int]]) -> None:
    ledger = build_ledger(parts)
    merged = merge(ledger, upkeep.Limits(20_000, HOUR))
    assert sum(one.size for one in merged) == sum(one.size for one in ledger)
    assert [one.position for one in merged][-1:] == [one.position for one in ledger][-1:]
    assert {one.position for one in merged} <= {one.position for one in ledger}
