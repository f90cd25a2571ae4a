"""The use cases of event routes: put, read, list, delete, status, replay, and trying a filter.

`graph.delivery` delivers the events in the background.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.errors import (
    EventRouteEndpointInvalid,
    EventRouteFilterInvalid,
    EventRouteIdInvalid,
    EventRouteNotFound,
    EventsDisabled,
    InvalidArgument,
    LimitExceeded,
)
from twinframe.errors.nearest import find_nearest
from twinframe.graph.background.leases import delete_free_lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.deliverer import RouteKind
from twinframe.graph.delivery.endpoints import Endpoint, Endpoints
from twinframe.graph.delivery.reading import read_batches
from twinframe.graph.delivery.records import (
    DeadLetter,
    Progress,
    Route,
    delete_dead_letters,
    delete_route,
    move_dead_letters,
    put_route,
    read_dead_letters,
    read_progress,
    read_route,
    read_routes,
    render_position,
    restart,
)
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter, build_filter
from twinframe.model.etags import NO_ETAG, UNCONDITIONED, Condition
from twinframe.model.ids import parse_twin_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction

LONGEST_ID: Final = 256
_LETTERS: Final = 1000
_TRIED: Final = 10_000
_MOST_FOUND: Final = 1000
_MOST_BYTES: Final = 16 * 1024 * 1024
"""The most bytes of events in an answer, besides the newest."""


@dataclass(frozen=True, slots=True)
class RouteStatus:
    """The status of a route: its progress, and the positions that the outbox has."""

    route: Route
    progress: Progress
    first: int
    last: int

    @property
    def behind(self) -> int:
        """The number of events still before it, or a few more: positions may have gaps."""
        return max(self.last - self.progress.position, 0)


@dataclass(frozen=True, slots=True)
class Trial:
    """The recent events that a filter passes: `events` of `examined`, newest last."""

    examined: int
    events: Sequence[Event]


class EventRoutes:
    """Reading and changing the event routes of a graph."""

    def __init__(self, context: GraphContext, endpoints: Endpoints, *, hosted: bool) -> None:
        self._context = context
        self._endpoints = endpoints
        self._hosted = hosted

    async def put_route(
        self, route_id: str, document: JsonValue, condition: Condition = UNCONDITIONED
    ) -> None:
        """Create or replace a route; a replaced one continues from its position.

        Errors: `EventRouteIdInvalid`, `EventRouteEndpointInvalid`, `EventRouteFilterInvalid`,
        `InvalidArgument`, `LimitExceeded`, `PreconditionFailed`, `EventsDisabled`.
        """
        self._require_events()
        parse_route_id(route_id)
        route = self._parse_body(route_id, document)
        most = self._context.settings.events.max_routes

        def apply(transaction: GraphTransaction) -> None:
            is_new = read_route(transaction, route_id) is None
            condition.check(None if is_new else NO_ETAG, f"an event route with the id {route_id}")
            if is_new and len(read_routes(transaction, after=None, limit=most)) >= most:
                raise LimitExceeded(
                    f"There are {most} event routes, which is as many as may be "
                    "(Events__MaxRoutes). Delete one first."
                )
            put_route(transaction, route)

        await self._context.runner.write(apply)
        self._context.signal.set()

    async def read_route(self, route_id: str) -> Route:
        """The route; `EventRouteNotFound`."""
        return await self._context.runner.read(lambda session: _require(session, route_id))

    async def list_routes(self, page: PageRequest = FIRST_PAGE) -> Page[Route]:
        """Routes by id; `InvalidContinuationToken`."""
        listing = await self._context.open_listing("eventroutes")
        after, size = listing.start(page)
        key = None if after is None else str(after)

        def read(session: GraphSession) -> Sequence[tuple[str, Route]]:
            def fetch(after: str | None, limit: int) -> Sequence[tuple[str, Route]]:
                return [(each.id, each) for each in read_routes(session, after=after, limit=limit)]

            return listing.gather(fetch, key, size, _measure_route)

        found = await self._context.runner.read(read)
        return listing.page(found, size, _measure_route)

    async def delete_route(self, route_id: str) -> None:
        """Delete a route with its progress and its dead letters; `EventRouteNotFound`.

        NOTE: a running delivery ends within a second and then releases the lease. A route that is
        created again under the id until then has a delivery of its own: they do not overlap.
        """

        def apply(transaction: GraphTransaction) -> None:
            if not delete_route(transaction, route_id):
                raise EventRouteNotFound(route_id)
            delete_free_lease(transaction, f"{RouteKind.name}/{route_id}")

        await self._context.runner.write(apply)

    # --- beyond the vendor ----------------------------------------------------------------------

    def list_endpoints(self) -> list[Endpoint]:
        """The endpoints that routes of this graph may use, by name."""
        names = self._endpoints.list_names(hosted=self._hosted)
        found = (self._endpoints.find(name, hosted=self._hosted) for name in names)
        return [endpoint for endpoint in found if endpoint is not None]

    async def read_status(self, route_id: str) -> RouteStatus:
        """Return the status of the route; `EventRouteNotFound`."""

        def read(session: GraphSession) -> RouteStatus:
            route = _require(session, route_id)
            progress = read_progress(session, route_id) or Progress(0, 0)
            return RouteStatus(route, progress, *session.read_event_bounds())

        return await self._context.runner.read(read)

    async def replay(self, route_id: str, position: int) -> None:
        """Send every event again that is still kept from `position` on; `EventRouteNotFound`."""
        if position < 0:
            raise InvalidArgument("A position is a whole number from 0 up.")

        def apply(transaction: GraphTransaction) -> None:
            _require(transaction, route_id)
            first, last = transaction.read_event_bounds()
            # Events deleted before do not count as lost.
            restart(transaction, route_id, min(max(position, first) - 1, last))

        await self._context.runner.write(apply)
        self._context.signal.set()

    async def list_dead_letters(
        self, route_id: str, page: PageRequest = FIRST_PAGE
    ) -> Page[DeadLetter]:
        """List the events that the route gave up, oldest first; `EventRouteNotFound`."""
        listing = await self._context.open_listing("deadletters", route_id)
        after, size = listing.start(page)
        start = None if after is None else int(after)

        def read(session: GraphSession) -> Sequence[tuple[int, DeadLetter]]:
            _require(session, route_id)

            def fetch(after: int | None, limit: int) -> Sequence[tuple[int, DeadLetter]]:
                key = None if after is None else render_position(after)
                some = read_dead_letters(session, route_id, after=key, limit=limit)
                return [(letter.position, letter) for letter in some]

            return listing.gather(fetch, start, size, _measure_letter)

        found = await self._context.runner.read(read)
        return listing.page(found, size, _measure_letter)

    async def replay_dead_letters(self, route_id: str) -> int:
        """Send events that were given up again, at most 1,000 a call; return their number."""

        def apply(transaction: GraphTransaction) -> int:
            _require(transaction, route_id)
            return move_dead_letters(transaction, route_id, _LETTERS)

        found = await self._context.runner.write(apply)
        self._context.signal.set()
        return found

    async def delete_dead_letters(self, route_id: str) -> int:
        """Delete events that were given up, at most 1,000 a call; return their number."""

        def apply(transaction: GraphTransaction) -> int:
            _require(transaction, route_id)
            return delete_dead_letters(transaction, route_id, _LETTERS)

        return await self._context.runner.write(apply)

    async def try_filter(self, text: str, limit: int) -> Trial:
        """Return which of the last events a filter passes, at most `limit` and some MiB.

        Errors: `EventRouteFilterInvalid`, `InvalidArgument`, `EventsDisabled`.
        """
        self._require_events()
        if not 1 <= limit <= _MOST_FOUND:
            raise InvalidArgument(f"The limit must be from 1 to {_MOST_FOUND}.")
        passes = self._build_filter(text)
        context = self._context

        def read(session: GraphSession) -> Trial:
            first, last = session.read_event_bounds()
            after = max(first, last + 1 - _TRIED) - 1
            found, size, examined = deque[Event](), 0, 0
            for batch in read_batches(context.models, session, after, passes):
                session.check_deadline()
                examined += batch.read
                # NOTE: new objects, as the filtered ones hold their parsed parts.
                found.extend(Event(one.position, one.key, one.text) for one in batch.events)
                size += sum(len(one.wire) for one in batch.events)
                while len(found) > limit or (size > _MOST_BYTES and len(found) > 1):
                    size -= len(found.popleft().wire)
            return Trial(examined, tuple(found))

        return await context.runner.scan(read, context.settings.query.timeout)

    # --- what a caller sends --------------------------------------------------------------------

    def _require_events(self) -> None:
        if not self._context.settings.events.enabled:
            raise EventsDisabled("This service keeps no events (Events__Enabled=false).")

    def _parse_body(self, route_id: str, document: JsonValue) -> Route:
        if not isinstance(document, dict):
            raise InvalidArgument(
                "An event route is a JSON object with the strings endpointName and filter."
            )
        endpoint, text = document.get("endpointName"), document.get("filter")
        if not isinstance(endpoint, str) or not endpoint:
            raise EventRouteEndpointInvalid(
                "Route endpoint name is missing. endpointName names one of the endpoints that the "
                f"operator has configured: {self._render_endpoints()}."
            )
        if not isinstance(text, str):
            raise EventRouteFilterInvalid(
                'Parsing error, Line=1, Position=0, Message=The filter is missing; "true" passes '
                "all events"
            )
        self._check_endpoint(endpoint)
        return Route(route_id, endpoint, self._build_filter(text).text)

    def _check_endpoint(self, name: str) -> None:
        if self._endpoints.find(name, hosted=self._hosted) is not None:
            return
        names = self._endpoints.list_names(hosted=self._hosted)
        near = find_nearest(name, names)
        hint = f" Did you mean {near}?" if near else ""
        raise EventRouteEndpointInvalid(
            f"Endpoint {name[:100]!a} provided in the route does not exist.{hint} "
            f"Known are: {self._render_endpoints()}."
        )

    def _render_endpoints(self) -> str:
        names = self._endpoints.list_names(hosted=self._hosted)
        return ", ".join(names) or "none (the operator sets Events__Endpoints)"

    def _build_filter(self, text: str) -> Filter:
        most = self._context.settings.events.max_filter_bytes
        if len(text) > most or len(text.encode("utf-8", "replace")) > most:
            raise EventRouteFilterInvalid(
                f"Parsing error, Line=1, Position=0, Message=The filter has more than {most} bytes "
                "(Events__MaxFilterBytes)"
            )
        return build_filter(text)


def parse_route_id(text: str) -> str:
    """Check the id and return it unchanged; `EventRouteIdInvalid`.

    SPEC: the vendor's rule is unknown; ours is that of twin ids, but shorter.
    """
    try:
        parse_twin_id(text)
    except InvalidArgument as error:
        message = error.message.replace("A digital twin id", "The id of an event route")
        raise EventRouteIdInvalid(message) from None
    if len(text) > LONGEST_ID:
        raise EventRouteIdInvalid(
            f"The id of an event route has at most {LONGEST_ID} characters, this one has "
            f"{len(text)}."
        )
    return text


def _require(session: GraphSession, route_id: str) -> Route:
    route = read_route(session, route_id)
    if route is None:
        raise EventRouteNotFound(route_id)
    return route


def _measure_route(route: Route) -> int:
    return len(route.filter)


def _measure_letter(letter: DeadLetter) -> int:
    return len(letter.text) + len(letter.error)
