"""Splits text of the vendor's language into tokens, by one regular expression."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from twinframe.query.cypher.lexer import (
    NUMBER_PATTERN,
    STRING_PATTERN,
    build_character_error,
    read_number,
    read_string,
)
from twinframe.query.cypher.tokens import Token, TokenKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinframe.query.errors import Source

_TOKEN = re.compile(
    rf"""
      (?P<blank>\s+)
    | (?P<name>\$?[^\W\d]\w*)
    | (?P<number>{NUMBER_PATTERN})
    | (?P<quoted>\[\[[^\[\]\n]+\]\])
    | (?P<symbol>!=|<>|<=|>=|\.\.|[-*=<>()\[\].,:|])
    | (?P<string>{STRING_PATTERN})
    | (?P<error>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def read_tokens(source: Source) -> Iterator[Token]:
    """Yield the tokens of a query lazily, with an END token last. `[[name]]` is a QUOTED name.

    Raises QueryInvalid for characters that begin no token and unterminated strings.
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
            value = read_string(source, text, start)
            yield Token(TokenKind.STRING, "", value, start, end)
        elif group == "quoted":
            yield Token(TokenKind.QUOTED, "", text[2:-2], start, end)
        else:
            raise build_character_error(source, text, start)
    yield Token(TokenKind.END, "", "", len(source.text), len(source.text))
