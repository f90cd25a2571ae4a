"""JSON is read strictly and written back with the same meaning."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import EmptyBody, InvalidArgument
from twinframe.model.json import (
    DECODER,
    JsonLimits,
    _parse_canonical,
    decode_text,
    parse_json,
    render_json,
)

LIMITS = JsonLimits(max_depth=64, max_keys=1000)
CLEAN = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | CLEAN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(CLEAN, inner, max_size=4),
    max_leaves=20,
)

REFUSED: tuple[tuple[str, bytes, str], ...] = (
    ("a duplicate key", b'{"a":1,"b":2,"a":3}', "'a' twice"),
    ("a duplicate key written with an escape", b'{"$dtId":1,"\\u0024dtId":2}', "'$dtId' twice"),
    ("a duplicate key inside", b'[{"x":{"k":1,"k":1}}]', "'k' twice"),
    ("NaN", b"[NaN]", "NaN"),
    ("Infinity", b'{"a":Infinity}', "Infinity"),
    ("minus Infinity", b"-Infinity", "-Infinity"),
    ("a number beyond doubles", b"[1e999]", "1e999"),
    ("a negative number beyond doubles", b"[-1e999]", "-1e999"),
    ("an integer beyond doubles", b"[1" + b"0" * 309 + b"]", "310 characters"),
    ("a negative one", b'{"n":-1' + b"0" * 309 + b"}", "311 characters"),
    ("100,000 digits", b"1" * 100_000, "100000 characters"),
    ("invalid UTF-8", b'["\xff"]', "bad byte at 2"),
    ("an overlong encoding", b'["\xc0\xaf"]', "bad byte"),
    ("an encoded surrogate", b'["\xed\xa0\x80"]', "bad byte"),
    ("UTF-16", '["a"]'.encode("utf-16"), "UTF-8"),
    ("a byte order mark", b"\xef\xbb\xbf[]", "byte order mark"),
    ("an escaped lone surrogate", b'{"a":["x","\\ud800"]}', "'/a/1'"),
    ("an escaped lone surrogate in a key", b'{"\\udfff":1}', "U+DFFF"),
    ("an escaped U+0000", b'{"a":{"b":"x\\u0000"}}', "'/a/b'"),
    ("a raw control character", b'["\x01"]', "not valid JSON"),
    ("trailing data", b'{"a":1} x', "position 8"),
    ("two values", b"[] []", "not valid JSON"),
    ("a trailing comma", b"[1,]", "not valid JSON"),
    ("a missing end", b'{"a":', "position 5"),
    ("single quotes", b"{'a':1}", "not valid JSON"),
    ("leading zeros", b"[01]", "not valid JSON"),
    ("a plus sign", b"[+1]", "not valid JSON"),
    ("a comment", b"[1] // one", "not valid JSON"),
)


@pytest.mark.parametrize(("what", "body", "part"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_engines_disagree_about_is_refused_and_named(
    what: str, body: bytes, part: str
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_json(body, LIMITS)
    assert part in caught.value.message, what


@pytest.mark.parametrize("body", [b"", b"  \r\n\t"])
def test_an_empty_body_is_an_error_of_its_own(body: bytes) -> None:
    with pytest.raises(EmptyBody):
        parse_json(body, LIMITS)


@pytest.mark.parametrize(
    "body", [b"null", b"1", b'"x"', b" [1] \n", b'{"a":[true,false,null]}', b"-0", b"[1.0,1]"]
)
def test_any_clean_value_is_read(body: bytes) -> None:
    assert parse_json(body, LIMITS) == json.loads(body)


def test_numbers_keep_their_kind() -> None:
    value = parse_json(b"[68, 68.0, 9223372036854775807, -9223372036854775808, 1e2]", LIMITS)
    assert render_json(value) == b"[68,68.0,9223372036854775807,-9223372036854775808,100.0]"


def test_a_pair_of_escaped_surrogates_is_one_character() -> None:
    assert parse_json(b'"\\ud83c\\udfe2 \\\\u0000"', LIMITS) == "\U0001f3e2 \\u0000"


@pytest.mark.parametrize("open_", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [65, 1025, 100_000])
def test_deep_nesting_is_refused_before_anything_recurses(open_: bytes, depth: int) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_json(open_ * depth, LIMITS)
    assert "64 levels" in caught.value.message


def test_nesting_up_to_the_limit_is_read() -> None:
    assert parse_json(b"[" * 64 + b"]" * 64, LIMITS)


def test_brackets_in_texts_are_no_nesting() -> None:
    text = "[{" * 200 + '"' + "\\" + "[" * 200
    assert parse_json(json.dumps([text, {"[" * 100: []}]).encode(), LIMITS) == [
        text,
        {"[" * 100: []},
    ]


NESTED: st.SearchStrategy[Any] = st.recursive(
    st.text(st.sampled_from('[]{}"\\,a'), max_size=6) | st.just(1),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.sampled_from('[]{}"\\a'), max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def measure_depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = isinstance(value, dict | list)
    return own + max(map(measure_depth, inner), default=0)


@given(NESTED, st.integers(1, 5))
def test_a_text_is_refused_for_its_depth_exactly_when_it_is_too_deep(value: Any, most: int) -> None:
    body = json.dumps(value).encode()
    if measure_depth(value) <= most:
        assert parse_json(body, JsonLimits(most, 1000)) == value
    else:
        with pytest.raises(InvalidArgument, match=f"deeper than {most} levels") as caught:
            parse_json(body, JsonLimits(most, 1000))
        place = int(caught.value.message.rpartition("byte ")[2].rstrip(")."))
        assert body[place : place + 1] in (b"[", b"{")


@given(st.text(st.sampled_from('[]{}"\\,:1 '), max_size=12), st.text("[{", min_size=1, max_size=4))
def test_no_malformed_text_gets_deeper_than_allowed(start: str, more: str) -> None:
    """Whatever precedes it, deep nesting that a decoder would come to is found."""
    with pytest.raises(InvalidArgument):
        parse_json(f"[{start}{more * 2000}".encode(), JsonLimits(20, 1000))


def test_many_flat_objects_are_not_deep() -> None:
    assert len(parse_json(b"[" + b"{}," * 500 + b"{}]", LIMITS)) == 501  # type: ignore[arg-type]


def test_more_members_than_allowed_are_refused() -> None:
    body = json.dumps([{str(n): n} for n in range(1001)]).encode()
    with pytest.raises(InvalidArgument) as caught:
        parse_json(body, LIMITS)
    assert "1001" in caught.value.message
    assert parse_json(json.dumps({str(n): n for n in range(1000)}).encode(), LIMITS)


def test_colons_in_texts_are_no_members() -> None:
    assert parse_json(json.dumps([":" * 5000]).encode(), LIMITS) == [":" * 5000]


@given(VALUES)
def test_reading_what_was_written_gives_the_value_back(value: Any) -> None:
    limits = JsonLimits()
    assert parse_json(render_json(value), limits) == value
    assert parse_json(json.dumps(value).encode(), limits) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_an_error_of_ours(body: bytes) -> None:
    try:
        value = parse_json(body, LIMITS)
    except (InvalidArgument, EmptyBody):
        return
    assert not (isinstance(value, float) and math.isnan(value))
    render_json(value)


_PIECES = st.sampled_from(
    [
        *'{}[],:"',
        *('"a":', '"b":', "1", "-0", "0", "1.0", "1.50", "1e5", "1e400", "-1.5e-9", "null", " "),
        *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "NaN", "true"),
        *(
            '"\\u0000"',
            '"\\ud800"',
            '"\\n"',
            '"\u00e9"',
            '"\x7f"',
            "\ufeff",
            "18446744073709551616",
        ),
    ]
)


@given(
    VALUES.map(render_json)
    | VALUES.map(lambda value: json.dumps(value, ensure_ascii=False).encode())
    | VALUES.map(lambda value: json.dumps(value, ensure_ascii=False, indent="\t").encode())
    | st.lists(_PIECES, max_size=12).map(lambda x: "".join(x).encode())
)
def test_a_text_that_programs_wrote_means_what_strict_decoding_finds(body: bytes) -> None:
    """The short cut for texts in our own form gives what the long way gives, or nothing."""
    found = _parse_canonical(body, LIMITS)
    if found is not None:
        assert repr(DECODER.decode(decode_text(body))) == repr(found)


@pytest.mark.parametrize(
    "body", [b'{"a b": 1, "ab": [1.5, " "]}', b'\n{ "a" :\t1 ,\r\n"b": {} }', b'[ "x  y" ]']
)
def test_blanks_do_not_keep_a_text_from_the_short_cut(body: bytes) -> None:
    assert _parse_canonical(body, LIMITS) == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        *(b'{"a":1,"a":1}', b'{"a": 1, "a": 1}', b'{"a":1 ,"b":{"c":2, "c":3}}'),
        *(b"[1" + b"0" * 309 + b"]", b'["\\u0000"]', b"[NaN]", b"[1e400]", b"[ 1e400 ]"),
    ],
)
def test_the_short_cut_takes_nothing_that_strict_decoding_refuses(body: bytes) -> None:
    assert _parse_canonical(body, LIMITS) is None
    with pytest.raises(InvalidArgument):
        parse_json(body, LIMITS)
