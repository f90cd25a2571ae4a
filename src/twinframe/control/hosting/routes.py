"""The routes and responders that only hosted graphs have: their statistics and their audit log."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, Final

import orjson
from falcon.asgi import Request, Response

from twinframe.control.hosting.endpoint import read_visit
from twinframe.errors import InvalidArgument, InvalidContinuationToken
from twinframe.http.api_context import GraphApiContext
from twinframe.http.errors import RouteNotFound
from twinframe.http.messages import read_api_version, read_exchange, read_page_size, render_array
from twinframe.http.operations import TOKEN, Answer, Parameter, Route
from twinframe.http.routes import ROUTES

_LARGEST_PAGE: Final = 1000
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TOKEN: Final = re.compile(r"[0-9]{1,15}")


async def read_statistics(_api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: request counts of the graph, by day and operation."""
    journal = read_visit(request).journal
    found = None if journal is None else await journal.read_statistics()
    if found is None:
        raise RouteNotFound("This graph keeps no statistics; its owner sets enable_analytics.")
    response.data = found
    response.set_header("cache-control", "no-store")


async def read_audit_log(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: the changes of the graph and their callers on a day (UTC, default today), oldest
    first.
    """
    journal = read_visit(request).journal
    if journal is None or not journal.audits:
        raise RouteNotFound("This graph keeps no audit log; its owner sets enable_audit_logging.")
    day = request.get_param("day") or datetime.now(UTC).strftime("%Y-%m-%d")
    token = request.get_param("continuationToken") or "0"
    if not _DAY.fullmatch(day):
        raise InvalidArgument(f"day must be like 2024-01-31, not {day!a}.")
    if not _TOKEN.fullmatch(token):
        raise InvalidContinuationToken("The continuation token is not one of this listing.")
    size = min(read_page_size(request) or _LARGEST_PAGE, _LARGEST_PAGE)
    lines, following = await journal.read_changes(day, int(token), size)
    link = b"null"
    if following is not None:
        version = read_api_version(request)
        exchange = read_exchange(request)
        link = orjson.dumps(api.links.build_next(exchange, str(following), version, {"day": day}))
    response.data = b'{"value":%b,"nextLink":%b}' % (render_array(lines), link)
    response.set_header("cache-control", "no-store")


HOSTED_ROUTES: Final[tuple[Route, ...]] = (
    *ROUTES,
    Route(
        "GET /statistics",
        "HostedGraph_Statistics",
        "What was asked of the graph",
        "query/read",
        read_statistics,
        Answer(200, "The statistics.", dict[str, Any]),
        "Hosted graph",
        errors={404: "NotFound"},
        is_strict=True,
    ),
    Route(
        "GET /auditlog",
        "HostedGraph_AuditLog",
        "Who changed the graph",
        "auditlog/read",
        read_audit_log,
        Answer(200, "A page of lines.", dict[str, Any]),
        "Hosted graph",
        (
            Parameter("day", "query", "Day in UTC, such as 2024-01-31; today unless told."),
            TOKEN,
            Parameter("max-items-per-page", "header", "Most lines of the page.", int),
        ),
        errors={400: "InvalidArgument", 404: "NotFound"},
        is_strict=True,
    ),
)
