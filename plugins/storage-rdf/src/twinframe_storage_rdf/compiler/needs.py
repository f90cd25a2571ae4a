"""Finds the variables that a plan needs as a whole."""

from __future__ import annotations

from twinframe.query.algebra import Filter, Match, Operator, Project, Query, Unit
from twinframe.query.evaluate.analysis import find_mentioned


def find_needed(query: Query) -> frozenset[str]:
    """Return the variables that are mentioned outside the pattern element that binds them."""
    return frozenset(find_mentioned(query.root, query.columns))


def find_scanned(operator: Operator) -> str | None:
    """Return the node whose twins the rows correspond to one to one; None if there is none."""
    match operator:
        case Project(source=Match() | Filter() as source) | Filter(source=source):
            return find_scanned(source)
        case Match(source=Unit(), optional=False, pattern=pattern):
            alone = len(pattern.nodes) == 1 and not pattern.relationships and not pattern.paths
            return pattern.nodes[0].variable if alone else None
        case _:
            return None
