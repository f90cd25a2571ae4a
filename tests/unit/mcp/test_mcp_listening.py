"""`subscriptions/listen`: a stream by POST. It counts as a session, and ends as sessions do."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from tests.unit.mcp.conftest import Assistant
from tests.unit.mcp.transport_world import (
    Answer,
    Request,
    World,
    build_call,
    build_headers,
    call,
    call_tool,
    caller,
    in_an_hour,
    open_world,
)
from twinframe.mcp.app import McpEndpoint
from twinframe.settings import McpSettings, Settings

METHOD = "subscriptions/listen"


def build_listen() -> bytes:
    message = build_call("")
    meta = message["params"]["_meta"]
    wanted = {"toolsListChanged": True}
    message |= {"method": METHOD, "params": {"notifications": wanted, "_meta": meta}}
    return json.dumps(message).encode()


def listen(app: McpEndpoint, token: str | None = None, **more: str) -> Request:
    headers = build_headers(token) | {"mcp-method": METHOD} | more
    del headers["mcp-name"]
    return Request(app, "POST", "/mcp", headers, build_listen()).start()


async def acknowledge(stream: Request) -> None:
    """Read until the server says that it listens."""
    message = await stream.read_message()
    assert message["method"] == "notifications/subscriptions/acknowledged", message


async def read_end(stream: Request) -> None:
    """Read to the proper end of the stream."""
    while await stream.read_event() != ("", ""):
        pass
    assert stream.task is not None
    await asyncio.wait_for(stream.task, 120)


async def is_served(world: World, token: str) -> bool:
    return (await call_tool(world.endpoint, "whoami", token=token)).status == 200


def test_listening_streams_are_counted_as_sessions_and_calls_are_not() -> None:
    settings = Settings(mcp=McpSettings(max_sessions=9, max_sessions_per_caller=1))

    async def run() -> None:
        async with open_world(settings, {"a": caller(), "b": caller("bob")}) as world:
            first = listen(world.endpoint, "a")
            await acknowledge(first)
            refused = await listen(world.endpoint, "a").read_answer()
            assert (refused.status, refused.headers["retry-after"]) == (503, "5")
            assert refused.json["error"]["code"] == "TooManySessions"
            assert await is_served(world, "a")
            other = listen(world.endpoint, "b")
            await acknowledge(other)
            await first.leave()
            again = listen(world.endpoint, "a")
            await acknowledge(again)

    asyncio.run(run())


def test_a_listening_stream_ends_with_its_token() -> None:
    settings = Settings.model_validate({"Authentication": {"Leeway": 0}})
    known = {"long": caller(expires=in_an_hour())}

    async def run() -> None:
        async with open_world(settings, known) as world:
            lasting = listen(world.endpoint, "long")
            await acknowledge(lasting)
            world.tokens.known["short"] = caller(expires=time.time() + 2)
            ending = listen(world.endpoint, "short")
            await acknowledge(ending)
            await read_end(ending)
            assert lasting.task is not None
            assert not lasting.task.done()

    asyncio.run(run())


def test_a_listening_stream_ends_with_the_service() -> None:
    async def run() -> None:
        async with open_world() as world:
            stream = listen(world.endpoint)
            await acknowledge(stream)
            world.endpoint.begin_drain()
            await read_end(stream)
            assert (await listen(world.endpoint).read_answer()).status == 503

    asyncio.run(run())


def test_the_header_cannot_hide_that_a_request_listens() -> None:
    """Sessions are counted by it."""

    async def run() -> Answer:
        async with open_world() as world:
            headers = build_headers() | {"mcp-method": "tools/list"}
            del headers["mcp-name"]
            return await call(world.endpoint, "POST", "/mcp", headers, build_listen())

    answer = asyncio.run(run())
    assert answer.status == 400
    assert "mcp-method" in answer.json["error"]["message"]


def test_the_server_of_the_graph_offers_no_listening(world: Any) -> None:
    """Its lists never change while it runs, and it says so."""
    server = Assistant(world).server

    async def run() -> Answer:
        endpoint = McpEndpoint(server, Settings(), None, binds=["127.0.0.1:8082"])
        await endpoint.start()
        try:
            return await listen(endpoint).read_answer()
        finally:
            await endpoint.stop()

    answer = asyncio.run(run())
    assert (answer.status, answer.json["error"]["code"]) == (404, -32601)
