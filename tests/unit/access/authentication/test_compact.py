from __future__ import annotations

from typing import Any

import pytest

from tests.unit.access.authentication.token_factory import TokenFactory
from twinframe.access.authentication.compact import parse_compact, parse_object, render_value
from twinframe.errors import Unauthenticated

FACTORY = TokenFactory()


def refusal(token: bytes) -> str:
    """Why a token is not even looked at further."""
    with pytest.raises(Unauthenticated) as caught:
        parse_compact(token, 8192)
    return caught.value.reason


def test_the_parts_of_a_token_are_those_it_was_made_of() -> None:
    token = FACTORY.token("ec", sub="someone")
    parts = parse_compact(token, 8192)
    assert (parts.algorithm, parts.kid) == ("ES256", "ec-1")
    assert parts.claims["sub"] == "someone"
    assert token.startswith(parts.signed + b".")
    assert len(parts.signature) == 64


@pytest.mark.parametrize("length", [0, 1, 2, 4, 5, 100])
def test_any_number_of_segments_but_three_is_refused_for_it(length: int) -> None:
    token = b".".join([*FACTORY.token().split(b"."), *[b"AAAA"] * 97][:length])
    assert refusal(token) == f"the token has {max(length, 1)} segments instead of 3"


@pytest.mark.parametrize("name", ["alg", "kid", "typ", "x5t", "x5t#S256"])
@pytest.mark.parametrize("value", [1, 1.5, True, None, ["RS256"], {"a": "b"}], ids=str)
def test_a_member_of_the_header_that_is_to_be_text_is_text(name: str, value: Any) -> None:
    token = FACTORY.token(header={name: value}, sign_as="RS256")
    assert refusal(token) == f"{name} in the header is not a string"


@pytest.mark.parametrize("kid", ["", "k" * 257, "é" * 257])
def test_an_empty_and_a_long_key_id_are_refused_before_anybody_is_asked_for_them(kid: str) -> None:
    assert (
        refusal(FACTORY.token(header={"kid": kid})) == "kid is empty or longer than 256 characters"
    )


def test_the_longest_key_id_is_taken() -> None:
    assert parse_compact(FACTORY.token(header={"kid": "k" * 256}), 8192).kid == "k" * 256


def test_a_token_one_byte_over_its_bound_is_refused_and_one_at_it_is_not() -> None:
    token = FACTORY.token()
    with pytest.raises(Unauthenticated, match="Authentication required") as caught:
        parse_compact(token, len(token) - 1)
    assert caught.value.reason == f"the token is longer than {len(token) - 1} bytes"
    assert parse_compact(token, len(token)).kid == "rsa-1"


@pytest.mark.parametrize(("depth", "taken"), [(15, True), (16, False), (17, False)])
def test_json_is_nested_no_deeper_than_16(depth: int, taken: bool) -> None:
    raw = b'{"a":' + b"[" * depth + b"]" * depth + b"}"
    if taken:
        assert parse_object(raw, "text")
        return
    with pytest.raises(Unauthenticated) as caught:
        parse_object(raw, "text")
    assert caught.value.reason == "the text is not strict JSON: nested deeper than 16"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\nb", "'a\\nb'"),
        ("é\u202e", "'\\xe9\\u202e'"),
        (None, "None"),
        ("x" * 200, "'" + "x" * 79 + "…"),
    ],
)
def test_what_is_told_of_a_token_is_one_short_printable_line(value: object, expected: str) -> None:
    assert render_value(value) == expected
