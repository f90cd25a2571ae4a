"""Refusal of conditional requests whose conditions an operation does not check.

A client that sends a condition relies on it, so nothing is written unless the condition is known to
hold.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from falcon.asgi import Request, Response

from twinframe.errors import PreconditionFailed
from twinframe.http.api_context import ApiContext
from twinframe.http.messages import has_conditions, read_conditions
from twinframe.http.operations import Route
from twinframe.model.etags import parse_condition

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
