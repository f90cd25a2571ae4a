"""Checks the claims of an access token against the service's policy and builds its caller."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from twinframe.access.authentication.compact import render_value
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated
from twinframe.model.values import JsonValue

# SPEC: RFC 6749 section 3.3.
_SCOPES: Final = re.compile(r"[\x21\x23-\x5B\x5D-\x7E]+(?: [\x21\x23-\x5B\x5D-\x7E]+)*")

_FOREIGN: Final = {
    # SEC: RFC 8725 section 3.12: tokens of the same issuer with another purpose.
    "events": "a security event or logout token",
    "at_hash": "an ID token",
    "c_hash": "an ID token",
    # SPEC: RFC 7800: only valid with a proof of possession, which a bearer token does not have.
    "cnf": "a token bound to a key",
}


@dataclass(frozen=True, slots=True)
class TokenPolicy:
    """The requirements on a token.

    `issuer` is compared exactly; one of `audiences` must be named. `leeway` and `max_lifetime` are
    seconds; `max_bytes` bounds the token as sent.
    """

    issuer: str
    audiences: frozenset[str]
    algorithms: frozenset[str]
    leeway: float = 30.0
    max_lifetime: float = 7 * 24 * 3600.0
    max_bytes: int = 8192


def build_caller(claims: dict[str, JsonValue], policy: TokenPolicy, now: float) -> Caller:
    """Build the caller of these claims; `now` in seconds since the epoch.

    `expires` is `exp`, without leeway. Raises `Unauthenticated` for claims that are missing, of
    another type, or not for this service at this time (RFC 7519 section 4.1, RFC 9068 section 4).
    """
    _check_issuer(claims, policy)
    _check_audience(claims, policy)
    expires = _check_times(claims, policy, now)
    for name, meaning in _FOREIGN.items():
        if name in claims:
            raise Unauthenticated(f"{name} in the claims: {meaning}")
    if "jti" in claims and not isinstance(claims["jti"], str):
        raise Unauthenticated("jti is not a string")
    return Caller(
        _read_subject(claims),
        claims,
        scopes=_read_scopes(claims),
        expires=expires,
    )


def _check_issuer(claims: Mapping[str, JsonValue], policy: TokenPolicy) -> None:
    issuer = claims.get("iss")
    if not isinstance(issuer, str) or issuer != policy.issuer:
        raise Unauthenticated(f"iss {render_value(issuer)} is not {policy.issuer}")


def _check_audience(claims: Mapping[str, JsonValue], policy: TokenPolicy) -> None:
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if not all(isinstance(name, str) and name for name in named):
        raise Unauthenticated("aud is neither a string nor a list of strings")
    if policy.audiences.isdisjoint(name for name in named if isinstance(name, str)):
        raise Unauthenticated(f"aud {render_value(audience)} does not name this service")


def _check_times(claims: Mapping[str, JsonValue], policy: TokenPolicy, now: float) -> float:
    expires = _read_time(claims, "exp")
    if expires is None:
        raise Unauthenticated("exp is missing")
    if expires + policy.leeway <= now:
        raise Unauthenticated(f"the token expired {now - expires:.0f} s ago")
    if expires > now + policy.max_lifetime + policy.leeway:
        raise Unauthenticated("exp is further away than MaxTokenLifetime allows")
    for name in ("nbf", "iat"):
        moment = _read_time(claims, name)
        if moment is not None and moment > now + policy.leeway:
            raise Unauthenticated(f"{name} is {moment - now:.0f} s in the future")
    return expires


def _read_time(claims: Mapping[str, JsonValue], name: str) -> float | None:
    """A NumericDate (RFC 7519 section 2) as seconds since the epoch; None when it is not there."""
    if name not in claims:
        return None
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unauthenticated(f"{name} is not a number")
    return float(value)


def _read_subject(claims: Mapping[str, JsonValue]) -> str:
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject.strip():
        raise Unauthenticated("sub is missing, empty or not a string")
    # SEC: the subject is used in logs, in audit lines and in URLs of a permission service.
    if not subject.isprintable():
        raise Unauthenticated(f"sub {render_value(subject)} has unprintable characters")
    return subject


def _read_scopes(claims: Mapping[str, JsonValue]) -> frozenset[str]:
    scope = claims.get("scope")
    if isinstance(scope, str) and _SCOPES.fullmatch(scope):
        return frozenset(scope.split(" "))
    return frozenset()
