"""Event routes and events, at `/eventroutes` and `/events`: shapes, responders and routes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from time import monotonic
from typing import Any, Final

import orjson
from falcon.asgi import Request, Response
from pydantic import Field

from twinframe.errors import InvalidArgument
from twinframe.graph.delivery.records import DeadLetter as KeptLetter
from twinframe.graph.delivery.records import Route as EventRoute
from twinframe.graph.delivery.streams import Followed, StreamPosition
from twinframe.graph.events.event import Event
from twinframe.http.access import authorize_parts, may_go_on
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph import schemas
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import (
    read_conditions,
    read_exchange,
    read_json,
    read_page_request,
    render_array,
    write_no_content,
    write_page,
)
from twinframe.http.operations import PAGE_SIZE, TOKEN, Answer, Body, Parameter, Route
from twinframe.http.streaming import leave_out_stream, stream_answer
from twinframe.model.etags import parse_put_condition


class RouteStatus(Shape):
    """How a route stands; positions are places in the order of all events of the graph."""

    id: str
    endpoint_name: str = Field(alias="endpointName")
    position: int = Field(description="Every event up to here is done with.")
    last_position: int = Field(alias="lastPosition", description="Of the newest event.")
    first_position: int = Field(alias="firstPosition", description="Of the oldest event kept.")
    behind: int = Field(description="Events it has not come to, at most.")
    delivered: int
    dead_letters: int = Field(alias="deadLetters", description="How many it ever gave up.")
    dead_letters_kept: int = Field(alias="deadLettersKept", description="How many there are now.")
    lost: int = Field(description="Events forgotten before their turn came.")
    error: str = Field(description="What went wrong last; empty when nothing does.")
    halted: bool = Field(
        description="Whether it sends nothing, as the endpoint said that it is gone for good "
        "(410). A PUT of the route, or a replay, has it go on."
    )


class Replay(Shape):
    """Where to begin again."""

    position: int = Field(description="Of the first event to be sent again; 0 is the oldest kept.")


class DeadLetter(Shape):
    """An event that was given up."""

    position: int
    error: str
    attempts: int
    time: str = Field(description="When it was given up.")
    event: dict[str, Any] = Field(description="The CloudEvent.")


class Endpoint(Shape):
    """An endpoint that the operator has configured."""

    name: str = Field(examples=["alarms"])
    type: str = Field(examples=["webhook"])
    form: str = Field(examples=["cloudevents", "data-history"])


class EndpointList(Shape):
    """The endpoints that routes may use."""

    value: list[Endpoint]


class Count(Shape):
    """How many."""

    count: int


class FilterTrial(Shape):
    """A filter to be tried on the last events."""

    filter: str = Field(examples=["CROSSED_ABOVE(temperature, 30)"])
    limit: int = Field(100, description="Most events to show.")


class TriedEvent(Shape):
    """An event that the filter passes."""

    position: int
    event: dict[str, Any] = Field(description="The CloudEvent.")


class TrialResult(Shape):
    """What a filter would have passed."""

    examined: int = Field(description="Events that were looked at.")
    value: list[TriedEvent]


RENEWAL_SECONDS: Final = 15.0
"""Seconds after which a stream checks again whether its caller may still follow."""

SSE: Final = "text/event-stream; charset=utf-8"

_PROLOGUE: Final = b": events of a graph of twins\nretry: 2000\n\n"
_EVENTS: Final = ("digitaltwins/read", "digitaltwins/relationships/read", "models/read")
"""The permissions for the data in events.

SEC: a caller that may not read it must not get it as events either.
"""

_ID: Final = re.compile(r"(?:(?P<epoch>[0-9a-f]{1,32})-)?(?P<position>[0-9]{1,18})")


# --- the vendor's ---------------------------------------------------------------------------------


async def put_route(
    api: GraphApiContext, request: Request, response: Response, route_id: str
) -> None:
    """PUT: 204, created or replaced."""
    document = await read_json(api, request, api.bodies.limits.query)
    condition = parse_put_condition(*read_conditions(request))
    await api.graph.event_routes.put_route(route_id, document, condition)
    write_no_content(response)


async def read_route(
    api: GraphApiContext, _request: Request, response: Response, route_id: str
) -> None:
    """GET: the route."""
    response.data = render_route(await api.graph.event_routes.read_route(route_id))


async def list_routes(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: a page of routes."""
    page = await api.graph.event_routes.list_routes(read_page_request(request))
    write_page(api, request, response, page, [*map(render_route, page.items)])


async def delete_route(
    api: GraphApiContext, _request: Request, response: Response, route_id: str
) -> None:
    """DELETE: 204."""
    await api.graph.event_routes.delete_route(route_id)
    write_no_content(response)


# --- beyond the vendor ----------------------------------------------------------------------------


async def read_status(
    api: GraphApiContext, _request: Request, response: Response, route_id: str
) -> None:
    """GET: the route's delivery state."""
    status = await api.graph.event_routes.read_status(route_id)
    progress = status.progress
    response.data = orjson.dumps(
        {
            "id": status.route.id,
            "endpointName": status.route.endpoint_name,
            "position": progress.position,
            "firstPosition": status.first,
            "lastPosition": status.last,
            "behind": status.behind,
            "delivered": progress.delivered,
            "deadLetters": progress.dead,
            "deadLettersKept": progress.letters,
            "lost": progress.lost,
            "error": progress.error,
            "halted": progress.halted,
        }
    )


async def replay(api: GraphApiContext, request: Request, response: Response, route_id: str) -> None:
    """POST: 204; events are sent again from a position."""
    body = await read_json(api, request, api.bodies.limits.query)
    position = body.get("position") if isinstance(body, dict) else None
    if not isinstance(position, int) or isinstance(position, bool):
        raise InvalidArgument('The body must be an object such as {"position": 0}.')
    await api.graph.event_routes.replay(route_id, position)
    write_no_content(response)


async def list_dead_letters(
    api: GraphApiContext, request: Request, response: Response, route_id: str
) -> None:
    """GET: a page of the events that the route gave up."""
    await authorize_parts(read_exchange(request), _EVENTS)
    routes = api.graph.event_routes
    page = await routes.list_dead_letters(route_id, read_page_request(request))
    write_page(api, request, response, page, [*map(render_letter, page.items)])


async def replay_dead_letters(
    api: GraphApiContext, _request: Request, response: Response, route_id: str
) -> None:
    """POST: 200 with the number of dead letters that are sent again."""
    count = await api.graph.event_routes.replay_dead_letters(route_id)
    response.data = orjson.dumps({"count": count})


async def delete_dead_letters(
    api: GraphApiContext, _request: Request, response: Response, route_id: str
) -> None:
    """DELETE: 200 with the number of dead letters deleted."""
    count = await api.graph.event_routes.delete_dead_letters(route_id)
    response.data = orjson.dumps({"count": count})


async def list_endpoints(api: GraphApiContext, _request: Request, response: Response) -> None:
    """GET: the endpoints that routes of this graph may use. SEC: not their addresses or secrets."""
    found = api.graph.event_routes.list_endpoints()
    listed = [{"name": x.name, "type": x.kind, "form": x.form.value} for x in found]
    response.data = orjson.dumps({"value": listed})


async def try_filter(api: GraphApiContext, request: Request, response: Response) -> None:
    """POST: which of the last events a filter passes."""
    await authorize_parts(read_exchange(request), _EVENTS)
    body = await read_json(api, request, api.bodies.limits.query)
    text = body.get("filter") if isinstance(body, dict) else None
    limit = body.get("limit", 100) if isinstance(body, dict) else None
    if not isinstance(text, str) or not isinstance(limit, int) or isinstance(limit, bool):
        raise InvalidArgument('The body must be an object such as {"filter": "true", "limit": 9}.')
    trial = await api.graph.event_routes.try_filter(text, limit)
    items = render_array([render_event(event) for event in trial.events])
    response.data = b'{"examined":%d,"value":%b}' % (trial.examined, items)


async def follow_events(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: events as they happen, as server-sent events, until the client leaves."""
    exchange = read_exchange(request)
    await authorize_parts(exchange, _EVENTS)
    response.content_type = SSE
    response.set_header("cache-control", "no-store")
    response.set_header("x-accel-buffering", "no")  # asks proxies not to buffer
    await exchange.read_body()
    async with AsyncExitStack() as stack:
        following = api.graph.event_streams.follow(
            request.get_param("filter"), read_last_id(request)
        )
        found = await stack.enter_async_context(following)
        if request.method == "HEAD":
            leave_out_stream(response)
            return
        may_follow = partial(may_go_on, exchange, _EVENTS)
        response.stream = stream_answer(exchange, EventBytes(stack.pop_all(), found, may_follow))


def read_last_id(request: Request) -> StreamPosition | None:
    """Return the position of `Last-Event-ID`, or of the parameter `lastEventId` on the first
    request, for which browsers set no header.

    The id is that of `render_followed`, or a position alone.
    """
    text = request.get_header("last-event-id") or request.get_param("lastEventId")
    if not text:
        return None
    found = _ID.fullmatch(text)
    if found is None:
        raise InvalidArgument(
            "Last-Event-ID must be the id of an event of this stream, such as 5f0c1a2b-17, or 0 "
            f"for all that is kept, not {text[:100]!a}."
        )
    return StreamPosition(int(found["position"]), found["epoch"])


class EventBytes:
    """The bytes of a follower's server-sent events. `held` is released at the end.

    The stream ends when `may_follow`, called at intervals before sending, returns False.
    """

    def __init__(
        self,
        held: AsyncExitStack,
        found: AsyncIterator[Followed],
        may_follow: Callable[[], Awaitable[bool]],
    ) -> None:
        self._held = held
        self._found = found
        self._may_follow = may_follow
        self._asked = monotonic()
        self._has_begun = False

    async def read(self) -> bytes:
        """Return the next event, or a keep-alive comment; empty at the stream's end."""
        if not self._has_begun:
            self._has_begun = True
            return _PROLOGUE
        followed = await anext(self._found, None)
        if followed is None or not await self._may_go_on():
            return b""
        return render_followed(followed)

    async def close(self) -> None:
        """Stop following."""
        await self._held.aclose()

    async def _may_go_on(self) -> bool:
        if monotonic() - self._asked < RENEWAL_SECONDS:
            return True
        self._asked = monotonic()
        return await self._may_follow()


# --- texts ----------------------------------------------------------------------------------------


def render_route(route: EventRoute) -> bytes:
    """Return the route as JSON."""
    return orjson.dumps(
        {"id": route.id, "endpointName": route.endpoint_name, "filter": route.filter}
    )


def render_event(event: Event) -> bytes:
    """Return an event with its position as JSON."""
    return b'{"position":%d,"event":%b}' % (event.position, event.wire)


def render_letter(letter: KeptLetter) -> bytes:
    """Return a dead letter with its event as JSON."""
    head = {
        "position": letter.position,
        "error": letter.error,
        "attempts": letter.attempts,
        "time": letter.time,
    }
    return b'%b,"event":%b}' % (orjson.dumps(head)[:-1], letter.event.wire)


def render_followed(followed: Followed) -> bytes:
    """SPEC: HTML, server-sent events: an `id` without data fires no event."""
    parts = []
    if followed.missed != 0:
        missed = b"null" if followed.missed is None else b"%d" % followed.missed
        parts.append(b'event: gap\ndata: {"missed":%b}\n\n' % missed)
    # NOTE: each event is one line: JSON in an envelope contains no line ends.
    epoch = followed.epoch.encode()
    parts += [b"id: %b-%d\ndata: %b\n\n" % (epoch, x.position, x.wire) for x in followed.events]
    if not followed.events or followed.events[-1].position != followed.position:
        at = followed.position
        parts.append(b": at %d\nid: %b-%d\n\n" % (at, epoch, at))
    return b"".join(parts)


_TAG: Final = "Event routes"
_NO_CONTENT = Answer(204, "Done.")
_FILTER = Parameter("filter", "query", "Which events; without it all. As of event routes.")
_LAST_ID = Parameter(
    "Last-Event-ID", "header", "The id behind which to begin; 0 for all that is kept."
)
_LAST_ID_TOO = Parameter("lastEventId", "query", "The same, for clients that set no headers.")
_CONDITIONS = (
    Parameter("If-None-Match", "header", "`*`: only create, never replace."),
    Parameter("If-Match", "header", "`*`: only replace, never create."),
)
_ROUTE = "/eventroutes/{route_id}"
_NO_ROUTE = {404: "EventRouteNotFound"}
_REFUSED = (
    "EventRouteEndpointInvalid, EventRouteFilterInvalid, EventRouteIdInvalid, EventsDisabled, "
    "InvalidArgument, LimitExceeded"
)

_VENDOR_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /eventroutes",
        "EventRoutes_List",
        "List event routes",
        "eventroutes/read",
        list_routes,
        Answer(200, "A page.", schemas.Listing[schemas.EventRoute]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: "BadRequest, InvalidArgument"},
    ),
    Route(
        f"GET {_ROUTE}",
        "EventRoutes_GetById",
        "Read an event route",
        "eventroutes/read",
        read_route,
        Answer(200, "The route.", schemas.EventRoute),
        _TAG,
        errors=_NO_ROUTE,
    ),
    Route(
        f"PUT {_ROUTE}",
        "EventRoutes_Add",
        "Create or replace an event route",
        "eventroutes/write",
        put_route,
        _NO_CONTENT,
        _TAG,
        _CONDITIONS,
        Body(schemas.EventRoute),
        {400: _REFUSED, 412: "PreconditionFailed"},
    ),
    Route(
        f"DELETE {_ROUTE}",
        "EventRoutes_Delete",
        "Delete an event route",
        "eventroutes/delete",
        delete_route,
        _NO_CONTENT,
        _TAG,
        errors=_NO_ROUTE,
    ),
)

_OWN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        f"GET {_ROUTE}/status",
        "EventRoutes_ReadStatus",
        "How an event route stands",
        "eventroutes/read",
        read_status,
        Answer(200, "Its place, counts and last error.", RouteStatus),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        f"POST {_ROUTE}/replay",
        "EventRoutes_Replay",
        "Send events again from a position on",
        "eventroutes/write",
        replay,
        _NO_CONTENT,
        _TAG,
        body=Body(Replay),
        errors={400: "InvalidArgument", **_NO_ROUTE},
        is_strict=True,
    ),
    Route(
        f"GET {_ROUTE}/deadletters",
        "EventRoutes_ListDeadLetters",
        "List events that a route gave up",
        "eventroutes/read",
        list_dead_letters,
        Answer(200, "A page.", schemas.Listing[DeadLetter]),
        _TAG,
        (PAGE_SIZE, TOKEN),
        errors={400: "BadRequest, InvalidArgument", **_NO_ROUTE},
        is_strict=True,
    ),
    Route(
        f"POST {_ROUTE}/deadletters/replay",
        "EventRoutes_ReplayDeadLetters",
        "Send once more what a route gave up, 1,000 a call",
        "eventroutes/write",
        replay_dead_letters,
        Answer(200, "How many are sent.", Count),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        f"DELETE {_ROUTE}/deadletters",
        "EventRoutes_DeleteDeadLetters",
        "Forget what a route gave up, 1,000 a call",
        "eventroutes/delete",
        delete_dead_letters,
        Answer(200, "How many were forgotten.", Count),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        "GET /events",
        "Events_Follow",
        "Follow events as they happen",
        "digitaltwins/read",
        follow_events,
        Answer(200, "Server-sent events without an end.", str, media_type="text/event-stream"),
        "Events",
        (_FILTER, _LAST_ID, _LAST_ID_TOO),
        errors={
            400: "EventRouteFilterInvalid, EventsDisabled, InvalidArgument",
            503: "TooManyStreams",
        },
        is_strict=True,
    ),
    Route(
        "GET /events/endpoints",
        "Events_ListEndpoints",
        "List the endpoints that event routes may use",
        "eventroutes/read",
        list_endpoints,
        Answer(200, "All of them, by name.", EndpointList),
        "Event routes",
        is_strict=True,
    ),
    Route(
        "POST /events/try",
        "Events_TryFilter",
        "Which of the last events a filter passes",
        "eventroutes/read",
        try_filter,
        Answer(200, "What would have been sent.", TrialResult),
        "Events",
        body=Body(FilterTrial),
        errors={400: "EventRouteFilterInvalid, EventsDisabled, InvalidArgument"},
        is_strict=True,
    ),
)

EVENT_ROUTES: Final[tuple[Route, ...]] = (*_VENDOR_ROUTES, *_OWN_ROUTES)
