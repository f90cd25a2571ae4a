"""Pages of key-ordered listings: their sizes, their continuation tokens, where the next starts."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

import orjson

from twinframe.errors import InvalidArgument, InvalidContinuationToken
from twinframe.model.clock import Clock
from twinframe.model.pages import Page, PageRequest
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
    """Renders and parses tokens with one secret, which all processes of a graph share.

    A token is base64url of a JSON array [version, expiry in seconds, page size, state] and the
    first 16 bytes of its HMAC-SHA256. The operation and its arguments enter the HMAC, not the
    token. It is signed but not encrypted.
    """

    def __init__(self, secret: bytes, lifetime: float, clock: Clock) -> None:
        self._secret = secret
        self._lifetime = lifetime
        self._clock = clock

    def render(self, operation: str, arguments: JsonValue, continuation: Continuation) -> str:
        """Render a token that `parse` accepts for the same operation until it expires."""
        expiry = self._clock() // _SECOND + int(self._lifetime)
        payload = orjson.dumps([_VERSION, expiry, continuation.size, continuation.state])
        return _encode(payload + self._sign(operation, arguments, payload))

    def parse(self, operation: str, arguments: JsonValue, token: str) -> Continuation:
        """Return a token's contents; `InvalidContinuationToken` if it is not for this."""
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


T = TypeVar("T")
K = TypeVar("K", int, str)

_FIRST_ROWS: Final = 2
_MORE_ROWS: Final = 4


def gather(
    fetch: Callable[[K | None, int], Sequence[tuple[K, T]]],
    after: K | None,
    count: int,
    most_bytes: int,
    measure: Callable[[T], int],
) -> list[tuple[K, T]]:
    """Return up to `count` rows after the key `after`, stopping once they exceed `most_bytes`.

    `fetch` returns up to a number of rows after a key, in order. `measure` returns a row's bytes.
    SEC: rows are read a few at a time, since each may have a mebibyte: a page of 2,000 of them
    would be 2 GB before it could be cut.
    """
    found: list[tuple[K, T]] = []
    at_once = _FIRST_ROWS
    while True:
        asked = min(at_once, count - len(found))
        some = fetch(after, asked)
        found += some
        most_bytes -= sum(measure(item) for _, item in some)
        if len(some) < asked or len(found) >= count or most_bytes < 0:
            return found
        after = some[-1][0]
        at_once *= _MORE_ROWS


@dataclass(frozen=True, slots=True)
class PageSizes:
    """`usual`: items when no number is requested.

    `most`: the limit of items, as `bytes` is of bytes.
    """

    usual: int
    most: int
    bytes: int

    def build(self, asked: int | None, carried: int | None = None) -> int:
        """Return the number of items of this page. `carried` is the size of the pages before it."""
        if asked is None:
            return min(carried or self.usual, self.most)
        if asked < 1:
            raise InvalidArgument(f"max-items-per-page must be at least 1, not {asked}.")
        return min(asked, self.most)


@dataclass(frozen=True, slots=True)
class Listing:
    """One listing with its arguments, to which its tokens are bound.

    `start(request)` returns the key after which the page starts (None: at the beginning) and its
    size; `gather` reads one item more than that, or all that fit, and `page` cuts and makes the
    token.
    """

    signer: TokenSigner
    sizes: PageSizes
    operation: str
    arguments: JsonValue

    def start(self, request: PageRequest) -> tuple[str | int | None, int]:
        """Return where the page starts and how many items it has."""
        if request.token is None:
            return None, self.sizes.build(request.size)
        carried = self.signer.parse(self.operation, self.arguments, request.token)
        return cast("str | int", carried.state), self.sizes.build(request.size, carried.size)

    def gather(
        self,
        fetch: Callable[[K | None, int], Sequence[tuple[K, T]]],
        after: K | None,
        size: int,
        measure: Callable[[T], int],
    ) -> list[tuple[K, T]]:
        """Return the rows of a page, and one more if there are more. See `gather`."""
        return gather(fetch, after, size + 1, self.sizes.bytes, measure)

    def page(
        self,
        found: Sequence[tuple[K, T]],
        size: int,
        measure: Callable[[T], int] | None = None,
        searched: K | None = None,
    ) -> Page[T]:
        """Build the page of the first of `found` (key and item); if there are more, it has a token.

        It has `size` items, and fewer when `measure` says that they exceed the bytes of a page; at
        least one of those that were found. If a search ended before it found all, `searched` is the
        key up to which it came.
        """
        count = size if measure is None else self._count_fitting(found[:size], measure)
        items = tuple(item for _, item in found[:count])
        after = found[count - 1][0] if len(found) > count else searched
        if after is None:
            return Page(items)
        continuation = Continuation(after, size)
        return Page(items, self.signer.render(self.operation, self.arguments, continuation))

    def _count_fitting(self, found: Sequence[tuple[K, T]], measure: Callable[[T], int]) -> int:
        room = self.sizes.bytes
        for at, (_, item) in enumerate(found):
            room -= measure(item)
            if room < 0:
                return max(at, 1)
        return len(found)
