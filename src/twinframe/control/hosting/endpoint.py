"""Request routing to hosted graphs: by path `/graphs/{id}/...`, or by host `{id}.{domain}`.

Only the address names a graph; responders, permissions and links below it are those of that graph
alone. `control.hosting.service` supplies the graphs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import perf_counter, time
from typing import Final, NamedTuple, Protocol, cast

from falcon.asgi import Request, Response

from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.control.hosting.api_context import HOSTED, build_hosted_api_context
from twinframe.control.hosting.graphs import HostedGraphs
from twinframe.control.hosting.journal import Change, GraphJournal
from twinframe.errors import GraphNotFound, TwinframeError, Unauthenticated
from twinframe.http.access import (
    build_request_info,
    find_kind,
    find_needed,
    find_public,
    identify,
    is_public,
    limit_responder,
    recall,
)
from twinframe.http.api_context import GraphApiContext, never
from twinframe.http.application import Lifespan, build_falcon
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import DOCUMENT, WELL_KNOWN
from twinframe.http.errors import (
    ErrorAnswer,
    build_answer,
    build_status,
)
from twinframe.http.exchange import SCOPE_KEY, Asgi, Exchange, Message, Receive, Scope, Send
from twinframe.http.guard import logger, read_raw_path, write_answer
from twinframe.http.operations import Route
from twinframe.http.paths import Target
from twinframe.http.routing import BoundResponder
from twinframe.model.ids import is_resource_id
from twinframe.runtime.instruments.base import CURRENT_SUBJECT
from twinframe.settings import Settings

VISIT: Final = "twinframe.visit"
_ADDRESS: Final = "twinframe.address"
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_CHARGE: Final = b"query-charge"
_MCP: Final = "Mcp_Message"


class Assistants(Protocol):
    """The MCP servers of hosted graphs, one ASGI application each."""

    def find_scope(self, scope: Scope, base: str, path: str, metadata: str) -> Scope | None:
        """Return the scope of a request to the server of the graph at `base`; None for other
        requests.
        """

    async def serve(self, resource_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the graph of this id. Raises `GraphNotFound`."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a preflight, which is for no graph."""


class Visit:
    """One request to a hosted graph, for its responder and its journal."""

    __slots__ = ("api", "charge", "exchange", "gate", "journal", "route", "send_on", "status")

    def __init__(
        self,
        exchange: Exchange,
        api: GraphApiContext,
        gate: Gate | None,
        send: Send,
        journal: GraphJournal | None = None,
    ) -> None:
        self.exchange = exchange
        self.api = api
        self.gate = gate
        self.journal = journal
        self.send_on = send
        self.route: Route | None = None
        self.status = 0
        self.charge = 0.0

    def send(self, message: Message) -> Awaitable[None]:
        """ASGI `send`. A change is in the audit log before its answer is sent."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            for name, value in message.get("headers", ()):
                if name == _CHARGE:
                    self.charge = float(value)
            journal, route = self.journal, self.route
            if journal is not None and route is not None and journal.audits and _changes(route):
                journal.note_change(_build_change(self.exchange, route, self.status))
        return self.send_on(message)


class _Address(NamedTuple):
    """An address; a `resource_id` of None is a document that all graphs share."""

    resource_id: str | None
    target: Target
    by_host: bool


class HostedService:
    """The ASGI server of all hosted graphs, mounted beside the API.

    A `gate` of None turns authentication off; it must be None for all graphs or for none.
    """

    def __init__(
        self,
        graphs: HostedGraphs,
        settings: Settings,
        gate: Gate | None,
        routes: Sequence[Route],
        rates: CallerRates | None = None,
        bodies: Bodies | None = None,
    ) -> None:
        self._graphs = graphs
        self._gate = gate
        self._scopes = settings.authorization.api_scopes
        self._public = find_public(routes)
        self._suffix = f".{settings.hosting.domain}".encode() if settings.hosting.domain else b""
        self._base = [part for part in settings.server.base_path.lower().split("/") if part]
        self._is_draining: Callable[[], bool] = never
        self._assistants: Assistants | None = None
        self.api = build_hosted_api_context(settings, routes, self._is_ready, bodies)
        admit = partial(bind_responder, gate is not None, rates)
        self._app = cast("Asgi", build_falcon(self.api, routes, Lifespan((), ()), admit))

    def serves(self, scope: Scope) -> bool:
        """Whether the address is that of a hosted graph, existing or not."""
        found = self._find_address(scope[SCOPE_KEY])
        scope[_ADDRESS] = found
        return found is not None

    def attach(self, assistants: Assistants) -> None:
        """Serve the MCP servers of graphs below the address of each."""
        self._assistants = assistants

    def watch_drain(self, is_draining: Callable[[], bool]) -> None:
        """Set the function that returns whether the service ends or is about to; it is then not
        ready.
        """
        self._is_draining = is_draining

    def begin_drain(self) -> None:
        """Do nothing: no answer here is endless."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request for which `serves` was true."""
        exchange: Exchange = scope[SCOPE_KEY]
        address: _Address = scope[_ADDRESS]
        exchange.target = address.target
        exchange.own_host = address.by_host
        asked = None if address.resource_id is None else self._find_assistants_scope(scope)
        if asked is not None and self._assistants is not None and scope["method"] == "OPTIONS":
            await self._assistants(asked, receive, send)
            return
        if address.resource_id is None or is_public(scope, self._public):
            # SEC: answered without checking whether the graph exists.
            scope[VISIT] = Visit(exchange, self.api, None, send)
            try:
                await self._app(scope, receive, send)
            finally:
                del scope[VISIT]
            return
        try:
            await self._serve(address.resource_id, scope, receive, send, asked)
        except TwinframeError as error:
            if exchange.is_answered:
                raise
            if build_status(error) == 500:
                logger.error("%s: %s", error.code, error.message, exc_info=error)
            await write_answer(send, self._build_answer(exchange, error))

    def _find_assistants_scope(self, scope: Scope) -> Scope | None:
        """Return the scope for the graph's MCP server if the request is for it."""
        if self._assistants is None:
            return None
        exchange: Exchange = scope[SCOPE_KEY]
        target = exchange.target
        metadata = self.api.discovery.build_address(exchange, target.base)
        path = "".join(f"/{segment}" for segment in target.segments)
        return self._assistants.find_scope(scope, target.base, path, metadata)

    async def _serve(
        self,
        resource_id: str,
        scope: Scope,
        receive: Receive,
        send: Send,
        asked: Scope | None,
    ) -> None:
        exchange: Exchange = scope[SCOPE_KEY]
        if self._gate is not None:
            exchange.caller = recall(self._gate, scope, self._scopes) or await identify(
                self._gate, exchange, self._scopes
            )
        hosted = self._graphs.find(resource_id)
        if hosted is None:
            raise GraphNotFound
        gate = hosted.gate
        if gate is not None and exchange.caller is not None:
            # SEC: a caller without any permission gets the same answer as for a missing graph.
            exchange.caller = await gate.enter(
                exchange.caller, partial(build_request_info, exchange)
            )
            if exchange.caller is None:
                raise GraphNotFound
        exchange.graph = resource_id
        if asked is not None and self._assistants is not None:
            try:
                await self._assistants.serve(resource_id, asked, receive, send)
            finally:
                if scope["method"] == "POST":  # a stream cannot answer a question
                    seconds = perf_counter() - exchange.started
                    hosted.journal.note_answer(_MCP, exchange.status or 499, seconds, 0.0)
            return
        async with hosted.use() as api:
            visit = scope[VISIT] = Visit(exchange, api, gate, send, hosted.journal)
            try:
                await self._app(scope, receive, visit.send)
            finally:
                # PERF: scope and visit refer to each other; if the cycle stays, only the garbage
                # collector frees them, at half the time of a point read.
                del scope[VISIT]
                operation = "" if visit.route is None else visit.route.operation_id
                seconds = perf_counter() - exchange.started
                hosted.journal.note_answer(operation, visit.status or 499, seconds, visit.charge)

    def _build_answer(self, exchange: Exchange, error: TwinframeError) -> ErrorAnswer:
        if not isinstance(error, Unauthenticated):
            return build_answer(error)
        return self.api.discovery.build_unauthorized(exchange)

    async def _is_ready(self) -> bool:
        return not self._is_draining()

    # --- addresses ------------------------------------------------------------------------------

    def _find_address(self, exchange: Exchange) -> _Address | None:
        target = exchange.target
        found = self._find_host(exchange.host)
        if found is not None:
            return _Address(found, target, by_host=True)
        segments = target.segments
        if len(segments) < 2:
            return None
        first = segments[0].lower()
        # SEC: an id of another form stays out of the challenge's header; no graph has such an id.
        if first == HOSTED and is_resource_id(segments[1]):
            depth = exchange.target.base.count("/") + 3
            raw = read_raw_path(exchange.scope).decode("ascii")
            base = "/".join(raw.split("/", depth)[:depth])
            return _Address(segments[1], Target(base, segments[2:]), by_host=False)
        if first == WELL_KNOWN and segments[1].lower() == DOCUMENT:
            rest = [segment.lower() for segment in segments[2:]]
            if self._base and rest[: len(self._base)] == self._base:
                rest = rest[len(self._base) :]
            if len(rest) >= 2 and rest[0] == HOSTED:
                return _Address(None, target, by_host=False)
        return None

    def _find_host(self, host: bytes) -> str | None:
        """Return what precedes the domain in a Host header, in any case, without the port.

        SEC: no name below the domain leads to the service's own graph: a caller that mistypes an id
        would write there.
        """
        name = host.partition(b":")[0].rstrip(b".").lower()
        if not self._suffix or not name.endswith(self._suffix):
            return None
        return name[: -len(self._suffix)].decode("latin-1")


def bind_responder(
    asks: bool, rates: CallerRates | None, route: Route, _bound: BoundResponder
) -> BoundResponder:
    """Return the responder of a route for the graph of each request.

    With `asks`, a responder that needs a permission runs only if the graph's own gate has allowed
    it.
    """
    needed = find_needed(route)
    asks = asks and route.permission is not None
    responder: Callable[..., Awaitable[None]] = route.responder

    async def run(request: Request, response: Response, **parameters: str) -> None:
        visit: Visit = request.scope[VISIT]
        visit.route = route
        if asks:
            caller = visit.exchange.caller
            if caller is None or visit.gate is None:  # a mistake in the wiring admits no request
                raise Unauthenticated("the request came past the layer that authenticates")
            if needed is not None:
                await visit.gate.authorize(caller, needed, build_request_info(visit.exchange))
            visit.exchange.gate = visit.gate
            CURRENT_SUBJECT.set(caller.shown)
        await responder(visit.api, request, response, **parameters)

    return run if rates is None else limit_responder(rates, find_kind(route), run)


def read_visit(request: Request) -> Visit:
    """Return the visit of a request."""
    return cast("Visit", request.scope[VISIT])


def _changes(route: Route) -> bool:
    """Return whether the operation would change the graph: queries are POST and change nothing."""
    return route.method not in _READS and not (route.permission or "").endswith("/read")


def _build_change(exchange: Exchange, route: Route, status: int) -> Change:
    caller = exchange.caller
    request_info = build_request_info(exchange)
    method, _, path = request_info.action.partition(" ")
    return Change(
        time(),
        "" if caller is None else caller.subject,
        "none" if caller is None else caller.kind,
        route.operation_id,
        method,
        path,
        status,
        request_info.request_id,
        request_info.client,
    )
