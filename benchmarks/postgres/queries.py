"""Queries over PostgreSQL, each beside the same question as SQL by hand on the same server.

Ours is the whole use case in process, from the text to the page of JSON rows. By hand is a prepared
statement over psycopg and its rows, with the options of the server as they are.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import orjson
import psycopg
import uvloop

from benchmarks import queries
from benchmarks.graph import Shape, fill, write_graph
from benchmarks.many import measure as many
from benchmarks.many.answers import Rows, are_equal
from benchmarks.many.campus import INTERFACES, Campus
from benchmarks.many.ours import list_relationships, list_twins
from benchmarks.postgres.hand import MANY_STATEMENTS, STATEMENTS, make_views
from benchmarks.report import Figure, Report
from twinframe.graph import Graph
from twinframe.hooks.installation import load_installation
from twinframe.service.opening import open_graph
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

MOST_TIMES: Final = 1.5
MOST_MORE: Final = 0.3
"""Milliseconds."""
_LEAST_ROUNDS: Final = 5
_MOST_ROUNDS: Final = 400


@dataclass(frozen=True, slots=True)
class _Shape:
    """A question to both; `keys` are the names of its columns in the order of those by hand."""

    name: str
    cypher: str
    statement: str
    draw: Callable[[random.Random], Mapping[str, Any]]
    is_ordered: bool
    is_document: bool = False


def measure(
    report: Report, url: str, folder: Path, twins: int, *, part: str = "", quick: bool = False
) -> None:
    """All shapes of «queries» and of «many twins»; aim: at most 1.5 times SQL by hand and 0.3 ms.

    `url` is of a server; graphs that it has from an earlier run are used again. An answer that
    differs from that by hand is an error.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for family in ("queries", "many"):
            bench = _Bench(report, url, folder, family, twins, 0.5 if quick else 2.0)
            shapes = [each for each in bench.list_shapes() if part in each.name]
            runner.run(bench.run(shapes))


class _Bench:
    def __init__(
        self, report: Report, url: str, folder: Path, family: str, twins: int, seconds: float
    ) -> None:
        self._report, self._seconds = report, seconds
        self._family, self._twins = family, twins
        self._url = url
        self._settings = PostgresSettings(
            url=url,  # type: ignore[arg-type]  # pydantic makes it a secret
            schema_=f"bench_{family}_{twins}",
            directory=str(folder / f"postgres-{family}-{twins}"),
        )
        self._schema = f"{self._settings.schema_}_default"

    def list_shapes(self) -> list[_Shape]:
        """The questions of the family."""
        if self._family == "queries":
            shape = Shape(self._twins)
            return [
                _Shape(
                    each.name,
                    each.cypher,
                    STATEMENTS[each.name].format(self._schema),
                    lambda dice, draw=each.draw: draw(dice, shape),  # type: ignore[misc]
                    "ORDER BY" in each.cypher,
                    each.cypher.startswith("SELECT"),
                )
                for each in queries.QUESTIONS
            ]
        campus = Campus(self._twins)
        return [
            _Shape(
                each.name,
                each.cypher,
                MANY_STATEMENTS[each.name],
                lambda dice, draw=each.draw: draw(dice, campus),  # type: ignore[misc]
                each.is_ordered,
            )
            for each in many.QUESTIONS
        ]

    async def run(self, shapes: Sequence[_Shape]) -> None:
        """Ask everything, of the store alone and then with columns."""
        self._make_graph()
        environ = {
            "Storage__Provider": "postgres",
            "Storage__Postgres__Url": self._url,
            "Storage__Postgres__Schema": self._settings.schema_,
            "Storage__Postgres__Directory": self._settings.directory,
            "Query__Columns__Enabled": "false",
            "Memory__Bytes": str(2**33),
        }
        missed = 0
        async with AsyncExitStack() as stack:
            graph = await stack.enter_async_context(open_graph(load_installation(environ=environ)))
            connection = stack.enter_context(psycopg.connect(self._url, autocommit=True))
            connection.prepare_threshold = 0
            if self._family == "many":
                make_views(connection, self._schema)
            for shape in shapes:
                missed += not await self._compare(graph, connection, shape)
        name = f"{self._family}, {self._twins:,}: shapes beyond the aim"
        self._report.add(Figure(name, missed, "", len(shapes), aim="0", kept=not missed))

    def _make_graph(self) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            found = connection.execute("SELECT to_regclass(%s)", (f"{self._schema}.filled",))
            if found.fetchone() != (None,):
                return
            connection.execute(f"DROP SCHEMA IF EXISTS {self._schema} CASCADE")
        print(f"filling PostgreSQL with {self._twins:,} twins ...", flush=True)
        store = PostgresGraphStore(self._settings, "default")
        store.open()
        if self._family == "queries":
            fill(store, Shape(self._twins))
        else:
            campus = Campus(self._twins)
            write_graph(store, INTERFACES, list_twins(campus), list_relationships(campus))
        store.close()
        with psycopg.connect(self._url, autocommit=True) as connection:
            for table in ("twin", "relationship"):
                connection.execute(f"VACUUM (ANALYZE) {self._schema}.{table}")
            connection.execute(f"CREATE TABLE {self._schema}.filled ()")

    async def _compare(
        self, graph: Graph, connection: psycopg.Connection[Any], shape: _Shape
    ) -> bool:
        dice = random.Random(1)
        ours: list[float] = []
        hand: list[float] = []
        end = time.perf_counter() + self._seconds
        while len(ours) < _LEAST_ROUNDS + 2 or (
            time.perf_counter() < end and len(ours) < _MOST_ROUNDS
        ):
            bindings = shape.draw(dice)
            start = time.perf_counter()
            page = await graph.queries.run(shape.cypher, dict(bindings))
            middle = time.perf_counter()
            rows = connection.execute(shape.statement, bindings).fetchall()
            hand.append(time.perf_counter() - middle)
            ours.append(middle - start)
            if len(ours) <= 2:
                _check_equal(shape, page.rows, rows)
        own, floor = (sorted(each[2:])[(len(each) - 2) // 4] * 1000 for each in (ours, hand))
        kept = own <= MOST_TIMES * floor + MOST_MORE
        self._report.add(
            Figure(
                f"{self._twins:,}: {shape.name}",
                own,
                "ms",
                floor,
                own / floor,
                f"{MOST_TIMES} × + {MOST_MORE}",
                kept,
            )
        )
        return kept


def _check_equal(shape: _Shape, ours: Sequence[bytes], hand: Sequence[Sequence[Any]]) -> None:
    if shape.is_document:
        own: Rows = [[each.decode()] for each in ours]
    else:
        own = [[*orjson.loads(each).values()] for each in ours]
    expected = [[_read(value) for value in row] for row in hand[: len(own)]]
    if len(hand) > 1000:  # more than a page
        return
    if not are_equal(own, expected, is_ordered=shape.is_ordered):
        raise RuntimeError(f"{shape.name}: answers differ: {own[:3]} and {expected[:3]}")


def _read(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value
