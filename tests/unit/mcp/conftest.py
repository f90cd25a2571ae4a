"""An assistant at the server of a small building, in process, through the protocol's own client."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from tests.unit.graph.conftest import World, build_sqlite
from twinframe.mcp.access import OpenAccess, ToolAccess
from twinframe.mcp.server import build_server
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import (
    BUILDING,
    FLOOR,
    ROOM,
    SENSOR,
    build_building_interfaces,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Told:
    """What a call told: its text, its document, whether it failed."""

    failed: bool
    text: str
    document: Any


class Assistant:
    """Calls tools as a client does; each call is a session of its own."""

    def __init__(self, world: World, access: ToolAccess | None = None, **limits: Any) -> None:
        self.world = world
        settings = Settings.model_validate({"MCP": {"write_cypher": True, **limits}})
        self.server = build_server(world.graph, settings, access or OpenAccess())

    def do(self, work: Any) -> Any:
        """What `work` gives, or the protocol's error that it ends with."""

        async def run() -> Any:
            async with Client(self.server) as client:
                try:
                    return await work(client)
                except MCPError as error:  # raised in here it would come in a group of errors
                    return error

        found = asyncio.run(run())
        if isinstance(found, MCPError):
            raise found
        return found

    def call(self, tool: str, **arguments: Any) -> Told:
        async def run(client: Client) -> Told:
            result = cast("Any", await client.call_tool(tool, arguments))
            return Told(result.is_error, result.content[0].text, result.structured_content)

        return cast("Told", self.do(run))

    def ask(self, tool: str, **arguments: Any) -> Any:
        """The document of a call that succeeds."""
        told = self.call(tool, **arguments)
        assert not told.failed, told.text
        return told.document

    def fail(self, tool: str, **arguments: Any) -> str:
        """The text of a call that fails."""
        told = self.call(tool, **arguments)
        assert told.failed, told.text
        assert "Traceback" not in told.text
        assert ".py" not in told.text
        return told.text


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GraphStore]:
    """An open, empty store, sound at the end."""
    is_memory = request.param == "memory"
    store = MemoryStore() if is_memory else build_sqlite(tmp_path, durability="relaxed")
    store.scratch = tmp_path / "results"
    store.open()
    yield store
    assert list(store.verify()) == []
    store.close()


@pytest.fixture
def world(store: GraphStore) -> World:
    """A house of two floors with three rooms, of which two are watched by a sensor."""
    world = World(store, Settings())
    run(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    world.put("house", BUILDING, name="The House")
    for floor in ("floor-1", "floor-2"):
        world.put(floor, FLOOR, name=floor.title(), level=int(floor[-1]))
        world.relate("house", f"has-{floor}", floor, "hasPart")
    for number, room in enumerate(("room-1", "room-2", "room-3")):
        world.put(room, ROOM, name=f"Room {number + 1}", temperature=20.0 + number)
        world.relate("floor-1", f"has-{room}", room, "hasPart")
    world.put("sensor-1", SENSOR, serial="S-1")
    world.relate("room-1", "watch", "sensor-1", "watchedBy", since="2024-01-31")
    world.relate("room-2", "watch", "sensor-1", "watchedBy")
    return world


@pytest.fixture
def assistant(world: World) -> Assistant:
    return Assistant(world)
