"""Recognises what a query text writes or calls, by its tokens. It parses no clause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from twinframe.errors import QueryInvalid
from twinframe.query.cypher.lexer import read_tokens
from twinframe.query.cypher.tokens import Token, TokenKind
from twinframe.query.errors import Source, find_position

_WRITING = frozenset({"CREATE", "MERGE", "SET", "DELETE", "DETACH", "REMOVE", "FOREACH"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_NOT_A_CLAUSE_BEHIND = frozenset({".", ":", "|", "&", "!", "AS"})


@dataclass(frozen=True, slots=True)
class Clause:
    """The first clause of its kind in a text: its name and its place, both counted from 1."""

    name: str
    line: int
    column: int


def find_writing_clause(text: str) -> Clause | None:
    """The first clause that writes, outside of all brackets; None when the text only reads."""
    return _find(text, lambda token, _: token.key in _WRITING)


def find_procedure_call(text: str) -> Clause | None:
    """The first CALL of a procedure (of no subquery); its place is the procedure's name."""
    return _find(text, lambda token, behind: token.key == "CALL" and behind.key not in {"{", "("})


def _find(text: str, is_wanted: Callable[[Token, Token], bool]) -> Clause | None:
    """The first word outside of brackets that `is_wanted`, asked with the token behind it."""
    try:
        tokens = [*read_tokens(Source(text))]
    except QueryInvalid:
        return None  # what has no tokens has no clauses, and is to fail for its own reason
    depth, before = 0, tokens[-1]
    for token, behind in pairwise(tokens):
        depth += (token.key in _OPENING) - (token.key in _CLOSING)
        is_word = token.kind is TokenKind.NAME and before.key not in _NOT_A_CLAUSE_BEHIND
        if depth == 0 and is_word and is_wanted(token, behind):
            return _build_clause(text, token, behind)
        before = token
    return None


def _build_clause(text: str, token: Token, behind: Token) -> Clause:
    at = behind if token.key == "CALL" else token
    name = f"DETACH {behind.key}" if token.key == "DETACH" else token.key
    return Clause(name, *find_position(text, at.start))
