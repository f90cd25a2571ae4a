"""Parses and renders JSON strictly.

Stricter than RFC 8259 requires, because other software reads the rest differently: duplicate keys,
NaN, numbers beyond doubles, U+0000 and lone surrogates are refused. An integer that 64 bits cannot
hold is a double, as JavaScript writes 1e19 with all its digits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, cast

import orjson

from twinframe.errors import EmptyBody, InvalidArgument
from twinframe.model.values import JsonValue

MIN_INTEGER: Final = -(2**63)
MAX_INTEGER: Final = 2**63 - 1
_INFINITY: Final = float("inf")
_LONGEST_INTEGER: Final = len(str(MIN_INTEGER))

_BRACKETS: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|([\[{])|([\]}])', re.DOTALL)
_STRING: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKETS: Final = bytes(code for code in range(256) if code not in b"[]{}")
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
# PERF: 0.2 us for a text of 100 bytes, where searching for 19 digits takes 1.
_DIGITS: Final = bytes(ord("0") if chr(code) in "0123456789" else 0 for code in range(256))
_LONG_NUMBER: Final = b"0" * 19
_BLANKS: Final = b" \t\r\n"
_REFUSED_CHARACTER: Final = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class JsonLimits:
    """`max_depth`: deepest nesting of arrays and objects. `max_keys`: most members in one text."""

    max_depth: int = 64
    max_keys: int = 100_000


def estimate_parsed(text: bytes) -> int:
    """Return an upper bound of the bytes that the value of a JSON text takes as Python objects.

    Measured with Python 3.11: an empty object, the worst for its three bytes, takes 72.
    """
    return 2 * len(text) + 80 * sum(map(text.count, (b",", b"{", b"[", b":")))


def parse_json(body: bytes, limits: JsonLimits, *, noun: str = "request body") -> JsonValue:
    """Parse a JSON text in UTF-8. `noun` is the word for it in the error of an empty one.

    Errors: `EmptyBody` for no text at all; `InvalidArgument` says what is refused and where, by
    position in the text or by JSON pointer.
    """
    # PERF: 2 us for a text of 300 bytes that programs wrote, where strict decoding takes 8.
    found = _parse_canonical(body, limits)
    if found is not None:
        return found
    if not body or body.isspace():
        raise EmptyBody(f"A non-empty {noun} is required.")
    _check_depth(body, limits.max_depth)
    text = decode_text(body)
    try:
        value = cast("JsonValue", DECODER.decode(text))
    except json.JSONDecodeError as error:
        raise build_syntax_error(error) from error
    # PERF: each member has a colon, so few colons are few members.
    if text.count(":") > limits.max_keys:
        check_keys(value, limits.max_keys)
    # PERF: the decoder refuses raw control characters and surrogates are no UTF-8, so only an
    # escape can produce one; most texts have none.
    if "\\u" in text:
        check_characters(value)
    return value


def render_json(value: object) -> bytes:
    """Render the value as compact JSON text in UTF-8.

    `value` came from `parse_json` or is as valid.
    """
    return orjson.dumps(value)


def _parse_canonical(body: bytes, limits: JsonLimits) -> JsonValue:
    """Parse a text that is written as we write it, blanks aside; None for every other.

    SEC: writing the value again gives the same bytes, so no member came twice and no number lost
    anything. Of blanks, those in strings are in both texts, and none can hide a member or a digit.
    Escapes, and integers that may not fit into 64 bits, are not handled here.
    """
    if (
        body.count(b"{") + body.count(b"[") > limits.max_depth
        or (len(body) > limits.max_keys and body.count(b":") > limits.max_keys)
        or b"\\u" in body
        or _LONG_NUMBER in body.translate(_DIGITS)
    ):
        return None
    try:
        value = cast("JsonValue", orjson.loads(body))
    except orjson.JSONDecodeError:
        return None
    again = orjson.dumps(value)
    if again == body or again.translate(None, _BLANKS) == body.translate(None, _BLANKS):
        return value
    return None


def build_syntax_error(error: json.JSONDecodeError) -> InvalidArgument:
    """Build the error of a text, with its position."""
    line = (
        f"line {error.lineno}, " if "\n" in error.doc else ""
    )  # that of its own line says nothing
    return InvalidArgument(
        f"The text is not valid JSON: {error.msg} at {line}column {error.colno} "
        f"(position {error.pos})."
    )


def build_object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """Build an object of its members; `InvalidArgument` for a duplicate one."""
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise InvalidArgument(f"The text has an object with the member {twice!a} twice.")
    return members


def decode_text(body: bytes) -> str:
    """Decode a text in UTF-8 without a byte order mark; `InvalidArgument` for any other."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"The text is not UTF-8: bad byte at {error.start}.") from error
    if text.startswith("\ufeff"):
        raise InvalidArgument("The text starts with a byte order mark; send UTF-8 without one.")
    return text


def _check_depth(body: bytes, max_depth: int) -> None:
    """Refuse deep nesting before anything recurses into it."""
    # PERF: a text with no more brackets than levels allowed cannot be too deep.
    if body.count(b"[") + body.count(b"{") <= max_depth:
        return
    # PERF: 1 us a KiB, where a loop over the matches takes 35: each item of an array adds brackets.
    # Without an escape every second quote ends a string, as far as a decoder would read on.
    plain = b"".join(body.split(b'"')[::2]) if b"\\" not in body else _STRING.sub(b"", body)
    brackets = plain.translate(None, _NO_BRACKETS)
    if max(accumulate(map(_STEPS.__getitem__, brackets)), default=0) > max_depth:
        raise InvalidArgument(
            f"The text nests arrays and objects deeper than {max_depth} levels "
            f"(at byte {_find_depth(body, max_depth)})."
        )


def _find_depth(body: bytes, max_depth: int) -> int:
    """Return where a body gets too deep; only called when it does."""
    depth = 0
    for match in _BRACKETS.finditer(body):
        if match[1]:
            depth += 1
            if depth > max_depth:
                return match.start()
        elif match[2]:
            depth -= 1
    return len(body)


def _parse_integer(text: str) -> int | float:
    # PERF: the length first; most are short, and a very long one takes quadratic time to convert.
    if len(text) < _LONGEST_INTEGER - 1:
        return int(text)
    if len(text) <= _LONGEST_INTEGER and MIN_INTEGER <= (value := int(text)) <= MAX_INTEGER:
        return value
    # SPEC: RFC 8259 section 6: JSON has one kind of number. An integer beyond 64 bits is a double;
    # where a model requires an integer it is refused there.
    return _parse_float(text)


def _parse_float(text: str) -> float:
    value = float(text)
    if -_INFINITY < value < _INFINITY:
        return value
    raise InvalidArgument(f"The number {_shown(text)} in the text is too large for a double.")


def _refuse_constant(text: str) -> float:
    raise InvalidArgument(f"{text} in the text is not JSON.")


# PERF: the decoder of the standard library is written in C and calls back for objects and numbers
# only: 13 us a KiB where a decoder without callbacks takes 9.
DECODER: Final = json.JSONDecoder(
    object_pairs_hook=build_object,
    parse_int=_parse_integer,
    parse_float=_parse_float,
    parse_constant=_refuse_constant,
)


def check_keys(value: JsonValue, most: int) -> None:
    """Refuse more object members than that."""
    found, open_ = 0, [value]
    while open_:
        item = open_.pop()
        if isinstance(item, dict):
            found += len(item)
            open_ += item.values()
        elif isinstance(item, list):
            open_ += item
    if found > most:
        raise InvalidArgument(f"The text has {found} object members; at most {most} are allowed.")


def check_characters(value: JsonValue) -> None:
    """Refuse characters that cannot be stored, which escapes can produce."""
    for pointer, text in _texts(value, ""):
        refused = _REFUSED_CHARACTER.search(text)
        if refused:
            raise InvalidArgument(
                f"The text at {pointer!a} holds U+{ord(refused[0]):04X}, which cannot be stored."
            )


def _texts(value: JsonValue, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, f"{pointer}/{at}")
    elif isinstance(value, dict):
        for key, member in value.items():
            yield pointer, key
            yield from _texts(member, f"{pointer}/{key}")


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} characters)"
