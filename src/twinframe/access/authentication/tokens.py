"""Authenticates by bearer tokens: verifies access tokens, and remembers verified ones by hash."""

from __future__ import annotations

import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from twinframe.access.authentication.compact import parse_compact, render_value
from twinframe.access.authentication.keys import KeySource
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
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


def _build_caller(claims: dict[str, JsonValue], policy: TokenPolicy, now: float) -> Caller:
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


MAX_REMEMBERED: Final = 60.0
"""Seconds after which a token is verified again at the latest."""


class VerifiedTokens:
    """The callers of at most `size` tokens, dropping the least recently used first.

    A caller is cached until the token expires, at most for a minute, and while the issuer's keys
    are of the same generation. `now` and `steady` are the wall and the monotonic clock.
    """

    def __init__(
        self,
        size: int,
        leeway: float,
        now: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leeway = leeway
        self._now = now
        self._steady = steady
        self._generation = 0
        self._size = size
        # SEC: by their hashes: a dump of this process's memory should contain as few usable tokens
        # as possible. PERF: a hit takes 0.3 us, in a cache of cachetools 1.1 us.
        self._callers: OrderedDict[bytes, tuple[Caller, float, float]] = OrderedDict()

    def get(self, token: bytes, generation: int) -> Caller | None:
        """Return the caller of a token verified with keys of this generation, if known.

        PERF: with the reading of the header 2 to 4 us of CPU for tokens of 0.6 to 2 KB, against 60
        to 240 us for a verification.
        """
        if generation != self._generation:
            self._enter(generation)
        key = sha256(token).digest()
        found = self._callers.get(key)
        if found is None:
            return None
        caller, ends, forgotten = found
        # NOTE: both clocks: the wall clock may be set back, and the token expires by it.
        if self._now() < ends and self._steady() < forgotten:
            self._callers.move_to_end(key)
            return caller
        del self._callers[key]
        return None

    def put(self, token: bytes, generation: int, caller: Caller) -> None:
        """Remember the caller of a token verified with keys of this generation."""
        if generation != self._generation:
            self._enter(generation)
        if caller.expires is None:
            return
        key = sha256(token).digest()
        self._callers[key] = (
            caller,
            caller.expires + self._leeway,
            self._steady() + MAX_REMEMBERED,
        )
        self._callers.move_to_end(key)
        if len(self._callers) > self._size:
            self._callers.popitem(last=False)

    def _enter(self, generation: int) -> None:
        # SEC: a key was withdrawn: tokens it signed must be refused now.
        self._callers.clear()
        self._generation = generation


class TokenVerifier:
    """Verifies JWT access tokens (RFC 9068, as strict as RFC 8725 asks).

    `now` is the wall clock, in seconds since the epoch. The form is parsed here, strictly, so that
    no library's leniency decides; PyJWT checks the signature.
    """

    def __init__(
        self, policy: TokenPolicy, keys: KeySource, now: Callable[[], float] = time.time
    ) -> None:
        self._policy = policy
        self._keys = keys
        self._now = now

    async def verify(self, token: bytes) -> Caller:
        """Return the caller of a token as it was sent.

        Raises `Unauthenticated` for every token that is not exactly right, never anything else.
        """
        parts = parse_compact(token, self._policy.max_bytes)
        if parts.algorithm not in self._policy.algorithms:
            raise Unauthenticated(f"alg {render_value(parts.algorithm)} is not accepted")
        # NOTE: claims before the key: a token that would be refused anyway causes no request to the
        # issuer. None of them is used before the signature is verified.
        caller = _build_caller(parts.claims, self._policy, self._now())
        key = await self._keys.find(parts.kid, parts.algorithm)
        if not key.verify(parts.signed, parts.signature):
            raise Unauthenticated("the signature is wrong")
        return caller


class BearerAuthenticator(Authenticator):
    """Finds the caller by the one bearer token of a request."""

    def __init__(self, verifier: TokenVerifier, keys: KeySource, verified: VerifiedTokens) -> None:
        self._verifier = verifier
        self._keys = keys
        self._verified = verified

    async def start(self) -> None:
        """Request the issuer's keys, without waiting for them."""
        await self._keys.start()

    async def stop(self) -> None:
        """Cancel the request for keys."""
        await self._keys.stop()

    def recall(self, headers: Headers) -> Caller | None:
        """Return the caller of a token that was verified before."""
        sent = None
        for name, value in headers:
            if name == b"authorization":
                if sent is not None:
                    return None
                sent = value
        # SEC: only what `read_bearer` found in such a header is remembered as a token.
        if sent is None or sent[:7] != b"Bearer " or not self._keys.touch():
            return None
        return self._verified.get(sent[7:], self._keys.generation)

    async def authenticate(self, headers: Headers) -> Caller:
        """Return the caller of the request's valid access token."""
        token = read_bearer(headers)
        if self._keys.touch():  # NOTE: it may not have been sent in the form that `recall` reads
            known = self._verified.get(token, self._keys.generation)
            if known is not None:
                return known
        caller = await self._verifier.verify(token)
        # NOTE: nothing is awaited between the key and here: this is the generation of that key.
        self._verified.put(token, self._keys.generation, caller)
        return caller


def read_bearer(headers: Headers) -> bytes:
    """The bearer token in these headers (RFC 6750 section 2.1).

    Exactly one Authorization header, of scheme Bearer in any case, with one token. Raises
    `Unauthenticated`, with `MISSING` when there is no such header at all.
    """
    values = [value for name, value in headers if name == b"authorization"]
    if len(values) != 1:
        raise Unauthenticated("more than one Authorization header was sent" if values else MISSING)
    scheme, _blank, rest = values[0].strip(b" \t").partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthenticated("the Authorization header is not of scheme Bearer")
    token = rest.strip(b" ")
    if not token:
        raise Unauthenticated("the Authorization header has no token")
    if b" " in token or b"\t" in token or b"," in token:
        raise Unauthenticated("the Authorization header has more than one token")
    return token
