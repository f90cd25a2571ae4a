"""Verifies an access token and returns its caller."""

from __future__ import annotations

import time
from collections.abc import Callable

from twinframe.access.authentication.claims import TokenPolicy, build_caller
from twinframe.access.authentication.compact import parse_compact, render_value
from twinframe.access.authentication.key_source import KeySource
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated


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
        caller = build_caller(parts.claims, self._policy, self._now())
        key = await self._keys.find(parts.kid, parts.algorithm)
        if not key.verify(parts.signed, parts.signature):
            raise Unauthenticated("the signature is wrong")
        return caller
