"""Counting requests over processes: never more than allowed, and the dead do not count."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from twinframe.control.hosting.slots import SharedCount

_HOLDER = """
import sys
from pathlib import Path
from twinframe.control.hosting.slots import SharedCount
count = SharedCount(Path(sys.argv[1]), 2)
print(sum(count.enter(int(sys.argv[2])) for _ in range(int(sys.argv[3]))), flush=True)
sys.stdin.readline()
"""


def hold(path: Path, limit: int, wanted: int) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(path), str(limit), str(wanted)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def end(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> None:
    process.send_signal(number)
    process.wait(120)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def test_no_more_than_the_limit_are_let_in_and_places_come_back(tmp_path: Path) -> None:
    count = SharedCount(tmp_path / "load", 1)
    assert [count.enter(2) for _ in range(3)] == [True, True, False]
    count.leave()
    assert count.enter(2)
    assert not count.enter(2)
    assert count.enter(3)  # the limit was raised
    count.close()


def test_two_of_one_process_share_the_limit(tmp_path: Path) -> None:
    first, second = SharedCount(tmp_path / "load", 2), SharedCount(tmp_path / "load", 2)
    assert first.enter(2)
    assert second.enter(2)
    assert not first.enter(2)
    first.leave()
    assert second.enter(2)
    second.leave()
    second.leave()
    second.close()
    assert first.enter(1)
    first.close()


def test_processes_share_the_limit_and_one_that_was_killed_gives_its_share_back(
    tmp_path: Path,
) -> None:
    path = tmp_path / "load"
    own = SharedCount(path, 2)
    process, entered = hold(path, 4, 3)
    try:
        assert entered == 3
        assert own.enter(4)
        assert not own.enter(4)
    finally:
        end(process, signal.SIGKILL)
    assert [own.enter(4) for _ in range(4)] == [True, True, True, False]
    own.close()


def test_what_a_killed_process_left_is_no_burden_to_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "load"
    process, entered = hold(path, 5, 5)
    end(process, signal.SIGKILL)
    assert entered == 5
    own = SharedCount(path, 1)
    assert own.enter(1)
    own.close()


def test_a_removed_file_goes_on_counting_for_those_who_have_it(tmp_path: Path) -> None:
    count = SharedCount(tmp_path / "load", 1)
    os.unlink(tmp_path / "load")  # noqa: PTH108  (as a removal does)
    assert count.enter(1)
    assert not count.enter(1)
    count.close()
    count.leave()  # a request that was ended by force ends late
