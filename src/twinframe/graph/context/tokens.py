"""Continuation tokens: signed but not encrypted, bound to their operation, and expiring.

A token is base64url of a JSON array [version, expiry in seconds, page size, state] and the first 16
bytes of its HMAC-SHA256. The operation and its arguments enter the HMAC, not the token.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

import orjson

from twinframe.errors import InvalidContinuationToken
from twinframe.model.clock import Clock
from twinframe.model.values import JsonValue

_VERSION: Final = 1
_MAC_BYTES: Final = 16
_MAX_TOKEN: Final = 512 * 1024
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Continuation:
    """The contents of a token: `state` says where to continue, `size` how large the pages are."""

    state: JsonValue
    size: int


class TokenSigner:
    """Renders and parses tokens with one secret, which all processes of a graph share."""

    def __init__(self, secret: bytes, lifetime: float, clock: Clock) -> None:
        self._secret = secret
        self._lifetime = lifetime
        self._clock = clock

    def render(self, operation: str, arguments: JsonValue, continuation: Continuation) -> str:
        """Render a token that `parse` accepts for the same operation and arguments until it
        expires.
        """
        expiry = self._clock() // _SECOND + int(self._lifetime)
        payload = orjson.dumps([_VERSION, expiry, continuation.size, continuation.state])
        return _encode(payload + self._sign(operation, arguments, payload))

    def parse(self, operation: str, arguments: JsonValue, token: str) -> Continuation:
        """Return the contents of the token; `InvalidContinuationToken` if it is foreign, or for
        something else.
        """
        raw = _decode(token)
        payload, mac = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._sign(operation, arguments, payload)):
            raise InvalidContinuationToken(
                "The continuation token is damaged or belongs to another request. "
                "Send it unchanged, with the arguments of the page that gave it."
            )
        # Only signed content comes this far; the version guards against older releases.
        version, expiry, size, state = orjson.loads(payload)
        if version != _VERSION or expiry < self._clock() // _SECOND:
            raise InvalidContinuationToken(
                "The continuation token has expired. Start again with the first page."
            )
        return Continuation(state, size)

    def _sign(self, operation: str, arguments: JsonValue, payload: bytes) -> bytes:
        bound = orjson.dumps([operation, arguments], option=orjson.OPT_SORT_KEYS)
        message = hashlib.sha256(bound).digest() + payload
        return hmac.digest(self._secret, message, "sha256")[:_MAC_BYTES]


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _decode(token: str) -> bytes:
    if len(token) <= _MAX_TOKEN:
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
        # Several spellings decode to the same bytes; only ours is accepted.
        if len(raw) > _MAC_BYTES and _encode(raw) == token:
            return raw
    raise InvalidContinuationToken("The continuation token is not one of this service.")
