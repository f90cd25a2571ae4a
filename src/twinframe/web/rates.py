"""Rates of callers over HTTP: which kind a route is, and who asks. The rates are `admission`'s."""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.admission.rates import CallerRates, Kind
from twinframe.web.exchange import SCOPE_KEY, Exchange
from twinframe.web.operations import Route
from twinframe.web.routing import BoundResponder

_QUERY: Final = "query/read"
_READS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_JOBS: Final = "/jobs/"


def find_kind(route: Route) -> Kind | None:
    """The kind of a route; None for one that is open to everybody, which has no rate.

    A write that names no single thing is a bulk one: models, jobs, many twins at once.
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
    """The kind of a route of the control plane, where nothing is done in bulk."""
    found = find_kind(route)
    return Kind.WRITE if found is Kind.BULK else found


def limit_responder(
    rates: CallerRates, kind: Kind | None, responder: BoundResponder
) -> BoundResponder:
    """The responder, run only for callers that keep to their rate.

    NOTE: it stands behind authentication, so that callers are told apart, and before everything
    that costs more than a microsecond.
    """
    if kind is None:
        return responder

    async def run(request: Request, response: Response, **parameters: str) -> None:
        exchange: Exchange = request.scope[SCOPE_KEY]
        client = request.scope.get("client")
        rates.spend(kind, exchange.caller, client[0] if client else "")
        await responder(request, response, **parameters)

    return run
