"""Refuses texts that are too much work for their length. It reads no text and knows no grammar.

Every token of a text may become a part of a plan, which costs some 20 to 50 us on its way through
all phases; a constant in a list costs a tenth of that, and comes in thousands for good reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.cypher.tokens import TokenKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from twinframe.cypher.errors import Source
    from twinframe.cypher.options import FrontEndOptions
    from twinframe.cypher.tokens import Token

_CONSTANTS = (TokenKind.STRING, TokenKind.INTEGER, TokenKind.FLOAT)
_BETWEEN = frozenset({",", "-"})
_OPENING = frozenset({"(", "[", "{"})
_CLOSING = frozenset({")", "]", "}"})


def check_size(source: Source, tokens: Sequence[Token], options: FrontEndOptions) -> None:
    """Raises QueryInvalid at the first token beyond `max_words` or `max_constants`."""
    if len(tokens) <= min(options.max_words, options.max_constants):
        return
    opened: list[str] = []
    words = constants = 0
    for token in tokens:
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
            message = f"at most {options.max_words} words, values and symbols are allowed"
            raise source.error(
                token.span, "TooComplex", f"too large: {message}, constants in lists not counted"
            )
