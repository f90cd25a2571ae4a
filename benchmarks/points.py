"""Values over time: what a point takes at rest, how fast points come in, and series of a day."""

from __future__ import annotations

import asyncio
import json
import random
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from pydantic import SecretStr

from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.postgres.server import find_binaries, serve
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph import Graph
from twinframe.model.moments import render_moment
from twinframe.model.values import JsonValue
from twinframe.settings import Settings
from twinframe.storage.points import Points, SeriesKey, Window
from twinframe.testing.factories import (
    BUILDING,
    ROOM,
    build_building_interfaces,
    build_twin_document,
)
from twinframe_points.database import PREFIX, STATEMENTS, VERSION
from twinframe_points.settings import PointsSettings
from twinframe_points.store import BlockPointStore, DatabasePointStore, FilePointStore
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore
from twinframe_storage_sqlite.plugin import twinframe_query_engine
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

_DAY = 86_400_000_000
_TWINS = 10_000
_ROUNDS = 1_000
_REQUEST = 10_000
_CLIENTS = 3


def measure(report: Report, *, quick: bool) -> None:
    """Fill a day of 10,000 twins, then ask; and send points to a worker over HTTP."""
    twins = 1_000 if quick else _TWINS
    with tempfile.TemporaryDirectory() as folder:
        _measure_file(report, Path(folder), twins)
    if find_binaries() is not None:
        with serve("fsync=on", "synchronous_commit=on") as server:
            _measure_database(report, server.url, twins)
    with tempfile.TemporaryDirectory() as folder:
        _measure_requests(report, Path(folder), 20 if quick else 100)


class _Clock:
    """Seconds since 1970, which go on when they are told to."""

    def __init__(self) -> None:
        self.now = time.time()
        self.start = (int(self.now) // 86_400 - 1) * _DAY

    def __call__(self) -> float:
        return self.now


def _measure_file(report: Report, folder: Path, twins: int) -> None:
    clock = _Clock()
    store = FilePointStore(folder, PointsSettings(), clock)
    _fill(store, clock, twins)
    day, join = _ask(store, clock.start, twins)
    rooms = [twin for twin, _ in _choose(twins)]
    with asyncio.Runner() as loop:
        counted, returned = loop.run(_measure_queries(store, folder / "graph", rooms, clock.start))
    store.close()
    size = (folder / "points.db").stat().st_size / (_ROUNDS * twins)
    report.add(Figure("points: bytes at rest", size, "B", aim="≤ 4 B", kept=size <= 4))
    report.add(Figure("points: one day by 5 min", day, "ms", aim="≤ 5 ms", kept=day <= 5))
    report.add(Figure("points: 200 days by 5 min", join, "ms", aim="≤ 20 ms", kept=join <= 20))
    name = "points: 200 days by 5 min, in a query"
    report.add(Figure(f"{name} that counts", counted, "ms", join, counted / join))
    report.add(Figure(f"{name} that returns all", returned, "ms", join, returned / join))


def _measure_database(report: Report, url: str, twins: int) -> None:
    """The same points in PostgreSQL, with the room that upkeep leaves behind for vacuum."""
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        graph = PostgresGraphStore(PostgresSettings(url=SecretStr(url), directory=folder), "points")
        graph.open()
        tables = graph.build_tables(PREFIX, VERSION, STATEMENTS)
        store = DatabasePointStore(tables, PointsSettings(), clock)
        _fill(store, clock, twins)
        with graph.connections.take()[0] as connection:
            connection.execute(f'VACUUM FULL "{graph.schema}".point_block')
            connection.execute(f'VACUUM FULL "{graph.schema}".point_fresh')
        size = store.measure() / (_ROUNDS * twins)
        day, join = _ask(store, clock.start, twins)
        store.close()
        graph.close()
    report.add(Figure("points in PostgreSQL: bytes at rest", size, "B"))
    report.add(Figure("points in PostgreSQL: one day by 5 min", day, "ms"))
    report.add(Figure("points in PostgreSQL: 200 days by 5 min", join, "ms"))


def _fill(store: BlockPointStore, clock: _Clock, twins: int) -> None:
    chosen = random.Random(1)
    values = [chosen.gauss(21, 2) for _ in range(twins)]
    for at in range(_ROUNDS):
        points = Points()
        for twin in range(twins):
            values[twin] += chosen.gauss(0, 0.05)
            moment = clock.start + at * (_DAY // _ROUNDS) + chosen.randrange(400_000)
            points.add(f"room-{twin}", "temperature", moment, round(values[twin], 2))
        store.write(points)
        while store.run_upkeep():
            pass
    clock.now += 3600
    while store.run_upkeep():
        pass


def _choose(twins: int) -> list[SeriesKey]:
    return [(f"room-{twin}", "temperature") for twin in range(0, twins, twins // 200)]


def _ask(store: BlockPointStore, start: int, twins: int) -> tuple[float, float]:
    """Return the milliseconds for a day of one twin, and of two hundred."""
    window = Window(start, start + _DAY, 300_000_000)
    one, many = [("room-77", "temperature")], _choose(twins)
    day = _time(lambda: store.read_buckets(one, window, ("avg", "min", "max", "last")))
    return day, _time(lambda: store.read_buckets(many, window, ("avg",)))


async def _measure_queries(
    store: BlockPointStore, folder: Path, rooms: Sequence[str], start: int
) -> tuple[float, float]:
    """Return the milliseconds of a query that counts buckets, and of one that returns them."""
    documents = SqliteGraphStore(SqliteSettings(directory=str(folder)), "default")
    documents.open()
    runner = InlineRunner(documents, keeps_sessions=True)
    settings = Settings.model_validate({"history": {"telemetry": ["all"]}})
    engine = twinframe_query_engine(documents)
    graph = Graph(runner, settings, engine=engine, points=store)
    await graph.models.create_models([*build_building_interfaces()])
    await graph.twins.put_twin("house", build_twin_document(BUILDING))
    for room in rooms:
        await graph.twins.put_twin(room, build_twin_document(ROOM))
        body: JsonValue = {"$relationshipName": "hasPart", "$targetId": room}
        await graph.relationships.put_relationship("house", room, body)
    bounds = {"from": render_moment(start), "to": render_moment(start + _DAY)}
    found: list[float] = []
    for result in ("sum(size(s)) AS n", "r.`$dtId` AS id, s"):
        text = (
            "MATCH (b {`$dtId`: 'house'})-[:hasPart]->(r) "
            f"WITH r, series(r.temperature, $from, $to, '5m', 'avg') AS s RETURN {result}"
        )
        taken = []
        for _ in range(20):
            begin = time.perf_counter()
            await graph.queries.run(text, bounds, page_size=1000)
            taken.append(time.perf_counter() - begin)
        found.append(statistics.median(taken) * 1000)
    runner.close()
    documents.close()
    return found[0], found[1]


def _time(function: Callable[[], object]) -> float:
    taken = []
    for _ in range(20):
        begin = time.perf_counter()
        function()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken) * 1000


def _measure_requests(report: Report, folder: Path, requests: int) -> None:
    with Server(folder, environment={"History__Telemetry": "all"}) as server:
        wire = Wire(server.port)
        wire.call("POST", "/models", build_building_interfaces())
        document = build_twin_document(ROOM)
        for first in range(0, _TWINS, 1000):
            twins = [{**document, "$dtId": f"room-{at}"} for at in range(first, first + 1000)]
            assert wire.call("POST", "/digitaltwins", twins)[2]["failureCount"] == 0
        wire.close()
        bodies = [_build_body(at) for at in range(min(requests, 20))]
        numbers = count()

        def send() -> None:
            connection = Wire(server.port)
            while (at := next(numbers)) < requests:
                body = bodies[at % len(bodies)]
                kind = "application/x-ndjson"
                answer = connection.call("POST", "/telemetry", body, Content_Type=kind)[2]
                assert answer["pointCount"] == _REQUEST, answer
            connection.close()

        clients = [threading.Thread(target=send) for _ in range(_CLIENTS)]
        begin = time.perf_counter()
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        rate = requests * _REQUEST / (time.perf_counter() - begin)
    kept = rate >= 50_000
    report.add(Figure("points a second over HTTP", rate, "/s", aim="≥ 50,000 /s", kept=kept))


def _build_body(at: int) -> bytes:
    chosen = random.Random(at)
    begin = datetime.now(UTC) - timedelta(hours=20) + timedelta(seconds=86 * at)
    lines = []
    for twin in range(_REQUEST):
        moment = begin + timedelta(microseconds=chosen.randrange(400_000))
        value = round(chosen.gauss(21, 1), 2)
        line = {"twinId": f"room-{twin % _TWINS}", "path": "motion", "value": value}
        lines.append(json.dumps({**line, "time": moment.isoformat()}))
    return "\n".join(lines).encode()
