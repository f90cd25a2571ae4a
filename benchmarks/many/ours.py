"""twinframe's answers to «many twins»: of the whole service, and of the columns alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import orjson

from benchmarks.graph import PREFIX, build_edge, build_twin, write_graph
from benchmarks.many.campus import INTERFACES, Campus
from benchmarks.many.memory import measure_arrays
from benchmarks.many.question import MOST_ROWS, Bindings, Question
from twinframe.graph import Graph
from twinframe.hooks.drivers import PROJECTION
from twinframe.hooks.installation import load_installation
from twinframe.model.ids import build_labels
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.reader import EmptyReader
from twinframe.service.opening import open_graph
from twinframe.storage.base import RelationshipRecord, TwinRecord
from twinframe_columns.build import build_projection
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.layout import read_projection, write_projection
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

_INSTANCE = "benchmark"
_MOST_SECONDS = 600


class Service:
    """The whole use case in process: cached plan, hop to the query thread, page of JSON rows."""

    name = "service"

    def __init__(self, folder: Path, campus: Campus) -> None:
        self.path = folder / "twinframe"
        if not self.path.exists():
            draft = folder / "twinframe-draft"
            store = SqliteGraphStore(SqliteSettings(directory=str(draft)), "default")
            store.open()
            write_graph(store, INTERFACES, list_twins(campus), list_relationships(campus))
            store.close()
            draft.rename(self.path)
        self._graph: Graph | None = None
        self._stack = AsyncExitStack()

    async def open(self) -> None:
        """Start to serve the graph."""
        # NOTE: the other engines are in this process, and what they hold counts against its memory.
        environ = {"Storage__Sqlite__Directory": str(self.path), "Memory__Bytes": str(2**34)}
        installation = load_installation(environ=environ)
        self._graph = await self._stack.enter_async_context(open_graph(installation))
        if entry_points(group=PROJECTION.group):
            await self._wait_for_columns()

    async def is_by_columns(self, text: str, bindings: Bindings) -> bool:
        """Whether columns answer the whole of a query, or a part of it."""
        assert self._graph is not None
        page = await self._graph.queries.run(f"EXPLAIN {text}", bindings)
        parts = orjson.loads(page.rows[0])["pushed"]
        return any(Columns.name in part["indexes"] for part in parts)

    async def _wait_for_columns(self) -> None:
        """Wait until they are made in the background, and answer."""
        start = time.perf_counter()
        while time.perf_counter() < start + _MOST_SECONDS:
            if await self.is_by_columns("MATCH (d:Device) RETURN avg(d.power) AS n", {}):
                print(f"the columns answer after {time.perf_counter() - start:.1f} s", flush=True)
                return
            await asyncio.sleep(0.2)
        raise RuntimeError(f"no columns within {_MOST_SECONDS} s")

    async def close(self) -> None:
        """Stop."""
        await self._stack.aclose()

    async def ask(self, question: Question, bindings: Bindings) -> tuple[float, list[list[Any]]]:
        """Seconds until the page is there, and its rows."""
        assert self._graph is not None
        start = time.perf_counter()
        page = await self._graph.queries.run(question.cypher, bindings)
        seconds = time.perf_counter() - start
        return seconds, _read_rows(page.rows)


class Columns:
    """The columns of the graph, without a service around them."""

    name = "columns"

    def __init__(self, folder: Path, campus: Campus) -> None:
        start = time.perf_counter()
        # NOTE: in the order of ids, as a store lists them.
        twins = sorted(campus.list_twins())
        projection = build_projection(
            0,
            (_build_record(campus, *each) for each in twins),
            list_relationships(campus),
            _list_labels(),
        )
        self.path = folder / "columns"
        write_projection(projection, _INSTANCE, self.path)
        self.seconds = time.perf_counter() - start
        self.bytes = measure_arrays(projection)
        with self.path.open("rb") as file:
            self._projection = read_projection(file, _INSTANCE)
        self._reader = EmptyReader()
        self._plans: dict[str, ColumnPlan] = {}

    async def ask(self, question: Question, bindings: Bindings) -> tuple[float, list[list[Any]]]:
        """Seconds until the rows are rendered, and the rows; `CannotRun` if it declines."""
        plan = self._plans.get(question.name)
        if plan is None:
            parsed = parse_query(question.cypher, parameters=tuple(bindings)).query
            plan = self._plans[question.name] = ColumnPlan(optimize(parsed))
        start = time.perf_counter()
        rows = plan.run_json(self._projection, self._reader, bindings, 0, MOST_ROWS)
        seconds = time.perf_counter() - start
        assert rows is not None
        return seconds, _read_rows(rows)


def _read_rows(rows: Iterator[bytes] | list[bytes] | tuple[bytes, ...]) -> list[list[Any]]:
    return [list(orjson.loads(row).values()) for row in rows]


def _build_record(campus: Campus, twin_id: str, label: str, at: int) -> TwinRecord:
    interface, contents = campus.build(label, at)
    return build_twin(twin_id, interface, **contents)


def list_twins(campus: Campus) -> Iterator[TwinRecord]:
    for each in campus.list_twins():
        yield _build_record(campus, *each)


def list_relationships(campus: Campus) -> Iterator[RelationshipRecord]:
    for part, at, whole, other in campus.list_parts():
        yield build_edge(f"{part.lower()}-{at}", "isPartOf", f"{whole.lower()}-{other}")
    for source, target, contents in campus.list_feeds():
        yield build_edge(f"device-{source}", "feeds", f"device-{target}", **contents)
    for source, target, contents in campus.list_neighbours():
        yield build_edge(f"room-{source}", "adjacentTo", f"room-{target}", **contents)


def _list_labels() -> dict[str, frozenset[str]]:
    """The labels of each model, in the order of `INTERFACES`."""
    ancestors: dict[str, frozenset[str]] = {}
    for name, (base, _) in INTERFACES.items():
        above = ancestors[base] if base else frozenset[str]()
        ancestors[name] = above | {f"{PREFIX}{name};1"}
    return {f"{PREFIX}{name};1": build_labels(each) for name, each in ancestors.items()}
