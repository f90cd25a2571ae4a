"""Builds the ASGI application: routes to responders, errors to answers, and the layers around them.

`service` supplies all objects it needs.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, cast

import falcon
from falcon.asgi import App, Request, Response
from starlette.middleware.cors import CORSMiddleware

import twinframe
from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.errors import StorageBusy, StorageError, TwinframeError
from twinframe.graph import Graph
from twinframe.http.access import (
    AccessLayer,
    find_kind,
    guard_responder,
    limit_responder,
    list_permissions,
)
from twinframe.http.api_context import ApiContext, GraphApiContext, never
from twinframe.http.bodies import Bodies
from twinframe.http.discovery import WELL_KNOWN, Discovery, Resource
from twinframe.http.errors import (
    JSON,
    ErrorAnswer,
    RouteNotFound,
    build_answer,
    build_http_answer,
    build_status,
)
from twinframe.http.exchange import Asgi, Receive, Scope, Send
from twinframe.http.explorer import Explorer
from twinframe.http.guard import Guard, logger
from twinframe.http.line_log import open_access_log
from twinframe.http.links import Links
from twinframe.http.messages import read_exchange, write_no_content
from twinframe.http.openapi import build_document
from twinframe.http.operations import Route
from twinframe.http.parameters import refuse_conditions, refuse_past, refuse_unknown
from twinframe.http.routes import ROUTES
from twinframe.http.routing import BoundResponder, TableRouter
from twinframe.http.service_routes import read_protected_resource
from twinframe.model.json import JsonLimits
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import AuthenticationSettings, CorsSettings, Settings


class Mounted(Protocol):
    """An ASGI server beside the API that authenticates its own requests."""

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for this server."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""

    def begin_drain(self) -> None:
        """End answers that would not end by themselves."""


class Mount:
    """ASGI application that passes `mounted` its requests, and the rest to `app`."""

    def __init__(self, app: Asgi, mounted: Mounted) -> None:
        self._app = app
        self._mounted = mounted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http" and self._mounted.serves(scope):
            await self._mounted(scope, receive, send)
        else:
            await self._app(scope, receive, send)


Hook = Callable[[], Awaitable[None]]
Probe = Callable[[], Awaitable[bool]]
Admit = Callable[[Route, BoundResponder], BoundResponder]
BuildError = Callable[[Scope, TwinframeError], ErrorAnswer]
ErrorWriters = tuple[Callable[..., Awaitable[None]], Callable[..., Awaitable[None]]]
"""Falcon's handlers of our errors and of its own."""

_PATCH_TWIN = "/digitaltwins/{twin_id}"
_METHODS = ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE")
_EXPOSED = (
    "ETag",
    "Location",
    "Mcp-Session-Id",
    "Operation-Location",
    "Retry-After",
    "query-charge",
    "WWW-Authenticate",
    "traceresponse",
    "x-ms-error-code",
    "x-request-id",
)


def build_application(
    graph: Graph,
    settings: Settings,
    *,
    gate: Gate | None = None,
    start: Sequence[Hook] = (),
    stop: Sequence[Hook] = (),
    is_ready: Probe | None = None,
    is_full: Callable[[], bool] = never,
    routes: Sequence[Route] = ROUTES,
    mounted: Sequence[Mounted] = (),
    resources: tuple[Resource, ...] = (),
    build_error: BuildError | None = None,
    rates: CallerRates | None = None,
    memory: MemoryAccount | None = None,
    bodies: Bodies | None = None,
) -> Guard:
    """Build the outermost ASGI application over a graph.

    `gate` None requires no credentials. `mounted` are servers beside the API, and `resources` are
    their discovery documents. `rates` None sets no rate limits. `memory` is the account of the
    worker, `bodies` parses the bodies of all its graphs. `build_error` builds the answers of errors
    outside of routes. `start` and `stop` run at the lifespan's events, in order, in the process
    that serves; an error in `start` stops the start-up. `is_ready` returns whether the store
    answers, `is_full` whether it refuses writes for lack of disk space. The lines of the access log
    are written to standard error.
    """
    guard: Guard

    async def ready() -> bool:
        return not guard.draining and (is_ready is None or await is_ready())

    links = Links(settings, settings.mcp.resource_server_url)
    api = GraphApiContext(
        graph=graph,
        bodies=bodies or Bodies(settings, memory or MemoryAccount()),
        json_limits=JsonLimits(settings.json_.max_depth, settings.json_.max_keys),
        links=links,
        explorer=Explorer(partial(_describe, routes, settings.authentication)),
        discovery=Discovery(settings, links, resources),
        is_ready=ready,
        permissions=list_permissions(routes),
        is_full=is_full,
    )
    admit = build_admit(gate, rates)
    app = cast("Asgi", build_falcon(api, routes, Lifespan(start, stop), admit))
    if gate is not None:
        scopes = settings.authorization.api_scopes
        app = AccessLayer(app, gate, api.discovery, routes, scopes)
    for server in mounted:
        app = Mount(app, server)
    guard = build_guard(app, settings, build_error, memory)
    for server in mounted:
        guard.on_drain(server.begin_drain)
    return guard


def build_admit(gate: Gate | None, rates: CallerRates | None) -> Admit | None:
    """Build the check before each responder: the caller's rate first, then its permission."""
    checked = None if gate is None else partial(guard_responder, gate)
    if rates is None:
        return checked

    def admit(route: Route, responder: BoundResponder) -> BoundResponder:
        inner = responder if checked is None else checked(route, responder)
        return limit_responder(rates, find_kind(route), inner)

    return admit


def build_guard(
    app: Asgi,
    settings: Settings,
    build_error: BuildError | None = None,
    memory: MemoryAccount | None = None,
) -> Guard:
    """Build the guard in front of an application, with access log and CORS as the settings say."""
    log = open_access_log(settings.logging)
    guard = Guard(app, settings.server, access_log=log, memory=memory, build_error=build_error)
    if settings.cors.origins:
        guard.wrap(partial(build_cors, settings.cors))
    return guard


def build_falcon(
    api: ApiContext,
    routes: Sequence[Route],
    lifespan: Lifespan,
    admit: Admit | None = None,
    errors: ErrorWriters | None = None,
) -> App[Request, Response]:
    """Build the Falcon application of these routes. `admit` puts a check before each responder."""
    app = App(media_type=JSON, router=build_router(api, routes, admit), middleware=[lifespan])
    own, http = errors or (write_error, write_http_error)
    app.add_error_handler(TwinframeError, own)
    app.add_error_handler(falcon.HTTPError, http)
    app.add_error_handler(Exception, raise_on)
    return app


def build_router(
    api: ApiContext, routes: Sequence[Route], admit: Admit | None = None
) -> TableRouter:
    """Build a router over the table; every GET answers HEAD too, every path OPTIONS."""
    router = TableRouter()
    for route in map(refuse_conditions, map(refuse_past, map(refuse_unknown, routes))):
        responder: BoundResponder = partial(route.responder, api)
        if admit is not None:
            responder = admit(route, responder)
        router.add(route.path, route.method, responder)
        if route.responder is read_protected_resource:
            for path in filter(None, api.discovery.paths):  # SPEC: RFC 9728 section 3.1
                router.add(route.path + path, route.method, responder)
    for path, methods in router.paths():
        if "GET" in methods:
            methods["HEAD"] = methods["GET"]
        names = tuple(sorted({*methods, "OPTIONS"}))
        methods["OPTIONS"] = build_options(names, shared=path.startswith(f"/{WELL_KNOWN}/"))
    return router


def build_options(methods: tuple[str, ...], *, shared: bool = False) -> BoundResponder:
    """Build the responder of OPTIONS for a path with these methods.

    `shared` answers preflights of any origin: browser clients find out where to sign in with
    headers of their own, such as MCP-Protocol-Version.
    """
    allowed = ", ".join(methods)

    async def write_options(_request: Request, response: Response, **_params: str) -> None:
        write_no_content(response)
        response.set_header("allow", allowed)
        if shared:
            response.set_header("access-control-allow-origin", "*")
            response.set_header("access-control-allow-headers", "*")
            response.set_header("access-control-allow-methods", "GET, HEAD")

    return write_options


def build_cors(settings: CorsSettings, app: Asgi) -> CORSMiddleware:
    """Build the layer that answers preflights, before any authentication."""
    return CORSMiddleware(
        app,
        allow_origins=settings.origins,
        allow_methods=_METHODS,
        allow_headers=["*"],
        allow_credentials=settings.credentials,
        expose_headers=_EXPOSED,
        max_age=settings.max_age,
    )


def _describe(routes: Sequence[Route], access: AuthenticationSettings, base: str) -> dict[str, Any]:
    return build_document(routes, version=twinframe.__version__, base=base, access=access)


class Lifespan:
    """Hooks, in order, that Falcon calls at the lifespan's events."""

    def __init__(self, start: Sequence[Hook], stop: Sequence[Hook]) -> None:
        self._start = start
        self._stop = stop

    async def process_startup(self, _scope: Any, _event: Any) -> None:
        for hook in self._start:
            await hook()

    async def process_shutdown(self, _scope: Any, _event: Any) -> None:
        for hook in self._stop:
            await hook()


# --- errors on their way out ----------------------------------------------------------------------


async def write_error(
    request: Request, response: Response, error: TwinframeError, _params: dict[str, Any]
) -> None:
    """Answer with an error of ours."""
    log_error(error)
    answer = build_answer(
        error,
        patches_twin=request.uri_template == _PATCH_TWIN,
        request_id=read_exchange(request).request_id.decode("ascii"),
    )
    write_answer(response, answer)
    _forget_frames(error)


def _forget_frames(error: BaseException | None) -> None:
    """Release the frames of an answered error.

    PERF: error and frames refer to each other. Otherwise their objects, perhaps a long query's
    tokens, stay until the garbage collector runs, and make it run more often.
    """
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def log_error(error: TwinframeError) -> None:
    """Log an error that the operator has to act on."""
    if build_status(error) == 500:
        logger.error("%s: %s", error.code, error.message, exc_info=error)
    elif isinstance(error, StorageError) and not isinstance(error, StorageBusy):
        logger.warning("%s: %s", error.code, error.message)


async def write_http_error(
    request: Request, response: Response, error: falcon.HTTPError, _params: dict[str, Any]
) -> None:
    """Answer with an error that Falcon itself raised, in our form."""
    if error.status_code == 404:
        text = f"No operation is at {request.path!a}. All operations stand at /swagger."
        write_answer(response, build_answer(RouteNotFound(text)))
    else:
        write_answer(response, build_http_answer(error.status_code, error.title, error.description))


def write_answer(response: Response, answer: ErrorAnswer) -> None:
    """Write an error answer into a response."""
    response.status = answer.status
    response.data = answer.body
    for name, value in answer.headers:
        response.set_header(name, value)


async def raise_on(
    _request: Request, _response: Response, error: Exception, _params: dict[str, Any]
) -> None:
    """Let an unexpected error reach the guard, which logs it and answers."""
    raise error
