"""Finds the variables that an expression of the algebra reads."""

from __future__ import annotations

from twinframe.query import algebra as al
from twinframe.query.traversal import walk


def find_variables(expression: al.Expression) -> frozenset[str]:
    """Return every variable named anywhere inside, including those bound inside.

    These are a few too many for comprehensions that reuse an outer name: callers only ask whether
    an expression is certainly free of some variables.
    """
    found: set[str] = set()
    for term in walk(expression):
        if isinstance(term, al.Variable):
            found.add(term.name)
        elif isinstance(term, al.Argument):
            found.update(term.variables)
    return frozenset(found)
