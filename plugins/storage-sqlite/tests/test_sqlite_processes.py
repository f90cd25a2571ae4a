"""Several processes on one file: exact counts, nothing acknowledged lost when one is killed."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from tests.waiting import PATIENCE, join
from twinframe.storage.base import GraphTransaction, TwinRecord, WriteFunction
from twinframe.testing.contracts.base import put, reading, run_all
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

# PERF: each process is a fork of one that has loaded these.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["twinframe_storage_sqlite.store", "twinframe.testing.contracts.base"])
MODEL = "dtmi:test:Counter;1"
KILLS = 12


def build_store(place: Path) -> SqliteGraphStore:
    store = SqliteGraphStore(SqliteSettings(directory=str(place), turn_timeout=60), "graph")
    store.open()
    return store


def build_record(twin_id: str, count: int) -> TwinRecord:
    return TwinRecord(twin_id, MODEL, str(count), orjson.dumps({"count": count}))


def read_count(transaction: GraphTransaction, twin_id: str) -> int:
    document = transaction.read_twin(twin_id)
    assert document is not None
    count: int = orjson.loads(document.body)["count"]
    return count


def increment(transaction: GraphTransaction) -> int:
    """Read, add one, write: a lost update would show in the sum."""
    count = read_count(transaction, "shared") + 1
    transaction.put_twin(build_record("shared", count))
    return count


def add_many(place: Path, start: Event, rounds: int) -> None:
    store = build_store(place)
    assert start.wait(PATIENCE)
    for _ in range(rounds):
        for outcome in run_all(store, increment, increment, increment):
            if outcome.error is not None:
                raise outcome.error
    store.close()


def write_until_killed(place: Path, name: str, acknowledged: Connection) -> None:
    """Write batches of pairs (both or none), and send each number once it is committed."""

    def put_pair(number: int) -> WriteFunction[None]:
        def apply(transaction: GraphTransaction) -> None:
            transaction.put_twin(build_record(f"{name}.{number}.left", number))
            transaction.put_twin(build_record(f"{name}.{number}.right", number))

        return apply

    store = build_store(place)
    number = 0
    while True:
        batch = range(number, number + 5)
        outcomes = run_all(store, *(put_pair(each) for each in batch))
        acknowledged.send(
            [each for each, out in zip(batch, outcomes, strict=True) if not out.error]
        )
        number += 5


def test_no_update_is_lost_between_processes(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    put(store, build_record("shared", 0))
    start = FORKS.Event()
    processes = [FORKS.Process(target=add_many, args=(tmp_path, start, 100)) for _ in range(3)]
    for process in processes:
        process.start()
    start.set()
    join(*processes)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with reading(store) as session:
        document = session.read_twin("shared")
    assert document is not None
    assert orjson.loads(document.body) == {"count": 900}
    assert store.verify() == []
    store.close()


def test_nothing_acknowledged_is_lost_or_halved_when_a_writer_is_killed(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for attempt in range(KILLS):
        processes, ends = [], []
        for writer in range(2):
            receiving, sending = FORKS.Pipe(duplex=False)
            name = f"{attempt}.{writer}"
            process = FORKS.Process(target=write_until_killed, args=(tmp_path, name, sending))
            process.start()
            sending.close()
            processes.append(process)
            ends.append((name, receiving))
        for name, receiving in ends:  # both are writing
            acknowledged |= {f"{name}.{number}" for number in receiving.recv()}
        time.sleep(0.01 + attempt * 0.003)
        for process in processes:
            process.kill()
        join(*processes)
        for name, receiving in ends:
            acknowledged |= {f"{name}.{number}" for number in read_rest(receiving)}
        verify_pairs(tmp_path, acknowledged)
    assert len(acknowledged) > KILLS * 10


def read_rest(receiving: Connection) -> list[int]:
    """What was sent before the end; a message cut short by the kill was no acknowledgement."""
    numbers: list[int] = []
    try:
        while True:
            numbers += receiving.recv()
    except (EOFError, OSError):
        return numbers


def verify_pairs(place: Path, acknowledged: set[str]) -> None:
    store = build_store(place)
    with reading(store) as session:
        found = {node.id for node in session.scan_nodes(None)}
    lefts = {twin_id.removesuffix(".left") for twin_id in found if twin_id.endswith(".left")}
    rights = {twin_id.removesuffix(".right") for twin_id in found if twin_id.endswith(".right")}
    assert acknowledged <= lefts
    assert lefts == rights
    assert store.verify() == []
    store.close()
