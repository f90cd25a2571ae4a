"""The directory of the workers' sockets: whose it is, and what is left of services that died."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.waiting import PATIENCE
from twinframe.service.relay_directory import open_relay, remove_abandoned

HOLD = """
import os, sys, time
from twinframe.service.relay_directory import open_relay
with open_relay() as directory:
    (directory / "0a1b2c3d.sock").touch()
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    print(directory, child, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where directories are made, for this process and those it starts."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def list_directories(place: Path) -> set[Path]:
    return set(place.glob("twinframe-mcp-*"))


def test_the_directory_is_this_users_alone_and_goes_with_the_service(place: Path) -> None:
    with open_relay() as directory:
        assert directory.stat().st_mode & 0o777 == 0o700
        assert list_directories(place) == {directory}
    assert list_directories(place) == set()


def test_services_side_by_side_leave_each_other_alone() -> None:
    with open_relay() as first, open_relay() as second:
        remove_abandoned()
        assert first.is_dir()
        assert second.is_dir()


def test_what_a_killed_service_left_is_removed_once_its_workers_have_ended(place: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        name, _, worker = process.stdout.readline().strip().rpartition(" ")
        left = Path(name)
        try:
            process.kill()
            process.wait(PATIENCE)
            with open_relay():
                assert left.is_dir(), "a worker is still there"
        finally:
            os.kill(int(worker), signal.SIGKILL)
        assert process.stdout.read() == ""  # it has ended: nobody holds its output any more
    with open_relay() as directory:
        assert list_directories(place) == {directory}


def test_what_is_not_such_a_directory_is_left_alone(place: Path) -> None:
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (place / "twinframe-mcp-link").symlink_to(elsewhere)
    (place / "twinframe-mcp-file").write_text("kept")
    (place / "twinframe-mcp-new").mkdir()  # not locked yet: its service is just starting
    remove_abandoned()
    assert (elsewhere / "lock").exists()
    assert {one.name for one in list_directories(place)} == {
        "twinframe-mcp-link",
        "twinframe-mcp-file",
        "twinframe-mcp-new",
    }
