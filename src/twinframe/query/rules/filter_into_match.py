"""Moves a filter above a match into it, so that each condition is tested as early as possible.

Filters are not moved through optional matches, which would turn dropped rows into null rows.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.query.algebra import Filter, Match, Operator
from twinframe.query.evaluate.analysis import build_conjunction, find_conjuncts


def move_filter_into_match(operator: Operator) -> Operator:
    """Return `Filter(Match)` as one `Match` with both predicates."""
    match operator:
        case Filter(source=Match(optional=False) as source, predicate=predicate):
            conjuncts = (*find_conjuncts(source.predicate), *find_conjuncts(predicate))
            return replace(source, predicate=build_conjunction(conjuncts))
        case _:
            return operator
