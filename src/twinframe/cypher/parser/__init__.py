"""Cypher tokens to a syntax tree. It checks form only; names and types are `scope`'s."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.cypher.lexer import read_tokens
from twinframe.cypher.parser.clauses import CypherParser
from twinframe.cypher.size import take_tokens

if TYPE_CHECKING:
    from twinframe.cypher import ast
    from twinframe.cypher.errors import Source
    from twinframe.cypher.options import FrontEndOptions


def parse_cypher(source: Source, options: FrontEndOptions) -> tuple[ast.Query, bool]:
    """The syntax tree of a Cypher text, and whether EXPLAIN stands before it.

    Raises QueryInvalid with the place of the first thing that does not fit the grammar, or names
    the limit of `options` that the text passes.
    """
    tokens = take_tokens(source, read_tokens(source), options)
    parser = CypherParser(source, tokens, options)
    explain = parser.accept("EXPLAIN")
    return parser.parse_whole_query(), explain
