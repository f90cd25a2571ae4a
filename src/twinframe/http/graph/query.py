"""The responder of `POST /query`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument, InvalidContinuationToken
from twinframe.graph.history.history import Asked, check_asked
from twinframe.graph.queries.names import QueryWarning
from twinframe.http.api_context import GraphApiContext
from twinframe.http.messages import read_exchange, read_json, read_page_size, render_listing
from twinframe.http.operations import AS_OF
from twinframe.http.parameters import is_like_as_of
from twinframe.http.streaming import DisconnectWatch
from twinframe.model.values import JsonValue
from twinframe.runtime.instruments.base import CURRENT_REQUEST


async def run_query(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: a page of rows.

    SPEC: with a continuation token, query and parameters may be left out and are ignored. An `asOf`
    must be that of the first page.
    """
    body = await read_json(api, request, api.bodies.limits.query)
    if not isinstance(body, dict):
        raise InvalidArgument("Payload is invalid: the body must be an object with a query.")
    text = body.get("query")
    if not (text is None or isinstance(text, str)):
        raise InvalidArgument("query must be a string.")
    token = body.get("continuationToken") or None  # empty means none, as in listings
    if token is not None and not isinstance(token, str):
        raise InvalidContinuationToken("The continuation token is no text.")
    if text is None and token is None:
        raise InvalidArgument("The body must hold a query or a continuationToken.")
    parameters = body.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise InvalidArgument("parameters must be an object: names to values.")
    as_of = _read_as_of(body)
    if token is not None:
        text, parameters = None, {}
    size = read_page_size(request)
    exchange = read_exchange(request)
    CURRENT_REQUEST.set(exchange.request_id.decode("ascii"))  # for the slow query log
    queries = api.graph.queries
    page = None
    if text is not None and as_of is None:
        page = queries.run_at_once(text, parameters, size)
    if page is None:
        with DisconnectWatch(exchange):
            page = await queries.run(text, parameters, token, size, as_of)
    response.set_header("query-charge", f"{page.charge:.2f}")
    following = (
        b"null" if page.continuation_token is None else orjson.dumps(page.continuation_token)
    )
    warnings = _render_warnings(page.warnings) if page.warnings else b""
    end = b'],"continuationToken":%b%b}' % (following, warnings)
    response.data = render_listing(b'{"value":[', page.rows, end)


def _read_as_of(body: Mapping[str, JsonValue]) -> Asked | None:
    value = body.get(AS_OF.name)
    if value is not None:
        return check_asked(value)
    for name in body:
        if name != AS_OF.name and is_like_as_of(name):
            raise InvalidArgument(f"A query has no member {name[:20]!r}. Did you mean asOf?")
    return None


def _render_warnings(warnings: Sequence[QueryWarning]) -> bytes:
    """Return the member `warnings`, our own; the vendor's clients ignore unknown members."""
    rendered = [
        {
            "code": warning.code,
            "message": warning.message,
            "line": warning.line,
            "column": warning.column,
            "suggestion": warning.suggestion,
        }
        for warning in warnings
    ]
    return b',"warnings":' + orjson.dumps(rendered)
