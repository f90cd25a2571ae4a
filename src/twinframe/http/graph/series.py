"""Values over time, which the vendor does not have: points in bulk, and series."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.graph.series.documents import build_buckets, build_points
from twinframe.graph.series.questions import SeriesQuestion
from twinframe.graph.series.series import RefusedLine, WrittenLines
from twinframe.http.api_context import GraphApiContext
from twinframe.http.bodies import BodyLimit
from twinframe.http.errors import build_error_body
from twinframe.http.graph.schemas import ErrorBody, Shape
from twinframe.http.messages import (
    check_media_type,
    read_exchange,
    read_list,
    read_page_request,
    render_array,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.storage.points import AGGREGATES

LINE_TYPES: Final = frozenset(
    ("application/x-ndjson", "application/jsonl", "application/ndjson", "application/json")
)


class PointLine(Shape):
    """A line: one value at a path, or the values of a payload."""

    twin_id: str = Field(alias="twinId")
    component: str | None = Field(None, description="The component that measured it.")
    path: str | None = Field(None, examples=["temperature"])
    value: float | bool | str | None = None
    payload: dict[str, Any] | None = Field(None, description="Values by name, also nested.")
    time: str | None = Field(
        None, description="When it was measured; when it arrived, if it is missing."
    )


class LineOutcome(Shape):
    """A line that was not stored."""

    line: int = Field(description="Its number in the request, from 1.")
    digital_twin_id: str | None = Field(alias="digitalTwinId")
    is_success: bool = Field(alias="isSuccess")
    status: int = Field(description="The HTTP status of the same single message.")
    error_message: str = Field(alias="errorMessage")
    error: ErrorBody


class PointsResult(Shape):
    """What became of the lines; `results` has those that were not stored."""

    success_count: int = Field(alias="successCount", description="Lines that were stored.")
    point_count: int = Field(alias="pointCount", description="Points that were stored.")
    failure_count: int = Field(alias="failureCount")
    has_failures: bool = Field(alias="hasFailures")
    results: list[LineOutcome]


class SeriesItem(Shape):
    """A point with its `value`, or a bucket with a member for each aggregate asked for."""

    time: str = Field(description="Of the point, or of the beginning of the bucket.")
    value: float | bool | str | None = Field(
        None, description="Null where the value of a property was removed."
    )
    avg: float | None = None
    count: int | None = None
    first: float | bool | str | None = None
    last: float | bool | str | None = None
    max: float | None = None
    min: float | None = None
    sum: float | None = None


class SeriesPage(Shape):
    """A page of a series, by time."""

    value: list[SeriesItem]
    next_link: str | None = Field(alias="nextLink")


async def write_points(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: store points; 200 with what became of the lines."""
    check_media_type(request.content_type, LINE_TYPES)
    exchange = read_exchange(request)
    limits = api.graph.bulk.limits
    exchange.limit_body(*BodyLimit(limits.max_body_bytes, "Bulk__MaxBodyBytes"))
    body = exchange.take_body()
    if body is None:
        body = await exchange.read_body()
    written = await api.graph.series.write_lines(body)
    if len(written.refused) <= _FEW:
        response.data = _render_written(written)
    else:
        response.data = await asyncio.to_thread(_render_written, written)


_FEW: Final = 100
"""PERF: refused lines that are rendered on the event loop: 20 us each."""


def _render_written(written: WrittenLines) -> bytes:
    return orjson.dumps(
        {
            "successCount": written.lines,
            "pointCount": written.points,
            "failureCount": len(written.refused),
            "hasFailures": bool(written.refused),
            "results": [_build_outcome(refused) for refused in written.refused],
        }
    )


async def read_series(
    api: GraphApiContext, request: Request, response: Response, twin_id: str, path: str
) -> None:
    """GET: a page of points, or with `every` the aggregates of buckets."""
    parameters = {name: request.get_param(name) for name in ("from", "to", "every")}
    question = SeriesQuestion(
        parameters["from"],
        parameters["to"],
        parameters["every"],
        tuple(dict.fromkeys(read_list(request, "aggregate"))),
    )
    series = api.graph.series
    if question.every or question.aggregates:
        names = question.aggregates or ("avg",)
        items = build_buckets(await series.read_buckets(twin_id, path, question), names)
        response.data = b'{"value":%b,"nextLink":null}' % render_array([*map(orjson.dumps, items)])
        return
    page = await series.read_points(twin_id, path, question, read_page_request(request))
    kept = {name: value for name, value in parameters.items() if value}
    rendered = [orjson.dumps(point) for point in build_points(page.items)]
    write_page(api, request, response, page, rendered, kept)


def _build_outcome(refused: RefusedLine) -> dict[str, object]:
    status, error = build_error_body(refused.error)
    return {
        "line": refused.line,
        "digitalTwinId": refused.twin_id,
        "isSuccess": False,
        "status": status,
        "errorMessage": error["message"],
        "error": error,
    }


_NO_SERIES: Final = "DigitalTwinNotFound, SeriesNotFound"

SERIES_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "POST /telemetry",
        "Series_WritePoints",
        "Store points of many twins",
        "digitaltwins/write",
        write_points,
        Answer(200, "What became of the lines.", PointsResult),
        "Series",
        body=Body(PointLine, tuple(sorted(LINE_TYPES))),
        errors={400: "InvalidArgument, LimitExceeded", 413: "RequestBodyTooLarge"},
        is_strict=True,
    ),
    Route(
        "GET /digitaltwins/{twin_id}/series/{path}",
        "Series_Read",
        "Read values of a twin over time",
        "digitaltwins/read",
        read_series,
        Answer(200, "A page of points or buckets.", SeriesPage),
        "Series",
        (
            Parameter("from", "query", "The first moment, ISO 8601 with an offset.", required=True),
            Parameter("to", "query", "The moment before which it ends; now if it is missing."),
            Parameter("every", "query", "The length of a bucket, such as 5m."),
            Parameter(
                "aggregate",
                "query",
                f"Of each bucket, joined with commas: {', '.join(AGGREGATES)}.",
                list[str],
            ),
            TOKEN,
            PAGE_SIZE,
        ),
        errors={
            400: "BadRequest, InvalidArgument, LimitExceeded, TimeoutError",
            404: _NO_SERIES,
            410: "HistoryNotKept",
            501: "NotImplemented",
        },
        is_strict=True,
    ),
)
