"""Recognizes plain scans, whose rows correspond one to one to the rows of one table.

Such a plan is paged by that table's row id.
"""

from __future__ import annotations

from twinframe.query.algebra import (
    Direction,
    Filter,
    GraphPattern,
    Match,
    Operator,
    Project,
    Query,
    Unit,
)
from twinframe.query.sql import kinds as k
from twinframe.query.sql.select import Select


def find_key(query: Query, select: Select) -> str | None:
    """The row id that numbers the rows of a plain scan."""
    kind = find_scanned_kind(query.root)
    if kind is None or not select.is_open or select.order_by:
        return None
    return select.scanned.get(kind)


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
