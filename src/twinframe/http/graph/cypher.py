"""The responder and route of `POST /cypher`: statements that may write, which the vendor lacks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from typing import Final, cast

import orjson
from falcon.asgi import Request, Response
from pydantic.alias_generators import to_camel

from twinframe.errors import InvalidArgument, TwinframeError
from twinframe.errors.nearest import render_hint
from twinframe.graph.queries.pages import OneState
from twinframe.graph.queries.queries import Queries, QueryPage
from twinframe.graph.statements.statements import WRITE, StatementResult
from twinframe.http.access import authorize_parts
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import BodyLimit
from twinframe.http.errors import build_error_body
from twinframe.http.graph.history import NDJSON
from twinframe.http.graph.schemas import CypherResult, CypherStatement
from twinframe.http.messages import read_exchange, read_json, render_listing
from twinframe.http.operations import Answer, Body, Route
from twinframe.http.streaming import DisconnectWatch, stream_answer
from twinframe.model.rendering import render_row
from twinframe.model.values import JsonValue, Value
from twinframe.query.writing.surroundings import Counters
from twinframe.runtime.instruments.base import CURRENT_REQUEST

_MEMBERS: Final = ("query", "parameters", "rehearse")
_MANY: Final = 100
_NAMES: Final = {one.name: to_camel(one.name) for one in fields(Counters)}


async def run_statement(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: run a statement; its rows and what it changed, as JSON or as lines of JSON."""
    limit = BodyLimit(api.graph.bulk.limits.max_body_bytes, "Bulk__MaxBodyBytes")
    text, parameters, rehearse = _read_body(await read_json(api, request, limit))
    exchange = read_exchange(request)
    CURRENT_REQUEST.set(exchange.request_id.decode("ascii"))
    statements = api.graph.statements
    prepared = await statements.open(text, parameters)
    await authorize_parts(exchange, [one for one in prepared.needs if one != WRITE])
    as_lines = request.client_prefers(("application/json", NDJSON)) == NDJSON
    if as_lines and prepared.is_query and not prepared.prefix:
        given = cast("Mapping[str, JsonValue]", parameters)
        with DisconnectWatch(exchange):
            page = await api.graph.queries.run(text, given, form=OneState.JSON)
        response.content_type = NDJSON
        response.set_header("query-charge", f"{page.charge:.2f}")
        lines = StatementLines(api.graph.queries, page, rehearsed=rehearse)
        if page.continuation_token is None:
            response.data = await lines.read()
        else:
            response.stream = stream_answer(exchange, lines)
        return
    result = await statements.run(prepared, rehearse=rehearse)
    render = _render_lines if as_lines else _render_object
    if len(result.rows) > _MANY:
        response.data = await asyncio.to_thread(render, result, rehearse)
    else:
        response.data = render(result, rehearse)
    if as_lines:
        response.content_type = NDJSON
    response.set_header("query-charge", f"{result.charge:.2f}")


class StatementLines:
    """The lines of a reading statement, a page of its rows at a time, all of one state.

    PERF: the store writes rows as JSON, which is not parsed again. Rows that the client has not
    taken are in a file.
    """

    def __init__(self, queries: Queries, first: QueryPage, *, rehearsed: bool) -> None:
        self._queries = queries
        self._page = first
        self._rehearsed = rehearsed
        self._start = b'{"columns":%b}\n' % orjson.dumps(first.columns)
        self._is_done = False

    async def read(self) -> bytes:
        """Return the lines of the next page; empty at the end. An error is the last line."""
        if self._is_done:
            return b""
        if not self._start:
            try:
                self._page = await self._queries.run(None, None, self._page.continuation_token)
            except TwinframeError as error:
                self._is_done = True
                return b'{"error":%b}\n' % orjson.dumps(build_error_body(error)[1])
        parts = [self._start, *[b'{"row":%b}\n' % row for row in self._page.rows]]
        self._start = b""
        if self._page.continuation_token is None:
            self._is_done = True
            parts.append(_render_end(Counters(), self._rehearsed) + b"\n")
        return b"".join(parts)

    async def close(self) -> None:
        """Do nothing: pages hold no resources."""


def _read_body(body: JsonValue) -> tuple[str, Mapping[str, Value], bool]:
    if not isinstance(body, dict):
        raise InvalidArgument("Payload is invalid: the body must be an object with a query.")
    for name in body:
        if name not in _MEMBERS:
            hint = render_hint(name, _MEMBERS)
            raise InvalidArgument(f"A statement has no member {name[:20]!r}. {hint}")
    text, parameters = body.get("query"), body.get("parameters") or {}
    rehearse = body.get("rehearse", False)
    if not isinstance(text, str):
        raise InvalidArgument("query is needed, and must be a string.")
    if not isinstance(parameters, dict):
        raise InvalidArgument("parameters must be an object: names to values.")
    if not isinstance(rehearse, bool):
        raise InvalidArgument("rehearse must be true or false.")
    return text, cast("Mapping[str, Value]", parameters), rehearse


def _render_object(result: StatementResult, rehearsed: bool) -> bytes:
    rows = [render_row(result.columns, row) for row in result.rows]
    start = b'{"columns":%b,"value":[' % orjson.dumps(result.columns)
    return render_listing(start, rows, b"],%b" % _render_end(result.counters, rehearsed)[1:])


def _render_lines(result: StatementResult, rehearsed: bool) -> bytes:
    """A line with the columns, one for each row, and a last one that says what was changed."""
    lines = [b'{"columns":%b}' % orjson.dumps(result.columns)]
    lines += [b'{"row":%b}' % render_row(result.columns, row) for row in result.rows]
    return b"\n".join([*lines, _render_end(result.counters, rehearsed), b""])


def _render_end(counters: Counters, rehearsed: bool) -> bytes:
    counted = {name: getattr(counters, member) for member, name in _NAMES.items()}
    return orjson.dumps({"statistics": counted, "rehearsed": rehearsed})


CYPHER_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST /cypher",
        "Cypher_Run",
        "Run a statement that may write; each thing that it does needs its own permission too",
        WRITE,
        run_statement,
        Answer(
            200,
            "Its rows, and what it changed.",
            CypherResult,
            {"query-charge": "What the statement cost."},
        ),
        "Query",
        body=Body(CypherStatement),
        errors={
            400: "InvalidArgument, InvalidRelationship, JsonPatchInvalid, LimitExceeded, "
            "ModelDecommissioned, OperationNotAllowed, SqlQueryError, TimeoutError, "
            "ValidationFailed",
            404: "DigitalTwinNotFound, RelationshipNotFound, TargetDigitalTwinNotFound",
            412: "PreconditionFailed",
            413: "RequestBodyTooLarge",
        },
        is_strict=True,
    ),
)
