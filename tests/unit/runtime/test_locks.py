"""File locks: excluded, shared, waited for, and released by the end of their holder."""

from __future__ import annotations

import multiprocessing
import os
import stat
import threading
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.waiting import PATIENCE, join, start
from twinframe.runtime.locks import (
    acquire_lock,
    hold_abandoned,
    hold_lock,
    is_at,
    open_lock,
    try_acquire_lock,
    try_lock,
    try_lock_part,
    unlock,
    unlock_part,
    wait_for_lock,
)

SPAWN = multiprocessing.get_context("spawn")


def is_free(path: Path) -> bool:
    with hold_lock(path, 0) as lock:
        return lock is not None


def test_a_held_lock_excludes_others_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path) as lock:
        assert lock is not None
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert try_acquire_lock(path) is None
        assert try_acquire_lock(path, 0.05) is None
        assert try_acquire_lock(path, shared=True) is None
    assert is_free(path)


def test_shared_locks_exclude_the_exclusive_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with hold_lock(path, shared=True) as first, hold_lock(path, 0, shared=True) as second:
        assert first is not None
        assert second is not None
        assert not is_free(path)
        assert not try_lock(first)


def test_a_lock_is_had_as_soon_as_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    had = threading.Event()

    def wait(timeout: float) -> None:
        with hold_lock(path, timeout) as lock:
            assert lock is not None
            had.set()

    for timeout in (60, float("inf")):
        had.clear()
        with hold_lock(path):
            thread = start(wait, timeout)
            assert not had.is_set()
        join(thread)
        assert had.is_set()


def test_an_unlocked_file_stays_open_and_can_be_locked_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    handle = open_lock(path)
    assert wait_for_lock(handle)
    unlock(handle)
    assert is_free(path)
    assert wait_for_lock(handle, 1)
    assert not is_free(path)
    os.close(handle)


def hold_for_ever(path: Path, held: Connection) -> None:
    with hold_lock(path):
        held.send(True)
        assert threading.Event().wait(PATIENCE)


def test_the_end_of_a_killed_holder_releases_its_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    here, there = SPAWN.Pipe()
    process = SPAWN.Process(target=hold_for_ever, args=(path, there))
    process.start()
    assert here.recv()
    with hold_abandoned(path) as is_abandoned:
        assert not is_abandoned
    process.kill()
    join(process)
    with hold_abandoned(path) as is_abandoned:
        assert is_abandoned
        assert not is_free(path)


def test_whoever_waited_for_a_removed_file_locks_the_one_at_its_path(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = acquire_lock(path)
    waiting = open_lock(path)
    got: list[int] = []
    thread = start(lambda: got.append(acquire_lock(path)))
    path.unlink()
    os.close(first)
    join(thread)
    assert is_at(path, got[0])
    assert not is_at(path, waiting)
    assert not is_free(path)
    for handle in (*got, waiting):
        os.close(handle)


def test_a_lock_that_cannot_be_made_says_so_and_a_link_is_not_followed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), hold_lock(tmp_path / "no" / "lock"):
        pass
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match="symbolic links"), hold_abandoned(tmp_path / "link"):
        pass


def test_parts_of_one_file_are_locked_apart(tmp_path: Path) -> None:
    first, second = open_lock(tmp_path / "lock"), open_lock(tmp_path / "lock")
    assert try_lock_part(first, 0, 8)
    assert not try_lock_part(second, 0, 8)
    assert try_lock_part(second, 8, 8)
    unlock_part(first, 0, 8)
    assert try_lock_part(second, 0, 8)
    os.close(first)
    os.close(second)
