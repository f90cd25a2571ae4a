"""What a killed test process has started ends with it, and what others started does not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.shared import ROOT
from tests.waiting import PATIENCE

# It starts a process in a session of its own, which has a child; tells who they are; and waits.
PROGRAM = """
import subprocess, sys
from tests.left_behind import end_with_this_process
{}
server = "import os, time; os.write(1, b'%d %d\\\\n' % (os.getpid(), os.fork())); time.sleep(600)"
subprocess.Popen([sys.executable, "-c", server], start_new_session=True).wait()
"""


def run(watching: str) -> tuple[subprocess.Popen[str], set[int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(watching)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    with process.stdout as output:
        lines = [output.readline().split() for _ in range(2)]
    return process, {int(word) for line in lines for word in line} - {0}


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="Linux tells who has ended")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_process_started_ends_with_it(number: int) -> None:
    watched, own = run("end_with_this_process()")
    other, others = run("")
    try:
        assert len(own) == len(others) == 2
        watched.send_signal(number)
        watched.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while any(map(is_running, own)):
            assert time.monotonic() < end, "they outlive the process that started them"
            time.sleep(0.02)
        assert all(map(is_running, others))
    finally:
        other.kill()
        other.wait(PATIENCE)
        for each in others:
            os.kill(each, signal.SIGKILL)
