"""Refusal of query parameters and preconditions that an operation does not take.

A client that sends a condition relies on it, so nothing is written unless it is known to hold.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from falcon.asgi import Request, Response

from twinframe.errors import InvalidArgument, PreconditionFailed
from twinframe.errors.nearest import render_hint
from twinframe.http.api_context import ApiContext
from twinframe.http.messages import has_conditions, read_conditions
from twinframe.http.operations import AS_OF, Route
from twinframe.model.etags import parse_condition

_LONGEST: Final = 100
_QUERYING: Final = "POST /query"
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
    """Refuse parameters that an operation does not take, or repeated ones that are not in `many`.

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


def is_like_as_of(name: str) -> bool:
    """Whether a name is `asOf`, or a spelling of it that other interfaces have."""
    return name.lower().replace("_", "").replace("-", "") == "asof"


def refuse_past(route: Route) -> Route:
    """Return the route; its responder refuses `asOf` unless it takes it, and near misses of it.

    SEC: an answer of the present for a question about the past would be wrong, and a caller who
    sends `asOf` with a write expects no write of the present.
    """
    takes = AS_OF in route.parameters
    reason = "it works on the present state only. Nothing was read or changed."
    if route.call == _QUERYING:
        reason = "send asOf as a member of the body."
    if route.permission is None:
        return route

    def check(request: Request) -> None:
        for name in request.params:
            if not is_like_as_of(name):
                continue
            if not takes:
                raise InvalidArgument(
                    f"This operation takes no query parameter {name[:_LONGEST]}: {reason}"
                )
            if name != AS_OF.name:
                raise InvalidArgument(
                    f"There is no query parameter {name[:_LONGEST]!r}. Did you mean asOf?"
                )
            if isinstance(request.params[name], list):
                raise InvalidArgument("The query parameter asOf stands there more than once.")

    async def respond(api: ApiContext, request: Request, response: Response, **names: str) -> None:
        if request.query_string:
            check(request)
        await route.responder(api, request, response, **names)

    return replace(route, responder=respond)


_MATCH: Final = "If-Match"
_NONE_MATCH: Final = "If-None-Match"
_CREATED: Final = 201


def refuse_conditions(route: Route) -> Route:
    """Return the route; if it writes, its responder refuses conditions it does not check.

    SPEC: RFC 9110 section 13. `If-Modified-Since` and `If-Range` do not apply to writes.
    """
    if route.method == "GET" or (route.permission or "").endswith("/read"):
        return route
    known = {each.name for each in route.parameters if each.position == "header"}
    creates = route.answer.status == _CREATED
    is_of_one = route.method != "POST" and not creates

    def check(request: Request) -> None:
        if_match, if_none_match = read_conditions(request)
        if if_match is not None:
            if _MATCH not in known:
                _check_match(if_match, is_of_one=is_of_one)
        elif request.get_header("if-unmodified-since") is not None:
            raise PreconditionFailed(
                "If-Unmodified-Since is not looked at here, so nothing was changed. "
                f"{_advise(known)}"
            )
        if if_none_match is not None and _NONE_MATCH not in known:
            _check_none_match(if_none_match, has_etag=_MATCH in known, creates=creates)

    async def respond(api: ApiContext, request: Request, response: Response, **names: str) -> None:
        if has_conditions(request):
            check(request)
        await route.responder(api, request, response, **names)

    return replace(route, responder=respond)


def _check_match(header: str, *, is_of_one: bool) -> None:
    """Accept `*` if the operation writes one existing thing, whose existence it then checks."""
    if parse_condition(header).match or not is_of_one:
        raise PreconditionFailed(
            f"If-Match: {header[:100]!a} was specified, but this operation looks at no ETag, so "
            f"nothing was changed. {_advise(())}"
        )


def _check_none_match(header: str, *, has_etag: bool, creates: bool) -> None:
    """Accept `*` if the operation only creates, and tags if the resource has no etag."""
    tags = parse_condition(None, header).none_match
    if has_etag or not (tags or creates):
        raise PreconditionFailed(
            f"If-None-Match: {header[:100]!a} was specified, but this operation does not look at "
            f"it, so nothing was changed. {_advise((_MATCH,) if has_etag else ())}"
        )


def _advise(known: Collection[str]) -> str:
    return "Send If-Match with the ETag." if _MATCH in known else "Leave it out."
