"""A strict parser for signed tokens in compact form; it does not verify their signatures."""

from __future__ import annotations

import binascii
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from twinframe.errors import Unauthenticated
from twinframe.model.values import JsonValue

_SEGMENT: Final = re.compile(rb"[A-Za-z0-9_-]+")
# PERF: an unterminated string matches to the end, so that the search is linear in any text.
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_MAX_DEPTH: Final = 16
_MAX_DIGITS: Final = 24
_TEXT_MEMBERS: Final = ("alg", "kid", "typ", "x5t", "x5t#S256")
_MAX_KID: Final = 256

_REFUSED_MEMBERS: Final = {
    # SEC: RFC 8725 section 3.10: keys come from the issuer's own address, never from a token.
    **dict.fromkeys(("jwk", "jku", "x5u", "x5c"), "a key or the address of one"),
    # SPEC: RFC 7515 section 4.1.11: an unknown critical extension makes a token invalid. RFC 7797
    # (`b64`) is the only registered extension of a signature, and of no use in a token.
    **dict.fromkeys(("crit", "b64"), "an extension that is not understood"),
    # SEC: RFC 8725 section 3.6.
    "zip": "compression",
    "cty": "a nested token",
    # SEC: members of an encrypted token in one that claims to be signed are a mix-up.
    **dict.fromkeys(("enc", "epk", "apu", "apv", "iv", "tag", "p2s", "p2c"), "encryption"),
}

ACCEPTED_TYPES: Final = frozenset(("jwt", "at+jwt", "application/at+jwt"))
"""Values of `typ`, in lower case, that an access token may have; it may also have none."""


@dataclass(frozen=True, slots=True)
class CompactToken:
    """A parsed token, which must not be trusted before its signature is verified.

    `kid` is None when the header names no key. `signed` are the bytes that `signature` covers.
    """

    algorithm: str
    kid: str | None
    claims: dict[str, JsonValue]
    signed: bytes
    signature: bytes


def parse_compact(token: bytes, max_bytes: int) -> CompactToken:
    """Parse a token in JWS compact serialization (RFC 7515 section 7.1).

    Requires exactly three segments of canonical unpadded base64url; header and claims are JSON
    objects in UTF-8 without duplicate members, lone surrogates or numbers beyond a double. Raises
    `Unauthenticated` with the reason, for the log.
    """
    if len(token) > max_bytes:
        raise Unauthenticated(f"the token is longer than {max_bytes} bytes")
    segments = token.split(b".")
    if len(segments) != 3:
        raise Unauthenticated(f"the token has {len(segments)} segments instead of 3")
    header = parse_object(_decode_segment(segments[0], "header"), "header")
    algorithm, kid = _check_header(header)
    return CompactToken(
        algorithm,
        kid,
        parse_object(_decode_segment(segments[1], "payload"), "payload"),
        token[: -len(segments[2]) - 1],
        _decode_segment(segments[2], "signature"),
    )


def parse_object(raw: bytes, what: str) -> dict[str, JsonValue]:
    """Parse the JSON object in `raw`; `what` names it in the reason of `Unauthenticated`."""
    try:
        text = raw.decode("utf-8")
        _check_depth(text)
        value = _DECODER.decode(text)
        if "\\u" in text:  # PERF: only an escape can encode what is not valid text
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError) as error:
        # NOTE: the error's own text would quote the token.
        detail = str(error) if isinstance(error, _Refused) else type(error).__name__
        raise Unauthenticated(f"the {what} is not strict JSON: {detail}") from None
    if not isinstance(value, dict):
        raise Unauthenticated(f"the {what} is not a JSON object")
    return value


def render_value(value: object) -> str:
    """Render a value of a token for the log: printable, short, on one line."""
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


class _Refused(ValueError):
    """JSON that other parsers might accept, or read differently."""


def _decode_segment(segment: bytes, what: str) -> bytes:
    if not _SEGMENT.fullmatch(segment):
        raise Unauthenticated(f"the {what} is empty or not base64url without padding")
    try:
        decoded = urlsafe_b64decode(segment + b"=" * (-len(segment) % 4))
    except binascii.Error:
        raise Unauthenticated(f"the {what} is not base64url without padding") from None
    # SEC: unused bits would allow two spellings of one token.
    if urlsafe_b64encode(decoded).rstrip(b"=") != segment:
        raise Unauthenticated(f"the {what} is not canonical base64url")
    return decoded


def _check_header(header: dict[str, JsonValue]) -> tuple[str, str | None]:
    for name in _TEXT_MEMBERS:
        if name in header and not isinstance(header[name], str):
            raise Unauthenticated(f"{name} in the header is not a string")
    for name, meaning in _REFUSED_MEMBERS.items():
        if name in header:
            raise Unauthenticated(f"{name} in the header: {meaning}")
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ")
    if not isinstance(algorithm, str):
        raise Unauthenticated("the header has no alg")
    if kind is not None and str(kind).lower() not in ACCEPTED_TYPES:
        raise Unauthenticated(f"typ {render_value(kind)} is not that of an access token")
    if kid is not None and not 0 < len(str(kid)) <= _MAX_KID:
        raise Unauthenticated(f"kid is empty or longer than {_MAX_KID} characters")
    return algorithm, None if kid is None else str(kid)


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= _MAX_DEPTH:  # PERF: nearly always
        return
    depth = 0
    for found in _STRUCTURE.findall(text):
        depth += (found in ("[", "{")) - (found in ("]", "}"))
        if depth > _MAX_DEPTH:
            raise _Refused(f"nested deeper than {_MAX_DEPTH}")


def _build_object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    built = dict(members)
    if len(built) != len(members):
        # SEC: parsers differ in which of two duplicates they take.
        raise _Refused("a member appears twice")
    return built


def _parse_int(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise _Refused("a number is too long")
    return int(text)


def _parse_float(text: str) -> float:
    if len(text) > 4 * _MAX_DIGITS:
        raise _Refused("a number is too long")
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _Refused("a number is too large")
    return value


def _refuse_constant(text: str) -> NoReturn:
    raise _Refused(f"{text} is not JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_build_object,
    parse_int=_parse_int,
    parse_float=_parse_float,
    parse_constant=_refuse_constant,
)
