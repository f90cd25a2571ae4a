"""What a plan asks of its variables as a whole. It compiles no operator."""

from __future__ import annotations

from twinframe.cypher.algebra import Filter, Match, Operator, Project, Query, Unit
from twinframe.evaluator.analysis import find_mentioned


def find_needed(query: Query) -> frozenset[str]:
    """Variables that something besides the pattern element that binds them mentions."""
    return frozenset(find_mentioned(query.root, query.columns))


def find_scanned(operator: Operator) -> str | None:
    """The node whose twins the rows come from, one for one; None where they do not."""
    match operator:
        case Project(source=Match() | Filter() as source) | Filter(source=source):
            return find_scanned(source)
        case Match(source=Unit(), optional=False, pattern=pattern):
            alone = len(pattern.nodes) == 1 and not pattern.relationships and not pattern.paths
            return pattern.nodes[0].variable if alone else None
        case _:
            return None
