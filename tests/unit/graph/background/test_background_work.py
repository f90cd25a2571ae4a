"""The runner of background work: who runs what, stopping, failing, taking over."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from pathlib import Path

import pytest

from twinframe.errors import StorageBusy
from twinframe.graph.background.leases import KIND, Lease
from twinframe.graph.background.runner import BackgroundRunner
from twinframe.settings import StorageSettings
from twinframe.storage.base import GraphSession, GraphStore, GraphTransaction
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner

TODO = "todo"


async def until(holds: Callable[[], object]) -> None:
    """Wait until it holds."""
    while not holds():  # noqa: ASYNC110  (whoever makes it hold knows of no event)
        await asyncio.sleep(0.01)


class Counting:
    """A kind whose pieces are entries; `body` is what a run does before the piece is taken off."""

    name = "count"

    def __init__(self, runner: StoreRunner, body: Callable[[str, Lease], Awaitable[None]]) -> None:
        self._runner = runner
        self._body = body
        self.runs: list[str] = []

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        return [listed.key for listed in session.read_entries(TODO, after=None, limit=10)]

    async def run(self, key: str, lease: Lease) -> None:
        self.runs.append(key)
        await self._body(key, lease)

        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            transaction.delete_entry(TODO, key)
            done = int(transaction.read_entry("done", key) or b"0")
            transaction.put_entry("done", key, b"%d" % (done + 1))

        await self._runner.write(apply)


class Worker:
    """One worker of several over one store."""

    def __init__(
        self,
        store: GraphStore,
        body: Callable[[str, Lease], Awaitable[None]],
        lease: float = 30.0,
    ) -> None:
        self.runner = StoreRunner(store, StorageSettings())
        self.kind = Counting(self.runner, body)
        self.background = BackgroundRunner(
            self.runner, [self.kind], lease_seconds=lease, look_seconds=0.02
        )

    async def todo(self, *keys: str) -> None:
        def apply(transaction: GraphTransaction) -> None:
            for key in keys:
                transaction.put_entry(TODO, key, b"{}")

        await self.runner.write(apply)

    async def done(self) -> dict[str, int]:
        def read(session: GraphSession) -> dict[str, int]:
            found = session.read_entries("done", after=None, limit=100)
            return {listed.key: int(listed.item) for listed in found}

        return await self.runner.read(read)

    async def wait_for(self, *keys: str) -> None:
        while set(keys) - set(await self.done()):  # noqa: ASYNC110  (it is in the store)
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        await self.background.stop()
        await self.runner.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    store = MemoryStore()
    store.open()
    yield store
    store.close()


async def do_nothing(_key: str, _lease: Lease) -> None:
    pass


def test_pending_work_is_done_once_by_several_workers(store: GraphStore) -> None:
    async def body(_key: str, _lease: Lease) -> None:
        await asyncio.sleep(0.03)

    async def scenario() -> dict[str, int]:
        workers = [Worker(store, body) for _ in range(3)]
        await workers[0].todo("a", "b", "c", "d")
        for worker in workers:
            worker.background.start()
        await workers[0].wait_for("a", "b", "c", "d")
        done = await workers[0].done()
        for worker in workers:
            await worker.close()
        return done

    assert asyncio.run(scenario()) == {"a": 1, "b": 1, "c": 1, "d": 1}


def test_a_worker_that_stops_hands_its_work_to_the_next_at_once(store: GraphStore) -> None:
    async def hang(_key: str, _lease: Lease) -> None:
        await asyncio.sleep(3600)

    async def scenario() -> None:
        first, second = Worker(store, hang, lease=3600), Worker(store, do_nothing, lease=3600)
        await first.todo("a")
        first.background.start()
        await until(lambda: first.kind.runs)
        await first.close()
        assert first.background.is_idle
        second.background.start()
        await second.wait_for("a")
        await second.close()

    asyncio.run(scenario())


def test_the_work_of_a_worker_that_died_is_taken_over(store: GraphStore) -> None:
    async def scenario() -> dict[str, int]:
        dead, living = Worker(store, do_nothing), Worker(store, do_nothing, lease=0.1)
        await dead.todo("a")
        assert await dead.background._leases.claim("count/a") is not None
        living.background.start()
        await living.wait_for("a")
        done = await living.done()
        await living.close()
        await dead.close()
        return done

    assert asyncio.run(scenario()) == {"a": 1}


def test_a_holder_keeps_its_lease_up_for_as_long_as_its_work_takes(store: GraphStore) -> None:
    async def long(_key: str, _lease: Lease) -> None:
        await asyncio.sleep(4.0)

    async def scenario() -> list[str]:
        one, other = Worker(store, long, lease=1.5), Worker(store, do_nothing, lease=1.5)
        await one.todo("a")
        one.background.start()
        await until(lambda: one.kind.runs)
        other.background.start()
        await one.wait_for("a")
        await one.close()
        await other.close()
        return other.kind.runs

    assert asyncio.run(scenario()) == []


def test_work_that_lost_its_lease_is_cancelled(store: GraphStore) -> None:
    ended = []

    async def hang(_key: str, _lease: Lease) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(True)

    async def scenario() -> None:
        worker = Worker(store, hang, lease=0.06)
        await worker.todo("a")
        worker.background.start()
        await until(lambda: worker.kind.runs)
        await worker.runner.write(lambda transaction: transaction.delete_entry(TODO, "a"))
        await worker.runner.write(lambda transaction: transaction.delete_entry(KIND, "count/a"))
        await until(lambda: ended)
        await worker.close()

    asyncio.run(scenario())


def test_work_that_fails_is_logged_and_tried_again(
    store: GraphStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.graph.background.runner._FIRST_REST", 0.01)
    failures = [RuntimeError("broken"), StorageBusy("busy")]

    async def fail(_key: str, _lease: Lease) -> None:
        if failures:
            raise failures.pop()

    async def scenario() -> dict[str, int]:
        worker = Worker(store, fail)
        await worker.todo("a")
        worker.background.start()
        await worker.wait_for("a")
        done = await worker.done()
        await worker.close()
        return done

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(scenario()) == {"a": 1}
    assert "The background work count/a failed" in caplog.text
    assert "broken" in caplog.text


def test_a_store_that_is_away_is_told_of_without_a_trace(
    store: GraphStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("twinframe.graph.background.runner._FIRST_REST", 0.01)
    failures = [StorageBusy("the server does not answer")]

    async def fail(_key: str, _lease: Lease) -> None:
        if failures:
            raise failures.pop()

    async def scenario() -> None:
        worker = Worker(store, fail)
        await worker.todo("a")
        worker.background.start()
        await worker.wait_for("a")
        await worker.close()

    asyncio.run(scenario())
    told = [record for record in caplog.records if "count/a" in record.message]
    assert [(one.levelname, one.exc_info) for one in told] == [("WARNING", None)]
    assert "the server does not answer" in told[0].message


@pytest.mark.parametrize("failure", [StorageBusy("away"), TypeError("of a newer release")])
def test_looks_that_fail_are_told_of_once_and_do_not_end_the_looking(
    store: GraphStore, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    looks = 0

    async def scenario() -> None:
        worker = Worker(store, do_nothing)
        found = worker.kind.list_pending

        def fail(session: GraphSession) -> Iterable[str]:
            nonlocal looks
            looks += 1
            if looks < 5:
                raise failure
            return found(session)

        worker.kind.list_pending = fail  # type: ignore[method-assign]
        await worker.todo("a")
        worker.background.start()
        await asyncio.wait_for(worker.wait_for("a"), 120)
        await worker.close()

    asyncio.run(scenario())
    told = [record for record in caplog.records if "not looked for" in record.message]
    assert len(told) == 1


def test_waking_it_makes_it_look_at_once(store: GraphStore) -> None:
    async def scenario() -> None:
        worker = Worker(store, do_nothing)
        worker.background._look_seconds = 3600
        worker.background.start()
        await asyncio.sleep(0.05)
        await worker.todo("a")
        worker.background.wake()
        await worker.wait_for("a")
        await worker.close()

    asyncio.run(scenario())


def test_stopping_what_was_never_started_does_nothing(store: GraphStore) -> None:
    async def scenario() -> None:
        worker = Worker(store, do_nothing)
        await worker.close()
        await worker.background.stop()

    asyncio.run(scenario())


def test_a_worker_does_not_gather_the_names_of_work_that_others_did(store: GraphStore) -> None:
    async def play() -> None:
        gate = asyncio.Event()

        async def wait(_key: str, _lease: Lease) -> None:
            await gate.wait()

        async def fail(key: str, _lease: Lease) -> None:
            raise ValueError(key)

        busy, watching = Worker(store, wait), Worker(store, fail)
        await busy.todo("a", "b")
        busy.background.start()
        await until(lambda: len(busy.kind.runs) == 2)
        watching.background.start()
        manager = watching.background._leases
        await until(lambda: len(manager._seen) == 2)
        gate.set()
        await until(lambda: not manager._seen)
        await busy.close()
        await watching.todo("c")
        await until(lambda: bool(watching.background._rests))
        await watching.runner.write(lambda transaction: transaction.delete_entry(TODO, "c"))
        await until(lambda: not watching.background._rests)
        await watching.close()

    asyncio.run(play())
