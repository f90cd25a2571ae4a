"""Large texts are parsed in steps, with the results and errors of the parser that takes them whole.

Every text is parsed with steps of a few characters, so that small ones count as large.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.errors import InvalidArgument, MemoryExhausted, TwinframeError
from twinframe.model import large_json
from twinframe.model.json import JsonLimits, parse_json
from twinframe.model.large_json import LargeLimits, parse_large_json

LIMITS = JsonLimits()


def take(_size: int) -> None:
    """Memory without an end."""


def parse_both(body: bytes, limits: JsonLimits = LIMITS) -> tuple[Any, Any]:
    """What comes of a text at once and in steps: a value, or the text of an error."""
    results: list[Any] = []
    for parse in (
        lambda: parse_json(body, limits),
        lambda: parse_large_json(body, limits, LargeLimits(), take),
    ):
        try:
            results.append(parse())
        except TwinframeError as error:
            results.append((type(error), error.message))
    return results[0], results[1]


@pytest.fixture(autouse=True)
def _small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_json, "_STEP", 8)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=30,
)


@given(values, st.booleans(), st.sampled_from([None, 1]))
def test_any_value_is_the_same_in_steps(value: Any, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    at_once, in_steps = parse_both(text.encode("utf-8", "surrogatepass"))
    assert at_once == in_steps


@given(values, st.data())
def test_any_broken_text_is_refused_with_the_same_words(value: Any, data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 3)))
    put = data.draw(st.binary(max_size=3) | st.sampled_from([b'"', b"]", b"{", b",", b"\\"]))
    at_once, in_steps = parse_both(text[:start] + put + text[end:])
    assert at_once == in_steps


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"  \n", b"[1,2,3,", b'{"a":1,"a":2,"b":3}', b"[NaN, 1, 2, 3]", b"[1e999,2,3,4]"),
        *(b'["\\u0000", 1, 2, 3]', b'["\\ud800", 1, 2]', b'["\xff\xff\xff\xff"]', b"[1,2,3,4]]"),
        *(b"\xef\xbb\xbf[1,2,3,4,5]", b'["abcdefgh', b'["abcdefgh\\', b"[1 2 3 4 5 6 7]"),
        *(b'{"a" 1, "b": 2}', b'{a: 1, "b": 2, "c": 3}', b'{"abc": 1, "def": }', b"[,,,,,,,,,]"),
        *(b"[" * 65 + b"]" * 65, b'{"a":' * 70 + b"1" + b"}" * 70, b"[" * 64 + b"]" * 64),
        *("[\"äöü€😀\", \"é\", 1, 2, 3]".encode(), b"]]]]]]]]]]", b"}", b'"' + b"x" * 100 + b'"'),
    ],
)  # fmt: skip
def test_odd_texts_are_judged_alike(body: bytes) -> None:
    at_once, in_steps = parse_both(body)
    assert at_once == in_steps


def test_too_many_members_are_refused_alike() -> None:
    body = json.dumps([{"a": number, "b": ":"} for number in range(60)]).encode()
    at_once, in_steps = parse_both(body, JsonLimits(max_keys=100))
    assert at_once == in_steps == (InvalidArgument, at_once[1])


def test_too_many_values_are_refused_before_they_are_made() -> None:
    charged: list[int] = []
    with pytest.raises(InvalidArgument, match="Json__MaxValues"):
        parse_large_json(b"[" + b"[]," * 500 + b"[]]", LIMITS, LargeLimits(400), charged.append)
    assert sum(charged) < 4000
    with pytest.raises(InvalidArgument, match="Json__MaxValues"):
        parse_large_json(b'"' * 5000, LIMITS, LargeLimits(400), take)
    text = b'["' + b"a, b, [c], {d}, " * 500 + b'"]'  # in a string they are no values
    assert parse_large_json(text, LIMITS, LargeLimits(5), take)


@pytest.mark.parametrize("start", [b"", b"[]", b'{"a":[1,2,3,4,5]}', b"[1,2,3,4,5,6}"])
def test_what_is_behind_the_end_is_not_gone_through(
    start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(large_json.time, "sleep", slept.append)
    with pytest.raises(InvalidArgument, match="not valid JSON"):
        parse_large_json(start + b"]" * 100_000, LIMITS, LargeLimits(), take)
    assert not slept


def test_a_string_that_is_too_long_is_refused_with_its_place() -> None:
    body = b'["' + b"x" * 500_000 + b'"]'
    with pytest.raises(InvalidArgument, match=r"at position 2 .Json__MaxTextLength"):
        parse_large_json(body, LIMITS, LargeLimits(max_text=1000), take)


def test_memory_is_asked_for_before_it_is_taken() -> None:
    charged: list[int] = []
    body = b"[" + b"[]," * 999 + b"[]]"
    parse_large_json(body, LIMITS, LargeLimits(), charged.append)
    assert sum(charged) > 1000 * 56  # what an empty list has
    charged.clear()
    wide = '["' + "😀" * 1000 + '"]'
    parse_large_json(wide.encode(), LIMITS, LargeLimits(), charged.append)
    assert sum(charged) > 4 * 4000

    def refuse(_size: int) -> None:
        raise MemoryExhausted("requests", "Memory__Requests")

    with pytest.raises(MemoryExhausted):
        parse_large_json(body, LIMITS, LargeLimits(), refuse)
