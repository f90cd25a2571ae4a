"""Refuses query texts with more tokens than can be processed in reasonable time.

Every token of a text may become a part of a plan, which costs some 20 to 50 us in all phases; a
constant in a list costs a tenth of that, and lists legitimately have thousands.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from twinframe.query.cypher.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from twinframe.query.cypher.tokens import Token
    from twinframe.query.errors import Source
    from twinframe.query.options import FrontEndOptions

_CONSTANTS = (TokenKind.STRING, TokenKind.INTEGER, TokenKind.FLOAT)
_BETWEEN = frozenset({",", "-"})
_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})


def take_tokens(source: Source, found: Iterator[Token], options: FrontEndOptions) -> list[Token]:
    """Return the tokens of a text; raise QueryInvalid at the first one beyond the limits.

    SEC: the text after that token is not read: a quarter of a mebibyte has 200,000 tokens.
    """
    few = min(options.max_words, options.max_constants)
    tokens = list(islice(found, few))
    if len(tokens) == few:
        return _count_tokens(source, chain(tokens, found), options)
    return tokens


def _count_tokens(source: Source, found: Iterable[Token], options: FrontEndOptions) -> list[Token]:
    tokens: list[Token] = []
    opened: list[str] = []
    words = constants = 0
    for token in found:
        tokens.append(token)
        key = token.key
        if opened and opened[-1] == "[" and (token.kind in _CONSTANTS or key in _BETWEEN):
            constants += key not in _BETWEEN
            if constants > options.max_constants:
                message = f"at most {options.max_constants} constants may stand in lists"
                raise source.error(token.span, "TooComplex", f"too large: {message}")
            continue
        if key in _OPENING:
            opened.append(key)
        elif key in _CLOSING and opened:
            opened.pop()
        words += 1
        if words > options.max_words:
            message = (
                f"at most {options.max_words} words, values and symbols are allowed "
                "(Query__MaxWords)"
            )
            raise source.error(
                token.span, "TooComplex", f"too large: {message}, constants in lists not counted"
            )
    return tokens
