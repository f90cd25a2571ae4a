"""How reads and writes of control records are placed; over a store whose pace the test sets."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest

from tests.waiting import PATIENCE
from twinframe.control.records.runner import ControlRunner
from twinframe.errors import StorageBusy, StorageError
from twinframe.storage.base import Outcome, Placement, StoreTraits
from twinframe.storage.control import (
    ControlSession,
    ControlTransaction,
    ControlWriteFunction,
    RecordConflict,
)
from twinframe.storage.control_memory import MemoryControlStore
from twinframe.testing.contracts.control_base import KINDS, build_thing, read_ids


class GatedStore(MemoryControlStore):
    """Writes only while `gate` is open; remembers its batches, threads and sessions."""

    traits = StoreTraits(point_reads=Placement.INLINE, largest_batch=8)

    def __init__(self) -> None:
        super().__init__()
        self.open(KINDS)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.batches: list[int] = []
        self.threads: set[int] = set()
        self.sessions = 0

    def session(self) -> ControlSession:
        """Counted."""
        self.sessions += 1
        return super().session()

    def write(self, works: Sequence[ControlWriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Wait for the gate, then write."""
        self.threads.add(threading.get_ident())
        self.entered.set()
        assert self.gate.wait(PATIENCE)
        self.batches.append(len(works))
        return super().write(works)


class PooledStore(GatedStore):
    """A store that is asked over the network."""

    traits = StoreTraits(point_reads=Placement.POOL)


def put(record_id: str) -> ControlWriteFunction[str]:
    """A work that inserts a thing and gives its id back."""

    def apply(transaction: ControlTransaction) -> str:
        return transaction.insert(build_thing(record_id)).id

    return apply


def find(session: ControlSession) -> list[str]:
    return [record.id for record in session.find("thing")]


async def block(store: GatedStore, runner: ControlRunner) -> asyncio.Task[str]:
    """Shut the gate and put one write into the writing thread's hands."""
    store.gate.clear()
    first = asyncio.create_task(runner.write(put("first")))
    assert await asyncio.to_thread(store.entered.wait, PATIENCE)
    return first


def test_a_read_sees_each_write_that_was_awaited() -> None:
    async def main() -> None:
        runner = ControlRunner(GatedStore())
        assert await runner.read(find) == []
        assert await runner.write(put("a")) == "a"
        assert await runner.read(find) == ["a"]
        await runner.close()

    asyncio.run(main())


@pytest.mark.parametrize("build", [GatedStore, PooledStore])
def test_the_reads_of_one_call_see_one_state(build: Callable[[], GatedStore]) -> None:
    async def main() -> None:
        store = build()
        runner = ControlRunner(store)

        def read(session: ControlSession) -> list[int]:
            before = session.count("thing")
            store.write([put("a")])  # as another process may
            return [before, session.count("thing")]

        assert await runner.read(read) == [0, 0]
        assert await runner.read(find) == ["a"]
        await runner.close()

    asyncio.run(main())


@pytest.mark.parametrize(("build", "inline"), [(GatedStore, True), (PooledStore, False)])
def test_reads_run_where_the_store_wants_them(
    build: Callable[[], GatedStore], inline: bool
) -> None:
    async def main() -> None:
        store = build()
        runner = ControlRunner(store)
        threads = [await runner.read(lambda _: threading.get_ident()) for _ in range(2)]
        assert [thread == threading.get_ident() for thread in threads] == [inline] * 2
        assert store.sessions == (1 if inline else 2)
        await runner.close()

    asyncio.run(main())


def test_the_error_of_a_work_reaches_its_caller_and_no_neighbour() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store)
        first = await block(store, runner)
        failing = asyncio.create_task(runner.write(put("first")))
        neighbour = asyncio.create_task(runner.write(put("b")))
        await asyncio.sleep(0)
        store.gate.set()
        assert await first == "first"
        with pytest.raises(RecordConflict):
            await failing
        assert await neighbour == "b"
        await runner.close()

    asyncio.run(main())


def test_writes_that_wait_together_are_committed_together_by_one_thread() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store)
        first = await block(store, runner)
        others = [asyncio.create_task(runner.write(put(f"t{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        store.gate.set()
        await asyncio.gather(first, *others)
        await runner.close()
        assert store.batches == [1, 8, 8, 4]
        assert len(store.threads) == 1
        assert threading.get_ident() not in store.threads

    asyncio.run(main())


def test_a_full_queue_refuses_the_next_write_and_names_the_setting() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store, write_queue=2)
        first = await block(store, runner)
        second = asyncio.create_task(runner.write(put("second")))
        await asyncio.sleep(0)
        with pytest.raises(StorageBusy, match="Control__WriteQueue"):
            await runner.write(put("third"))
        store.gate.set()
        await asyncio.gather(first, second)
        await runner.close()
        assert read_ids(store) == ["first", "second"]

    asyncio.run(main())


def test_a_write_that_waits_too_long_is_given_up_and_never_executed() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store, write_wait=0.05)
        first = await block(store, runner)
        for task in (asyncio.create_task(runner.write(put("late"))), first):
            with pytest.raises(StorageBusy):
                await task
        store.gate.set()
        await runner.close()
        assert read_ids(store) == []

    asyncio.run(main())


def test_closing_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store)
        first = await block(store, runner)
        second = asyncio.create_task(runner.write(put("second")))
        await asyncio.sleep(0)
        closing = asyncio.create_task(runner.close())
        await asyncio.sleep(0)
        with pytest.raises(StorageBusy, match="stopping"):
            await runner.write(put("after"))
        with pytest.raises(StorageBusy, match="stopping"):
            await runner.read(find)
        store.gate.set()
        await closing
        assert (first.done(), second.done()) == (True, True)
        assert read_ids(store) == ["first", "second"]

    asyncio.run(main())


def test_a_session_that_met_a_storage_error_is_given_up() -> None:
    def fail(_: ControlSession) -> None:
        raise StorageError("the disk is gone")

    async def main() -> None:
        store = GatedStore()
        runner = ControlRunner(store)
        with pytest.raises(StorageError, match="the disk is gone"):
            await runner.read(fail)
        assert await runner.read(find) == []
        assert store.sessions == 2
        await runner.close()

    asyncio.run(main())
