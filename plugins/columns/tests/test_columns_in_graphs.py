"""A graph whose queries columns answer, against the same without, through all use cases."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.column_graphs import open_with_columns, wait_for_columns
from twinframe.errors import QueryInvalid
from twinframe.graph.graph import Graph
from twinframe_columns.engine import ColumnPlan

MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Room;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "name", "schema": "string"},
        {"@type": "Property", "name": "seats", "schema": "integer"},
        {"@type": "Relationship", "name": "next"},
    ],
}


async def put_rooms(graph: Graph, count: int, name: str = "room") -> None:
    await graph.models.create_models([MODEL])
    for at in range(count):
        await put_room(graph, at, name)


async def put_room(graph: Graph, at: int, name: str = "room") -> None:
    document = {"$metadata": {"$model": MODEL["@id"]}, "name": name, "seats": at}
    await graph.twins.put_twin(f"room{at:03}", document)


async def explain(graph: Graph, text: str) -> dict[str, Any]:
    (row,) = (await graph.queries.run(f"EXPLAIN {text}")).rows
    (part,) = orjson.loads(row)["pushed"]
    return {"engine": part["engine"], **part["declined"]}


def test_explain_says_which_engine_answers_and_why_columns_would_not(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            scan = "MATCH (t:Room) RETURN max(t.seats) AS n"
            await put_rooms(graph, 3)
            assert "being made" in (await explain(graph, scan))["columns"]
            await wait_for_columns(graph, scan)
            assert await explain(graph, scan) == {"engine": "columns"}
            path = "MATCH p = shortestPath((a:Room)-[:next*]->(b:Room)) RETURN count(p) AS n"
            text = "MATCH (t:Room) RETURN sum(t.name + 1) AS n"
            reasons = {
                "Shortest paths in columns.": path,
                "An aggregate of what are no numbers.": text,
            }
            for reason, declined in reasons.items():
                found = await explain(graph, declined)
                assert found == {"engine": "sqlite", "columns": reason}, declined

    asyncio.run(run())


async def profile(graph: Graph, text: str) -> dict[str, Any]:
    (row,) = (await graph.queries.run(f"PROFILE {text}")).rows
    found: dict[str, Any] = orjson.loads(row)
    found["operators"] = [(one["operator"], one["rows"]) for one in found["operators"]]
    return found


def test_a_profile_has_what_each_operator_of_columns_did(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 9)
            scan = (
                "MATCH (t:Room) WITH t.seats AS s, t.name AS n WHERE s > 2 "
                "RETURN s ORDER BY s SKIP 1 LIMIT 3"
            )
            await wait_for_columns(graph, scan)
            found = await profile(graph, scan)
            assert (found["engine"], found["rows"]) == ("columns", 3)
            assert found["pushed"][0]["engine"] == "columns"
            limits = [("Limit", 3), ("Skip", 3), ("Sort", 4)]
            assert found["operators"][:3] == limits
            assert found["operators"][-2:] == [("Match", 9), ("Unit", 1)]
            assert "Counted" not in str(found)

    asyncio.run(run())


def test_what_columns_decline_is_profiled_by_the_store_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = "(a:Room {`$dtId`: 'room001'})-[:next*]->(b:Room {`$dtId`: 'room002'})"
    path = f"MATCH p = shortestPath({ends}) RETURN length(p) AS n"

    def answer(*_given: Any) -> None:
        raise AssertionError("columns answer")

    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 9)
            await wait_for_columns(graph, "MATCH (t:Room) RETURN max(t.seats) AS n")
            monkeypatch.setattr(ColumnPlan, "run", answer)
            monkeypatch.setattr(ColumnPlan, "run_json", answer)
            found = await profile(graph, path)
            assert (found["engine"], found["rows"]) == ("sqlite", 0)
            assert found["pushed"][0]["declined"] == {"columns": "Shortest paths in columns."}
            found = await profile(graph, f"MATCH (:Room)-[:next]->()-[:next]->(:Room) {path}")
            (part,) = found["pushed"]
            assert [join["counted"] for joins in part["joins"] for join in joins]
            assert [rows for _, rows in found["operators"]] == [0, 0, 0, 1]

    asyncio.run(run())


async def read_pages(graph: Graph, text: str, size: int) -> list[list[Any]]:
    pages: list[list[Any]] = []
    token = None
    while True:
        page = await graph.queries.run(text, None, token, size)
        pages.append([orjson.loads(row) for row in page.rows])
        token = page.continuation_token
        if token is None:
            return pages
        assert len(pages) < 100, "it pages for ever"


SCAN = "MATCH (t:Room) RETURN t.`$dtId` AS i, t.name AS n"


def test_pages_of_a_scan_have_every_row_once_wherever_they_end(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 21)
            for size in (5, 19, 20, 21, 22, 30):
                scan = f"{SCAN}, {size} AS size"  # NOTE: not one that is known to be short
                await wait_for_columns(graph, scan)
                pages = await read_pages(graph, scan, size)
                assert [row["i"] for page in pages for row in page] == [
                    f"room{at:03}" for at in range(21)
                ], size
                assert len(pages) == -(-21 // size)

    asyncio.run(run())


def test_pages_of_a_scan_have_every_row_once_when_their_bytes_end_them(tmp_path: Path) -> None:
    async def run() -> None:
        async with open_with_columns(tmp_path, Graph__MaxPageBytes="2000") as graph:
            await put_rooms(graph, 21, "long" * 100)
            await wait_for_columns(graph, SCAN)
            pages = await read_pages(graph, SCAN, 100)
            assert [row["i"] for page in pages for row in page] == [
                f"room{at:03}" for at in range(21)
            ]

    asyncio.run(run())


@pytest.mark.parametrize("ending", ["rehearsed", "failed"])
def test_columns_have_nothing_of_a_statement_that_is_taken_back(
    tmp_path: Path, ending: str
) -> None:
    """What a transaction reads of its own changes must not reach what other queries read."""
    most = "MATCH (t:Room) RETURN max(t.seats) AS n"
    text = (
        "CREATE (:Room {`$dtId`: 'new', name: 'n', seats: 900}) "
        "MERGE (r:Room {seats: 900}) SET r.name = 'm' RETURN r.name"
    )

    async def run() -> None:
        async with open_with_columns(tmp_path) as graph:
            await put_rooms(graph, 3)
            await wait_for_columns(graph, most)
            await graph.queries.run(most)
            if ending == "failed":
                failing = graph.statements.prepare(f"{text}, 1 / (r.seats - 900)", {})
                with pytest.raises(QueryInvalid):
                    await graph.statements.run(failing)
            else:
                await graph.statements.run(graph.statements.prepare(text, {}), rehearse=True)
            await put_room(graph, 4)
            await put_room(graph, 5)
            assert await explain(graph, most) == {"engine": "columns"}
            assert [*(await graph.queries.run(most)).rows] == [b'{"n":5}']

    asyncio.run(run())
