"""How writes are queued, batched, withdrawn and finished; over a store whose pace the test sets."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Sequence
from contextlib import suppress

import pytest

from tests.waiting import PATIENCE
from twinframe.errors import StorageBusy, StorageError, StorageFull, TwinNotFound
from twinframe.settings import StorageSettings
from twinframe.storage.base import GraphTransaction, Outcome, Placement, StoreTraits, WriteFunction
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner
from twinframe.testing.factories import build_twin_record


class GatedStore(MemoryStore):
    """Writes only while `gate` is open; remembers the sizes of the batches it was given."""

    traits = StoreTraits(point_reads=Placement.INLINE, largest_batch=8)

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.batches: list[int] = []
        self.threads: set[int] = set()

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Wait for the gate, then write."""
        self.threads.add(threading.get_ident())
        self.entered.set()
        assert self.gate.wait(PATIENCE)
        self.batches.append(len(functions))
        return super().write(functions)


def put(twin_id: str) -> WriteFunction[str]:
    """A work that stores a twin and gives its id back."""

    def apply(transaction: GraphTransaction) -> str:
        transaction.put_twin(build_twin_record(twin_id))
        return twin_id

    return apply


def is_stored(store: MemoryStore, twin_id: str) -> bool:
    return store.session().has_twin(twin_id)


async def block(store: GatedStore, runner: StoreRunner) -> asyncio.Task[str]:
    """Shut the gate and put one write into the writing thread's hands."""
    store.gate.clear()
    store.entered.clear()
    first = asyncio.create_task(runner.write(put("first")))
    assert await asyncio.to_thread(store.entered.wait, PATIENCE)
    return first


def test_a_write_gives_the_result_of_its_work() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
        assert await runner.write(put("a")) == "a"
        assert is_stored(store, "a")
        await runner.close()

    asyncio.run(main())


def test_the_error_of_a_work_reaches_its_caller_and_no_neighbour() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
        first = await block(store, runner)
        failing = asyncio.create_task(runner.write(lambda t: t.delete_twin("none")))
        neighbour = asyncio.create_task(runner.write(put("b")))
        await asyncio.sleep(0)
        store.gate.set()
        assert await first == "first"
        with pytest.raises(TwinNotFound):
            await failing
        assert await neighbour == "b"
        await runner.close()

    asyncio.run(main())


def test_a_work_that_raises_stop_iteration_does_not_hang_its_caller() -> None:
    def apply(_: GraphTransaction) -> None:
        raise StopIteration

    async def main() -> None:
        runner = StoreRunner(GatedStore(), StorageSettings())
        with pytest.raises(RuntimeError, match="StopIteration"):
            await runner.write(apply)
        await runner.close()

    asyncio.run(main())


def test_writes_that_wait_together_are_written_together_by_one_thread() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
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


def test_works_are_written_in_the_order_in_which_they_came() -> None:
    order: list[int] = []

    def note(number: int) -> WriteFunction[None]:
        return lambda _: order.append(number)

    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
        first = await block(store, runner)
        others = [asyncio.create_task(runner.write(note(number))) for number in range(50)]
        await asyncio.sleep(0)
        store.gate.set()
        await asyncio.gather(first, *others)
        await runner.close()

    asyncio.run(main())
    assert order == list(range(50))


def test_a_runner_is_full_from_a_write_without_room_to_the_next_that_has_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr("twinframe.storage.runner.monotonic", lambda: now[0])

    def find_no_room(_transaction: GraphTransaction) -> None:
        raise StorageFull("No space is left.")

    async def scenario(store: MemoryStore) -> list[bool]:
        runner = StoreRunner(store, StorageSettings())
        seen = [runner.is_full]
        for function in (find_no_room, put("a"), find_no_room):
            with suppress(StorageFull):
                await runner.write(function)
            seen.append(runner.is_full)
        now[0] += 61  # nobody has tried since: nobody knows
        seen.append(runner.is_full)
        await runner.close()
        return seen

    store = MemoryStore()
    store.open()
    assert asyncio.run(scenario(store)) == [False, True, False, True, False]
    store.close()


def test_a_full_queue_refuses_the_next_write() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings(write_queue=3))
        first = await block(store, runner)
        others = [asyncio.create_task(runner.write(put(f"t{number}"))) for number in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(StorageBusy, match="Storage__WriteQueue"):
            await runner.write(put("too many"))
        store.gate.set()
        await asyncio.gather(first, *others)
        assert await runner.write(put("now")) == "now"
        await runner.close()
        assert not is_stored(store, "too many")

    asyncio.run(main())


def test_a_write_that_waits_too_long_is_given_up_and_never_executed() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings(write_wait=0.05))
        first = await block(store, runner)
        late = [asyncio.create_task(runner.write(put(f"late{number}"))) for number in range(3)]
        for task in late:
            with pytest.raises(StorageBusy):
                await task
        store.gate.set()
        with pytest.raises(StorageBusy):  # it was handed over, but its turn had not come either
            await first
        await runner.close()
        assert not is_stored(store, "first")
        assert not any(is_stored(store, f"late{number}") for number in range(3))

    asyncio.run(main())


def test_a_work_that_has_started_is_finished_however_long_it_takes() -> None:
    started, going = threading.Event(), threading.Event()

    def slow(transaction: GraphTransaction) -> str:
        started.set()
        assert going.wait(PATIENCE)
        return put("slow")(transaction)

    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings(write_wait=0.05))
        first = asyncio.create_task(runner.write(slow))
        assert await asyncio.to_thread(started.wait, PATIENCE)
        with pytest.raises(StorageBusy):
            await runner.write(put("behind"))
        going.set()
        assert await first == "slow"
        assert await runner.write(put("after")) == "after"
        await runner.close()
        assert is_stored(store, "slow")
        assert not is_stored(store, "behind")

    asyncio.run(main())


def test_a_cancelled_caller_withdraws_a_write_that_has_not_started() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
        first = await block(store, runner)
        gone = asyncio.create_task(runner.write(put("gone")))
        await asyncio.sleep(0)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        store.gate.set()
        await first
        await runner.close()
        assert not is_stored(store, "gone")

    asyncio.run(main())


def test_closing_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    async def main() -> None:
        store = GatedStore()
        runner = StoreRunner(store, StorageSettings())
        first = await block(store, runner)
        others = [asyncio.create_task(runner.write(put(f"t{number}"))) for number in range(20)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(runner.close())
        await asyncio.sleep(0)
        with pytest.raises(StorageBusy, match="stopping"):
            await runner.write(put("after"))
        store.gate.set()
        await closing
        assert first.done()
        assert all(task.done() for task in others)
        assert all(is_stored(store, f"t{number}") for number in range(20))
        assert not is_stored(store, "after")

    asyncio.run(main())


def test_a_store_that_raises_fails_its_batch_and_the_next_one_is_written() -> None:
    class FailingStore(GatedStore):
        failures = 1

        def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
            if self.failures:
                self.failures -= 1
                raise StorageError("the engine is gone")
            return super().write(functions)

    async def main() -> None:
        runner = StoreRunner(FailingStore(), StorageSettings())
        with pytest.raises(StorageError, match="the engine is gone"):
            await runner.write(put("a"))
        assert await runner.write(put("b")) == "b"
        await runner.close()

    asyncio.run(main())


def test_a_work_the_store_runs_twice_is_not_taken_for_withdrawn() -> None:
    class TwiceStore(GatedStore):
        def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
            super().write(functions)
            return super().write(functions)

    async def main() -> None:
        runner = StoreRunner(TwiceStore(), StorageSettings())
        assert await runner.write(put("a")) == "a"
        await runner.close()

    asyncio.run(main())


def test_a_thread_that_waits_keeps_nothing_of_what_it_wrote() -> None:
    class Document:
        """What a write function stores."""

    async def main() -> None:
        runner = StoreRunner(GatedStore(), StorageSettings())
        document = Document()
        kept = weakref.ref(document)
        await runner.write(lambda _, document=document: document)  # type: ignore[misc]  # the default binds
        del document
        # NOTE: the thread forgets it some time after the answer. It is given as much as it needs.
        end = asyncio.get_running_loop().time() + PATIENCE
        while kept() is not None and asyncio.get_running_loop().time() < end:
            gc.collect()
            await asyncio.sleep(0.01)
        assert kept() is None
        await runner.close()

    asyncio.run(main())
