"""The writer lock: exclusive, bounded, freed by its holder's end, and fair between processes."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from tests.waiting import join, start
from twinframe.errors import StorageBusy
from twinframe.runtime.locks import try_lock_part, unlock_part
from twinframe.storage.writer_lock import WriterLock

SPAWN = multiprocessing.get_context("spawn")


def open_lock(place: Path) -> WriterLock:
    return WriterLock(place / "turn", place / "queue")


def hold_for_ever(place: Path, held: Event) -> None:
    with open_lock(place).hold(5):
        held.set()
        time.sleep(600)


def test_a_turn_that_does_not_come_is_storage_busy(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path), open_lock(tmp_path)
    with first.hold(1), pytest.raises(StorageBusy), second.hold(0.05):
        pass
    with second.hold(0.05):
        pass
    first.close()
    second.close()


def test_waiting_in_vain_leaves_the_queue_to_others(tmp_path: Path) -> None:
    holder, gives_up, waits = (open_lock(tmp_path) for _ in range(3))
    got = threading.Event()

    def wait() -> None:
        with waits.hold(30):
            got.set()

    with holder.hold(1):
        with pytest.raises(StorageBusy), gives_up.hold(0.02):
            pass
        thread = start(wait)
    join(thread)
    assert got.is_set()
    for lock in (holder, gives_up, waits):
        lock.close()


def test_an_error_inside_ends_the_turn(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path), open_lock(tmp_path)
    with pytest.raises(ZeroDivisionError), first.hold(1):
        _ = 1 / 0
    with second.hold(0.05):
        pass
    first.close()
    second.close()


def test_a_killed_holder_frees_the_turn(tmp_path: Path) -> None:
    held = SPAWN.Event()
    process = SPAWN.Process(target=hold_for_ever, args=(tmp_path, held))
    process.start()
    assert held.wait(120)
    lock = open_lock(tmp_path)
    with pytest.raises(StorageBusy), lock.hold(0.05):
        pass
    process.kill()
    join(process)
    with lock.hold(5):
        pass
    lock.close()


def test_each_gets_the_lock_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    first, second, third = (open_lock(tmp_path) for _ in range(3))
    line = os.open(tmp_path / "queue", os.O_RDWR)
    got: list[str] = []

    def wait(lock: WriterLock, name: str) -> None:
        with lock.hold(60):
            got.append(name)

    with first.hold(60):
        threads = [start(wait, second, "second")]
        wait_until_taken(line, 0)
        threads.append(start(wait, third, "third"))
        wait_until_taken(line, 1)
    wait(first, "first again")
    for thread in threads:
        join(thread)
    assert got == ["second", "third", "first again"]
    os.close(line)
    for lock in (first, second, third):
        lock.close()


def wait_until_taken(line: int, place: int) -> None:
    """Return once someone has this place in line."""
    while try_lock_part(line, place, 1):
        unlock_part(line, place, 1)
        time.sleep(0.001)
