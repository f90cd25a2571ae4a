"""Parses Cypher tokens to a syntax tree, checking the form only; `scope` checks names and types."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from twinframe.query.cypher.lexer import read_tokens
from twinframe.query.cypher.parser.clauses import CypherParser
from twinframe.query.cypher.size import take_tokens
from twinframe.query.cypher.tokens import PREFIXES, WRITING_CLAUSES, Token, TokenKind

if TYPE_CHECKING:
    from twinframe.query.cypher import ast
    from twinframe.query.errors import Source
    from twinframe.query.options import FrontEndOptions
    from twinframe.query.spans import Span

_FEW: Final = 4
_LONGEST_CLAUSE: Final = 200
"""The most tokens of the clause AS OF: texts are parsed in threads, this on the event loop."""


def parse_cypher(source: Source, options: FrontEndOptions) -> tuple[ast.Query, str]:
    """Parse a Cypher text; return its tree and what precedes it: EXPLAIN, PROFILE or nothing.

    Raises QueryInvalid with the position of the first token that does not fit the grammar, or with
    the limit of `options` that the text exceeds.
    """
    tokens = (
        take_tokens(source, read_tokens(source), options)
        if options.writes
        else _take_tokens(source, options)
    )
    parser = CypherParser(source, tokens, options)
    prefix = parser.accept_prefix()
    return parser.parse_whole_query(), prefix


def parse_as_of(source: Source, options: FrontEndOptions) -> tuple[ast.Expression, Span]:
    """Parse the clause AS OF of a text that begins with it; return its moment, and where it is.

    EXPLAIN or PROFILE may precede it. Raises QueryInvalid.
    """
    tokens = list(islice(read_tokens(source), _LONGEST_CLAUSE))
    end = tokens[-1].end
    parser = CypherParser(source, [*tokens, Token(TokenKind.END, "", "", end, end)], options)
    parser.accept_prefix()
    start = parser.expect("AS").start
    parser.expect("OF", "after AS")
    return parser.parse_expression(), parser.span_from(start)


def _take_tokens(source: Source, options: FrontEndOptions) -> list[Token]:
    """Return all tokens; of a writing query only the first, where it is refused."""
    found = read_tokens(source)
    first = list(islice(found, _FEW))
    if next((one.key for one in first if one.key not in PREFIXES), "") in WRITING_CLAUSES:
        return [*first, Token(TokenKind.END, "", "", first[-1].end, first[-1].end)]
    return take_tokens(source, chain(first, found), options)
