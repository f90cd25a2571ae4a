"""A checked syntax tree to the algebra. It reports no errors: `scope` has found them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.cypher.builder.clauses import ClauseBuilder

if TYPE_CHECKING:
    from twinframe.cypher import algebra, ast


def build_query(query: ast.Query) -> algebra.Query:
    """The algebra of a query that `scope.check_query` has passed."""
    return ClauseBuilder().build_query(query)
