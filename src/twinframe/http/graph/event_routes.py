"""The routes of `/eventroutes` and `/events`; their responders are in `events`."""

from __future__ import annotations

from typing import Final

from twinframe.http.graph import event_schemas, events, schemas
from twinframe.http.operations import Answer, Body, Parameter, Route

_TAG: Final = "Event routes"
_NO_CONTENT = Answer(204, "Done.")
_PAGE_SIZE = Parameter("max-items-per-page", "header", "Most items of the page.", int)
_TOKEN = Parameter("continuationToken", "query", "Where to go on; part of a nextLink.")
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
        "GET",
        "/eventroutes",
        "EventRoutes_List",
        "List event routes",
        "eventroutes/read",
        events.list_routes,
        Answer(200, "A page.", schemas.Listing[schemas.EventRoute]),
        _TAG,
        (_PAGE_SIZE, _TOKEN),
        errors={400: "BadRequest, InvalidArgument"},
    ),
    Route(
        "GET",
        _ROUTE,
        "EventRoutes_GetById",
        "Read an event route",
        "eventroutes/read",
        events.read_route,
        Answer(200, "The route.", schemas.EventRoute),
        _TAG,
        errors=_NO_ROUTE,
    ),
    Route(
        "PUT",
        _ROUTE,
        "EventRoutes_Add",
        "Create or replace an event route",
        "eventroutes/write",
        events.put_route,
        _NO_CONTENT,
        _TAG,
        _CONDITIONS,
        Body(schemas.EventRoute),
        {400: _REFUSED, 412: "PreconditionFailed"},
    ),
    Route(
        "DELETE",
        _ROUTE,
        "EventRoutes_Delete",
        "Delete an event route",
        "eventroutes/delete",
        events.delete_route,
        _NO_CONTENT,
        _TAG,
        errors=_NO_ROUTE,
    ),
)

_OWN_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET",
        _ROUTE + "/status",
        "EventRoutes_ReadStatus",
        "How an event route stands",
        "eventroutes/read",
        events.read_status,
        Answer(200, "Its place, counts and last error.", event_schemas.RouteStatus),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        "POST",
        _ROUTE + "/replay",
        "EventRoutes_Replay",
        "Send events again from a position on",
        "eventroutes/write",
        events.replay,
        _NO_CONTENT,
        _TAG,
        body=Body(event_schemas.Replay),
        errors={400: "InvalidArgument", **_NO_ROUTE},
        is_strict=True,
    ),
    Route(
        "GET",
        _ROUTE + "/deadletters",
        "EventRoutes_ListDeadLetters",
        "List events that a route gave up",
        "eventroutes/read",
        events.list_dead_letters,
        Answer(200, "A page.", schemas.Listing[event_schemas.DeadLetter]),
        _TAG,
        (_PAGE_SIZE, _TOKEN),
        errors={400: "BadRequest, InvalidArgument", **_NO_ROUTE},
        is_strict=True,
    ),
    Route(
        "POST",
        _ROUTE + "/deadletters/replay",
        "EventRoutes_ReplayDeadLetters",
        "Send once more what a route gave up, 1,000 a call",
        "eventroutes/write",
        events.replay_dead_letters,
        Answer(200, "How many are sent.", event_schemas.Count),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        "DELETE",
        _ROUTE + "/deadletters",
        "EventRoutes_DeleteDeadLetters",
        "Forget what a route gave up, 1,000 a call",
        "eventroutes/delete",
        events.delete_dead_letters,
        Answer(200, "How many were forgotten.", event_schemas.Count),
        _TAG,
        errors=_NO_ROUTE,
        is_strict=True,
    ),
    Route(
        "GET",
        "/events",
        "Events_Follow",
        "Follow events as they happen",
        "digitaltwins/read",
        events.follow_events,
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
        "POST",
        "/events/try",
        "Events_TryFilter",
        "Which of the last events a filter passes",
        "eventroutes/read",
        events.try_filter,
        Answer(200, "What would have been sent.", event_schemas.TrialResult),
        "Events",
        body=Body(event_schemas.FilterTrial),
        errors={400: "EventRouteFilterInvalid, EventsDisabled, InvalidArgument"},
        is_strict=True,
    ),
)

EVENT_ROUTES: Final[tuple[Route, ...]] = (*_VENDOR_ROUTES, *_OWN_ROUTES)
