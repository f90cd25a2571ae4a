"""The lifecycle of the server's signing keys, and their text form.

A key is *next* (published, signs nothing), then *active* (signs), then *retired* (published until
the last token it signed has expired). So a verifier with the published keys knows the key of a
token before the first token is signed with it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast, get_args

import orjson

from twinframe.errors import ConfigurationError
from twinframe.tokenserver.signing_keys import Algorithm, SigningKey, build_signing_key

MARGIN_SECONDS = 330.0
"""How long a retired key outlives its last token: the largest leeway a verifier may allow."""

_VERSION = 1


@dataclass(frozen=True, slots=True)
class RetiredKey:
    """A key that no longer signs; `until` is when its last token has certainly expired."""

    key: SigningKey
    until: float


@dataclass(frozen=True, slots=True)
class KeyRing:
    """The keys at a moment. Times are seconds since the epoch.

    `since` is when the active key began to sign; `longest` the longest lifetime, in seconds, of any
    token it may have signed.
    """

    active: SigningKey
    next: SigningKey
    retired: tuple[RetiredKey, ...]
    since: float
    longest: float

    def list_published(self) -> list[SigningKey]:
        """All keys whose public half is published, the active one first."""
        return [self.active, self.next, *(old.key for old in self.retired)]


def build_ring(algorithm: Algorithm, longest: float, now: float) -> KeyRing:
    """Build the first keys of a server."""
    active, following = build_signing_key(algorithm), build_signing_key(algorithm)
    return KeyRing(active, following, (), now, longest)


def rotate(ring: KeyRing, algorithm: Algorithm, now: float) -> KeyRing:
    """Return the ring in which the next key signs, or a new one if the algorithm has changed."""
    retired = RetiredKey(ring.active, now + ring.longest + MARGIN_SECONDS)
    following = ring.next
    if following.algorithm != algorithm:
        following = build_signing_key(algorithm)
    return replace(
        ring,
        active=following,
        next=build_signing_key(algorithm),
        retired=(retired, *ring.retired),
        since=now,
    )


def maintain(
    ring: KeyRing, algorithm: Algorithm, longest: float, key_lifetime: float, now: float
) -> KeyRing:
    """Return the ring for now: rotated if it is time, without expired keys.

    Equal to `ring` when there is nothing to do.
    """
    if longest > ring.longest:
        ring = replace(ring, longest=longest)
    if now >= ring.since + key_lifetime or ring.active.algorithm != algorithm:
        ring = rotate(ring, algorithm, now)
    kept = tuple(old for old in ring.retired if now < old.until)
    return ring if len(kept) == len(ring.retired) else replace(ring, retired=kept)


def render_ring(ring: KeyRing) -> bytes:
    """Render the ring as JSON text, including private keys."""
    document = {
        "version": _VERSION,
        "since": ring.since,
        "longest": ring.longest,
        "active": _render_key(ring.active),
        "next": _render_key(ring.next),
        "retired": [{**_render_key(old.key), "until": old.until} for old in ring.retired],
    }
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def parse_ring(text: bytes, where: str) -> KeyRing:
    """Parse such a text; `where` names it in errors. Raises `ConfigurationError`."""
    try:
        document = orjson.loads(text)
        if document["version"] != _VERSION:
            raise ValueError(f"version {document['version']} is not known")  # noqa: TRY301
        return KeyRing(
            active=_parse_key(document["active"]),
            next=_parse_key(document["next"]),
            retired=tuple(
                RetiredKey(_parse_key(old), float(old["until"])) for old in document["retired"]
            ),
            since=float(document["since"]),
            longest=float(document["longest"]),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigurationError(
            f"{where} does not hold the keys of a token server ({error!r}). Restore it; without "
            "it new keys are made, and tokens signed with the old ones are refused."
        ) from error


def _render_key(key: SigningKey) -> dict[str, object]:
    return {"kid": key.kid, "algorithm": key.algorithm, "pem": key.pem}


def _parse_key(document: dict[str, str]) -> SigningKey:
    if document["algorithm"] not in get_args(Algorithm):
        raise ValueError(f"algorithm {document['algorithm']} is not known")
    key = SigningKey(cast("Algorithm", document["algorithm"]), document["pem"])
    if key.kid != document["kid"]:
        raise ValueError(f"key {document['kid']} is damaged")
    return key
