"""Splits a SPARQL text into tokens.

SPEC: SPARQL 1.1 section 19.8, terminals; each token is the longest that fits. Two things are left
out on purpose: code point escapes (19.2), which libraries read differently, and IRIs with brackets,
`&` or `!` in them, which some libraries read as a comparison.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from twinframe.errors import SparqlInvalid


class Kind(enum.Enum):
    """The kind of a token."""

    WORD = "word"  # keywords and names of functions
    IRI = "iri"
    NAME = "name"  # prefixed, also with an empty local part
    VARIABLE = "variable"
    BLANK = "blank"
    TEXT = "text"
    NUMBER = "number"
    TAG = "tag"
    SYMBOL = "symbol"


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its position in the text, from 0."""

    kind: Kind
    text: str
    start: int


_LETTER: Final = r"[^\W\d_]"
_PREFIX: Final = rf"(?:{_LETTER}(?:[\w.-]*[\w-])?)?:"
_PLACE: Final = r"(?:[\w:-]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%])"
_TOKEN: Final = re.compile(
    rf"""
    (?P<blank_space>[ \t\r\n]+|\#[^\r\n]*)
    |(?P<iri><[^<>"{{}}|^`\\\x00-\x20]*>)
    |(?P<text>\"{{3}}(?:\"{{0,2}}(?:[^"\\]|\\.))*\"{{3}}|'{{3}}(?:'{{0,2}}(?:[^'\\]|\\.))*'{{3}}
        |"(?:[^"\\\r\n]|\\[^\r\n])*"|'(?:[^'\\\r\n]|\\[^\r\n])*')
    |(?P<blank>_:[\w](?:[\w.-]*[\w-])?)
    |(?P<name>{_PREFIX}(?:{_PLACE}(?:(?:{_PLACE}|\.)*{_PLACE})?)?)
    |(?P<variable>[?$]\w+)
    |(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    |(?P<word>[A-Za-z][A-Za-z0-9_]*)
    |(?P<symbol>\^\^|&&|\|\||!=|<=|>=|[{{}}()\[\];,.*/+|^?!=<>-])
    """,
    re.VERBOSE | re.DOTALL,
)
_AMBIGUOUS: Final = re.compile(r"[()&!\[\]]")
_ESCAPE: Final = re.compile(r"\\[uU]")
_LONGEST_IRI: Final = 1024


def iterate_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of the text.

    Raises `SparqlInvalid` with line and column at an invalid character.
    """
    escape = _ESCAPE.search(text)
    if escape is not None:
        raise build_error(
            text, escape.start(), r"code point escapes (\u, \U) are not taken; write the character"
        )
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise build_error(text, at, f"{text[at]!r} does not begin anything here")
        at = found.end()
        name = str(found.lastgroup)
        if name != "blank_space":
            token = Token(Kind(name), found[0], found.start())
            _check(text, token)
            yield token


def build_error(text: str, start: int, message: str) -> SparqlInvalid:
    """Build the error for a position of the text."""
    line = text.count("\n", 0, start) + 1
    column = start - text.rfind("\n", 0, start)
    end = "" if message.endswith("?") else "."
    return SparqlInvalid(f"Line {line}, column {column}: {message}{end}")


def _check(text: str, token: Token) -> None:
    if token.kind is Kind.IRI and (
        len(token.text) > _LONGEST_IRI or _AMBIGUOUS.search(token.text) is not None
    ):
        raise build_error(
            text,
            token.start,
            f"an IRI has at most {_LONGEST_IRI} characters and none of ( ) [ ] & !; to compare, "
            "write a blank behind <",
        )
