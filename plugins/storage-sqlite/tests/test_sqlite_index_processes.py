"""Automatic indexes with several processes: counted together, made once, whole after a kill."""

from __future__ import annotations

import multiprocessing
import time
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from tests.waiting import PATIENCE, join
from twinframe.query.language import parse_query
from twinframe.storage.base import GraphTransaction, ModelRecord, TwinRecord
from twinframe.testing.contracts.base import run_all
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.indexing import upkeep
from twinframe_storage_sqlite.indexing.targets import Target
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

# PERF: each process is a fork of one that has loaded these.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["twinframe_storage_sqlite.store", "twinframe.testing.contracts.base"])
MODEL: Final = "dtmi:ex:Device;1"
TWINS: Final = 10_000
BY_SERIAL: Final = "MATCH (d) WHERE d.serialNumber = 'S-17' RETURN d.$dtId AS i"


def build_store(place: Path) -> SqliteGraphStore:
    settings = SqliteSettings(directory=str(place), durability="relaxed", turn_timeout=60)
    store = SqliteGraphStore(settings, "graph")
    store.open()
    return store


def fill(transaction: GraphTransaction) -> None:
    transaction.put_models([ModelRecord(MODEL, b"{}", b"{}", b"{}", (), (), "2026")])
    for number in range(TWINS):
        body = {"$dtId": f"t{number}", "serialNumber": f"S-{number}"}
        transaction.put_twin(TwinRecord(f"t{number}", MODEL, "1", orjson.dumps(body)))


def ask(store: SqliteGraphStore, runs: int) -> int:
    """Run the query; return how many rows it has."""
    session = store.session()
    compiled = SqliteQueryEngine().compile(parse_query(BY_SERIAL).query, {})
    for _ in range(runs):
        with session.snapshot(time.monotonic() + PATIENCE):
            found = len(list(compiled.run_json(session, {}, limit=10)))
    session.close()
    return found


def tend(store: SqliteGraphStore) -> None:
    session = store.session()
    with session.snapshot(time.monotonic() + PATIENCE):
        writes = store.plan_index_upkeep(session)
    session.close()
    for outcome in run_all(store, *writes):
        assert outcome.error is None


def serve(place: Path, start: Event, rounds: int) -> None:
    """Ask and tend in turn, as a worker does, while the others do the same."""
    store = build_store(place)
    assert start.wait(PATIENCE)
    for _ in range(rounds):
        assert ask(store, 2) == 1
        tend(store)
    store.close()


def make_slowly(place: Path, making: Connection) -> None:
    """Make an index, and say when it is there but not yet committed; then wait to be killed."""
    store = build_store(place)

    def apply(transaction: GraphTransaction) -> None:
        upkeep.make_index(Target("twin", "serialNumber"), "6000 1", 0.0, transaction)
        making.send("made")
        time.sleep(PATIENCE)

    run_all(store, apply)


def test_workers_count_together_and_make_an_index_once(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    run_all(store, fill)
    start = FORKS.Event()
    processes = [FORKS.Process(target=serve, args=(tmp_path, start, 5)) for _ in range(2)]
    for process in processes:
        process.start()
    start.set()
    join(*processes)
    assert [process.exitcode for process in processes] == [0, 0]
    (made,) = store.report_indexes()
    assert made.name == "serialNumber"
    assert made.asked is not None
    assert made.used is not None
    assert made.asked + made.used == 2 * 5 * 2
    assert made.used > 0
    assert store.verify() == []
    store.close()


def test_a_kill_while_an_index_is_made_leaves_none_and_it_is_made_later(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    run_all(store, fill)
    store.close()
    receiving, sending = FORKS.Pipe(duplex=False)
    process = FORKS.Process(target=make_slowly, args=(tmp_path, sending))
    process.start()
    sending.close()
    assert receiving.poll(PATIENCE)
    assert receiving.recv() == "made"
    process.kill()
    join(process)
    store = build_store(tmp_path)
    assert store.list_indexes() == []
    assert store.verify() == []
    assert ask(store, 5) == 1
    tend(store)
    assert store.list_indexes() == ["serialNumber"]
    assert ask(store, 1) == 1
    store.close()


def test_an_index_that_another_worker_made_meanwhile_is_left_as_it_is(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    run_all(store, fill)
    target = Target("twin", "serialNumber")
    make = partial(upkeep.make_index, target, "6000 1", 0.0)
    assert [outcome.error for outcome in run_all(store, make, make)] == [None, None]
    assert store.list_indexes() == ["serialNumber"]
    store.close()
