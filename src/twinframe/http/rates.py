"""Rate limits of callers at HTTP routes: each route has a kind, and each caller a rate per kind.

The rates themselves are in `access`.
"""

from __future__ import annotations

from typing import Final

from falcon.asgi import Request, Response

from twinframe.access.rates import CallerRates, Kind
from twinframe.http.exchange import SCOPE_KEY, Exchange
from twinframe.http.operations import Route
from twinframe.http.routing import BoundResponder

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

    async def run(request: Request, response: Response, **parameters: str) -> None:
        exchange: Exchange = request.scope[SCOPE_KEY]
        client = request.scope.get("client")
        rates.spend(kind, exchange.caller, client[0] if client else "")
        await responder(request, response, **parameters)

    return run
