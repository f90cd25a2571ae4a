"""Access over HTTP: who calls is found out before routing, what it may do before the responder.

The decisions are the gate's; this brings requests to it and its refusals back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from falcon.asgi import Request, Response

from twinframe.authentication.gate import Errand, Gate
from twinframe.errors import PermissionMissing, ScopeMissing, Unauthenticated
from twinframe.permissions.base import Caller
from twinframe.permissions.grammar import Permission, parse_permission
from twinframe.web.discovery import WELL_KNOWN, Discovery
from twinframe.web.errors import build_answer
from twinframe.web.exchange import SCOPE_KEY, Asgi, Exchange, Receive, Scope, Send
from twinframe.web.guard import read_raw_path, write_answer
from twinframe.web.operations import SIGNED_IN, Route
from twinframe.web.routing import BoundResponder

_DEEPEST = 3
"""Segments by which public paths such as `/api/v1/swagger` are told from others below `/api`."""


class AccessLayer:
    """An ASGI layer that lets only known callers through, but for the public paths.

    Deny by default: what is public is said by the route table (no permission); any other path
    asks for credentials first, also one that does not exist. Tokens must carry all of `scopes`.
    """

    def __init__(
        self,
        app: Asgi,
        gate: Gate,
        discovery: Discovery,
        routes: Sequence[Route],
        scopes: tuple[str, ...] = (),
    ) -> None:
        self._app = app
        self._gate = gate
        self._scopes = scopes
        self._discovery = discovery
        self._public = find_public(routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or one lifespan."""
        if scope["type"] == "http" and not is_public(scope, self._public):
            exchange: Exchange = scope[SCOPE_KEY]
            try:
                exchange.caller = await identify(self._gate, exchange, self._scopes)
            except Unauthenticated:
                await write_answer(send, self._discovery.build_unauthorized(exchange))
                return
            except ScopeMissing as error:
                await write_answer(send, build_answer(error))
                return
        await self._app(scope, receive, send)


async def identify(gate: Gate, exchange: Exchange, scopes: tuple[str, ...]) -> Caller:
    """Who sent a request, whose token carries all of these scopes.

    Raises `Unauthenticated`, `ScopeMissing`.
    """
    caller = await gate.authenticate(exchange.scope["headers"], partial(build_errand, exchange))
    if scopes:  # PERF: most services ask for none, and an errand is made of several texts
        gate.check_scopes(caller, scopes, build_errand(exchange))
    return caller


def is_public(scope: Scope, public: Mapping[str, frozenset[str]]) -> bool:
    """Whether a request is open to everybody; `public` is what `find_public` found."""
    if scope["method"] == "OPTIONS":  # names the methods, which the documents do as well
        return True
    segments = scope[SCOPE_KEY].target.segments
    if not segments:
        return False
    deeper = public.get(segments[0].lower())
    if deeper is None:
        return False
    return not deeper or "/".join(segments[1:_DEEPEST]).lower() in deeper


def find_public(routes: Sequence[Route]) -> Mapping[str, frozenset[str]]:
    """How paths begin that are open to everybody: first segments, and what may follow on each.

    Nothing to follow means that all below the first segment is open.
    """
    asking = {_split(route)[0] for route in routes if route.permission is not None}
    found: dict[str, set[str]] = {WELL_KNOWN: set()}
    for route in routes:
        if route.permission is None:
            first, rest = _split(route)
            found.setdefault(first, set()).update([rest] if first in asking else [])
    return {first: frozenset(rests) for first, rests in found.items()}


def _split(route: Route) -> tuple[str, str]:
    """The first segment, and those after it that a public path is told by."""
    first, *rest = route.path.lower().split("/")[1:]
    return first, "/".join(rest[: _DEEPEST - 1])


def build_errand(exchange: Exchange) -> Errand:
    """What the audit trail says of a request: its method and path, without the query.

    SEC: a query may carry what is not for a log, such as a token in the wrong place.
    """
    scope = exchange.scope
    client = scope.get("client")
    path = read_raw_path(scope).decode("ascii", "backslashreplace")
    return Errand(
        f"{scope['method']} {path}",
        exchange.request_id.decode("ascii"),
        client[0] if client else "",
    )


async def authorize_parts(exchange: Exchange, permissions: Iterable[str]) -> None:
    """Ask for what the parts of a request need beside the permission of its route.

    Raises `PermissionMissing` for the first that the caller lacks. The caller's permissions are
    read once for all of them.
    """
    gate, caller = exchange.gate, exchange.caller
    if gate is None:
        return
    if caller is None:
        raise Unauthenticated("the request came past the layer that authenticates")
    errand = build_errand(exchange)
    for permission in permissions:
        caller = await gate.admit(caller, parse_permission(permission), errand)


async def may_go_on(exchange: Exchange, permissions: Sequence[str]) -> bool:
    """Whether the caller of an answer that goes on for long would be let in now as well.

    SEC: a stream may be open for days: its token ends, its key is revoked, its rights are taken
    away meanwhile. That all is as before leaves no trail, a refusal does.
    """
    gate = exchange.gate
    if gate is None:
        return True
    try:
        headers = exchange.scope["headers"]
        caller = await gate.authenticate(headers, partial(build_errand, exchange))
        errand, needed = build_errand(exchange), [parse_permission(one) for one in permissions]
        held = await gate.list_held(caller, needed, errand)
        for missing in (one for one in needed if one not in held):
            await gate.authorize(caller, missing, errand)
    except (Unauthenticated, PermissionMissing):
        return False
    return True


def find_needed(route: Route) -> Permission | None:
    """The permission a caller needs for a route; None where credentials, or nothing, are enough."""
    if route.permission is None or route.permission == SIGNED_IN:
        return None
    return parse_permission(route.permission)


def list_permissions(routes: Iterable[Route]) -> tuple[Permission, ...]:
    """All permissions that operations of a table ask for, each once, in the order of names."""
    found = {str(needed): needed for route in routes if (needed := find_needed(route)) is not None}
    return tuple(found[name] for name in sorted(found))


def guard_responder(gate: Gate, route: Route, responder: BoundResponder) -> BoundResponder:
    """The responder, run only for callers with the permission of its route."""
    if route.permission is None:
        return responder
    needed = find_needed(route)

    async def admit(request: Request, response: Response, **parameters: str) -> None:
        exchange: Exchange = request.scope[SCOPE_KEY]
        caller = exchange.caller
        if caller is None:  # no layer has asked: a mistake in the wiring must not let anybody in
            raise Unauthenticated("the request came past the layer that authenticates")
        if needed is not None:
            await gate.authorize(caller, needed, build_errand(exchange))
        exchange.gate = gate
        await responder(request, response, **parameters)

    return admit
