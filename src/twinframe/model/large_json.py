"""Parses large JSON texts in steps that each hold the interpreter lock for a millisecond or two.

Results and errors are those of `json.parse_json`, which parses any text at once. Call it in a
thread: other threads run between two steps. Limits are checked before values are built.

PERF: the standard decoder holds the interpreter lock for as long as a text takes: 12 MB of empty
arrays stop all requests for a second.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from json import decoder
from typing import Any, Final, cast

from twinframe.errors import EmptyBody, InvalidArgument
from twinframe.model.json import (
    DECODER,
    JsonLimits,
    build_object,
    build_syntax_error,
    check_characters,
    check_keys,
    decode_text,
)
from twinframe.model.values import JsonValue

_STEP: Final = 32 * 1024
"""The most characters of an array or object that the decoder parses at once."""
_TAKEN_A_PAUSE: Final = 100_000
_PIECE: Final = 1024 * 1024
_STEPS_A_PAUSE: Final = 2000
_PAUSE: Final = 0.0005
"""PERF: a pause now and then.

Without it the thread would compete with the event loop for the interpreter lock each time that the
loop releases it, for as long as `sys.getswitchinterval` says.
"""
_VALUE_BYTES: Final = 100
"""The memory of a value besides its text.

An object of one member takes twice, and counts as two: with its brace and with the comma after it.
"""

# NOTE: possessive, and bounded in each match: none backtracks, and none takes long.
_OUTSIDE: Final = re.compile(r'[^"\[\]{},]{0,65536}+(["\[\]{},]?)')
_INSIDE: Final = re.compile(r'[^"\\]{0,65536}+(?:\\.[^"\\]{0,64}+){0,1024}+("?)', re.DOTALL)
_BLANKS: Final = re.compile(r"[ \t\n\r]*")

# The standard library's own decoder of one array or object, in Python, which calls for each
# element.
_ARRAY: Final = cast("Callable[..., Any]", decoder.JSONArray)  # type: ignore[attr-defined]  # untyped
_OBJECT: Final = cast("Callable[..., Any]", decoder.JSONObject)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class LargeLimits:
    """The limits of a large JSON text.

    `max_values`: most elements and members. `max_text`: most characters of one string. `values_are`
    names the first limit in errors: a setting, or the owner of the limit.
    """

    max_values: int = 300_000
    max_text: int = 4 * 1024 * 1024
    values_are: str = "Json__MaxValues"


def parse_large_json(
    body: bytes,
    limits: JsonLimits,
    large: LargeLimits,
    charge: Callable[[int], object],
) -> JsonValue:
    """Parse a JSON text in UTF-8; errors as of `parse_json`, and for exceeded limits.

    `charge` is called with bytes of memory before they are allocated, and may raise.
    """
    text = _decode(body, charge)
    if not text or text.isspace():
        raise EmptyBody("A non-empty request body is required.")
    survey = _Survey(text, limits.max_depth, large)
    survey.run()
    charge(survey.values * _VALUE_BYTES + len(body))
    try:
        value = _Steps(survey.long).decode(text)
    except json.JSONDecodeError as error:
        raise build_syntax_error(error) from error
    if text.count(":") > limits.max_keys:
        check_keys(value, limits.max_keys)
    if "\\u" in text:
        check_characters(value)
    return value


def may_have_more(body: bytes, count: int) -> bool:
    """Return whether a JSON text may have more than `count` elements and members.

    PERF: a millisecond for 2 MB. Punctuation within strings counts, too: `check_values` is exact.
    """
    return body.count(b",") + body.count(b"[") + body.count(b"{") > count


def check_values(body: bytes, large: LargeLimits) -> None:
    """Raise `InvalidArgument` for a JSON text above the limits, without building its values."""
    _Survey(_decode(body, lambda _: None), len(body), large).run()


def _decode(body: bytes, charge: Callable[[int], object]) -> str:
    """Decode the text.

    A step is a mebibyte: a text of only wide characters takes four times as much.
    """
    charge(len(body))
    decode = codecs.getincrementaldecoder("utf-8")().decode
    pieces, widest = [], 1
    try:
        for at in range(0, len(body), _PIECE):
            piece = decode(body[at : at + _PIECE], at + _PIECE >= len(body))
            widest = max(widest, _find_width(piece))
            pieces.append(piece)
    except UnicodeDecodeError:
        return decode_text(body)  # it reports the position
    charge(len(body) * (widest - 1))
    text = "".join(pieces)
    return decode_text(body[:3]) if text.startswith("\ufeff") else text


def _find_width(piece: str) -> int:
    """Return the bytes of memory of each character of a string: 1, 2 or 4."""
    if len(piece) > 1000:  # PERF: checking each of them takes long
        return (sys.getsizeof(piece) - 100) // len(piece) + 1
    highest = max(map(ord, piece), default=0)
    return 1 if highest < 0x100 else 2 if highest < 0x10000 else 4


class _Survey:
    """Scans a text once: finds its long arrays and objects, and checks the limits.

    `long` are the positions where those begin, `values` the possible number of elements and
    members. It finds no errors of syntax.
    """

    def __init__(self, text: str, max_depth: int, large: LargeLimits) -> None:
        self.long: set[int] = set()
        self.values = 0
        self._text = text
        self._max_depth = max_depth
        self._large = large

    def run(self) -> None:
        """Scan the text; raise `InvalidArgument` when a limit is exceeded."""
        text, size, find = self._text, len(self._text), _OUTSIDE.match
        most_depth, most_values = self._max_depth, self._large.max_values
        values = strings = steps = at = 0
        open_: list[int] = []
        while at < size:
            steps += 1
            if not steps % _STEPS_A_PAUSE:
                time.sleep(_PAUSE)
            found = cast("re.Match[str]", find(text, at))
            at, mark = found.end(), found[1]
            if mark == ",":
                values += 1
            elif mark == '"':
                strings += 1
                at = self._skip_string(at)
            elif mark in ("[", "{"):
                values += 1
                open_.append(at - 1)
                if len(open_) > most_depth:
                    raise InvalidArgument(
                        f"The text nests arrays and objects deeper than {most_depth} levels "
                        f"(at byte {len(text[: at - 1].encode())})."
                    )
            elif mark:
                if not open_:
                    break  # no decoder reads on after it, whatever follows
                start = open_.pop()
                if at - start > _STEP:
                    self.long.add(start)
            if values > most_values or strings > 2 * most_values + 1:  # a member has two
                raise InvalidArgument(
                    f"The text has more than {most_values} elements and members "
                    f"({self._large.values_are}); send it in parts."
                )
        self.long.update(open_)
        self.values = values

    def _skip_string(self, start: int) -> int:
        """Return the position after the string whose content begins at `start`."""
        at, most = start, self._large.max_text
        while at < len(self._text):
            found = cast("re.Match[str]", _INSIDE.match(self._text, at))
            if found[1]:
                return found.end()
            if found.end() == at:  # a backslash is the last character
                return len(self._text)
            at = found.end()
            if at - start > most:
                raise InvalidArgument(
                    f"The text has a string of more than {most} characters at position {start} "
                    "(Json__MaxTextLength)."
                )
        return at


class _Steps:
    """Decodes a text; arrays and objects at `long` positions element by element, others at once."""

    def __init__(self, long: set[int]) -> None:
        self._long = long
        self._taken = 0
        self._scan_short: Callable[[str, int], tuple[Any, int]] = cast("Any", DECODER).scan_once

    def decode(self, text: str) -> JsonValue:
        """Return the value; raise `JSONDecodeError` as the standard decoder does."""
        start = cast("re.Match[str]", _BLANKS.match(text)).end()
        try:
            value, end = self._scan(text, start)
        except StopIteration as stop:
            raise json.JSONDecodeError("Expecting value", text, stop.value) from None
        end = cast("re.Match[str]", _BLANKS.match(text, end)).end()
        if end != len(text):
            raise json.JSONDecodeError("Extra data", text, end)
        return cast("JsonValue", value)

    def _scan(self, text: str, at: int) -> tuple[Any, int]:
        if at not in self._long:
            value, end = self._scan_short(text, at)
            self._taken += 100 + end - at
            if self._taken > _TAKEN_A_PAUSE:
                self._taken = 0
                time.sleep(_PAUSE)
            return value, end
        found: tuple[Any, int]
        if text[at] == "[":
            found = _ARRAY((text, at + 1), self._scan)
        else:
            found = _OBJECT((text, at + 1), True, self._scan, None, build_object)
        return found
