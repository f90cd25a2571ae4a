"""MCP tools that run a query in pages and explain how it would run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Final

import orjson
from pydantic import Field

from twinframe.errors import InvalidArgument, LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.graph.queries.names import QueryWarning
from twinframe.mcp.arguments import Arguments, FullValues, Limit, Parameters, Token
from twinframe.mcp.budget import Fetched
from twinframe.mcp.corrections import correct_names, find_misplaced, found_nothing
from twinframe.mcp.tool import Answer, Effect, Tool, Toolbox, build_output
from twinframe.model.rendering import list_members
from twinframe.model.values import JsonValue
from twinframe.query.language import detect_language, parse_query

_MOST_PATHS: Final = 20


class QueryDigitalTwins(Arguments):
    """Arguments of `query_digital_twins`."""

    query: Annotated[
        str | None, Field(description="Its text; may be left out with continuation_token")
    ] = None
    parameters: Parameters
    limit: Limit = 100
    timeout_seconds: Annotated[
        float, Field(gt=0, le=30, description="Stops the query after this time")
    ] = 30
    continuation_token: Token = None
    full_values: FullValues = False


async def query_digital_twins(box: Toolbox, given: QueryDigitalTwins) -> Answer:
    """Return the rows that fit, and the token to continue."""
    carried = (given.query or given.continuation_token or "") + str(given.parameters or "")
    budget = box.open_budget(given.limit, full=given.full_values, carried=carried)
    warnings: list[QueryWarning] = []
    columns: list[str] = []

    async def fetch(token: str | None, size: int) -> Fetched:
        page = await box.graph.queries.run(given.query, given.parameters, token, size)
        warnings[:] = warnings or page.warnings
        columns[:] = columns or page.columns
        return Fetched(page.rows, page.continuation_token)

    if given.query is None and given.continuation_token is None:
        raise InvalidArgument("query_digital_twins needs a query, or a continuation_token.")
    seconds = min(given.timeout_seconds, box.limits.query_timeout)
    try:
        # NOTE: a cancelled wait interrupts the running query.
        async with asyncio.timeout(seconds):
            taken = await budget.take(fetch, given.continuation_token)
    except TimeoutError as error:
        raise QueryTimeout(
            f"The query was stopped after {seconds:g} seconds (timeout_seconds); nothing of it runs"
            " any more."
        ) from error
    if given.query is not None and not warnings and found_nothing(taken.rows):
        warnings = await _find_misplaced(box, given.query)
    document: dict[str, JsonValue] = {
        "rows": taken.rows,
        "row_count": len(taken.rows),
        "columns": list[JsonValue](columns or list_members(taken.rows)),
        "truncated": taken.token is not None,
        "continuation_token": taken.token,
    }
    return Answer(add_notes(document, warnings, budget.shortening.paths, given.query))


async def _find_misplaced(box: Toolbox, query: str) -> list[QueryWarning]:
    if not await box.access.holds("models/read"):
        return []
    return find_misplaced(await box.graph.overview.read_outlines(), query)


def add_notes(
    document: dict[str, JsonValue],
    warnings: list[QueryWarning],
    shortened: dict[str, None],
    query: str | None = None,
) -> dict[str, JsonValue]:
    """Return the document with `warnings`, a `corrected_query` and `shortened` if there are any."""
    if warnings:
        document["warnings"] = [
            f"{one.message} (line {one.line}, column {one.column})" for one in warnings
        ]
        corrected = None if query is None else correct_names(query, warnings)
        if corrected is not None:
            document["corrected_query"] = corrected
    if shortened:
        document["shortened"] = list[JsonValue](shortened)[:_MOST_PATHS]
    return document


class ExplainQuery(Arguments):
    """Arguments of `explain_query`."""

    query: Annotated[str, Field(description="Cypher or SELECT, as for query_digital_twins")]
    parameters: Parameters
    profile: Annotated[
        bool, Field(description="Run the query too, and count the rows and time of each operator")
    ] = False


async def explain_query(box: Toolbox, given: ExplainQuery) -> Answer:
    """Return the plan as text, and the parts that the store runs with their indexes.

    With `profile` the query is run, and the text has what each operator did.
    """
    text = given.query
    explained = text  # errors have the positions in its own text
    with suppress(QueryInvalid, LimitExceeded):
        if not parse_query(text, parameters=given.parameters).prefix:
            explained = f"{'PROFILE' if given.profile else 'EXPLAIN'} {text}"
    page = await box.graph.queries.run(explained, given.parameters)
    row = orjson.loads(page.rows[0])
    budget = box.open_budget(1)
    pushed = budget.cut(row.get("pushed"))
    document: dict[str, JsonValue] = {
        "language": detect_language(text).value,
        "plan": budget.cut(row.get("plan")),
        "pushed": pushed,
    }
    document |= {name: row[name] for name in ("engine", "rows", "milliseconds") if name in row}
    return Answer(add_notes(document, list(page.warnings), budget.shortening.paths, text))


QUERYING: Final = (
    Tool(
        "query_digital_twins",
        "Query the graph",
        "Run a read-only query in Cypher (or the vendor's SELECT ... FROM DIGITALTWINS), e.g. "
        "MATCH (f:Level)-[:contains]->(r:Room) WHERE r.climate.temperature > $t "
        "RETURN r.`$dtId` AS id, r.name AS name ORDER BY id. Labels are interface names with their "
        "subtypes. Aggregate and return single columns rather than whole twins. If truncated, call "
        "again with the continuation_token alone.",
        Effect.READ,
        ("query/read",),
        QueryDigitalTwins,
        build_output(
            {
                "rows": "objects",
                "row_count": "integer",
                "columns": "texts",
                "truncated": "boolean",
                "continuation_token": "text or null",
            },
            warnings="texts",
            corrected_query="string",
            shortened="texts",
        ),
        query_digital_twins,
        {
            "query": "MATCH (r:Room) WHERE r.capacity > $n RETURN r.`$dtId` AS id LIMIT 10",
            "parameters": {"n": 8},
        },
    ),
    Tool(
        "explain_query",
        "Explain a query",
        "How a query would run: its plan, what the store does itself and by which indexes. Also "
        "checks its names. The query does not run, except with profile: then the plan has the rows "
        "and milliseconds of each operator.",
        Effect.READ,
        ("query/read",),
        ExplainQuery,
        build_output(
            {"language": "string", "plan": {}, "pushed": {}},
            engine="string",
            rows="integer",
            milliseconds="number",
            warnings="texts",
            corrected_query="string",
            shortened="texts",
        ),
        explain_query,
        {"query": "MATCH (r:Room) RETURN count(*) AS n"},
    ),
)
