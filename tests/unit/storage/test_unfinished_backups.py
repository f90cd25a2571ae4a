"""Backups in the making: private, locked while they are made, removed when their maker is dead."""

from __future__ import annotations

import errno
import multiprocessing
import os
import signal
import stat
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.waiting import join
from twinframe.errors import StorageError, StorageFull
from twinframe.storage.backups import making_file, remove_unfinished


def list_names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_for_this_user_alone_and_gone_when_it_failed(tmp_path: Path) -> None:
    def fail() -> None:
        with making_file(tmp_path / "b") as path:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            path.with_name(f"{path.name}-journal").write_bytes(b"x")
            raise ValueError("odd")

    before = os.umask(0)
    try:
        with pytest.raises(ValueError, match="odd"):
            fail()
    finally:
        os.umask(before)
    assert list_names(tmp_path) == []


def test_one_that_is_whole_keeps_its_new_name_and_mode(tmp_path: Path) -> None:
    with making_file(tmp_path / "b") as path:
        path.write_bytes(b"content")
        path.replace(tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"content"
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o600
    assert list_names(tmp_path) == ["b"]


def make_slowly(target: Path, started: Connection) -> None:
    with making_file(target) as path:
        path.write_bytes(b"half")
        path.with_name(f"{path.name}-journal").write_bytes(b"x")
        started.send(path.name)
        signal.pause()


@pytest.mark.parametrize("name", ["the same", "another"])
def test_the_next_backup_removes_what_a_killed_one_left_and_no_living_one(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "somebody.part").write_bytes(b"not ours")
    here, there = multiprocessing.Pipe(duplex=False)
    maker = multiprocessing.get_context("fork").Process(
        target=make_slowly, args=(tmp_path / "the same", there)
    )
    maker.start()
    half = here.recv()
    with making_file(tmp_path / name) as path:
        path.replace(tmp_path / name)
    assert {half, f"{half}-journal"} < {*list_names(tmp_path)}  # it lives
    assert maker.pid is not None
    os.kill(maker.pid, signal.SIGKILL)
    join(maker)
    assert half in list_names(tmp_path)
    with making_file(tmp_path / "third") as path:
        assert list_names(tmp_path) == sorted([name, "somebody.part", path.name])
    remove_unfinished(tmp_path)
    assert list_names(tmp_path) == sorted([name, "somebody.part"])


def test_a_folder_without_room_or_that_is_not_there_is_an_error_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StorageError, match="No such file"), making_file(tmp_path / "no" / "b"):
        pass

    def refuse(*_arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StorageFull), making_file(tmp_path / "b"):
        pass
