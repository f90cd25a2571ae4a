"""The responder and route of `/permissions`, which lists what the caller may do.

The answer serves to offer only permitted actions; each operation still checks its own permission.
"""

from __future__ import annotations

from typing import Final

import orjson
from falcon.asgi import Request, Response

from twinframe.errors import Unauthenticated
from twinframe.http.access import build_request_info
from twinframe.http.api_context import GraphApiContext
from twinframe.http.graph.schemas import Shape
from twinframe.http.messages import read_exchange
from twinframe.http.operations import SIGNED_IN, Answer, Route


class OwnPermissions(Shape):
    """Who calls, and what they may do at this graph; `subject` is null where nobody is asked."""

    subject: str | None
    permissions: list[str]


async def read_permissions(api: GraphApiContext, request: Request, response: Response) -> None:
    """GET: the caller, and which permissions of the route table it holds on this graph.

    If authentication is off, every caller holds all of them.
    """
    exchange = read_exchange(request)
    caller, gate = exchange.caller, exchange.gate
    held = api.permissions
    if gate is not None:
        if caller is None:
            raise Unauthenticated("the request came past the layer that authenticates")
        held = tuple(await gate.list_held(caller, held, build_request_info(exchange)))
    response.data = orjson.dumps(
        {
            "subject": None if caller is None else caller.subject,
            "permissions": [str(permission) for permission in held],
        }
    )
    response.set_header("cache-control", "no-store")


PERMISSION_ROUTES: Final[tuple[Route, ...]] = (
    Route(
        "GET /permissions",
        "Service_Permissions",
        "What the caller may do",
        SIGNED_IN,
        read_permissions,
        Answer(200, "The caller, and the permissions it holds.", OwnPermissions),
        "Service",
        is_strict=True,
    ),
)
