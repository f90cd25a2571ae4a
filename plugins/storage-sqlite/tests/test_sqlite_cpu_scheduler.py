"""Long statements take turns: never more at one time, nobody forgotten, nobody waited for."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import pytest

from tests.waiting import PATIENCE, Threads, join, start
from twinframe.errors import QueryTimeout
from twinframe.storage.cpu_scheduler import CpuScheduler, _Holder, share_scheduler
from twinframe_storage_sqlite import statements
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.store import SqliteGraphStore

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) {}"
COUNT = COUNT.format("SELECT count(*) FROM n")


def never() -> bool:
    return False


def wait_until(is_so: Callable[[], bool]) -> None:
    while not is_so():  # the test run's own time limit ends it
        time.sleep(0.001)


class TestTurns:
    @pytest.mark.parametrize("count", [1, 2])
    def test_no_more_than_the_count_work_at_one_time(
        self, count: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # However long a busy machine keeps one of them from going on.
        monkeypatch.setattr("twinframe.storage.cpu_scheduler._LAPSE", math.inf)
        scheduler = CpuScheduler(count)
        lock = threading.Lock()
        working: set[int] = set()
        together: list[int] = []

        def apply(who: int) -> None:
            for _ in range(8):
                scheduler.yield_control(who, never)
                with lock:
                    working.add(who)
                    together.append(len(working))
                wait_until(lambda: max(together) >= count)
                time.sleep(0.004)
                with lock:
                    working.discard(who)
            scheduler.leave(who)

        with Threads(5) as pool:
            list(pool.map(apply, range(5)))
        assert max(together) == count

    def test_a_turn_that_lasts_goes_to_who_waits(self) -> None:
        scheduler = CpuScheduler(1)
        order: list[str] = []
        scheduler.yield_control("first", never)

        def wait() -> None:
            scheduler.yield_control("second", never)
            order.append("second")
            scheduler.leave("second")

        thread = start(wait)
        while "second" not in order:
            scheduler.yield_control("first", never)
        scheduler.leave("first")
        join(thread)

    def test_who_is_not_seen_any_more_has_lost_its_turn(self) -> None:
        scheduler = CpuScheduler(1)
        scheduler.yield_control("gone", never)
        assert scheduler.yield_control("next", never) is False
        scheduler.leave("gone")  # which is not the turn of the other
        assert scheduler._holders.keys() == {"next"}

    def test_who_waits_is_told_when_it_is_over(self) -> None:
        scheduler = CpuScheduler(1)
        ended = threading.Event()
        holding = threading.Event()

        def hold() -> None:
            while not ended.is_set():
                if not scheduler._waiting:
                    scheduler.yield_control("holder", never)
                    holding.set()

        scheduler.yield_control("holder", never)
        thread = start(hold)
        assert holding.wait(PATIENCE)
        assert scheduler.yield_control("waiter", lambda: True) is True
        ended.set()
        join(thread)
        assert not scheduler._waiting

    def test_a_process_shares_them_among_its_graphs(self) -> None:
        assert share_scheduler(3) is share_scheduler(3)
        assert share_scheduler(0)._count >= 1


class TestSessions:
    @pytest.fixture
    def sessions(self, store: SqliteGraphStore) -> list[SqliteSession]:
        scheduler = CpuScheduler(1)
        sessions = [store.session() for _ in range(4)]
        for session in sessions:
            session._scheduler = scheduler
        return sessions

    def test_long_statements_beside_each_other_all_end_with_their_answers(
        self, sessions: list[SqliteSession]
    ) -> None:
        def count(session: SqliteSession) -> object:
            with session.snapshot(time.monotonic() + 600):
                return session.read_all(COUNT, (100_000,))

        with Threads(4) as pool:
            assert list(pool.map(count, sessions)) == [[(100_000,)]] * 4
        scheduler = sessions[0]._scheduler
        assert not scheduler._holders
        assert not scheduler._waiting

    def test_a_statement_that_waits_for_its_turn_can_be_interrupted(
        self, sessions: list[SqliteSession]
    ) -> None:
        scheduler = sessions[0]._scheduler
        scheduler._holders["holder"] = _never_lapses()

        def interrupt() -> None:
            wait_until(lambda: bool(scheduler._waiting))
            sessions[0].interrupt()

        other = start(interrupt)
        try:
            with pytest.raises(QueryTimeout), sessions[0].snapshot(time.monotonic() + 600):
                sessions[0].read_all(COUNT, (10_000_000,))
        finally:
            join(other)
        assert not scheduler._waiting

    def test_a_snapshot_without_a_deadline_waits_for_no_turn(
        self, sessions: list[SqliteSession]
    ) -> None:
        sessions[0]._scheduler._holders["holder"] = _never_lapses()
        with sessions[0].snapshot():
            assert sessions[0].read_all(COUNT, (100_000,)) == [(100_000,)]

    def test_what_is_done_with_rows_waits_for_its_turn_when_it_is_long(
        self, sessions: list[SqliteSession], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sessions[0]._scheduler._holders["holder"] = _never_lapses()
        with sessions[0].snapshot(time.monotonic() + 0.3):
            monkeypatch.setattr(statements, "_SECONDS_UNTIL_LONG", -1.0)
            with pytest.raises(QueryTimeout):
                sessions[0].check_deadline()
        with sessions[0].snapshot():
            sessions[0].check_deadline()

    def test_the_steps_of_a_long_statement_are_counted(self, sessions: list[SqliteSession]) -> None:
        def count(rows: int) -> int:
            with sessions[0].snapshot(time.monotonic() + 600):
                sessions[0].read_all(COUNT, (rows,))
                return sessions[0].read_steps()

        few, many = count(100_000), count(1_000_000)
        assert 9 < many / few < 11

    def test_statements_behind_a_long_one_are_counted_as_closely_as_before(
        self, sessions: list[SqliteSession]
    ) -> None:
        with sessions[0].snapshot(time.monotonic() + 600):
            sessions[0].read_all(COUNT, (100_000,))
            before = sessions[0].read_steps()
            sessions[0].read_all(COUNT, (1_000,))
            assert 5_000 <= sessions[0].read_steps() - before < 50_000


def _never_lapses() -> _Holder:
    return _Holder(float("inf"), float("inf"))
