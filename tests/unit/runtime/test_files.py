"""Files that are written durably: as a whole, for their owner, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from twinframe.runtime.files import rename_durably, sync, sync_open, write_durably


def test_a_file_is_replaced_as_a_whole_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one, and longer")
    path.chmod(0o644)
    before = os.umask(0)
    try:
        write_durably(path, b"two")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"two"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["x"]


def test_its_time_goes_forward_even_if_the_clock_was_set_back(tmp_path: Path) -> None:
    path = tmp_path / "x"
    write_durably(path, b"one")
    os.utime(path, ns=(2**62, 2**62))
    write_durably(path, b"two")
    assert path.stat().st_mtime_ns > 2**62


def test_content_is_synced_before_the_name_and_the_name_before_the_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    seen: list[tuple[bool, bool, bytes]] = []
    real = os.fsync  # noqa: TID251 - what is tested

    def note(handle: int) -> None:
        real(handle)
        is_folder = stat.S_ISDIR(os.fstat(handle).st_mode)
        draft = tmp_path / "x.new"
        seen.append((is_folder, path.exists(), draft.read_bytes() if draft.exists() else b""))

    monkeypatch.setattr(os, "fsync", note)
    write_durably(path, b"content")
    assert seen == [(False, False, b"content"), (True, True, b"")]


def test_where_there_is_no_space_the_old_file_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x"
    write_durably(path, b"one")

    def fail(_file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            write_durably(path, b"two")
    assert path.read_bytes() == b"one"
    write_durably(path, b"three")
    assert path.read_bytes() == b"three"


def test_a_link_laid_where_the_draft_goes_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    (tmp_path / "file.new").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        write_durably(tmp_path / "file", b"secret")
    assert victim.read_bytes() == b"mine"


def test_open_files_directories_and_names_can_be_synced(tmp_path: Path) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.write(b"buffered")
        sync_open(file)
        assert (tmp_path / "x").read_bytes() == b"buffered"
    (tmp_path / "new").mkdir()
    rename_durably(tmp_path / "x", tmp_path / "new" / "y")
    sync(tmp_path / "new")
    sync(tmp_path / "new" / "y")
    with pytest.raises(FileNotFoundError):
        sync(tmp_path / "x")
