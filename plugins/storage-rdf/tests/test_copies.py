"""Copies of a store on disk as archives: whole, durable, and no burden on who writes meanwhile."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import pytest

from twinframe_storage_rdf import copies
from twinframe_storage_rdf.copies import read_archive, write_archive


def make_files(place: Path) -> dict[str, bytes]:
    """Files of sizes around those that an archive is written in."""
    place.mkdir()
    sizes = (0, 1, copies._PIECE - 512, copies._PIECE, 2 * copies._PIECE + 1)
    contents = {f"{size}.sst": os.urandom(size) for size in sizes}
    for name, content in contents.items():
        (place / name).write_bytes(content)
    return contents


def test_an_archive_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    contents = make_files(tmp_path / "store")
    write_archive(tmp_path / "store", tmp_path / "backup")
    read_archive(tmp_path / "backup", tmp_path / "again")
    found = {path.name: path.read_bytes() for path in (tmp_path / "again").iterdir()}
    assert found == contents


def test_an_archive_is_synced_piece_by_piece_and_whole_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(tmp_path / "store")
    target = tmp_path / "backup"
    synced = [0]

    def record(handle: int) -> None:
        if Path(f"/proc/self/fd/{handle}").readlink().name.startswith("backup."):
            assert not target.exists()
            synced.append(os.fstat(handle).st_size)

    monkeypatch.setattr(copies.os, "fdatasync", record)
    monkeypatch.setattr(copies.os, "fsync", record)
    write_archive(tmp_path / "store", target)
    assert synced[-1] == target.stat().st_size
    between = [after - before for before, after in pairwise(synced)]
    assert max(between) <= copies._PIECE


def test_an_archive_that_finds_no_room_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(tmp_path / "store")

    def fail(_: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(copies.os, "fdatasync", fail)
    with pytest.raises(OSError, match="No space"):
        write_archive(tmp_path / "store", tmp_path / "backup")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
