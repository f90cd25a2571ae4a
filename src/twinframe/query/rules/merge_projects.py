"""Merges two projections where the upper one only picks columns, and drops redundant ones.

It never evaluates an expression twice that was evaluated once: its value may be random.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from twinframe.query.algebra import Expression, Operator, Project, Variable
from twinframe.query.evaluate.analysis import find_scope


def merge_projects(operator: Operator) -> Operator:
    """Return `Project(Project(...))` as one, or the source of a projection of all its variables."""
    if not isinstance(operator, Project):
        return operator
    picked = _find_picked(operator)
    if picked is None:
        return operator
    if picked == tuple(name for name, _ in operator.items):
        scope = find_scope(operator.source)
        if len(scope) == len(picked) and set(scope) == set(picked):
            return operator.source
    source = operator.source
    if isinstance(source, Project) and max(Counter(picked).values(), default=0) <= 1:
        inner: dict[str, Expression] = dict(source.items)
        items = tuple(
            (name, inner[old]) for (name, _), old in zip(operator.items, picked, strict=True)
        )
        return replace(operator, source=source.source, items=items)
    return operator


def _find_picked(operator: Project) -> tuple[str, ...] | None:
    """Return the variables that a projection of bare variables picks, in order; else None."""
    names = tuple(one.name for _, one in operator.items if isinstance(one, Variable))
    return names if len(names) == len(operator.items) else None
