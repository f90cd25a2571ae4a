"""Translates a checked syntax tree to the algebra; `scope` has reported all errors before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher.builder.clauses import ClauseBuilder
from twinframe.query.cypher.builder.statements import StatementBuilder

if TYPE_CHECKING:
    from twinframe.query import algebra
    from twinframe.query.cypher import ast
    from twinframe.query.writing.procedures import Procedures
    from twinframe.query.writing.steps import Statement


def build_query(query: ast.Query) -> algebra.Query:
    """Build the algebra of a query that passed `scope.check_query`."""
    return ClauseBuilder().build_query(query)


def build_statement(query: ast.Query, procedures: Procedures) -> Statement:
    """Build the steps of a statement that passed `scope.check_statement`."""
    return StatementBuilder(procedures).build_statement(query)
