"""R39: idle Bolt clients, and ones that ask for rows and take none, beside one that works."""

from __future__ import annotations

import math
import socket
import statistics
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.e2e.server import Server, free_port
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_most, exactly, told
from tests.reliability.traffic import wait_for_workers
from tests.reliability.vitals import read_resident
from tests.unit.bolt.world import PULL, RUN, SUCCESS, Dialogue
from tests.waiting import PATIENCE

ROWS = "UNWIND range(1, 500) AS i RETURN i, $text AS text"
TEXT = "x" * 8_000
OPEN = "slow clients open at the end"
_KIB = 1024
_SECONDS = 17


def judge(trial: Trial) -> Sequence[Figure]:
    """Open the idle ones, then the slow ones; run statements meanwhile, and count who is left."""
    port = free_port()
    settings = {
        "Bolt__Enabled": "true",
        "Bolt__Bind": f"127.0.0.1:{port}",
        "Bolt__MaxConnections": "3000",
        "Bolt__MaxConnectionsPerAddress": "3000",
        "Bolt__WriteTimeout": "600" if trial.fault else trial.pick("5", "2"),
        "Logging__Access": "false",
    }
    idle, slow = trial.pick(1_000, 50), trial.pick(200, 10)
    with Server(trial.folder, workers=1, environment=settings) as server:
        workers = wait_for_workers(server)
        alone = _Pings(port)
        stop = threading.Event()
        alone.run(stop, until=time.monotonic() + 2)
        empty = read_resident(workers)
        waiting = [_connect(port) for _ in range(idle)]
        kept = read_resident(workers)
        pings = _Pings(port)
        pinging = threading.Thread(target=pings.run, args=(stop,))
        # NOTE: a client that takes nothing does not see that its connection was closed.
        sockets = _count_sockets(workers[0])
        crowd = [_ask(port) for _ in range(slow)]
        opened = time.monotonic()
        pinging.start()
        held = read_resident(workers)
        while (left := _count_sockets(workers[0]) - sockets) > 0:
            if time.monotonic() - opened > trial.pick(_SECONDS, 6):
                break
            time.sleep(0.5)
            held = max(held, read_resident(workers))
        stop.set()
        pinging.join()
        answered = sum(one.ask(RUN, "RETURN 1", {}, {})[0] == SUCCESS for one in waiting)
    for one in (*waiting, *crowd):
        one.socket.close()
    usual, beside = statistics.median(alone.seconds), statistics.median(pings.seconds)
    return [
        at_most("KiB of an idle client", (kept - empty) / idle / _KIB, 40),
        at_most("KiB of a slow client", (held - kept) / slow / _KIB, 2_048),
        exactly(OPEN, max(left, 0)),
        exactly("idle clients that got no answer at the end", idle - answered),
        told("median of a statement in ms, alone", usual * 1_000),
        told("median of a statement in ms, beside them", beside * 1_000),
        trial.at_most_when_full(
            "worst statement in ms, beside them", max(pings.seconds) * 1e3, 250
        ),
        exactly("tracebacks", server.log.read_text(encoding="utf-8").count("Traceback")),
    ]


def _connect(port: int) -> Dialogue:
    return Dialogue(socket.create_connection(("127.0.0.1", port), PATIENCE)).log_in()


def _ask(port: int) -> Dialogue:
    """A client that asks for many rows, and takes none of them."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    one = Dialogue(connection).log_in()
    assert one.ask(RUN, ROWS, {"text": TEXT}, {})[0] == SUCCESS
    one.send(PULL, {"n": -1})
    return one


def _count_sockets(pid: int) -> int:
    found = 0
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(OSError):  # it was closed meanwhile
            found += str(one.readlink()).startswith("socket:")
    return found


class _Pings:
    """A client that runs small statements one after another, and how long each of them took."""

    def __init__(self, port: int) -> None:
        self.seconds: list[float] = []
        self._dialogue = _connect(port)

    def run(self, stop: threading.Event, until: float = math.inf) -> None:
        while time.monotonic() < until and not stop.wait(0.01):
            start = time.monotonic()
            self._dialogue.send(RUN, "RETURN 1", {}, {})
            self._dialogue.send(PULL, {"n": -1})
            tags = [self._dialogue.read()[0] for _ in range(3)]
            assert tags[::2] == [SUCCESS, SUCCESS], tags
            self.seconds.append(time.monotonic() - start)


GOAL = Goal(
    id="R39",
    title="idle and slow Bolt clients",
    asked="1,000 idle and 200 that take no rows: ≤ 40 KiB an idle one, ≤ 2 MiB a slow one, closed "
    "after ≤ 17 s, statements of others ≤ 250 ms",
    judge=judge,
    twins=(
        Twin(
            fault="no-write-time-out",
            seeds="WriteTimeout of 600 s",
            breaks=(OPEN,),
        ),
    ),
)
