"""Graphs with columns in this process, for tests of columns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from tests.waiting import PATIENCE
from twinframe.graph.graph import Graph
from twinframe.hooks.installation import load_installation
from twinframe.service.opening import open_graph


@asynccontextmanager
async def open_with_columns(folder: Path, **more: str) -> AsyncIterator[Graph]:
    """The use cases of a graph in a folder, with columns from the first twin on."""
    environ = {
        "Storage__Sqlite__Directory": str(folder),
        "Query__Columns__LeastTwins": "0",
        "Memory__Bytes": str(8 * 1024**3),  # this process has what all tests before it left
        **more,
    }
    async with open_graph(load_installation(environ=environ)) as graph:
        yield graph


async def wait_for_columns(graph: Graph, text: str) -> None:
    """Wait until columns answer a query."""
    end = time.monotonic() + PATIENCE
    while True:
        (row,) = (await graph.queries.run(f"EXPLAIN {text}")).rows
        if any("columns" in part["indexes"] for part in orjson.loads(row)["pushed"]):
            return
        assert time.monotonic() < end, "no columns came"
        await asyncio.sleep(0.02)
