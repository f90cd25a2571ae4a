"""Programs that tests start as forks are as those that `subprocess` starts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests import forks
from tests.forks import CODE, Program
from tests.waiting import PATIENCE, run_program

COMMAND = [sys.executable, "-m", "twinframe"]


def is_fork(process: subprocess.Popen[bytes]) -> bool:
    return b"forks.py" in Path(f"/proc/{process.pid}/cmdline").read_bytes()


def start_waiting(folder: Path, environment: Mapping[str, str] | None = None) -> Program[bytes]:
    """A program that waits for its input."""
    return Program(
        [*COMMAND, "import", "-"],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("Storage__Sqlite__Directory", "data")
    return tmp_path


def test_a_fork_runs_the_command_with_its_settings_in_its_folder(place: Path) -> None:
    with start_waiting(place) as forked:
        assert is_fork(forked)
        assert os.getsid(forked.pid) == forked.pid != os.getsid(0)
        out, _ = forked.communicate(b'{"Section": "Nothing"}\n', timeout=PATIENCE)
    assert forked.returncode == 1
    assert b"Nothing" in out
    assert (place / "data").is_dir()
    again = run_program([*COMMAND, "settings"], capture_output=True, text=True, cwd=place)
    assert (again.returncode, again.stderr) == (0, "")
    assert "data" in again.stdout


def test_the_end_of_a_fork_is_that_of_a_child(place: Path) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        with start_waiting(place) as forked:
            assert os.waitpid(forked.pid, os.WNOHANG) == (0, 0)
            os.killpg(forked.pid, number)
            assert forked.wait(PATIENCE) == -number
    told = run_program([*COMMAND, "nonsense"], capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (2, "")
    assert "No such command 'nonsense'" in told.stderr


def test_code_runs_in_a_fork_as_in_an_interpreter(tmp_path: Path) -> None:
    code = (
        "import os, sys; print(*sys.argv, __name__, os.getcwd());"
        "print(open(0).read(), flush=True); os._exit(9)"
    )
    for environment in (None, {**os.environ, "TZ": "UTC"}):
        done = run_program(
            [*CODE, code, "one"],
            cwd=tmp_path,
            env=environment,
            input="in",
            capture_output=True,
            text=True,
        )
        assert done.stdout == f"-c one __main__ {tmp_path}\nin\n"
        assert done.returncode == 9


def test_what_changes_more_than_settings_gets_a_new_interpreter(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PYTHONPATH", "TZ", "MALLOC_ARENA_MAX"):
        with start_waiting(place, {**os.environ, name: "1"}) as started:
            assert not is_fork(started)
            started.kill()
    monkeypatch.setenv("TZ", "UTC")
    with start_waiting(place) as started:
        assert not is_fork(started)
        started.kill()


def list_files(process: int) -> set[str]:
    found = set()
    for path in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # that of the listing itself
            found.add(str(path.readlink()))
    return found


def test_a_fork_has_no_socket_of_the_process_that_it_comes_from(place: Path) -> None:
    with start_waiting(place) as forked:
        shared = list_files(forks.source.process) & list_files(forked.pid)
        forked.kill()
    assert [name for name in shared if name.startswith(("socket", "pipe"))] == []
