"""R15: memory, open files, threads and the write-ahead log over minutes of full load."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Sequence
from pathlib import Path

import apsw
import orjson

from tests.e2e.server import Server
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_most, exactly, told
from tests.reliability.load import Wrk, fill, finish
from tests.reliability.traffic import wait_for_workers
from tests.reliability.vitals import count_files, count_threads, read_resident

DEAF = 32
"""Clients that ask for long answers and take nothing of them."""

LONG = "MATCH (a:Counter), (b:Counter) RETURN a, b LIMIT 20000"
"""Twenty pages of 400 kB, found in a tenth of a second: who does not take them must not hold a
snapshot. Queries that compute for long do hold one, until their deadline (decision 0035)."""


def judge(trial: Trial) -> Sequence[Figure]:
    """Measure after a warm-up and at the end; then the log with a reader that never ends."""
    environment = {"Logging__Access": "false"}
    with Server(trial.folder, workers=2, environment=environment) as server:
        workers = wait_for_workers(server)
        fill(server.port)
        wrk = Wrk(server.port)
        wrk.run(trial.pick(60.0, 8.0), writes=20)
        before = [read_resident([worker]) for worker in workers]
        resources = [(count_files(worker), count_threads(worker)) for worker in workers]
        load = wrk.start(trial.pick(180.0, 8.0), writes=20)
        largest = _watch_log(trial.folder / "data", lambda: load.poll() is None)
        done = finish(load)
        grown = [read_resident([w]) - was for w, was in zip(workers, before, strict=True)]
        after = [(count_files(worker), count_threads(worker)) for worker in workers]
        deaf = _load_beside_deaf(trial, server.port, wrk) if not trial.fault else 0
        during, stuck = _load_beside_reader(trial, wrk) if not trial.fault else (0, 0)
    files = max(new[0] - old[0] for new, old in zip(after, resources, strict=True))
    threads = max(new[1] - old[1] for new, old in zip(after, resources, strict=True))
    return [
        at_most("MiB a worker grew", max(grown) / 2**20, 5),
        at_most("more open files", files, 0),
        at_most("more threads", threads, 0),
        at_most("MiB of the log", largest / 2**20, 64),
        at_most("MiB of the log beside clients that read no answer", deaf / 2**20, 64),
        at_most("MiB of the log after a stuck reader left", stuck / 2**20, 64),
        told("MiB of it before that", during / 2**20),
        exactly("errors", done.errors),
        told("requests a second", done.rate),
        told("MiB of both workers", sum(read for read in before) / 2**20),
    ]


def _watch_log(folder: Path, running: object) -> int:
    largest = 0
    while callable(running) and running():
        largest = max(largest, _measure_log(folder))
        time.sleep(0.2)
    return largest


def _measure_log(folder: Path) -> int:
    log = folder / "default.db-wal"
    return log.stat().st_size if log.exists() else 0


def _load_beside_deaf(trial: Trial, port: int, wrk: Wrk) -> int:
    """The largest size of the log while clients of long answers take nothing of them."""
    body = orjson.dumps({"query": LONG})
    head = (
        "POST /query HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"max-items-per-page: 1000\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with contextlib.ExitStack() as clients:
        for _ in range(DEAF):
            client = clients.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", port))
            client.sendall(head.encode() + body)
        load = wrk.start(trial.pick(10.0, 3.0), writes=100)
        largest = _watch_log(trial.folder / "data", lambda: load.poll() is None)
        finish(load)
    return largest


def _load_beside_reader(trial: Trial, wrk: Wrk) -> tuple[int, int]:
    """The size of the log beside another process's snapshot, and some writes after its end."""
    folder = trial.folder / "data"
    reader = apsw.Connection(str(folder / "default.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM twin").fetchall()
    wrk.run(trial.pick(10.0, 3.0), writes=100)
    during = _measure_log(folder)
    reader.execute("ROLLBACK")
    reader.close()
    wrk.run(2.0, writes=100)
    return during, _measure_log(folder)


GOAL = Goal(
    id="R15",
    title="memory and handles over time",
    asked="after 60 s of warm-up, 180 s of full load: a worker grows ≤ 5 MiB, files and threads "
    "do not, the write-ahead log stays ≤ 64 MiB, also beside 32 clients that do not take their "
    "answers; beside a stuck reader of another process it does once that has left",
    judge=judge,
    twins=(
        Twin(
            fault="keep-every-request",
            seeds="each request leaves 4 KiB behind",
            breaks=("MiB a worker grew",),
        ),
    ),
)
