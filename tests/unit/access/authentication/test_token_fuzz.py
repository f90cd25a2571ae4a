"""Whatever is shown as a token, only a refusal comes of it: nothing else ever escapes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.unit.access.authentication.issuer_double import (
    FakeClock,
    IssuerDouble,
    build_authenticator,
)
from tests.unit.access.authentication.token_factory import TokenFactory, encode
from twinframe.access.authentication.compact import parse_compact, parse_object
from twinframe.access.permissions import Caller
from twinframe.errors import Unauthenticated

CLOCK = FakeClock()
FACTORY = TokenFactory(clock=CLOCK)
ISSUER = IssuerDouble(FACTORY)
AUTHENTICATOR = build_authenticator(ISSUER, CLOCK)

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(10**30), max_value=10**30)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "RS256", "none", "rsa-1", "JWT", FACTORY.issuer, FACTORY.audience])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4)
    ),
    max_leaves=8,
)
HEADER_NAMES = st.sampled_from(
    [
        "alg",
        "kid",
        "typ",
        "cty",
        "crit",
        "b64",
        "zip",
        "jwk",
        "jku",
        "x5u",
        "x5c",
        "x5t",
        "enc",
        "p2c",
        "a",
    ]
)
CLAIM_NAMES = st.sampled_from(
    ["iss", "aud", "sub", "exp", "nbf", "iat", "jti", "scope", "permissions", "cnf", "events", "a"]
)


def show(*headers: tuple[bytes, bytes]) -> Caller | None:
    """The caller, None for a refusal; any other error fails the test."""
    try:
        return asyncio.run(AUTHENTICATOR.authenticate(headers))
    except Unauthenticated as refusal:
        check_reason(refusal.reason)
        return None


def check_reason(reason: str) -> None:
    """A reason is one short line of the log."""
    assert reason.isprintable()
    assert 0 < len(reason) < 500


def show_token(token: bytes) -> Caller | None:
    return show((b"authorization", b"Bearer " + token))


@given(st.binary(max_size=300))
@example(b"")
@example(b"..")
@example(b"\xff.\xff.\xff")
def test_any_bytes_as_a_token_are_refused(token: bytes) -> None:
    assert show_token(token) is None


@given(st.lists(st.tuples(st.sampled_from([b"authorization", b"host"]), st.binary(max_size=60))))
def test_any_headers_are_refused(headers: list[tuple[bytes, bytes]]) -> None:
    assert show(*headers) is None


@given(st.binary(max_size=200), st.binary(max_size=200), st.binary(max_size=300))
def test_any_bytes_in_three_segments_are_refused(a: bytes, b: bytes, c: bytes) -> None:
    assert show_token(b".".join(map(encode, (a, b, c)))) is None


@given(st.dictionaries(HEADER_NAMES, VALUES, max_size=5))
def test_any_header_with_a_proper_signature_is_taken_or_refused(changes: dict[str, Any]) -> None:
    header = json.dumps({"alg": "RS256", "kid": "rsa-1"} | changes)
    caller = show_token(FACTORY.headed(header))
    if caller is not None:
        assert set(changes) <= {"alg", "kid", "typ", "x5t", "a"}
        assert caller.subject == "client-1@clients"


@given(st.dictionaries(CLAIM_NAMES, VALUES, max_size=5))
def test_any_claims_with_a_proper_signature_are_taken_or_refused(changes: dict[str, Any]) -> None:
    claims = FACTORY.claims() | changes
    caller = show_token(FACTORY.signed(json.dumps(claims)))
    if caller is None:
        return
    assert claims["iss"] == FACTORY.issuer
    assert FACTORY.audience in claims["aud"]
    assert isinstance(claims["sub"], str)
    assert caller.subject == claims["sub"] != ""
    assert isinstance(claims["exp"], int | float)
    assert CLOCK.time - 30 < claims["exp"] <= CLOCK.time + 8 * 86_400
    assert not {"cnf", "events"} & set(changes)
    assert caller.scopes <= set(str(claims.get("scope")).split(" "))
    assert all(scope and scope.isascii() for scope in caller.scopes)


@given(st.text(max_size=400))
def test_any_text_as_claims_with_a_proper_signature_is_refused(payload: str) -> None:
    assert show_token(FACTORY.signed(payload.encode("utf-8", "surrogatepass"))) is None


@given(VALUES)
def test_strict_json_is_json_and_reads_as_json_does(value: Any) -> None:
    raw = json.dumps({"value": value}).encode()
    try:
        parsed = parse_object(raw, "text")
    except Unauthenticated:
        return
    assert parsed == json.loads(raw)


@settings(max_examples=20)
@given(st.integers(1, 4000), st.sampled_from(["[", '{"a":', '"\\"', "\\", '["', "]", "}"]))
def test_any_repetition_is_refused_in_time_that_grows_with_its_length(
    count: int, part: str
) -> None:
    assert show_token(FACTORY.signed((part * count)[:5000])) is None
    assert show_token(FACTORY.signed("[" * 20 + (part * count)[:5000])) is None


@given(st.integers(0, 20_000))
def test_a_token_over_its_bound_is_refused_before_anything_of_it_is_read(length: int) -> None:
    try:
        parse_compact(b"A" * length, 8192)
    except Unauthenticated as refusal:
        assert ("longer than 8192 bytes" in refusal.reason) == (length > 8192)  # noqa: PT017


def test_at_the_end_only_the_issuer_was_asked() -> None:
    assert show_token(FACTORY.token()) is not None
    assert {url.split("/")[2] for url in ISSUER.asked} == {"issuer.test"}
    assert ISSUER.readings <= 4  # the clock stands: the first, and a burst of two
