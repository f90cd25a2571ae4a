"""Applies the rewrite rules to a query, giving one with equal rows that engines run faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from twinframe.errors import LimitExceeded
from twinframe.query.algebra import Operator, Query
from twinframe.query.rules import RULES
from twinframe.query.traversal import rewrite_operators


def optimize(query: Query, rules: Sequence[Callable[[Operator], Operator]] = RULES) -> Query:
    """Return the query with every rule applied to every operator, from the leaves up.

    Raises `LimitExceeded` for an expression nested more deeply than Python can follow.
    """

    def apply(operator: Operator) -> Operator:
        for rule in rules:
            operator = rule(operator)
        return operator

    try:
        root = rewrite_operators(query.root, apply)
    except RecursionError as error:
        raise LimitExceeded("An expression of the query is nested too deeply.") from error
    return query if root is query.root else replace(query, root=root)
