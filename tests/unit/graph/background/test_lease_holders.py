"""Processes that hold leases: how they are named, and when they are known to be dead."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.forks import CODE
from tests.unit.graph.inline_runner import InlineRunner
from tests.waiting import run_program
from twinframe.graph.background import holders, leases
from twinframe.graph.background.holders import UNKNOWN, is_dead, read_holder
from twinframe.graph.background.leases import LeaseManager
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphStore

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="only Linux names processes in /proc"
)

HOLDER = """
import sys
from twinframe.graph.background.holders import read_holder
print(read_holder(), flush=True)
sys.stdin.read()
"""


class Holder:
    """A process with a name, which ends when it is told to."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [*CODE, HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.name = self.process.stdout.readline().strip()

    def kill(self) -> None:
        """Kill it and leave the zombie."""
        self.process.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)

    def reap(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(120)


@pytest.fixture
def holder() -> Iterator[Holder]:
    made = Holder()
    yield made
    made.reap()


def test_a_process_is_dead_from_its_kill_on_and_not_before(holder: Holder) -> None:
    assert holder.name.split("/")[-2] == str(holder.process.pid)
    assert not is_dead(holder.name)
    holder.kill()
    assert is_dead(holder.name)  # a zombie still
    holder.reap()
    assert is_dead(holder.name)


def test_another_process_of_the_same_id_is_not_the_one_that_held() -> None:
    place, _, begun = read_holder().rpartition("/")
    assert not is_dead(f"{place}/{begun}")
    assert is_dead(f"{place}/{int(begun) - 1}")


@pytest.mark.parametrize("name", [UNKNOWN, "x", "a/b", "boot/1/2", "another-boot/4026531836/1/7"])
def test_of_what_is_elsewhere_or_has_no_name_nothing_is_known(name: str) -> None:
    assert not is_dead(name)


def test_who_lives_by_another_clock_is_not_taken_for_dead(holder: Holder) -> None:
    """In another namespace of time the same process began at another moment."""
    code = (
        "import sys; from twinframe.graph.background.holders import is_dead, read_holder;"
        "print(is_dead(sys.argv[1]), is_dead(read_holder()))"
    )
    apart = [
        *("unshare", "--map-root-user", "--time", "--boottime", "100000"),
        *(sys.executable, "-c", code, holder.name),
    ]
    try:
        done = run_program(apart, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("needs unshare (util-linux)")
    if done.returncode:
        pytest.skip(f"needs to be allowed a namespace of time: {done.stderr.strip()}")
    assert done.stdout.split() == ["False", "False"]


def test_what_proc_hides_lives_unless_the_system_knows_better(
    monkeypatch: pytest.MonkeyPatch, holder: Holder
) -> None:
    monkeypatch.setattr(holders, "_read_fields", lambda _pid: None)
    assert read_holder() == UNKNOWN
    assert not is_dead(holder.name)
    holder.kill()
    holder.reap()
    assert is_dead(holder.name)


def test_a_lease_of_a_dead_process_is_taken_over_at_once_and_its_hand_is_late(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch, holder: Holder
) -> None:
    runner = InlineRunner(store)
    one, other = (LeaseManager(runner, 9.0, lambda: 100.0) for _ in range(2))
    with monkeypatch.context() as patched:
        patched.setattr(leases, "read_holder", lambda: holder.name)
        first = asyncio.run(one.claim("job/1"))
    assert first is not None
    assert asyncio.run(other.claim("job/1")) is None
    holder.kill()
    second = asyncio.run(other.claim("job/1"))
    assert second is not None
    assert second.fence == first.fence + 1
    with pytest.raises(LeaseLost):
        asyncio.run(one.keep(first))
