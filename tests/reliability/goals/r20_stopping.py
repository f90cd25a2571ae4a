"""R20: stops, reloads, an arbiter that is killed, a worker that freezes, all under load."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.server import Server
from tests.reliability.acknowledged import Writer, writing
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, at_most, exactly
from tests.reliability.traffic import add_model, list_workers, wait_for_workers

WRITERS = 6
TIMEOUT = 6
"""Seconds of `Server__WorkerTimeout`."""
TRIES = 2_000


def judge(trial: Trial) -> Sequence[Figure]:
    """HUP again and again, then a frozen worker, then KILL of the arbiter, then TERM."""
    reloads = trial.pick(10, 2)
    writers = [Writer(f"w{number}") for number in range(WRITERS)]
    settings = {"Logging__Access": "false", "Server__WorkerTimeout": str(TIMEOUT)}
    server = Server(trial.folder, workers=2, environment=settings)
    server.start()
    try:
        wait_for_workers(server)
        add_model(server.port)
        with writing(server.port, writers):
            time.sleep(0.5)
            for _ in range(reloads):
                _reload(server)
            broken = sum(writer.broken for writer in writers)
            frozen = _freeze_writing_worker(server)
            orphans = _kill_arbiter(server)
            server.process = None
            server.start()
            wait_for_workers_again(server)
            time.sleep(0.5)
            stopped = _terminate(server)
            server.start()
            time.sleep(1.0)
        lost = sum(writer.lost for writer in writers)
    finally:
        server.stop()
    return [
        exactly("acknowledged writes lost", lost),
        at_most("connections broken by reloads", broken, 2 * reloads),
        exactly("workers frozen while they wrote", int(frozen.held), 1),
        trial.at_most_when_full("seconds without writes beside it", frozen.still, TIMEOUT + 1),
        at_least("answers 503 of the other meanwhile", frozen.refused, 1),
        trial.at_most_when_full("seconds of the slowest answer meanwhile", frozen.slowest, 5.5),
        exactly("workers 2 s after the arbiter was killed", orphans),
        trial.at_most_when_full("seconds from TERM to the end", stopped, 5),
        at_least("writes", sum(writer.count for writer in writers), trial.pick(2_000, 100)),
    ]


def _reload(server: Server) -> None:
    assert server.process is not None
    old = set(list_workers(server))
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(set(list_workers(server)) - old) == 2, "the workers of a reload")
    wait_until(lambda: not old & set(list_workers(server)), "the end of the old workers")
    time.sleep(0.2)


@dataclass(frozen=True, slots=True)
class Frozen:
    """What a frozen worker did to the others. `still` and `slowest` are seconds."""

    held: bool
    still: float
    refused: int
    slowest: float


def _freeze_writing_worker(server: Server) -> Frozen:
    """Stop a worker that just then has the turn to write; what a new client sees of it.

    It comes to the other worker, as the frozen one accepts nobody.
    """
    held = False
    for _ in range(TRIES):
        frozen = min(list_workers(server))
        os.kill(frozen, signal.SIGSTOP)
        held = _holds_turn(server, frozen)
        if held:
            break
        os.kill(frozen, signal.SIGCONT)
        time.sleep(0.005)
    start = time.monotonic()
    writer = Writer("beside")
    with writing(server.port, [writer]):
        while not writer.count:
            time.sleep(0.02)
            assert time.monotonic() - start < 40, "the frozen worker was not replaced"
        still = time.monotonic() - start
        while frozen in list_workers(server):
            time.sleep(0.02)
            assert time.monotonic() - start < 40, "the frozen worker was not replaced"
    return Frozen(held, still, writer.refused, writer.slowest)


def _holds_turn(server: Server, pid: int) -> bool:
    """Whether a process has the lock under which one of all workers writes."""
    inode = (server.folder / "data" / "default.turn.lock").stat().st_ino
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        fields = line.split()
        if "->" not in fields and fields[1] == "FLOCK" and fields[5].endswith(f":{inode}"):
            return int(fields[4]) == pid
    return False


def _kill_arbiter(server: Server) -> int:
    """How many workers are left two seconds after their arbiter was killed."""
    assert server.process is not None
    workers = list_workers(server)
    server.process.kill()
    server.process.wait(10)
    time.sleep(2.0)
    left = [worker for worker in workers if _is_running(worker)]
    for worker in left:
        os.kill(worker, signal.SIGKILL)
    return len(left)


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def _terminate(server: Server) -> float:
    assert server.process is not None
    start = time.monotonic()
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(30)
    server.process = None
    return time.monotonic() - start


def wait_for_workers_again(server: Server) -> None:
    """Wait for two workers, of whatever start."""
    wait_until(lambda: len(list_workers(server)) == 2, "two workers")


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Wait for it, half a minute at most."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


GOAL = Goal(
    id="R20",
    title="stop, reload, orphans, frozen workers",
    asked="10 reloads under load: nothing lost, ≤ 1 broken connection a worker each, all clients "
    "together; TERM ≤ 5 s; no worker 2 s after its arbiter was killed; a worker that freezes while "
    "it writes holds writes up ≤ its time-out + 1 s, the others answer 503 after 5 s (+ 0.5)",
    judge=judge,
    twins=(
        Twin(
            fault="outlive-the-arbiter",
            seeds="workers do not watch their arbiter",
            breaks=("workers 2 s after the arbiter was killed",),
        ),
    ),
)
