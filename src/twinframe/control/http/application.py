"""The control plane as an ASGI application: alone, or beside the graph API."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import twinframe
from twinframe.access.gate import Gate
from twinframe.access.rates import CallerRates
from twinframe.control.http.api_context import Admission, ControlApiContext
from twinframe.control.http.errors import build_answer, write_error, write_http_error
from twinframe.control.http.route_parts import PREFIX
from twinframe.control.http.routes import CONTROL_ROUTES, STANDALONE_ROUTES
from twinframe.control.http.schemas import ErrorBody
from twinframe.control.plane import ControlPlane
from twinframe.errors import StorageError, TwinframeError
from twinframe.http.access import AccessLayer
from twinframe.http.application import Hook, Lifespan, build_falcon, build_guard
from twinframe.http.discovery import Discovery, Resource
from twinframe.http.errors import ErrorAnswer
from twinframe.http.errors import build_answer as build_vendor_answer
from twinframe.http.exchange import SCOPE_KEY, Asgi, Exchange, Receive, Scope, Send
from twinframe.http.explorer import Explorer
from twinframe.http.guard import Guard, read_raw_path
from twinframe.http.links import Links
from twinframe.http.openapi import Dialect, build_document
from twinframe.http.operations import Route
from twinframe.http.paths import Target, parse_segments
from twinframe.model.json import JsonLimits
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import Settings

BODY_BYTES = 256 * 1024
"""The largest request body; more is 413. Nothing that the control plane stores is near it."""

_START = PREFIX.encode()
CONTROL_DIALECT = Dialect(
    "twinframe control plane",
    "Organizations, projects, access and billing, and resources that are brought up. Errors are "
    '`{"error"}`, those with status 400 `{"error", "details", "findings"}`.',
    ErrorBody,
)


def build_control_application(
    plane: ControlPlane,
    settings: Settings,
    gate: Gate,
    *,
    start: Sequence[Hook] = (),
    stop: Sequence[Hook] = (),
    rates: CallerRates | None = None,
    memory: MemoryAccount | None = None,
) -> Guard:
    """Build the outermost ASGI application of a process that serves the control plane alone."""
    settings = build_control_settings(settings)
    guard: Guard

    async def is_ready() -> bool:
        return not guard.draining and await _answers(plane)

    admission = Admission(gate, plane, settings.control, rates)
    lifespan = Lifespan(start, stop)
    links = Links(settings)
    routes = STANDALONE_ROUTES
    app = _build_layers(plane, settings, gate, routes, is_ready, lifespan, admission, links)
    guard = build_guard(app, settings, lambda _scope, error: build_answer(error), memory)
    return guard


def build_control_settings(settings: Settings) -> Settings:
    """Build the settings of that process: its own address, no base path, all else as the
    service's.
    """
    own = settings.control
    server = settings.server.model_copy(
        update={
            "bind": own.bind,
            "workers": own.workers,
            "base_path": "",
            "public_url": own.public_url,
        }
    )
    return settings.model_copy(update={"server": server})


class MountedControl:
    """The control plane beside another application of the process, at `/api/v1` of its address."""

    def __init__(
        self,
        plane: ControlPlane,
        settings: Settings,
        gate: Gate,
        rates: CallerRates | None = None,
    ) -> None:
        is_ready = partial(_answers, plane)
        admission = Admission(gate, plane, settings.control, rates)
        lifespan = Lifespan((), ())
        links = Links(settings, settings.control.public_url or settings.mcp.resource_server_url)
        self._app = _build_layers(
            plane, settings, gate, CONTROL_ROUTES, is_ready, lifespan, admission, links
        )

    def serves(self, scope: Scope) -> bool:
        """Return whether a request is for it: its path is the prefix or begins with it."""
        return is_control_path(scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        NOTE: the base path of the other application, by default `/api`, does not apply to this one.
        """
        exchange: Exchange = scope[SCOPE_KEY]
        exchange.target = Target("", parse_segments(read_raw_path(scope)))
        await self._app(scope, receive, send)

    def begin_drain(self) -> None:
        """Do nothing: every answer here ends by itself."""

    def build_error(self, scope: Scope, error: TwinframeError) -> ErrorAnswer:
        """Build the answer to an error outside of any route, in the form for the path."""
        return build_answer(error) if is_control_path(scope) else build_vendor_answer(error)


def is_control_path(scope: Scope) -> bool:
    """Return whether a request's path is in the control plane."""
    path = read_raw_path(scope)
    start, following = path[: len(_START)], path[len(_START) : len(_START) + 1]
    return start.lower() == _START and following in (b"", b"/")


def build_resource(settings: Settings) -> Resource:
    """Build the discovery entry of the control plane, whose scopes are its own."""
    origin = settings.control.public_url
    return Resource(
        PREFIX,
        origin + PREFIX if origin else "",
        CONTROL_DIALECT.title,
        settings.control.required_scopes,
    )


def _list_resources(settings: Settings) -> tuple[Resource, ...]:
    """List the discovery entries of a stand-alone process: the prefix, and the origin for clients
    configured with that.
    """
    known = build_resource(settings)
    return known, replace(known, path="", url=settings.control.public_url)


def _build_layers(
    plane: ControlPlane,
    settings: Settings,
    gate: Gate,
    routes: Sequence[Route],
    is_ready: Callable[[], Awaitable[bool]],
    lifespan: Lifespan,
    admission: Admission,
    links: Links,
) -> Asgi:
    api = ControlApiContext(
        json_limits=JsonLimits(settings.json_.max_depth, settings.json_.max_keys),
        links=links,
        explorer=Explorer(partial(_describe, routes, settings)),
        discovery=Discovery(settings, links, _list_resources(settings), home=PREFIX),
        is_ready=is_ready,
        plane=plane,
        settings=settings.control,
    )
    errors = (write_error, write_http_error)
    app = cast("Asgi", build_falcon(api, routes, lifespan, admission.admit, errors))
    return BodyLimit(AccessLayer(app, gate, api.discovery, routes))


class BodyLimit:
    """An ASGI layer that lowers the limit of bodies to the control plane's."""

    def __init__(self, app: Asgi) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one ASGI scope."""
        if scope["type"] == "http":
            exchange: Exchange = scope[SCOPE_KEY]
            exchange.limit_body(BODY_BYTES, "of the control plane")
        await self._app(scope, receive, send)


async def _answers(plane: ControlPlane) -> bool:
    try:
        return await plane.is_ready()
    except StorageError:
        return False


def _describe(routes: Sequence[Route], settings: Settings, base: str) -> dict[str, Any]:
    return build_document(
        routes,
        version=twinframe.__version__,
        base=base,
        access=settings.authentication,
        dialect=CONTROL_DIALECT,
    )
