"""Access checks over HTTP: authentication before routing, rates and permissions before responders.

The gate decides; this module calls it for requests and raises its refusals. A route has one kind of
operation, for which a caller has a rate; the rates themselves are in `twinframe.access.rates`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from falcon.asgi import Request, Response

from twinframe.access.gate import Gate, RequestInfo
from twinframe.access.permission_grammar import Permission, parse_permission
from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates, Kind
from twinframe.errors import PermissionMissing, ScopeMissing, Unauthenticated
from twinframe.http.discovery import WELL_KNOWN, Discovery
from twinframe.http.errors import build_answer
from twinframe.http.exchange import SCOPE_KEY, Asgi, Exchange, Receive, Scope, Send
from twinframe.http.guard import read_raw_path, write_answer
from twinframe.http.operations import SIGNED_IN, Route
from twinframe.http.routing import BoundResponder
from twinframe.runtime.instruments.base import CURRENT_SUBJECT

_DEEPEST = 3
"""How many segments of a path, such as `/api/v1/swagger`, say whether it is public."""


class AccessLayer:
    """An ASGI layer that admits only authenticated callers, except to the public paths.

    Deny by default: the route table defines what is public (no permission); any other path requires
    credentials first, even one that does not exist. Tokens must carry all of `scopes`.
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
        self._recall = gate.recall
        self._scopes = scopes
        self._discovery = discovery
        self._public = find_public(routes)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request, or one lifespan.

        PERF: a plain function, so that a caller who is known costs no coroutine.
        """
        if scope["type"] == "http":
            caller = self._recall(scope["headers"])
            if caller is not None and (not self._scopes or has_scopes(caller, self._scopes)):
                scope[SCOPE_KEY].caller = caller
            elif not is_public(scope, self._public):
                return self._identify(scope, receive, send)
        return self._app(scope, receive, send)

    async def _identify(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange: Exchange = scope[SCOPE_KEY]
        try:
            exchange.caller = await identify(self._gate, exchange, self._scopes)
        except Unauthenticated:
            await write_answer(send, self._discovery.build_unauthorized(exchange))
        except ScopeMissing as error:
            await write_answer(send, build_answer(error))
        else:
            await self._app(scope, receive, send)


def recall(gate: Gate, scope: Scope, scopes: tuple[str, ...]) -> Caller | None:
    """Return the caller of a request at once, where `identify` would return the same.

    None says nothing.
    """
    caller = gate.recall(scope["headers"])
    return caller if caller is not None and has_scopes(caller, scopes) else None


def has_scopes(caller: Caller, scopes: tuple[str, ...]) -> bool:
    """Return whether a caller has these scopes; an API key has none, and may need none."""
    return not scopes or caller.scopes.issuperset(scopes)


async def identify(gate: Gate, exchange: Exchange, scopes: tuple[str, ...]) -> Caller:
    """Return the caller of a request, whose token carries all of these scopes.

    Raises `Unauthenticated`, `ScopeMissing`.
    """
    caller = await gate.authenticate(
        exchange.scope["headers"], partial(build_request_info, exchange)
    )
    if scopes:  # PERF: most services require none, and request info is made of several texts
        gate.check_scopes(caller, scopes, build_request_info(exchange))
    return caller


def is_public(scope: Scope, public: Mapping[str, frozenset[str]]) -> bool:
    """Return whether a request is open to everybody; `public` is the result of `find_public`."""
    if scope["method"] == "OPTIONS":  # lists the methods, which the documents do as well
        return True
    segments = scope[SCOPE_KEY].target.segments
    if not segments:
        return False
    deeper = public.get(segments[0].lower())
    if deeper is None:
        return False
    return not deeper or "/".join(segments[1:_DEEPEST]).lower() in deeper


def find_public(routes: Sequence[Route]) -> Mapping[str, frozenset[str]]:
    """Return the public paths: the first segment of each, and what may follow it.

    What follows is one segment or two, such as `v1/swagger`. An empty set means that everything
    below the first segment is public.
    """
    asking = {_split(route)[0] for route in routes if route.permission is not None}
    found: dict[str, set[str]] = {WELL_KNOWN: set()}
    for route in routes:
        if route.permission is None:
            first, rest = _split(route)
            found.setdefault(first, set()).update([rest] if first in asking else [])
    return {first: frozenset(rests) for first, rests in found.items()}


def _split(route: Route) -> tuple[str, str]:
    """Return the first segment of a route's path, and the next ones up to `_DEEPEST`."""
    first, *rest = route.path.lower().split("/")[1:]
    return first, "/".join(rest[: _DEEPEST - 1])


def build_request_info(exchange: Exchange) -> RequestInfo:
    """Return what a request is about, for the audit log: its action, its id, the client's address.

    The action is method and path, without the query.
    SEC: a query may contain what is not for a log, such as a token in the wrong place.
    """
    scope = exchange.scope
    client = scope.get("client")
    raw = scope.get("raw_path") or read_raw_path(scope)
    path = raw.decode("ascii", "backslashreplace")
    # PERF: made at each request: past the constructor in half its time.
    facts = f"{scope['method']} {path}", exchange.request_id.decode("ascii")
    return _build(RequestInfo, (*facts, client[0] if client else ""))


_build: Final = tuple.__new__


async def authorize_parts(exchange: Exchange, permissions: Iterable[str]) -> None:
    """Check the permissions that the parts of a request need in addition to that of its route.

    Raises `PermissionMissing` for the first that the caller lacks. The caller's permissions are
    read once for all of them.
    """
    gate, caller = exchange.gate, exchange.caller
    if gate is None:
        return
    if caller is None:
        raise Unauthenticated("the request came past the layer that authenticates")
    request_info = build_request_info(exchange)
    for permission in permissions:
        caller = await gate.admit(caller, parse_permission(permission), request_info)


async def may_go_on(exchange: Exchange, permissions: Sequence[str]) -> bool:
    """Return whether the caller of a long-running answer would still be admitted.

    SEC: a stream may be open for days: meanwhile its token may expire, its key be revoked, its
    permissions be removed. An unchanged decision is not audited, a refusal is.
    """
    gate = exchange.gate
    if gate is None:
        return True
    try:
        headers = exchange.scope["headers"]
        caller = await gate.authenticate(headers, partial(build_request_info, exchange))
        request_info, needed = (
            build_request_info(exchange),
            [parse_permission(one) for one in permissions],
        )
        held = await gate.list_held(caller, needed, request_info)
        for missing in (one for one in needed if one not in held):
            await gate.authorize(caller, missing, request_info)
    except (Unauthenticated, PermissionMissing):
        return False
    return True


def find_needed(route: Route) -> Permission | None:
    """Return the permission for a route; None where credentials, or nothing, are enough."""
    if route.permission is None or route.permission == SIGNED_IN:
        return None
    return parse_permission(route.permission)


def list_permissions(routes: Iterable[Route]) -> tuple[Permission, ...]:
    """List all permissions that operations of a table need, each once, in the order of names."""
    found = {str(needed): needed for route in routes if (needed := find_needed(route)) is not None}
    return tuple(found[name] for name in sorted(found))


def guard_responder(gate: Gate, route: Route, responder: BoundResponder) -> BoundResponder:
    """Wrap the responder to run only for callers with the permission of its route."""
    if route.permission is None:
        return responder
    needed = find_needed(route)

    def admit(request: Request, response: Response, **parameters: str) -> Awaitable[None]:
        exchange: Exchange = request.scope[SCOPE_KEY]
        caller = exchange.caller
        if caller is None:  # no layer has authenticated: a wiring mistake must not admit anybody
            raise Unauthenticated("the request came past the layer that authenticates")
        exchange.gate = gate
        CURRENT_SUBJECT.set(caller.shown)
        if needed is not None:
            request_info = build_request_info(exchange)
            if not gate.authorize_known(caller, needed, request_info):
                decision = gate.authorize(caller, needed, request_info)
                return run_after(decision, responder, request, response, parameters)
        return responder(request, response, **parameters)

    return admit


async def run_after(
    decision: Awaitable[None],
    responder: BoundResponder,
    request: Request,
    response: Response,
    parameters: Mapping[str, str],
) -> None:
    """Run the responder of a request once it is decided that the caller may do what it asks."""
    await decision
    await responder(request, response, **parameters)


_QUERY: Final = "query/read"
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_JOBS: Final = "/jobs/"


def find_kind(route: Route) -> Kind | None:
    """Return the kind of a route; None for an open route, which has no rate.

    A write that does not name a single thing is a bulk write: models, jobs, many twins at once.
    """
    if route.permission is None:
        return None
    if route.permission == _QUERY:
        return Kind.QUERY
    if route.method in _READS or route.permission.endswith("/read"):
        return Kind.READ
    if "{" not in route.path or route.path.startswith(_JOBS):
        return Kind.BULK
    return Kind.WRITE


def find_control_kind(route: Route) -> Kind | None:
    """Return the kind of a control plane route; none of them is a bulk write."""
    found = find_kind(route)
    return Kind.WRITE if found is Kind.BULK else found


def limit_responder(
    rates: CallerRates, kind: Kind | None, responder: BoundResponder
) -> BoundResponder:
    """Wrap a responder so that it runs only for callers within their rate.

    NOTE: it runs after authentication, so that callers can be distinguished, and before everything
    that costs more than a microsecond.
    """
    if kind is None:
        return responder

    def run(request: Request, response: Response, **parameters: str) -> Awaitable[None]:
        exchange: Exchange = request.scope[SCOPE_KEY]
        client = request.scope.get("client")
        rates.spend(kind, exchange.caller, client[0] if client else "")
        return responder(request, response, **parameters)

    return run
