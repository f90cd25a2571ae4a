"""Finds the variables that an expression of the algebra reads."""

from __future__ import annotations

import dataclasses
from functools import cache

from twinframe.query import algebra as al
from twinframe.query.spans import Span


def find_variables(expression: al.Expression) -> frozenset[str]:
    """Return every variable named anywhere inside, including those bound inside.

    These are a few too many for comprehensions that reuse an outer name: callers only ask whether
    an expression is certainly free of some variables.
    """
    found: set[str] = set()
    pending: list[object] = [expression]
    while pending:
        value = pending.pop()
        if isinstance(value, al.Variable):
            found.add(value.name)
        elif isinstance(value, tuple):
            pending.extend(value)
        elif isinstance(value, al.Argument):
            found.update(value.variables)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type | Span):
            pending.extend(getattr(value, name) for name in _field_names(type(value)))
    return frozenset(found)


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))
