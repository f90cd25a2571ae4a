"""The control store's contract between processes: no write is lost or halved, even when a process
is killed.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

from twinframe.storage.control import ControlStore, ControlTransaction, ControlWriteFunction
from twinframe.testing.contracts.control_base import (
    ControlContract,
    build_thing,
    open_store,
    read_ids,
    reading,
)
from twinframe.testing.contracts.control_writes import increment

if TYPE_CHECKING:
    from multiprocessing.synchronize import Event

_SPAWN: Final = multiprocessing.get_context("spawn")
_WRITERS: Final = 3
_ROUNDS: Final = 50
_KILLS: Final = 6

Make = Callable[[], ControlStore]


class ControlProcessContract(ControlContract):
    """For stores that several processes share; `make_opener` returns something picklable."""

    def test_no_update_is_lost_between_processes(self, tmp_path: Path) -> None:
        make, start = self.make_opener(tmp_path), _SPAWN.Event()
        processes = [_SPAWN.Process(target=_add_many, args=(make, start)) for _ in range(_WRITERS)]
        for process in processes:
            process.start()
        start.set()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * _WRITERS
        store = open_store(make)
        with reading(store) as session:
            found = session.read("plain", "count")
        assert found is not None
        assert int(found.body) == _WRITERS * _ROUNDS * 2
        assert list(store.verify()) == []
        store.close()

    def test_several_processes_may_make_the_store_at_once(self, tmp_path: Path) -> None:
        make, start = self.make_opener(tmp_path), _SPAWN.Event()
        processes = [
            _SPAWN.Process(target=_insert_own, args=(make, start, f"p{number}"))
            for number in range(_WRITERS)
        ]
        for process in processes:
            process.start()
        start.set()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * _WRITERS
        store = open_store(make)
        assert read_ids(store) == [f"p{number}" for number in range(_WRITERS)]
        store.close()

    def test_nothing_acknowledged_is_lost_or_halved_when_a_writer_is_killed(
        self, tmp_path: Path
    ) -> None:
        make, acknowledged = self.make_opener(tmp_path), set[str]()
        for attempt in range(_KILLS):
            receiving, sending = _SPAWN.Pipe(duplex=False)
            process = _SPAWN.Process(target=_write_until_killed, args=(make, f"{attempt}", sending))
            process.start()
            sending.close()
            acknowledged |= set(receiving.recv())  # it is writing
            time.sleep(0.005 * attempt)
            process.kill()
            process.join()
            acknowledged |= _receive_rest(receiving)
            _verify_pairs(make, acknowledged)
        assert len(acknowledged) > _KILLS


def _write(store: ControlStore, *functions: ControlWriteFunction[object]) -> None:
    for outcome in store.write(functions):
        if outcome.error is not None:
            raise outcome.error


def _add_many(make: Make, start: Event) -> None:
    start.wait()
    store = open_store(make)
    for _ in range(_ROUNDS):
        _write(store, increment, increment)
    store.close()


def _insert_own(make: Make, start: Event, name: str) -> None:
    start.wait()
    store = open_store(make)
    _write(store, lambda transaction: transaction.insert(build_thing(name)))
    store.close()


def _put_pair(name: str) -> ControlWriteFunction[str]:
    def apply(transaction: ControlTransaction) -> str:
        transaction.insert(build_thing(f"{name}.left", place=name, name="left"))
        transaction.insert(build_thing(f"{name}.right", place=name, name="right"))
        return name

    return apply


def _write_until_killed(make: Make, name: str, acknowledged: Connection) -> None:
    """Write batches of pairs (both or none), and send each name once it is committed."""
    store = open_store(make)
    number = 0
    while True:
        functions = [_put_pair(f"{name}.{each}") for each in range(number, number + 4)]
        acknowledged.send(
            [outcome.result for outcome in store.write(functions) if not outcome.error]
        )
        number += 4


def _receive_rest(receiving: Connection) -> set[str]:
    """Return what was sent before the end; a message cut short by the kill was no
    acknowledgement.
    """
    names: list[str] = []
    try:
        while True:
            names += receiving.recv()
    except (EOFError, OSError):
        return set(names)


def _verify_pairs(make: Make, acknowledged: set[str]) -> None:
    store = open_store(make)
    found = read_ids(store)
    lefts, rights = _strip(found, ".left"), _strip(found, ".right")
    assert acknowledged <= lefts
    assert lefts == rights
    assert list(store.verify()) == []
    store.close()


def _strip(names: Sequence[str], end: str) -> set[str]:
    return {name.removesuffix(end) for name in names if name.endswith(end)}
