"""Parses the statements that set a scenario up: those may write. It runs nothing.

Reading clauses stay text, for the product runs them; CREATE and DELETE are parsed to what is to be
written, by the product's own grammar of patterns and expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from twinframe.query.cypher import ast
from twinframe.query.cypher.lexer import read_tokens
from twinframe.query.cypher.parser.clauses import CypherParser
from twinframe.query.cypher.tokens import TokenKind
from twinframe.query.errors import Source
from twinframe.query.options import FrontEndOptions

_OPTIONS = FrontEndOptions(max_text_bytes=2**24, max_elements=2**20, max_height=2**20)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reading clauses as they stand in the text; their rows are what the next clause works on."""

    text: str


@dataclass(frozen=True, slots=True)
class Create:
    """CREATE of these patterns, once a row."""

    parts: tuple[ast.PatternPart, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE of what these variables hold, in each row."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    """The end of a statement: what follows starts from one row without variables."""


SetupClause: TypeAlias = Reading | Create | Delete | Restart


def parse_setup(text: str) -> list[SetupClause]:
    """The clauses of the statements in order; `QueryInvalid` for what is not understood."""
    source = Source(text)
    return _SetupParser(source, [*read_tokens(source)], _OPTIONS).parse()


class _SetupParser(CypherParser):
    """The product's parser, with two writing clauses."""

    def parse(self) -> list[SetupClause]:
        found: list[SetupClause] = []
        while self.token.kind is not TokenKind.END:
            found.append(self._parse_setup_clause())
        return found

    def _parse_setup_clause(self) -> SetupClause:
        if self.accept(";"):
            return Restart()
        if self.accept("CREATE"):
            return Create(tuple(self.parse_pattern()))
        if self.accept("DETACH", "DELETE") or self.accept("DELETE"):
            return self._parse_delete()
        start = self.token.start
        while (clause := self._parse_clause_unless_writing()) is not None:
            if isinstance(clause, ast.Projection) and clause.final:
                return Restart()
        text = self.source.text[start : self.token.start]
        if not text:
            raise self.unexpected("a clause of a set-up")
        return Reading(text)

    def _parse_clause_unless_writing(self) -> ast.Clause | None:
        return None if self.token.key in {"CREATE", "DELETE", "DETACH"} else self._parse_clause()

    def _parse_delete(self) -> Delete:
        names = [self.expect_name("a variable").name]
        while self.accept(","):
            names.append(self.expect_name("a variable").name)
        return Delete(tuple(names))
