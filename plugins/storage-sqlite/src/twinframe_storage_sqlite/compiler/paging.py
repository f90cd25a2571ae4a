"""Which plans are plain scans: their rows come one for one from the rows of one table.

Such a plan pages by that table's row id; nothing here compiles it.
"""

from __future__ import annotations

from twinframe.cypher.algebra import (
    Direction,
    Filter,
    GraphPattern,
    Match,
    Operator,
    Project,
    Unit,
)
from twinframe_storage_sqlite.compiler import kinds as k


def find_scanned_kind(root: Operator) -> int | None:
    """The kind (`NODE` or `RELATIONSHIP`) of the one element that a plan scans, or None."""
    operator = root
    while isinstance(operator, Project | Filter):
        operator = operator.source
    if not isinstance(operator, Match) or operator.optional:
        return None
    if not isinstance(operator.source, Unit):
        return None
    return _find_element(operator.pattern)


def _find_element(pattern: GraphPattern) -> int | None:
    if pattern.paths:
        return None
    match pattern.relationships:
        case ():
            return k.NODE if len(pattern.nodes) == 1 else None
        case (only,):
            if only.length is not None or only.direction is Direction.BOTH:
                return None
            ends = {only.left, only.right}
            return k.RELATIONSHIP if {node.variable for node in pattern.nodes} <= ends else None
        case _:
            return None
