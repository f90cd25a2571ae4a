"""Durable writes over HTTP on PostgreSQL, beside the same rows written by `pgbench`.

By hand is one transaction of two statements for each write, which puts a twin and its event into
tables like those of the storage plugin. As many connections write as there are to the service.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import orjson
import psycopg

from benchmarks.graph import INTERFACES, NOW, build_model, build_twin
from benchmarks.postgres.clients import TWIN, VALUES, build_own, write_for
from benchmarks.postgres.server import (
    build_settings,
    read_group_time,
    read_leader,
)
from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.postgres.server import PostgresServer, find_binaries, run

LEAST_PUTS: Final = 3000
LEAST_PATCHES: Final = 2500
CONNECTIONS: Final = (32, 64, 128)
SCHEMA: Final = "written"
_TABLES: Final = "twin", "event"
_BY_HAND: Final = """
\\set key random(1, 1000000000)
BEGIN;
INSERT INTO by_hand.twin (dt_id, model, etag, document, members)
  SELECT 'new-' || :key, 1, etag, document, document::jsonb FROM by_hand.sample
  ON CONFLICT (dt_id) DO UPDATE SET etag = excluded.etag, document = excluded.document,
    members = excluded.members;
INSERT INTO by_hand.event (position, subject, body, kind)
  SELECT nextval('by_hand.positions'), 'new-' || :key, event, 1 FROM by_hand.sample;
COMMIT;
"""


class Written(NamedTuple):
    """Writes a second, and microseconds of processor time of each write in service and server."""

    rate: float
    service: float
    server: float


def measure(report: Report, server: PostgresServer, *, quick: bool = False) -> None:
    """PUT of new twins and conditional PATCH at several numbers of connections, one worker."""
    seconds = 2.0 if quick else 8.0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = build_settings(server.url, SCHEMA, folder)
        with Server(folder, environment=environment, workers=1) as service:
            _fill(service, max(CONNECTIONS))
            floors = _make_floor(server)
            for connections in CONNECTIONS:
                floor = floors(connections, seconds)
                for kind, name, least in (
                    ("PUT", "PUT of a new twin", LEAST_PUTS),
                    ("PATCH", "PATCH with If-Match", LEAST_PATCHES),
                ):
                    found = _load(service, server, kind, seconds, connections)
                    _add(report, f"{name}, {connections} connections", found, floor, least)


def _add(report: Report, name: str, found: Written, floor: float, least: int) -> None:
    aim = f"≥ {least:,}/s with some number of connections"
    report.add(Figure(f"{name} (durable)", found.rate, "1/s", floor, found.rate / floor, aim))
    report.add(Figure("… processor time of the service", found.service, "us"))
    report.add(Figure("… processor time of PostgreSQL", found.server, "us"))


def _fill(service: Server, count: int) -> None:
    wire = Wire(service.port)
    wire.call("POST", "/models", [build_model(name) for name in INTERFACES])
    twins = [{"$dtId": build_own(number), **TWIN} for number in range(count)]
    status = wire.call("POST", "/digitaltwins", twins)[0]
    assert status == 200, status
    wire.close()


def _load(
    service: Server, server: PostgresServer, kind: str, seconds: float, connections: int
) -> Written:
    assert service.process is not None
    leaders = service.process.pid, read_leader(server)
    before = [read_group_time(leader) for leader in leaders]
    rate, count = write_for(service.port, kind, seconds, connections)
    spent = [
        (read_group_time(leader) - was) / count * 1e6
        for leader, was in zip(leaders, before, strict=True)
    ]
    return Written(rate, *spent)


class _Floor:
    """Writes a second of `pgbench` on tables like those of the plugin."""

    def __init__(self, server: PostgresServer, script: Path) -> None:
        binaries = find_binaries()
        assert binaries is not None
        self._program, self._server, self._script = binaries / "pgbench", server, script

    def __call__(self, connections: int, seconds: float) -> float:
        home = self._server.socket.parent
        said = run(
            [
                str(self._program), "-n", "-M", "prepared", "-c", str(connections), "-j", "1",
                "-T", f"{seconds:.0f}", "-f", str(self._script), self._server.url,
            ],
            home,
        )  # fmt: skip
        rate = re.search(r"tps = ([\d.]+)", said)
        assert rate is not None, said
        return float(rate[1])


def _make_floor(server: PostgresServer) -> _Floor:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA by_hand")
        connection.execute("CREATE SEQUENCE by_hand.positions")
        for table in _TABLES:
            connection.execute(
                f"CREATE TABLE by_hand.{table} (LIKE {SCHEMA}_default.{table} INCLUDING ALL)"
            )
        connection.execute("CREATE TABLE by_hand.sample (etag text, document text, event bytea)")
        record = build_twin("new", "TemperatureSensor", **VALUES)
        event = orjson.dumps(["0" * 36, NOW, "localhost", "", "0" * 16])
        sample = record.etag, record.body.decode(), event
        connection.execute("INSERT INTO by_hand.sample VALUES (%s, %s, %s)", sample)
    script = server.socket.parent / "by_hand.sql"
    script.write_text(_BY_HAND, encoding="utf-8")
    return _Floor(server, script)
