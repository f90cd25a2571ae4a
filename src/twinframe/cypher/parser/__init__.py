"""Cypher tokens to a syntax tree. It checks form only; names and types are `scope`'s."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from twinframe.cypher.lexer import read_tokens
from twinframe.cypher.parser.clauses import CypherParser
from twinframe.cypher.size import take_tokens
from twinframe.cypher.tokens import WRITING_CLAUSES, Token, TokenKind

if TYPE_CHECKING:
    from twinframe.cypher import ast
    from twinframe.cypher.errors import Source
    from twinframe.cypher.options import FrontEndOptions

_FEW: Final = 4


def parse_cypher(source: Source, options: FrontEndOptions) -> tuple[ast.Query, bool]:
    """The syntax tree of a Cypher text, and whether EXPLAIN stands before it.

    Raises QueryInvalid with the place of the first thing that does not fit the grammar, or names
    the limit of `options` that the text passes.
    """
    parser = CypherParser(source, _take_tokens(source, options), options)
    explain = parser.accept("EXPLAIN")
    return parser.parse_whole_query(), explain


def _take_tokens(source: Source, options: FrontEndOptions) -> list[Token]:
    """All tokens; of a text that begins by writing only the first, for it is refused there."""
    found = read_tokens(source)
    first = list(islice(found, _FEW))
    if next((one.key for one in first if one.key != "EXPLAIN"), "") in WRITING_CLAUSES:
        return [*first, Token(TokenKind.END, "", "", first[-1].end, first[-1].end)]
    return take_tokens(source, chain(first, found), options)
