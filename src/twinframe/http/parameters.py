"""Refusal of query parameters that an operation does not take."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.http.api_context import ApiContext
from twinframe.http.operations import Route

_LONGEST: Final = 100
_API_VERSION: Final = "api-version"


def refuse_unknown(route: Route) -> Route:
    """Return the route; if it is strict, its responder refuses parameters it does not take.

    NOTE: none of the vendor's operations is strict: its service ignores unknown parameters, and
    clients and gateways send their own.
    """
    if not route.is_strict:
        return route
    known = {_API_VERSION}
    many = {_API_VERSION}  # a gateway may add its own to the caller's; both are ignored
    for parameter in route.parameters:
        if parameter.position == "query":
            known.add(parameter.name)
            if parameter.kind == list[str]:
                many.add(parameter.name)

    async def respond(api: ApiContext, request: Request, response: Response, **names: str) -> None:
        check_query(request, known, many)
        await route.responder(api, request, response, **names)

    return replace(route, responder=respond)


def check_query(request: Request, known: Collection[str], many: Collection[str] = ()) -> None:
    """Raise an error for parameters that an operation does not take, or that are repeated but not
    in `many`.

    SEC: if they were ignored, a typing mistake in `userId` would answer for another user, and one
    in `filter` would show everything.
    """
    for name, value in request.params.items():
        if name not in known:
            hint = render_hint(name, sorted(known)) if known else "It takes none."
            raise InvalidArgument(
                f"This operation has no query parameter {name[:_LONGEST]!r}. {hint}"
            )
        if isinstance(value, list) and name not in many:
            raise InvalidArgument(f"The query parameter {name} stands there more than once.")
