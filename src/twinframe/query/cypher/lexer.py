"""Splits Cypher text into tokens, by one regular expression; keywords are plain names to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinframe.query.cypher.tokens import Token, TokenKind
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinframe.errors import QueryInvalid
    from twinframe.query.errors import Source

STRING_PATTERN = r"'[^'\\]*(?:\\.[^'\\]*)*'" + r'|"[^"\\]*(?:\\.[^"\\]*)*"'
NUMBER_PATTERN = r"(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?\w*"
COMMENT_PATTERN = r"//[^\n\r]*|/\*[^*]*\*+(?:[^*/][^*]*\*+)*/"

_TOKEN = re.compile(
    rf"""
      (?P<blank>(?:\s+|{COMMENT_PATTERN})+)
    | (?P<name>[^\W\d]\w*)
    | (?P<number>{NUMBER_PATTERN})
    | (?P<symbol><>|<=|>=|=~|\.\.|\+=|!=|==|&&|\|\||[-+*%^=<>()\[\]{{}},.:;|&!?]|/(?!\*))
    | (?P<string>{STRING_PATTERN})
    | (?P<parameter>\$(?:\w+|`[^`]*(?:``[^`]*)*`))
    | (?P<quoted>`[^`]*(?:``[^`]*)*`)
    | (?P<error>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {
    "\\": "\\", "'": "'", '"': '"', "`": "`", "/": "/",
    "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
}  # fmt: skip
_INTEGER = re.compile(r"0[xX][0-9A-Fa-f]+|0[oO][0-7]+|[0-9]+")
_FLOAT = re.compile(r"(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_INTEGER = 400
TOO_LARGE = 1 << 64
"""Replaces every integer literal that is certainly out of range, without parsing all its digits."""


def read_tokens(source: Source) -> Iterator[Token]:
    """Yield the tokens of a Cypher text lazily, with an END token last.

    Raises QueryInvalid for characters that begin no token, unterminated strings or comments, and
    invalid escapes.
    """
    for found in _TOKEN.finditer(source.text):
        group = found.lastgroup
        if group == "blank":
            continue
        text, start, end = found.group(), found.start(), found.end()
        if group == "name":
            yield Token(TokenKind.NAME, text.upper(), text, start, end)
        elif group == "symbol":
            yield Token(TokenKind.SYMBOL, text, text, start, end)
        elif group == "number":
            yield read_number(text, start, end)
        elif group == "string":
            yield Token(TokenKind.STRING, "", read_string(source, text, start), start, end)
        elif group == "parameter":
            name = text[2:-1].replace("``", "`") if text[1] == "`" else text[1:]
            yield Token(TokenKind.PARAMETER, "", name, start, end)
        elif group == "quoted":
            yield Token(TokenKind.QUOTED, "", text[1:-1].replace("``", "`"), start, end)
        else:
            raise build_character_error(source, text, start)
    yield Token(TokenKind.END, "", "", len(source.text), len(source.text))


def read_number(text: str, start: int, end: int) -> Token:
    """Read a number; integers are exact and unbounded, the parser checks their range."""
    if _INTEGER.fullmatch(text):
        return Token(TokenKind.INTEGER, "", _read_integer(text), start, end)
    if _FLOAT.fullmatch(text):
        return Token(TokenKind.FLOAT, "", float(text), start, end)
    return Token(TokenKind.BAD_NUMBER, "", text, start, end)


def _read_integer(text: str) -> int:
    if len(text) > _LONGEST_INTEGER:
        return TOO_LARGE
    prefix = text[:2].lower()
    if prefix == "0x":
        return int(text, 16)
    if prefix == "0o":
        return int(text, 8)
    return int(text)


def read_string(source: Source, text: str, start: int) -> str:
    """Return the value of a string literal with its quotes; `start` is its position, for errors."""
    if "\\" not in text:
        return text[1:-1]
    pieces: list[str] = []
    at = 1
    for found in _ESCAPE.finditer(text, 1, len(text) - 1):
        pieces.append(text[at : found.start()])
        pieces.append(_read_escape(source, found, start))
        at = found.end()
    pieces.append(text[at:-1])
    value = "".join(pieces)
    # NOTE: a character beyond the basic plane may come as two escapes (a surrogate pair); half a
    # pair is no character and could not be sent.
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise source.error(
            Span(start, start + len(text)),
            "InvalidUnicodeLiteral",
            "the string holds half of a surrogate pair, which is no character",
        ) from None


def _read_escape(source: Source, found: re.Match[str], start: int) -> str:
    short, long, other = found.groups()
    code = short or long
    if code is not None and int(code, 16) <= 0x10FFFF:
        return chr(int(code, 16))
    if other in _SIMPLE_ESCAPES:
        return _SIMPLE_ESCAPES[other]
    span = Span(start + found.start(), start + found.end())
    if code is not None or other in {"u", "U"}:
        raise source.error(
            span,
            "InvalidUnicodeLiteral",
            r"an escape of a character is \uXXXX or \UXXXXXXXX with hexadecimal digits",
        )
    raise source.error(
        span,
        "UnexpectedSyntax",
        f"{found.group()!r} is no escape; a backslash itself is written twice",
    )


def build_character_error(source: Source, text: str, start: int) -> QueryInvalid:
    """The error for a character that begins no token."""
    span = Span(start, start + 1)
    if text in {"'", '"', "`"}:
        return source.error(span, "UnexpectedSyntax", f"what {text} opens here is never closed")
    if source.text.startswith("/*", start):
        return source.error(span, "UnexpectedSyntax", "the comment opened here is never closed")
    if not text.isascii():
        return source.error(
            span,
            "InvalidUnicodeCharacter",
            f"the character {text!r} (U+{ord(text):04X}) has no meaning outside of strings",
        )
    return source.error(span, "UnexpectedSyntax", f"the character {text!r} has no meaning here")
