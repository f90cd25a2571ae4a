"""Translates a checked syntax tree to the algebra; `scope` has reported all errors before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.cypher.builder.clauses import ClauseBuilder

if TYPE_CHECKING:
    from twinframe.cypher import algebra, ast


def build_query(query: ast.Query) -> algebra.Query:
    """Build the algebra of a query that passed `scope.check_query`."""
    return ClauseBuilder().build_query(query)
