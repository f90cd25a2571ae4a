"""The MCP tool that runs statements of Cypher which write; the operator turns it on."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated, Final

from pydantic import Field

from twinframe.graph.statements.statements import WRITE
from twinframe.mcp.arguments import Arguments, FullValues, Limit, Parameters
from twinframe.mcp.budget import Fetched
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_action, build_output
from twinframe.mcp.tools.querying import add_notes
from twinframe.model.rendering import render_row
from twinframe.model.values import JsonValue

_NAME: Final = "run_cypher"


class RunCypher(Arguments):
    """Arguments of `run_cypher`."""

    query: Annotated[str, Field(description="One statement of Cypher")]
    parameters: Parameters
    dry_run: Annotated[
        bool, Field(description="false: change the graph; else only say what would change")
    ] = True
    limit: Limit = 100
    full_values: FullValues = False


async def run_cypher(box: Toolbox, given: RunCypher) -> Answer:
    """Run or rehearse a statement; return its counters and those of its rows that fit."""
    statements = box.graph.statements
    prepared = await asyncio.to_thread(statements.prepare, given.query, given.parameters)
    action = build_action(_NAME, rehearses=given.dry_run)
    for permission in prepared.needs:
        if permission != WRITE:  # it is that of the tool
            await box.access.check(permission, action)
    result = await statements.run(prepared, rehearse=given.dry_run)
    rows = [render_row(result.columns, row) for row in result.rows]
    budget = box.open_budget(given.limit, full=given.full_values)

    async def fetch(token: str | None, size: int) -> Fetched:
        end = (start := int(token or 0)) + size
        return Fetched(rows[start:end], str(end) if end < len(rows) else None)

    taken = await budget.take(fetch)
    document: dict[str, JsonValue] = {
        "dry_run": given.dry_run,
        "statistics": {name: count for name, count in asdict(result.counters).items() if count},
        "columns": list[JsonValue](result.columns),
        "rows": taken.rows,
        "row_count": len(rows),
        "truncated": taken.token is not None,
    }
    return Answer(add_notes(document, [], budget.shortening.paths))


WRITING: Final = (
    Tool(
        _NAME,
        "Run a statement that writes",
        "Run one statement of Cypher that may write (CREATE, MERGE, SET, REMOVE, DELETE), as one "
        "transaction checked against the models. Call it as it is first: it says what would "
        "change and keeps nothing. Then, when the user wants that, again with dry_run: false.",
        Effect.ANY,
        (WRITE,),
        RunCypher,
        build_output(
            {
                "dry_run": "boolean",
                "statistics": "object",
                "columns": "texts",
                "rows": "objects",
                "row_count": "integer",
                "truncated": "boolean",
            },
            shortened="texts",
        ),
        run_cypher,
        {
            "query": "MATCH (r:Room) WHERE r.capacity > $n SET r.name = 'Hall' "
            "RETURN r.`$dtId` AS id",
            "parameters": {"n": 8},
        },
        rehearses=True,
        switch="write_cypher",
    ),
)
