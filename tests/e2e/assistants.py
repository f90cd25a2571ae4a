"""The real client of the Model Context Protocol, by each transport, and what it calls."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import mcp.client.session as mcp_session
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from mcp import Client, StdioServerParameters
from tests.e2e.wire import COUNTER_MODEL, Wire, counter

Kind = Literal["sse", "streamable"]

PATIENCE = 120.0  # seconds; an answer that is lost fails the test then, and does not hang it
# NOTE: the SDK waits for a server to say what it speaks for 10 s, however long its callers would:
# with fifty clients in one process on a busy machine that is not always enough.
mcp_session.DISCOVER_TIMEOUT_SECONDS = PATIENCE


@asynccontextmanager
async def connect(
    kind: Kind,
    url: str,
    mode: Any = "auto",
    headers: Mapping[str, str] | None = None,
    auth: httpx2.Auth | None = None,
) -> AsyncIterator[Client]:
    """A client of the server at `url`."""
    fields = dict(headers or {})
    async with AsyncExitStack() as stack:
        if kind == "sse":
            transport = sse_client(
                url, headers=fields, auth=auth, timeout=PATIENCE, httpx_client_factory=build_http
            )
        else:
            http = await stack.enter_async_context(build_http(fields, auth=auth))
            transport = streamable_http_client(url, http_client=http)
        client = Client(transport, mode=mode, read_timeout_seconds=PATIENCE)
        yield await stack.enter_async_context(client)


def build_http(
    headers: dict[str, str] | None = None,
    timeout: httpx2.Timeout | None = None,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """An HTTP client that loads no certificates: that takes longer than a session."""
    return httpx2.AsyncClient(
        headers=headers, timeout=timeout or PATIENCE, auth=auth, verify=False, trust_env=False
    )


def launch(folder: Path, errors: Path) -> StdioServerParameters:
    """How to start `twinframe mcp --stdio` on the store below `folder`."""
    shell = f"exec {sys.executable} -m twinframe mcp --stdio 2>>{errors}"
    environment = {**os.environ, "Storage__Sqlite__Directory": str(folder / "data")}
    return StdioServerParameters(command="/bin/sh", args=["-c", shell], env=environment)


def seed(port: int, count: int) -> None:
    """Store counters `c0`, `c1` ... whose value is their number."""
    wire = Wire(port)
    assert wire.call("POST", "/models", [COUNTER_MODEL])[0] in (201, 409)
    for number in range(count):
        assert wire.call("PUT", f"/digitaltwins/c{number}", counter(number))[0] == 200
    wire.close()


async def read_counter(client: Client, number: int) -> int:
    """The value of a counter, read by its tool."""
    result = await client.call_tool("get_digital_twin", {"twin_id": f"c{number}"})
    return int(read_document(result)["twin"]["value"])


def read_document(result: Any) -> Any:
    """What a tool answered, as its text has it. It must be no error."""
    assert isinstance(result, CallToolResult)
    assert not result.is_error, result
    text: str = result.content[0].text  # type: ignore[union-attr]  # the first is a text
    return json.loads(text)
