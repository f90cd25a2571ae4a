"""The context of the control plane's responders, and the admission of requests to them.

Verified credentials become an actor here. The use cases decide permissions, in the transaction of
the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from falcon.asgi import Request, Response

from twinframe.access.gate import Gate
from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates
from twinframe.control.plane import ControlPlane
from twinframe.control.records.actors import Actor, ActorKind
from twinframe.errors import Unauthenticated
from twinframe.http.access import build_request_info, find_control_kind, limit_responder
from twinframe.http.api_context import ApiContext
from twinframe.http.messages import read_exchange
from twinframe.http.operations import Route
from twinframe.http.parameters import check_query
from twinframe.http.routing import BoundResponder
from twinframe.model.values import JsonValue
from twinframe.settings import ControlSettings

_CHECK: Final = "Permissions_Check"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlApiContext(ApiContext):
    """The context of all responders of the control plane."""

    plane: ControlPlane
    settings: ControlSettings


class Admission:
    """Admits requests to responders: with the required scopes, as a known actor, with only known
    parameters.

    Deny by default: only routes without a permission are open without credentials.
    """

    def __init__(
        self,
        gate: Gate,
        plane: ControlPlane,
        settings: ControlSettings,
        rates: CallerRates | None = None,
    ) -> None:
        self._rates = rates
        self._gate = gate
        self._plane = plane
        self._scopes = settings.required_scopes
        self._trust_emails = settings.trust_emails

    def admit(self, route: Route, responder: BoundResponder) -> BoundResponder:
        """Wrap the responder to run only for its callers."""
        if route.permission is None:
            return responder
        known = {each.name for each in route.parameters if each.position == "query"}

        async def run(request: Request, response: Response, **parameters: str) -> None:
            request.context.actor = await self._identify(request)
            check_query(request, known)
            response.set_header("cache-control", "no-store")
            await responder(request, response, **parameters)

        if self._rates is None:
            return run
        limited = limit_responder(self._rates, find_control_kind(route), run)
        return choose_limited(limited, run) if route.operation_id == _CHECK else limited

    async def _identify(self, request: Request) -> Actor:
        exchange = read_exchange(request)
        caller = exchange.caller
        if caller is None:  # no layer has authenticated: a wiring mistake must not admit anybody
            raise Unauthenticated("the request came past the layer that authenticates")
        self._gate.check_scopes(caller, self._scopes, build_request_info(exchange))
        request_id = exchange.request_id.decode("ascii")
        actor = build_actor(caller, request_id, trust_emails=self._trust_emails)
        await self._plane.users.see(actor)
        return actor


def choose_limited(limited: BoundResponder, free: BoundResponder) -> BoundResponder:
    """Return the responder of permission checks, without a rate for programs of their own.

    NOTE: a graph server checks for each request of all its callers, which it limits itself;
    refusing it would refuse them all.
    """

    async def run(request: Request, response: Response, **parameters: str) -> None:
        caller = read_exchange(request).caller
        is_service = caller is not None and find_kind(caller) == "service"
        await (free if is_service else limited)(request, response, **parameters)

    return run


def build_actor(caller: Caller, request_id: str, *, trust_emails: bool) -> Actor:
    """Build the actor of these credentials.

    SEC: an email counts if its issuer says that it is verified, or if all of the issuer's are
    (`trust_emails`): invitations go to the caller that shows their address.
    """
    claims = caller.claims
    email = claims.get("email")
    verified = claims.get("email_verified", trust_emails) in (True, "true")
    return Actor(
        caller.subject,
        email if isinstance(email, str) and verified else "",
        find_kind(caller),
        request_id,
    )


def find_kind(caller: Caller) -> ActorKind:
    """Return whether it is a user or a program of its own.

    SPEC: RFC 9068 section 2.2: without a resource owner the subject is the client itself. Some
    issuers say so by the grant's type, or write `<client>@clients`.
    """
    claims: Mapping[str, JsonValue] = caller.claims
    client = caller.subject.removesuffix("@clients")
    is_client = client in (claims.get("client_id"), claims.get("azp"))
    is_client = is_client or claims.get("gty") in ("client-credentials", "client_credentials")
    return "service" if is_client else "user"
