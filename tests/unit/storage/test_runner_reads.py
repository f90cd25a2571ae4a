"""Where reads run, what waits for a thread, and what a deadline does to it."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import pytest

from tests.waiting import PATIENCE
from twinframe.errors import LimitExceeded, QueryTimeout, StorageBusy, StorageError, TwinframeError
from twinframe.query.algebra import Direction
from twinframe.query.engine import CannotRun
from twinframe.settings import StorageSettings
from twinframe.storage.base import GraphSession, Placement, StoreTraits
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner
from twinframe.storage.runner_reads import ReadLine, ReadThreads


class CountingStore(MemoryStore):
    """Counts the sessions that are open."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.closed = 0
        self.deadlines: list[float | None] = []

    def session(self) -> GraphSession:
        """A session that tells when it is closed and which deadlines it was given."""
        self.opened += 1
        session = super().session()
        snapshot = session.snapshot

        def close() -> None:
            self.closed += 1

        @contextmanager
        def noted(deadline: float | None = None) -> Iterator[None]:
            self.deadlines.append(deadline)
            with snapshot(deadline):
                yield

        def give(deadline: float | None = None) -> AbstractContextManager[None]:
            return noted(deadline)

        vars(session).update(close=close, snapshot=give)
        return session


class PooledStore(CountingStore):
    """A store whose point reads wait for a network."""

    traits = StoreTraits(point_reads=Placement.POOL)


def read_thread(_: GraphSession) -> int:
    return threading.get_ident()


def test_point_reads_of_an_inline_store_run_on_the_event_loop_with_one_session() -> None:
    async def main() -> None:
        store = CountingStore()
        runner = StoreRunner(store, StorageSettings())
        assert {await runner.read(read_thread) for _ in range(5)} == {threading.get_ident()}
        await runner.close()
        assert (store.opened, store.closed) == (1, 1)

    asyncio.run(main())


def test_the_session_of_the_event_loop_may_be_opened_by_another_thread_before() -> None:
    store, pooled = CountingStore(), PooledStore()
    store.open()
    pooled.open()

    async def play() -> None:
        for one in (store, pooled):
            runner = StoreRunner(one, StorageSettings())
            await asyncio.to_thread(runner.prepare)
            assert one.opened == (1 if one is store else 0)  # who reads in threads opens there
            assert await runner.read(lambda session: session.count_twins()) == 0
            assert one.opened == 1
            await runner.close()
            assert one.closed == 1

    asyncio.run(play())


def test_point_reads_of_a_pooled_store_run_in_other_threads() -> None:
    async def main() -> None:
        store = PooledStore()
        runner = StoreRunner(store, StorageSettings())
        assert threading.get_ident() not in {await runner.read(read_thread) for _ in range(5)}
        await runner.close()
        assert store.opened == store.closed > 0
        assert store.deadlines == []

    asyncio.run(main())


def test_an_inline_session_is_opened_anew_after_a_storage_error() -> None:
    def fail(_: GraphSession) -> None:
        raise StorageError("I/O error")

    async def main() -> None:
        store = CountingStore()
        runner = StoreRunner(store, StorageSettings())
        with pytest.raises(StorageError):
            await runner.read(fail)
        assert store.closed == 1
        await runner.read(read_thread)
        assert store.opened == 2
        await runner.close()

    asyncio.run(main())


class ShortSessionsStore(CountingStore):
    """Bounds the work of its sessions, or claims to."""

    def session(self) -> GraphSession:
        """A session whose short snapshots are snapshots."""
        session = super().session()
        vars(session)["short_snapshot"] = lambda steps, seconds: session.snapshot(seconds + steps)
        return session


def test_short_reads_run_on_the_event_loop_in_a_short_snapshot() -> None:
    async def main() -> None:
        store = ShortSessionsStore()
        runner = StoreRunner(store, StorageSettings())
        assert runner.read_short(read_thread, 10**15, 0.5) == threading.get_ident()
        assert store.deadlines == [10**15 + 0.5]
        await runner.read(read_thread)
        assert store.opened == 1
        await runner.close()
        assert runner.read_short(read_thread, 10**15, 0.5) is None
        assert (store.opened, store.closed) == (1, 1)

    asyncio.run(main())


@pytest.mark.parametrize("error", [QueryTimeout("long"), CannotRun("odd"), StorageError("I/O")])
def test_nothing_comes_of_a_short_read_that_fails(error: TwinframeError) -> None:
    def fail(_: GraphSession) -> None:
        raise error

    async def main() -> None:
        store = ShortSessionsStore()
        runner = StoreRunner(store, StorageSettings())
        assert runner.read_short(fail, 10**15, 0.5) is None
        assert store.closed == isinstance(error, StorageError)
        assert runner.read_short(read_thread, 10**15, 0.5) == threading.get_ident()
        await runner.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", [CountingStore, PooledStore])
def test_a_store_that_is_pooled_or_bounds_no_work_is_not_read_on_the_loop(
    kind: type[CountingStore],
) -> None:
    ran: list[int] = []

    async def main() -> None:
        runner = StoreRunner(kind(), StorageSettings())
        assert runner.read_short(lambda _: ran.append(1), 5_000, 1.0) is None
        await runner.close()

    asyncio.run(main())
    assert ran == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of single threads")
def test_scans_run_in_niced_threads_inside_a_snapshot_with_a_deadline() -> None:
    def read_nice(_: GraphSession) -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    async def main() -> None:
        store = CountingStore()
        runner = StoreRunner(store, StorageSettings())
        before = time.monotonic()
        assert await runner.scan(read_nice, 30) > os.getpriority(os.PRIO_PROCESS, 0)
        (deadline,) = store.deadlines
        assert deadline is not None
        assert before + 30 <= deadline <= time.monotonic() + 30
        await runner.close()

    asyncio.run(main())


def test_a_scan_past_its_deadline_is_a_query_timeout_and_the_thread_lives() -> None:
    def endless(session: GraphSession) -> None:
        while True:
            list(session.read_nodes(["none"]))
            list(session.read_hops(["none"], Direction.BOTH, []))

    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        with pytest.raises(QueryTimeout):
            await runner.scan(endless, 0.05)
        assert await runner.scan(lambda _: 1, 5) == 1
        await runner.close()

    asyncio.run(main())


def test_a_full_queue_refuses_the_next_scan_and_closing_finishes_the_accepted_ones() -> None:
    gate, entered = threading.Event(), threading.Event()

    def wait(_: GraphSession) -> str:
        entered.set()
        assert gate.wait(PATIENCE)
        return "done"

    async def main() -> None:
        store = CountingStore()
        runner = StoreRunner(store, StorageSettings(query_threads=1, query_queue=2))
        accepted = [asyncio.create_task(runner.scan(wait, 60)) for _ in range(3)]
        assert await asyncio.to_thread(entered.wait, PATIENCE)
        with pytest.raises(StorageBusy, match="Storage__QueryQueue"):
            await runner.scan(wait, 60)
        closing = asyncio.create_task(runner.close())
        await asyncio.sleep(0)
        with pytest.raises(StorageBusy, match="stopping"):
            await runner.scan(wait, 60)
        gate.set()
        await closing
        assert [task.result() for task in accepted] == ["done"] * 3
        assert (store.opened, store.closed) == (1, 1)

    asyncio.run(main())


def test_a_scan_whose_time_passes_in_the_queue_is_never_run() -> None:
    gate, entered = threading.Event(), threading.Event()
    ran: list[bool] = []

    def wait(_: GraphSession) -> None:
        entered.set()
        assert gate.wait(PATIENCE)

    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        blocking = asyncio.create_task(runner.scan(wait, 60))
        assert await asyncio.to_thread(entered.wait, PATIENCE)
        late = asyncio.create_task(runner.scan(lambda _: ran.append(True), 0.01))
        await asyncio.sleep(0.05)
        gate.set()
        await blocking
        with pytest.raises(StorageBusy):
            await late
        await runner.close()
        assert ran == []

    asyncio.run(main())


def test_a_cancelled_scan_that_still_waits_is_never_run() -> None:
    gate, entered = threading.Event(), threading.Event()
    ran: list[bool] = []

    def wait(_: GraphSession) -> None:
        entered.set()
        assert gate.wait(PATIENCE)

    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        blocking = asyncio.create_task(runner.scan(wait, 60))
        assert await asyncio.to_thread(entered.wait, PATIENCE)
        gone = asyncio.create_task(runner.scan(lambda _: ran.append(True), 60))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        gate.set()
        await blocking
        await runner.close()
        assert ran == []

    asyncio.run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere priorities are of processes only")
@pytest.mark.parametrize("nice", [0, 12, 19])
def test_threads_of_a_service_that_is_niced_itself_still_read(nice: int) -> None:
    """Without a privilege nobody climbs: 10 would be refused to a service at 12."""
    nice = max(nice, os.nice(0))  # nor do the tests themselves, where they run niced
    script = (
        "import asyncio, os, sys\n"
        "from twinframe.settings import StorageSettings\n"
        "from twinframe.storage.memory import MemoryStore\n"
        "from twinframe.storage.runner import StoreRunner\n"
        "if os.getuid() == 0:\n"
        "    os.setresuid(65534, 65534, 65534)\n"
        "def read(session):\n"
        "    return os.getpriority(os.PRIO_PROCESS, 0)\n"
        "async def main():\n"
        "    os.nice(int(sys.argv[1]) - os.nice(0))\n"
        "    print(await StoreRunner(MemoryStore(), StorageSettings()).scan(read, 30))\n"
        "asyncio.run(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, str(nice)], capture_output=True, text=True, timeout=60
    )
    assert ended.stdout == f"{min(nice + 10, 19)}\n", ended.stderr


def test_a_read_that_comes_as_a_spare_thread_ends_is_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The thread has looked for the last time, but still counts as one that will take it."""
    has_looked, may_end = threading.Event(), threading.Event()
    take = ReadLine.take_waiting

    def take_slowly(line: ReadLine) -> Any:
        found = take(line)
        if found is None:
            has_looked.set()
            assert may_end.wait(PATIENCE)
        return found

    async def main() -> None:
        monkeypatch.setattr(ReadLine, "take_waiting", take_slowly)
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        free = threading.Event()
        stuck = asyncio.ensure_future(runner.scan(lambda _: free.wait(PATIENCE), 60))
        await asyncio.sleep(0)
        await runner.scan(read_thread, 60)
        assert await asyncio.to_thread(has_looked.wait, PATIENCE)
        late = asyncio.ensure_future(runner.scan(read_thread, 60))
        await asyncio.sleep(0)
        may_end.set()
        assert await asyncio.wait_for(late, 120) != threading.get_ident()
        free.set()
        await stuck
        await runner.close()

    asyncio.run(main())


def test_a_read_that_waits_behind_endless_ones_gets_a_spare_thread() -> None:
    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        free = threading.Event()
        stuck = [
            asyncio.ensure_future(runner.scan(lambda _: free.wait(PATIENCE), 60)) for _ in range(3)
        ]
        await asyncio.sleep(0)
        threads = {await runner.scan(read_thread, 60) for _ in range(3)}
        assert not any(future.done() for future in stuck)
        free.set()
        assert await asyncio.gather(*stuck) == [True] * 3
        assert threading.get_ident() not in threads
        await runner.close()
        assert not [each for each in threading.enumerate() if each.name.startswith("twinframe-")]

    asyncio.run(main())


def spin(session: GraphSession) -> None:
    """Work without an end of its own."""
    while True:
        session.check_deadline()


def test_a_caller_that_goes_away_ends_its_read() -> None:
    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        begun = threading.Event()

        def read(session: GraphSession) -> None:
            begun.set()
            spin(session)

        reading = asyncio.ensure_future(runner.scan(read, 3600))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await runner.scan(read_thread, 60)
        await runner.close()

    asyncio.run(main())


def test_the_deadline_interrupts_what_does_not_look_at_it() -> None:
    interrupted = threading.Event()

    class DeafStore(MemoryStore):
        def session(self) -> GraphSession:
            session = super().session()
            vars(session).update(interrupt=interrupted.set)
            return session

    async def main() -> None:
        runner = StoreRunner(DeafStore(), StorageSettings(query_threads=1))
        assert await runner.scan(lambda _: interrupted.wait(60), 0.05)
        interrupted.clear()
        ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def answer_first(_: GraphSession, publish: Callable[[str], None]) -> str:
            publish("early")
            ended.get_loop().call_soon_threadsafe(ended.set_result, interrupted.wait(60))
            return "late"

        assert await runner.scan_early(answer_first, 0.05) == "early"
        assert await ended
        await runner.close()

    asyncio.run(main())


def test_an_answer_may_come_before_the_work_ends_and_closing_ends_that() -> None:
    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))

        def read(session: GraphSession, publish: Callable[[str], None]) -> str:
            publish("early")
            spin(session)
            return "late"

        assert await runner.scan_early(read, 3600) == "early"
        assert await runner.scan_early(lambda _, publish: "whole", 60) == "whole"
        await runner.close()

    asyncio.run(main())


def test_a_quick_read_does_not_wait_behind_long_ones() -> None:
    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings(query_threads=1))
        ends = threading.Event()
        long = [asyncio.ensure_future(runner.scan(lambda _: ends.wait(PATIENCE), 60)) for _ in "ab"]
        await asyncio.sleep(0)
        assert await runner.scan_early(lambda _, __: "quick", 60, quick=True) == "quick"
        assert not any(one.done() for one in long)
        assert not runner.is_idle
        ends.set()
        assert await asyncio.gather(*long) == [True, True]
        await runner.close()

    asyncio.run(main())


def test_what_fails_before_its_answer_fails_and_after_it_is_answered() -> None:
    async def main() -> None:
        runner = StoreRunner(MemoryStore(), StorageSettings())

        def read(session: GraphSession, publish: Callable[[str], None], early: str) -> str:
            if early:
                publish(early)
            raise QueryTimeout("late")

        assert await runner.scan_early(partial(read, early="x"), 60) == "x"
        with pytest.raises(QueryTimeout):
            await runner.scan_early(partial(read, early=""), 60)
        await runner.close()

    asyncio.run(main())


class HeavyStore(PooledStore):
    """A store in which reading an entry is declined where reads are to be small."""

    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()

    def session(self) -> GraphSession:
        """A session whose entries are large."""
        session = super().session()
        small: list[int] = []

        @contextmanager
        def small_reads(most_bytes: int) -> Iterator[None]:
            small.append(most_bytes)
            yield
            small.pop()

        def read_entry(kind: str, key: str) -> bytes | None:
            if small:
                small.clear()
                raise CannotRun("It is large.")
            assert self.may_end.wait(PATIENCE)
            return b"large"

        vars(session).update(small_reads=small_reads, read_entry=read_entry)
        return session


async def _read_small_beside_large() -> None:
    store = HeavyStore()
    store.open()
    runner = StoreRunner(store, StorageSettings(query_queue=30))
    try:
        large = [
            asyncio.ensure_future(runner.read(lambda session: session.read_entry("kind", "key")))
            for _ in range(25)
        ]
        for _ in range(300):
            assert await runner.read(lambda session: session.read_schema_version()) == 0
        assert not any(one.done() for one in large)
        store.may_end.set()
        assert await asyncio.gather(*large) == [b"large"] * 25
    finally:
        store.may_end.set()
        await runner.close()


def test_large_reads_wait_for_one_another_and_nobody_waits_for_them() -> None:
    asyncio.run(_read_small_beside_large())


async def _read_inline_beside_large() -> None:
    store = CountingStore()
    read = store.session

    def session() -> GraphSession:
        made = read()
        limit: list[int] = []

        @contextmanager
        def small_reads(most_bytes: int) -> Iterator[None]:
            limit.append(most_bytes)
            yield

        def read_entry(kind: str, key: str) -> bytes | None:
            if limit:
                raise LimitExceeded("It is large.")
            return threading.current_thread().name.encode()

        vars(made).update(small_reads=small_reads, read_entry=read_entry)
        return made

    vars(store).update(session=session)
    store.open()
    runner = StoreRunner(store, StorageSettings())
    found = await runner.read(lambda session: session.read_entry("kind", "key"))
    assert found == b"twinframe-large-0"
    assert await runner.read(lambda _: threading.current_thread().name) == "MainThread"
    await runner.close()
    assert store.opened == store.closed == 2


def test_a_large_read_of_an_inline_store_leaves_the_loop() -> None:
    asyncio.run(_read_inline_beside_large())


@pytest.mark.parametrize(
    ("newest_too", "order"), [(False, [0, 1, 2, 3, 4, 5]), (True, [0, 5, 1, 4, 2, 3])]
)
def test_point_reads_run_newest_and_oldest_in_turn(newest_too: bool, order: list[int]) -> None:
    async def main() -> list[int]:
        store = PooledStore()
        store.open()
        reads = ReadThreads(
            store, name="read", count=1, limit=9, niced=False, newest_too=newest_too
        )
        begun, may_end, found = threading.Event(), threading.Event(), []

        def read(number: int, _: GraphSession) -> None:
            if not number:
                begun.set()
                assert may_end.wait(PATIENCE)
            found.append(number)

        first = asyncio.ensure_future(reads.run(partial(read, 0)))
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        others = [asyncio.ensure_future(reads.run(partial(read, n))) for n in range(1, 6)]
        await asyncio.sleep(0)
        may_end.set()
        await asyncio.gather(first, *others)
        await reads.close()
        return found

    assert asyncio.run(main()) == order


def test_a_store_says_how_many_threads_its_point_reads_get() -> None:
    async def main() -> set[str]:
        store = PooledStore()
        store.traits = StoreTraits(Placement.POOL, shared=False, point_read_threads=2)
        store.open()
        runner = StoreRunner(store, StorageSettings())
        meet = threading.Barrier(2)

        def read(_: GraphSession) -> str:
            meet.wait(120)
            return threading.current_thread().name

        names = await asyncio.gather(*(runner.read(read) for _ in range(8)))
        await runner.close()
        return set(names)

    assert asyncio.run(main()) == {"twinframe-read-0", "twinframe-read-1"}


def test_threads_pause_until_the_loop_takes_their_results() -> None:
    done: list[int] = []

    def read(_session: GraphSession, number: int) -> int:
        done.append(number)
        return number

    async def run() -> list[int]:
        threads = ReadThreads(MemoryStore(), name="test", count=1, limit=100, niced=False, ahead=2)
        reads = [asyncio.ensure_future(threads.run(partial(read, number=n))) for n in range(9)]
        await asyncio.sleep(0)  # they are submitted
        end = time.monotonic() + PATIENCE
        while len(done) < 2 and time.monotonic() < end:
            time.sleep(0.01)  # noqa: ASYNC251  (the loop is to be busy)
        time.sleep(0.1)  # noqa: ASYNC251
        assert done == [0, 1]
        results = await asyncio.gather(*reads)
        await threads.close()
        return results

    assert asyncio.run(run()) == list(range(9))


class Answer:
    """A result that a weak reference can point to."""


@pytest.mark.parametrize("timeout", [None, 600.0])
def test_nothing_keeps_the_result_of_a_read_that_waited(timeout: float | None) -> None:
    async def run() -> list[weakref.ref[Answer]]:
        threads = ReadThreads(MemoryStore(), name="test", count=1, limit=100, niced=False)
        reads = [asyncio.ensure_future(threads.run(lambda _: Answer(), timeout)) for _ in range(50)]
        found = [weakref.ref(await each) for each in reads]
        del reads
        await threads.close()  # its thread has forgotten the last one
        gc.collect()
        return [each for each in found if each() is not None]

    assert not asyncio.run(run())
