"""Reads the input of a digest and builds it in a thread; `digest` renders the text."""

from __future__ import annotations

import asyncio

from twinframe.graph.queries.overview import Counts
from twinframe.mcp.digest import BYTES_A_TOKEN, Digest, DigestBuilder
from twinframe.mcp.names import find_models
from twinframe.mcp.tool import Toolbox
from twinframe.model.clock import render_update_time


async def read_digest(
    box: Toolbox, max_tokens: int, model_filter: list[str] | None = None
) -> tuple[Digest, Counts]:
    """Return the digest of the graph, or of what is near some interfaces, and its counts.

    `InvalidArgument` for an interface that is not stored.
    """
    outlines = await box.graph.overview.read_outlines()
    focus = find_models(outlines, model_filter or [])
    counts = await box.graph.overview.count()
    start = await box.graph.history.read_start()
    tokens = min(max_tokens, box.limits.max_bytes // BYTES_A_TOKEN)

    def build() -> Digest:
        return DigestBuilder(outlines, counts, focus, _render_start(start)).build(tokens)

    # PERF: 60 ms for 767 interfaces and 2,000 kinds of relationships; other requests are served
    # meanwhile.
    return await asyncio.to_thread(build), counts


def _render_start(start: tuple[int, int | None] | None) -> str:
    """Say how far back the history goes."""
    if start is None:
        return "History: none is kept."
    _, moment = start
    since = "now" if moment is None else render_update_time(moment)
    return f"History: changes and earlier states from {since} on."
