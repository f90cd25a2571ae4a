"""The authenticator of bearer tokens in the Authorization header (RFC 6750 section 2.1)."""

from __future__ import annotations

from twinframe.access.authentication.key_source import KeySource
from twinframe.access.authentication.port import MISSING, Authenticator, Headers
from twinframe.access.authentication.tokens import TokenVerifier
from twinframe.access.authentication.verified import VerifiedTokens
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated


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

    async def authenticate(self, headers: Headers) -> Caller:
        """Return the caller of the request's valid access token."""
        token = read_bearer(headers)
        if self._keys.touch():
            known = self._verified.get(token, self._keys.generation)
            if known is not None:
                return known
        caller = await self._verifier.verify(token)
        # NOTE: nothing is awaited between the key and here: this is the generation of that key.
        self._verified.put(token, self._keys.generation, caller)
        return caller


def read_bearer(headers: Headers) -> bytes:
    """The bearer token in these headers.

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
