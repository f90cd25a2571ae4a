"""Whole graphs into PostgreSQL by `twinframe import` and by an import job, beside COPY.

By hand is COPY of the same rows, with their events, into tables with the same indexes, in one
transaction for each table. It reads and checks nothing.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks.portable import write_file
from benchmarks.postgres.server import build_settings, read_group_time, read_leader
from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.postgres.server import PostgresServer

LEAST: Final = 15_000
_TABLES: Final = "twin", "relationship", "event"
_AIM: Final = f"≥ {LEAST:,}/s"
_ROUNDS: Final = 200
_SCAN_ROUNDS: Final = 3
_HOP: Final = "MATCH (n)-[:observes]->(m) WHERE n.$dtId = $id RETURN m"
_SCAN: Final = "SELECT COUNT() FROM digitaltwins T WHERE T.value > 39.5"


def measure(report: Report, server: PostgresServer, folder: Path, twins: int) -> None:
    """Import `twins` twins and twice as many relationships, both ways; then read them."""
    file = folder / f"campus-{twins}.ndjson"
    if not file.exists():
        write_file(file, twins)
    items = 3 * twins
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        by_command = _import_by_command(report, server, file, place, items)
        floor = _copy(server, place, items)
        name = f"twinframe import: {twins:,} twins, {2 * twins:,} relationships"
        ratio, kept = by_command / floor, by_command >= LEAST
        report.add(Figure(name, by_command, "items/s", floor, ratio, _AIM, kept))
        settings = build_settings(server.url, "by_job", place)
        settings["Jobs__Directories"] = json.dumps([str(folder), str(place)])
        with Server(place, environment=settings) as service:
            by_job = _import_by_job(service, file, place / "log", items)
        ratio, kept = by_job / floor, by_job >= LEAST
        report.add(Figure("the same by a job", by_job, "items/s", floor, ratio, _AIM, kept))
        _measure_bytes(report, server, twins)
        settings = build_settings(server.url, "by_command", place)
        with Server(place, environment=settings) as service:
            _read(report, service, twins)


def _import_by_command(
    report: Report, server: PostgresServer, file: Path, place: Path, items: int
) -> float:
    environment = {**os.environ, **build_settings(server.url, "by_command", place)}
    command = [sys.executable, "-m", "twinframe", "import", "--no-progress", str(file)]
    leader = read_leader(server)
    before, began = read_group_time(leader), time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    seconds = time.perf_counter() - began
    own = (usage.ru_utime + usage.ru_stime) / items * 1e6
    report.add(Figure("processor time of an item, service", own, "us"))
    spent = (read_group_time(leader) - before) / items * 1e6
    report.add(Figure("… PostgreSQL", spent, "us"))
    report.add(Figure("… memory of the service", usage.ru_maxrss / 1024, "MiB"))
    return items / seconds


def _copy(server: PostgresServer, place: Path, items: int) -> float:
    """Items a second of COPY from files to copies of the tables."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA copied")
        for table in _TABLES:
            source = f"by_command_default.{table}"
            connection.execute(f"CREATE TABLE copied.{table} (LIKE {source} INCLUDING ALL)")
            with (
                (place / table).open("wb") as out,
                connection.cursor().copy(f"COPY {source} TO STDOUT (FORMAT binary)") as rows,
            ):
                for piece in rows:
                    out.write(piece)
        began = time.perf_counter()
        for table in _TABLES:
            with (
                (place / table).open("rb") as read,
                connection.cursor().copy(f"COPY copied.{table} FROM STDIN (FORMAT binary)") as rows,
            ):
                while piece := read.read(1 << 18):
                    rows.write(piece)
        seconds = time.perf_counter() - began
        connection.execute("DROP SCHEMA copied CASCADE")
    for table in _TABLES:
        (place / table).unlink()
    return items / seconds


def _import_by_job(service: Server, file: Path, log: Path, items: int) -> float:
    wire = Wire(service.port)
    document = {"inputBlobUri": file.as_uri(), "outputBlobUri": log.as_uri()}
    began = time.perf_counter()
    status, _, job = wire.call("PUT", "/jobs/imports/bench", document)
    assert status == 201, job
    while job["status"] in ("notstarted", "running"):
        time.sleep(0.1)
        job = wire.call("GET", "/jobs/imports/bench")[2]
    seconds = time.perf_counter() - began
    assert job["status"] == "succeeded", job
    wire.close()
    return items / seconds


def _measure_bytes(report: Report, server: PostgresServer, twins: int) -> None:
    rows = {"twin": twins, "relationship": 2 * twins, "event": 3 * twins}
    with psycopg.connect(server.url) as connection:
        for table, count in rows.items():
            row = connection.execute(
                "SELECT pg_total_relation_size(%s::regclass)", (f"by_command_default.{table}",)
            ).fetchone()
            assert row is not None
            name = f"on disk: {table}, with indexes, by {count:,}"
            report.add(Figure(name, row[0] / count, "bytes"))


def _read(report: Report, service: Server, twins: int) -> None:
    wire = Wire(service.port)

    def ask(text: str, **parameters: object) -> Any:
        given = {"query": text, **({"parameters": parameters} if parameters else {})}
        status, _, page = wire.call("POST", "/query", given)
        assert status == 200, page
        return page["value"]

    def read(number: int) -> None:
        assert wire.call("GET", f"/digitaltwins/twin-{number:08}")[0] == 200

    def step(number: int) -> None:
        assert len(ask(_HOP, id=f"twin-{number - number % 5 + 1:08}")) == 1

    def scan(_: int) -> None:
        assert ask(_SCAN)

    for name, call, rounds in (
        ("point read", read, _ROUNDS),
        ("one hop", step, _ROUNDS),
        ("scan of all twins by a property", scan, _SCAN_ROUNDS),
    ):
        milliseconds = _time(call, rounds, twins)
        report.add(Figure(f"{name} over HTTP at {twins:,} twins", milliseconds, "ms"))
    wire.close()


def _time(call: Callable[[int], None], rounds: int, twins: int) -> float:
    """Milliseconds of the median."""
    times = []
    for number in range(rounds):
        began = time.perf_counter()
        call(number * 7919 % twins)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3
