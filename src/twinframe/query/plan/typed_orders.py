"""Rewriting of sort keys that are stored times into calls that a store's engine can sort by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from twinframe.query.algebra import (
    Expression,
    FunctionCall,
    ListExpression,
    Literal,
    MapExpression,
    Operator,
    Project,
    Property,
    Sort,
    SortKey,
    Variable,
)
from twinframe.query.engine import STORED_TIME
from twinframe.query.evaluate.member_typing import Declared
from twinframe.query.traversal import rewrite_operators


def name_stored_times(root: Operator, declared: Mapping[str, Declared]) -> Operator:
    """Return the plan with each sort key that is a member of `declared` as a call of `STORED_TIME`.

    The call has the node, the member's name and its declarations. Other uses of such a member are
    unchanged.
    """
    return rewrite_operators(root, lambda operator: _name_keys(operator, declared))


def _name_keys(operator: Operator, declared: Mapping[str, Declared]) -> Operator:
    if not isinstance(operator, Sort):
        return operator
    source = operator.source
    items = dict(source.items) if isinstance(source, Project) else {}
    added: dict[str, Expression] = {}
    keys = tuple(_name_key(key, items, added, declared) for key in operator.keys)
    if keys == operator.keys:
        return operator
    if not added or not isinstance(source, Project):
        return replace(operator, keys=keys)
    wider = replace(source, items=(*source.items, *added.items()))
    picked = tuple((name, cast("Expression", Variable(name))) for name, _ in source.items)
    return Project(Sort(wider, keys), picked)


def _name_key(
    key: SortKey,
    items: Mapping[str, Expression],
    added: dict[str, Expression],
    declared: Mapping[str, Declared],
) -> SortKey:
    """Return the sort key, over a projection of `items` and of the nodes that are `added` to it."""
    match key.expression:
        case Variable(name=column):
            member = items.get(column)
        case member:
            pass
    match member:
        case Property(subject=Variable(name=owner), key=name) if name in declared:
            if member is not key.expression and items.get(owner) != Variable(owner):
                if owner in items:  # above the projection, the name is that of another value
                    return key
                added[owner] = Variable(owner)
            places = MapExpression(
                tuple(
                    (kind, ListExpression(tuple(Literal(one) for one in models)))
                    for kind, models in declared[name].items()
                )
            )
            call = FunctionCall(STORED_TIME, (Variable(owner), Literal(name), places))
            return replace(key, expression=call)
        case _:
            return key
