"""An assistant's session on the sample building, in few calls and few tokens.

The question: which rooms on floor 2 are warmer than 24 °C, and whose sensors feed nothing?
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp.client.client import Client

from tests.unit.graph.conftest import build_sqlite, find_engine
from twinframe.demo.building import build_campus, load_ontology
from twinframe.graph import Graph
from twinframe.mcp.access import OpenAccess
from twinframe.mcp.server import build_server
from twinframe.settings import Settings
from twinframe.storage.runner import StoreRunner

MOST_CALLS = 6
MOST_TOKENS = 8000
BYTES_A_TOKEN = 4


@asynccontextmanager
async def open_campus(place: Path) -> AsyncIterator[Graph]:
    """The sample building over a store and a runner as they serve."""
    store = build_sqlite(place, durability="relaxed")
    store.open()
    settings = Settings()
    runner = StoreRunner(store, settings.storage)
    graph = Graph(runner, settings, engine=find_engine(store), scratch=store.scratch)
    await graph.models.create_models(load_ontology())  # type: ignore[arg-type]
    campus = build_campus()
    await asyncio.gather(*(graph.twins.put_twin(*one) for one in campus.twins.items()))  # type: ignore[arg-type]
    await asyncio.gather(
        *(
            graph.relationships.put_relationship(one.source, one.id, one.document)  # type: ignore[arg-type]
            for one in campus.edges
        )
    )
    try:
        yield graph
    finally:
        await runner.close()
        store.close()


class Session:
    """Counts what the assistant reads: the texts of all results."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.calls = 0
        self.read = 0

    async def call(self, tool: str, **arguments: Any) -> Any:
        result: Any = await self._client.call_tool(tool, arguments)
        assert not result.is_error, result.content[0].text
        self.calls += 1
        self.read += sum(len(one.text.encode()) for one in result.content)
        return result.structured_content


def find_answer() -> tuple[set[str], set[str]]:
    """The warm rooms of the second floors, and their sensors that feed nothing, from the source."""
    campus = build_campus()
    related = [
        (one.source, one.document["$relationshipName"], one.document["$targetId"])
        for one in campus.edges
    ]
    levels = {key for key, twin in campus.twins.items() if twin.get("levelNumber") == 2}
    rooms = {
        target
        for source, name, target in related
        if name == "contains"
        and source in levels
        and campus.twins[str(target)]["climate"]["temperature"] > 24  # type: ignore[index]
    }
    feeding = {source for source, name, _ in related if name == "feeds"}
    sensors = {
        source
        for source, name, target in related
        if name == "observes" and target in rooms and source not in feeding
    }
    return {str(one) for one in rooms}, sensors


async def play(graph: Graph) -> tuple[Session, Any]:
    server = build_server(graph, Settings(), OpenAccess())
    async with Client(server) as client:
        session = Session(client)
        digest = (await session.call("describe_graph"))["digest"]
        # What the assistant takes from the digest for its query stands there.
        for found in (
            "levelNumber integer",
            "climate.{temperature double degreeCelsius",
            "-observes-> Room",
            "-feeds->",
        ):
            assert found in digest
        query = (
            "MATCH (l:Level {levelNumber: $level})-[:contains]->(r:Room)<-[:observes]-(s:Sensor) "
            "WHERE r.climate.temperature > $celsius AND NOT (s)-[:feeds]->() "
            "RETURN r.`$dtId` AS room, r.name AS name, r.climate.temperature AS celsius, "
            "collect(s.`$dtId`) AS sensors ORDER BY celsius DESC"
        )
        values = {"level": 2, "celsius": 24}
        plan = await session.call("explain_query", query=query, parameters=values)
        assert "warnings" not in plan
        answer = await session.call("query_digital_twins", query=query, parameters=values)
        room = answer["rows"][0]["room"]
        near = await session.call("explore_neighborhood", twin_id=room, hops=1)
        assert {one["twin_id"] for one in near["twins"]} >= set(answer["rows"][0]["sensors"])
        await session.call("get_digital_twin", twin_id=room)
        return session, answer


def test_the_question_is_answered_in_six_calls_and_8000_tokens(tmp_path: Path) -> None:
    async def run() -> tuple[Session, Any]:
        async with open_campus(tmp_path) as graph:
            return await play(graph)

    session, answer = asyncio.run(run())
    rooms, sensors = find_answer()
    assert rooms
    assert {row["room"] for row in answer["rows"]} == rooms
    assert {one for row in answer["rows"] for one in row["sensors"]} == sensors
    assert session.calls <= MOST_CALLS
    assert session.read / BYTES_A_TOKEN < MOST_TOKENS


def test_a_query_that_runs_too_long_is_stopped_and_told_how_to_be_shorter(tmp_path: Path) -> None:
    query = (
        "MATCH (a), (b), (c), (d) RETURN count(*) AS n, max(a.name + b.name + c.name + d.name) AS m"
    )

    async def run() -> Any:
        async with open_campus(tmp_path) as graph:
            server = build_server(graph, Settings(), OpenAccess())
            async with Client(server) as client:
                slow = await client.call_tool(
                    "query_digital_twins", {"query": query, "timeout_seconds": 0.3}
                )
                after = await client.call_tool("query_digital_twins", {"query": "RETURN 1 AS n"})
            return slow, after

    slow, after = asyncio.run(run())
    assert slow.is_error
    assert slow.content[0].text.startswith("TimeoutError: ")
    assert "0.3 seconds" in slow.content[0].text
    assert "explain_query" in slow.content[0].text
    assert after.structured_content["rows"] == [{"n": 1}]
