"""Many creations by one statement of Cypher, beside the bulk API, over HTTP, in one service.

Statements and bulk writes of as many twins are sent in turns; a ratio is the median of those of the
rounds. The processor time of the service, which other processes do not lengthen, is given beside.
"""

from __future__ import annotations

import http.client
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.http import read_processor_times
from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.postgres.server import serve

_TWINS = 1000
_MODEL = "dtmi:com:example:bench:Room;1"
_MODELS = [
    {
        "@context": "dtmi:dtdl:context;3",
        "@id": _MODEL,
        "@type": "Interface",
        "contents": [
            {"@type": "Property", "name": "name", "schema": "string"},
            {"@type": "Property", "name": "seats", "schema": "integer"},
        ],
    }
]
_CREATE = "UNWIND $rows AS row CREATE (:Room {`$dtId`: row.id, name: row.name, seats: row.seats})"
_MERGE = (
    "UNWIND $rows AS row MERGE (r:Room {`$dtId`: row.id}) "
    "ON CREATE SET r.name = row.name, r.seats = row.seats"
)
_MERGE_AND_SET = (
    "UNWIND $rows AS row MERGE (r:Room {`$dtId`: row.id}) "
    "SET r.name = row.name, r.seats = row.seats"
)
_AIM = 1.3


class Taken(NamedTuple):
    """Seconds of one request, and those of processor time that the service took for it."""

    seconds: float
    processor: float


class _Client:
    """One kept connection to a service."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)

    def send(self, path: str, document: Any, status: int = 200) -> Taken:
        """Send a request that must succeed."""
        body = json.dumps(document)
        headers = {"Content-Type": "application/json"}
        before = sum(read_processor_times(self._server).values())
        start = time.perf_counter()
        self._connection.request("POST", f"{path}?api-version=2023-10-31", body, headers)
        answer = self._connection.getresponse()
        found = answer.read()
        seconds = time.perf_counter() - start
        assert answer.status == status, found
        assert b'"isSuccess":false' not in found
        return Taken(seconds, sum(read_processor_times(self._server).values()) - before)

    def put(self, rows: list[dict[str, Any]]) -> Taken:
        """Create or replace the twins in one bulk write."""
        return self.send(
            "/digitaltwins",
            [
                {
                    "$dtId": row["id"],
                    "$metadata": {"$model": _MODEL},
                    "name": row["name"],
                    "seats": row["seats"],
                }
                for row in rows
            ],
        )

    def run(self, text: str, rows: list[dict[str, Any]]) -> Taken:
        """Run a statement with the rows as its parameter."""
        return self.send("/cypher", {"query": text, "parameters": {"rows": rows}})


def measure(report: Report, *, quick: bool) -> None:
    """Times of 1,000 twins a request, on SQLite and on PostgreSQL."""
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder:
        _measure_storage(report, "SQLite", Path(folder), {}, rounds)
    with (
        tempfile.TemporaryDirectory() as folder,
        serve("fsync=on", "synchronous_commit=on") as server,
    ):
        environment = {
            "Storage__Provider": "postgres",
            "Storage__Postgres__Url": server.url,
            "Storage__Postgres__Directory": folder,
        }
        _measure_storage(report, "PostgreSQL", Path(folder), environment, rounds)


def _measure_storage(
    report: Report, storage: str, folder: Path, environment: dict[str, str], rounds: int
) -> None:
    quiet = {"Logging__Access": "false", "Logging__Audit": "false"}
    with Server(folder, environment={**quiet, **environment}) as server:
        client = _Client(server)
        client.send("/models", _MODELS, 201)
        calls: dict[str, Callable[[int], Taken]] = {
            "bulk write of new twins": lambda n: client.put(_build_rows("bulk", n, 0)),
            "UNWIND CREATE": lambda n: client.run(_CREATE, _build_rows("created", n, 0)),
            "MERGE of new twins": lambda n: client.run(_MERGE, _build_rows("merged", n, 0)),
            "MERGE of existing twins": lambda n: client.run(_MERGE, _build_rows("merged", n, 0)),
            "bulk write of existing twins": lambda n: client.put(_build_rows("bulk", n, 1)),
            "MERGE and SET of existing twins": lambda n: client.run(
                _MERGE_AND_SET, _build_rows("merged", n, 1)
            ),
        }
        taken: dict[str, list[Taken]] = {name: [] for name in calls}
        for number in range(-1, rounds):
            for name, call in calls.items():
                one = call(number)
                if number >= 0:  # the first of each makes plans and tables
                    taken[name].append(one)
    for name, floor in (
        ("UNWIND CREATE", "bulk write of new twins"),
        ("MERGE of new twins", "bulk write of new twins"),
        ("MERGE of existing twins", "bulk write of existing twins"),
        ("MERGE and SET of existing twins", "bulk write of existing twins"),
    ):
        aim = _AIM if name == "UNWIND CREATE" else None
        _add(report, f"{storage}: {name}", taken[name], taken[floor], aim)


def _build_rows(kind: str, number: int, change: int) -> list[dict[str, Any]]:
    return [
        {"id": f"{kind}-{number}-{at}", "name": f"Room {at}", "seats": at + change}
        for at in range(_TWINS)
    ]


def _add(
    report: Report, name: str, ours: list[Taken], floor: list[Taken], aim: float | None
) -> None:
    ratio = statistics.median(a.seconds / b.seconds for a, b in zip(ours, floor, strict=True))
    processor = statistics.mean(one.processor for one in ours)
    beside = statistics.mean(one.processor for one in floor)
    shown = f"{name}, {_TWINS:,} a request (service {processor * 1e3:.0f} of {beside * 1e3:.0f} ms)"
    medians = [statistics.median(one.seconds for one in each) * 1e3 for each in (ours, floor)]
    wanted = "" if aim is None else f"≤ {aim} of a bulk write"
    kept = None if aim is None else ratio <= aim
    report.add(Figure(shown, medians[0], "ms", medians[1], ratio, wanted, kept))
