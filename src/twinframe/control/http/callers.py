"""Turns verified credentials into an actor of the control plane."""

from __future__ import annotations

from collections.abc import Mapping

from twinframe.access.permissions import Caller
from twinframe.control.records.actors import Actor, ActorKind
from twinframe.model.values import JsonValue


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
