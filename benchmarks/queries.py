"""Query shapes in process, each beside the same question as SQL written by hand through APSW.

Ours is the whole use case: cached plan, the run on the event loop or the hop to the query thread,
the page as JSON rows. By hand is a bare cursor on a connection with the same settings, fetching the
same JSON rows.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import orjson
import uvloop

from benchmarks.graph import Shape
from benchmarks.report import Figure, Report
from twinframe.graph import Graph
from twinframe.hooks.installation import load_installation
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import Execution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.service.opening import open_graph
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

Bindings = dict[str, int | float | str]

_LABEL = (
    "model IN (SELECT c.descendant FROM interface i JOIN interface_closure c ON c.ancestor = i.id "
    "WHERE i.name = '{}')"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A shape: its Cypher, its SQL by hand (one column: the row's JSON), and its parameters."""

    name: str
    cypher: str
    sql: str
    draw: Callable[[random.Random, Shape], Bindings]
    typed: str = ""
    """The same for an engine with one table a label, whose key is `id`; empty: it has none."""


def _draw_rooms(dice: random.Random, shape: Shape) -> Bindings:
    """Two rooms of one building."""
    level = dice.randrange(shape.levels)
    other = (level + shape.buildings) % shape.levels
    return {"from": f"room-{level}", "to": f"room-{other + shape.levels}"}


QUESTIONS = (
    Question(
        "point by $dtId",
        "MATCH (t:Twin {`$dtId`: $id}) RETURN t.name AS name",
        "SELECT json_object('name', t.document ->> '$.name') FROM twin t WHERE t.dt_id = :id",
        lambda dice, shape: {"id": f"sensor-{dice.randrange(shape.sensors)}"},
        "MATCH (t:Sensor {id: $id}) RETURN t.name AS name",
    ),
    Question(
        "1 hop",
        "MATCH (l:Twin {`$dtId`: $id})-[:contains]->(r) RETURN r.name AS name",
        "SELECT json_object('name', t.document ->> '$.name') FROM twin s "
        "JOIN relationship r ON r.source = s.id AND r.name = 'contains' "
        "JOIN twin t ON t.id = r.target WHERE s.dt_id = :id",
        lambda dice, shape: {"id": f"level-{dice.randrange(shape.levels)}"},
        "MATCH (l:Level {id: $id})-[:contains]->(r:Room) RETURN r.name AS name",
    ),
    Question(
        "incoming",
        "MATCH (r:Twin {`$dtId`: $id})<-[:observes]-(s) RETURN s.name AS name",
        "SELECT json_object('name', s.document ->> '$.name') FROM twin t "
        "JOIN relationship r ON r.target = t.id AND r.name = 'observes' "
        "JOIN twin s ON s.id = r.source WHERE t.dt_id = :id",
        lambda dice, shape: {"id": f"room-{dice.randrange(shape.rooms)}"},
        "MATCH (r:Room {id: $id})<-[:observes]-(s:Sensor) RETURN s.name AS name",
    ),
    Question(
        "3 hops with a filter",
        "MATCH (b:Twin {`$dtId`: $id})-[:contains]->(l)-[:contains]->(r)<-[:observes]-(s) "
        "WHERE s.value > $least RETURN s.`$dtId` AS id, s.value AS value",
        "SELECT json_object('id', s.dt_id, 'value', s.document ->> '$.value') FROM twin b "
        "JOIN relationship r1 ON r1.source = b.id AND r1.name = 'contains' "
        "JOIN relationship r2 ON r2.source = r1.target AND r2.name = 'contains' "
        "JOIN relationship r3 ON r3.target = r2.target AND r3.name = 'observes' "
        "JOIN twin s ON s.id = r3.source "
        "WHERE b.dt_id = :id AND s.document ->> '$.value' > :least",
        lambda dice, shape: {"id": f"building-{dice.randrange(shape.buildings)}", "least": 28.0},
        "MATCH (b:Building {id: $id})-[:contains]->(l:Level)-[:contains]->(r:Room)"
        "<-[:observes]-(s:Sensor) WHERE s.value > $least RETURN s.id AS id, s.value AS value",
    ),
    Question(
        "3 hops, counted",
        "MATCH (b:Twin {`$dtId`: $id})-[:contains]->(l)-[:contains]->(r)<-[:observes]-(s) "
        "RETURN count(*) AS n",
        "SELECT json_object('n', count(*)) FROM twin b "
        "JOIN relationship r1 ON r1.source = b.id AND r1.name = 'contains' "
        "JOIN relationship r2 ON r2.source = r1.target AND r2.name = 'contains' "
        "JOIN relationship r3 ON r3.target = r2.target AND r3.name = 'observes' "
        "WHERE b.dt_id = :id",
        lambda dice, shape: {"id": f"building-{dice.randrange(shape.buildings)}"},
        "MATCH (b:Building {id: $id})-[:contains]->(l:Level)-[:contains]->(r:Room)"
        "<-[:observes]-(s:Sensor) RETURN count(*) AS n",
    ),
    Question(
        "variable length 1..4",
        "MATCH (b:Twin {`$dtId`: $id})-[:contains*1..4]->(x) RETURN x.`$dtId` AS id",
        "WITH RECURSIVE w(node, depth) AS (SELECT id, 0 FROM twin WHERE dt_id = :id UNION ALL "
        "SELECT r.target, w.depth + 1 FROM w JOIN relationship r ON r.source = w.node "
        "AND r.name = 'contains' WHERE w.depth < 4) "
        "SELECT json_object('id', t.dt_id) FROM w JOIN twin t ON t.id = w.node WHERE w.depth > 0",
        lambda dice, shape: {"id": f"building-{dice.randrange(shape.buildings)}"},
        "MATCH (b:Building {id: $id})-[:contains*1..4]->(x) RETURN x.id AS id",
    ),
    Question(
        "label, range, order, limit",
        "MATCH (r:Room) WHERE r.area > $least RETURN r.name AS name, r.area AS area "
        "ORDER BY area DESC LIMIT 20",
        "SELECT json_object('name', document ->> '$.name', 'area', document ->> '$.area') "
        f"FROM twin WHERE {_LABEL.format('Room')} AND document ->> '$.area' > :least "
        "ORDER BY document ->> '$.area' DESC LIMIT 20",
        lambda dice, _shape: {"least": float(dice.randrange(60, 75))},
        "MATCH (r:Room) WHERE r.area > $least RETURN r.name AS name, r.area AS area "
        "ORDER BY area DESC LIMIT 20",
    ),
    Question(
        "aggregate by group",
        "MATCH (s:Sensor) RETURN s.maker AS maker, count(*) AS n, avg(s.value) AS mean",
        "SELECT json_object('maker', document ->> '$.maker', 'n', count(*), "
        "'mean', avg(document ->> '$.value')) "
        f"FROM twin WHERE {_LABEL.format('Sensor')} GROUP BY document ->> '$.maker'",
        lambda _dice, _shape: {},
        "MATCH (s:Sensor) RETURN s.maker AS maker, count(*) AS n, avg(s.value) AS mean",
    ),
    Question(
        "count",
        "MATCH (s:Sensor) RETURN count(*) AS n",
        f"SELECT json_object('n', count(*)) FROM twin WHERE {_LABEL.format('Sensor')}",
        lambda _dice, _shape: {},
        "MATCH (s:Sensor) RETURN count(*) AS n",
    ),
    Question(
        "substring scan",
        "MATCH (r:Room) WHERE r.name CONTAINS $part RETURN r.`$dtId` AS id",
        "SELECT json_object('id', dt_id) FROM twin WHERE "
        f"{_LABEL.format('Room')} AND instr(document ->> '$.name', :part) > 0",
        lambda dice, _shape: {"part": f"{dice.randrange(1000)}7"},
        "MATCH (r:Room) WHERE r.name CONTAINS $part RETURN r.id AS id",
    ),
    Question(
        "shortest path",
        "MATCH p = shortestPath((a:Twin {`$dtId`: $from})-[:contains|adjacentTo*..6]-"
        "(b:Twin {`$dtId`: $to})) RETURN length(p) AS n",
        "WITH RECURSIVE w(node, depth) AS (SELECT id, 0 FROM twin WHERE dt_id = :from UNION "
        "SELECT r.target, w.depth + 1 FROM w JOIN relationship r ON r.source = w.node "
        "AND r.name IN ('contains', 'adjacentTo') WHERE w.depth < 6 UNION "
        "SELECT r.source, w.depth + 1 FROM w JOIN relationship r ON r.target = w.node "
        "AND r.name IN ('contains', 'adjacentTo') WHERE w.depth < 6) "
        "SELECT json_object('n', depth) FROM w "
        "WHERE node = (SELECT id FROM twin WHERE dt_id = :to) LIMIT 1",
        _draw_rooms,
        "MATCH p = (a:Room {id: $from})-[:contains|adjacentTo* SHORTEST 1..6]-(b:Room {id: $to}) "
        "RETURN length(p) AS n",
    ),
    Question(
        "page of 1,000 documents",
        "SELECT * FROM DIGITALTWINS",
        "SELECT json(document) FROM twin ORDER BY id LIMIT 1000",
        lambda _dice, _shape: {},
        "MATCH (n) RETURN n.* LIMIT 1000",
    ),
)


def measure(report: Report, data: Path, twins: int, *, quick: bool) -> None:
    """All shapes on the graph in `data`; aim: at most 1.3 times the SQL by hand and 0.1 ms.

    Beside the whole use case stands the statement alone, as processor time of its thread: the
    query threads are niced, and on a busy machine wait for their turn.
    """
    # NOTE: the loop of the service; the way to the query thread and back is half as long on it.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_measure(report, data, Shape(twins), quick=quick))


async def _measure(report: Report, data: Path, shape: Shape, *, quick: bool) -> None:
    installation = load_installation(environ={"Storage__Sqlite__Directory": str(data)})
    connection = _open_by_hand(data)
    store = SqliteGraphStore(SqliteSettings(directory=str(data)), "default")
    store.open()
    session = store.session()
    async with open_graph(installation) as graph:
        for question in QUESTIONS:
            bench = _Bench(question, graph, connection, session, shape)
            await _compare(report, bench, quick=quick)
    session.close()
    store.close()
    connection.close()


@dataclass(frozen=True, slots=True)
class _Bench:
    question: Question
    graph: Graph
    connection: apsw.Connection
    session: SqliteSession
    shape: Shape


async def _compare(report: Report, bench: _Bench, *, quick: bool) -> None:
    question, dice = bench.question, random.Random(1)
    seconds = 1.0 if quick else 3.0
    ours: list[float] = []
    hand: list[float] = []
    budget = time.perf_counter() + seconds
    while len(ours) < 7 or (time.perf_counter() < budget and len(ours) < 2000):
        bindings = question.draw(dice, bench.shape)
        start = time.perf_counter()
        page = await bench.graph.queries.run(question.cypher, bindings)
        middle = time.perf_counter()
        rows = bench.connection.execute(question.sql, bindings).fetchall()
        ours.append(middle - start)
        hand.append(time.perf_counter() - middle)
        if len(ours) <= 3:
            _check_equal(question, page.rows, rows)
    own, floor = statistics.median(ours) * 1000, statistics.median(hand) * 1000
    _add(report, f"query: {question.name}", own, floor)
    own, floor = _measure_statement(
        question, bench.session, bench.connection, bench.shape, seconds / 2
    )
    _add(report, f"  statement alone, {question.name}", own, floor)


_GROWING = ("point by $dtId", "1 hop", "3 hops with a filter")


def measure_growth(report: Report, graphs: Mapping[int, Path]) -> None:
    """What must not depend on the size of the graph, at each size; aim: less than twice.

    The floor is the smallest graph's figure, beside it the same of the SQL by hand: what grows
    there is the machine's way to one page among more. Statements alone, as processor time.
    """
    smallest: dict[str, float] = {}
    for twins, data in sorted(graphs.items()):
        store = SqliteGraphStore(SqliteSettings(directory=str(data)), "default")
        store.open()
        session, connection = store.session(), _open_by_hand(data)
        for question in QUESTIONS:
            if question.name not in _GROWING:
                continue
            own, hand = _measure_statement(question, session, connection, Shape(twins), 4.0)
            name = f"{question.name}, {twins:,} twins"
            floor = smallest.setdefault(question.name, own)
            kept = own < 2 * floor
            report.add(Figure(f"growth: {name}", own, "ms", floor, own / floor, "< 2 ×", kept))
            floor = smallest.setdefault(f"by hand: {question.name}", hand)
            report.add(Figure(f"  by hand: {name}", hand, "ms", floor, hand / floor))
        connection.close()
        session.close()
        store.close()


def _open_by_hand(data: Path) -> apsw.Connection:
    connection = apsw.Connection(str(data / "default.db"), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute(f"pragma cache_size=-{SqliteSettings().cache_bytes // 1024}").fetchall()
    return connection


def _build_execution(question: Question, bindings: Bindings) -> Execution:
    parsed = parse_query(question.cypher, parameters=bindings.keys()).query
    return split(optimize(parsed), SqliteQueryEngine(), bindings)


def _add(report: Report, name: str, own: float, floor: float) -> None:
    aim = "≤ 1.3 × by hand + 0.1 ms"
    report.add(Figure(name, own, "ms", floor, own / floor, aim, own <= 1.3 * floor + 0.1))


def _measure_statement(
    question: Question,
    session: SqliteSession,
    connection: apsw.Connection,
    shape: Shape,
    seconds: float,
) -> tuple[float, float]:
    """Milliseconds of processor time of the compiled query alone, and of the SQL by hand."""
    # NOTE: each with draws of its own, or one would find in the processor what the other read.
    dice, other = random.Random(2), random.Random(4)
    bindings = question.draw(dice, shape)
    execution = _build_execution(question, bindings)
    ours: list[float] = []
    hand: list[float] = []
    end = time.perf_counter() + seconds
    while len(ours) < 5 or (time.perf_counter() < end and len(ours) < 2000):
        bindings = question.draw(dice, shape)
        start = time.thread_time()
        with session.snapshot(time.monotonic() + 60):
            list(execution.run_json(session, bindings, Limits(), limit=1000))
        ours.append(time.thread_time() - start)
        drawn = question.draw(other, shape)
        middle = time.thread_time()
        connection.execute(question.sql, drawn).fetchall()
        hand.append(time.thread_time() - middle)
    return statistics.median(ours) * 1000, statistics.median(hand) * 1000


def _check_equal(question: Question, ours: tuple[bytes, ...], hand: list[Any]) -> None:
    own = [orjson.loads(row) for row in ours]
    floor = [orjson.loads(row[0]) for row in hand][: len(own)]

    def key(row: Mapping[str, object]) -> str:
        return repr(sorted((k, round(v, 6) if isinstance(v, float) else v) for k, v in row.items()))

    if sorted(map(key, own)) != sorted(map(key, floor)):
        raise RuntimeError(f"{question.name}: ours and by hand differ")
