"""Which questions columns answer on the event loop, and how often they begin what they decline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.column_graphs import open_with_columns, wait_for_columns
from twinframe.graph.graph import Graph
from twinframe.query.engine import CannotRun
from twinframe_columns import results
from twinframe_columns.engine import ColumnPlan

MODEL: Mapping[str, Any] = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Room;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "seats", "schema": "integer"},
        {
            "@type": "Property",
            "name": "steps",
            "schema": {"@type": "Array", "elementSchema": "long"},
        },
    ],
}
ROOMS = 400
SUM = "MATCH (r:Room) WHERE r.seats >= 0 RETURN sum(r.seats) AS n, count(r.seats) AS m"
EACH = "MATCH (r:Room) WITH r ORDER BY r.seats LIMIT 3 RETURN r"


class Calls:
    """Counts what columns begin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        for name in ("run_json", "run"):
            self._watch(monkeypatch, name)

    def _watch(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        original = getattr(ColumnPlan, name)

        def counting(plan: ColumnPlan, *arguments: Any, **more: Any) -> Any:
            self.begun += 1
            return original(plan, *arguments, **more)

        monkeypatch.setattr(ColumnPlan, name, counting)


async def put_rooms(graph: Graph, count: int = ROOMS) -> None:
    await graph.models.create_models([dict(MODEL)])
    await asyncio.gather(*(put_room(graph, at) for at in range(count)))


async def put_room(graph: Graph, at: int, **contents: Any) -> None:
    document = {"$metadata": {"$model": MODEL["@id"]}, "seats": at, **contents}
    await graph.twins.put_twin(f"room{at:03}", document)


async def ask_on_the_loop(graph: Graph, text: str) -> list[Any]:
    """Ask until the answer comes at once."""
    for _ in range(500):
        page = graph.queries.run_at_once(text, {})
        if page is not None:
            return [orjson.loads(row) for row in page.rows]
        await graph.queries.run(text)
    raise AssertionError("It was never answered on the loop.")


def test_columns_answer_on_the_loop_what_is_too_long_there_for_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph)
            await wait_for_columns(graph, SUM)
            calls = Calls(monkeypatch)
            total = sum(range(ROOMS))
            assert await ask_on_the_loop(graph, SUM) == [{"n": total, "m": ROOMS}]
            assert calls.begun
            for more in range(3):
                await put_room(graph, ROOMS + more)
                # NOTE: after a write a thread brings the columns up to date.
                assert graph.queries.run_at_once(SUM, {}) is None
                total += ROOMS + more
                page = await graph.queries.run(SUM)
                assert orjson.loads(page.rows[0]) == {"n": total, "m": ROOMS + more + 1}
                assert await ask_on_the_loop(graph, SUM) == [{"n": total, "m": ROOMS + more + 1}]

    asyncio.run(run())


def test_columns_read_no_documents_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 5)
            await wait_for_columns(graph, EACH)
            await graph.queries.run(EACH)
            rows = await ask_on_the_loop(graph, EACH)
            calls = Calls(monkeypatch)
            page = graph.queries.run_at_once(EACH, {})
            assert page is not None
            assert [orjson.loads(row) for row in page.rows] == rows
            assert not calls.begun

    asyncio.run(run())


def test_what_columns_decline_again_and_again_is_begun_ever_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 5)
            await put_room(graph, 5, steps=[1])
            await wait_for_columns(graph, SUM)
            calls = Calls(monkeypatch)
            text = "MATCH (r:Room) RETURN r.seats AS n ORDER BY r.steps, n LIMIT 4"
            for _ in range(60):
                page = await graph.queries.run(text)
                assert len(page.rows) == 4
            assert 0 < calls.begun <= 5

    asyncio.run(run())


def test_many_documents_are_declined_before_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declined: list[bool] = []
    original = ColumnPlan.run_json

    def watch(plan: ColumnPlan, *arguments: Any) -> Any:
        try:
            return original(plan, *arguments)
        except CannotRun:
            declined.append(True)
            raise

    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 9)
            await wait_for_columns(graph, SUM)
            monkeypatch.setattr(results, "_FEW", 3)
            monkeypatch.setattr(ColumnPlan, "run_json", watch)
            page = await graph.queries.run("MATCH (r:Room) RETURN r ORDER BY r.seats LIMIT 3")
            assert len(page.rows) == 3
            assert not declined
            page = await graph.queries.run("MATCH (r:Room) RETURN r ORDER BY r.seats LIMIT 4")
            assert len(page.rows) == 4
            assert declined

    asyncio.run(run())
