"""Translates a checked syntax tree to the algebra; `scope` has reported all errors before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher.builder.clauses import ClauseBuilder

if TYPE_CHECKING:
    from twinframe.query import algebra
    from twinframe.query.cypher import ast


def build_query(query: ast.Query) -> algebra.Query:
    """Build the algebra of a query that passed `scope.check_query`."""
    return ClauseBuilder().build_query(query)
