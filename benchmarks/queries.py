"""Query shapes in process, each beside the same question as SQL written by hand through APSW.

Ours is the whole use case: cached plan, the hop to the query thread, the page as JSON rows. By hand
is a bare cursor on a connection with the same settings, fetching the same JSON rows.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import apsw
import orjson

from benchmarks.graph import Shape
from benchmarks.report import Figure, Report
from twinframe.app import open_graph
from twinframe.app.installation import load_installation
from twinframe.graph import Graph

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


QUESTIONS = (
    Question(
        "point by $dtId",
        "MATCH (t:Twin {`$dtId`: $id}) RETURN t.name AS name",
        "SELECT json_object('name', t.document ->> '$.name') FROM twin t WHERE t.dt_id = :id",
        lambda dice, shape: {"id": f"sensor-{dice.randrange(shape.sensors)}"},
    ),
    Question(
        "1 hop",
        "MATCH (l:Twin {`$dtId`: $id})-[:contains]->(r) RETURN r.name AS name",
        "SELECT json_object('name', t.document ->> '$.name') FROM twin s "
        "JOIN relationship r ON r.source = s.id AND r.name = 'contains' "
        "JOIN twin t ON t.id = r.target WHERE s.dt_id = :id",
        lambda dice, shape: {"id": f"level-{dice.randrange(shape.levels)}"},
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
    ),
    Question(
        "variable length 1..4",
        "MATCH (b:Twin {`$dtId`: $id})-[:contains*1..4]->(x) RETURN x.`$dtId` AS id",
        "WITH RECURSIVE w(node, depth) AS (SELECT id, 0 FROM twin WHERE dt_id = :id UNION ALL "
        "SELECT r.target, w.depth + 1 FROM w JOIN relationship r ON r.source = w.node "
        "AND r.name = 'contains' WHERE w.depth < 4) "
        "SELECT json_object('id', t.dt_id) FROM w JOIN twin t ON t.id = w.node WHERE w.depth > 0",
        lambda dice, shape: {"id": f"building-{dice.randrange(shape.buildings)}"},
    ),
    Question(
        "label, range, order, limit",
        "MATCH (r:Room) WHERE r.area > $least RETURN r.name AS name, r.area AS area "
        "ORDER BY area DESC LIMIT 20",
        "SELECT json_object('name', document ->> '$.name', 'area', document ->> '$.area') "
        f"FROM twin WHERE {_LABEL.format('Room')} AND document ->> '$.area' > :least "
        "ORDER BY document ->> '$.area' DESC LIMIT 20",
        lambda dice, _shape: {"least": float(dice.randrange(60, 75))},
    ),
    Question(
        "aggregate by group",
        "MATCH (s:Sensor) RETURN s.maker AS maker, count(*) AS n, avg(s.value) AS mean",
        "SELECT json_object('maker', document ->> '$.maker', 'n', count(*), "
        "'mean', avg(document ->> '$.value')) "
        f"FROM twin WHERE {_LABEL.format('Sensor')} GROUP BY document ->> '$.maker'",
        lambda _dice, _shape: {},
    ),
    Question(
        "count",
        "MATCH (s:Sensor) RETURN count(*) AS n",
        f"SELECT json_object('n', count(*)) FROM twin WHERE {_LABEL.format('Sensor')}",
        lambda _dice, _shape: {},
    ),
    Question(
        "page of 1,000 documents",
        "SELECT * FROM DIGITALTWINS",
        "SELECT json(document) FROM twin ORDER BY id LIMIT 1000",
        lambda _dice, _shape: {},
    ),
)


def measure(report: Report, data: Path, twins: int, *, quick: bool) -> None:
    """All shapes on the graph in `data`; aim: at most 1.5 times the SQL by hand and 0.1 ms."""
    asyncio.run(_measure(report, data, Shape(twins), quick=quick))


async def _measure(report: Report, data: Path, shape: Shape, *, quick: bool) -> None:
    installation = load_installation(environ={"Storage__Sqlite__Directory": str(data)})
    connection = apsw.Connection(str(data / "default.db"), flags=apsw.SQLITE_OPEN_READONLY)
    connection.execute("pragma cache_size=-8192").fetchall()
    async with open_graph(installation) as graph:
        for question in QUESTIONS:
            await _compare(report, question, graph, connection, shape, quick=quick)
    connection.close()


async def _compare(
    report: Report,
    question: Question,
    graph: Graph,
    connection: apsw.Connection,
    shape: Shape,
    *,
    quick: bool,
) -> None:
    dice = random.Random(1)
    ours, hand = [], []
    budget = time.perf_counter() + (1.0 if quick else 4.0)
    while len(ours) < 7 or (time.perf_counter() < budget and len(ours) < 2000):
        bindings = question.draw(dice, shape)
        start = time.perf_counter()
        page = await graph.queries.run(question.cypher, bindings)
        middle = time.perf_counter()
        rows = connection.execute(question.sql, bindings).fetchall()
        ours.append(middle - start)
        hand.append(time.perf_counter() - middle)
        if len(ours) <= 3:
            _check_equal(question, page.rows, rows)
    own, floor = statistics.median(ours) * 1000, statistics.median(hand) * 1000
    report.add(
        Figure(
            f"query: {question.name}",
            own,
            "ms",
            floor,
            own / floor,
            "≤ 1.5 × by hand + 0.1 ms",
            own <= 1.5 * floor + 0.1,
        )
    )


def _check_equal(question: Question, ours: tuple[bytes, ...], hand: list[tuple[str]]) -> None:
    own = [orjson.loads(row) for row in ours]
    floor = [orjson.loads(row[0]) for row in hand][: len(own)]

    def key(row: Mapping[str, object]) -> str:
        return repr(sorted((k, round(v, 6) if isinstance(v, float) else v) for k, v in row.items()))

    if sorted(map(key, own)) != sorted(map(key, floor)):
        raise RuntimeError(f"{question.name}: ours and by hand differ")
