"""Moves `n.key = constant` from a match's predicate into its node pattern, so that engines search
by it.

Equalities with anything that depends on the row are not moved.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Expression,
    Literal,
    Match,
    NodePattern,
    Operator,
    Parameter,
    Property,
    Subscript,
    Variable,
)
from twinframe.query.evaluate.analysis import build_conjunction, find_conjuncts


def move_equality_into_pattern(operator: Operator) -> Operator:
    """Return the match with constant equalities of its nodes in their property maps."""
    if not isinstance(operator, Match) or operator.predicate is None:
        return operator
    names = {node.variable for node in operator.pattern.nodes}
    moved: dict[str, list[tuple[str, Expression]]] = {}
    kept: list[Expression] = []
    for conjunct in find_conjuncts(operator.predicate):
        found = _find_equality(conjunct)
        if found is not None and found[0] in names:
            moved.setdefault(found[0], []).append(found[1:])
        else:
            kept.append(conjunct)
    if not moved:
        return operator
    nodes = tuple(_add_properties(node, moved) for node in operator.pattern.nodes)
    return replace(
        operator,
        pattern=replace(operator.pattern, nodes=nodes),
        predicate=build_conjunction(kept),
    )


def _add_properties(
    node: NodePattern, moved: dict[str, list[tuple[str, Expression]]]
) -> NodePattern:
    """Return the pattern with its equalities; a second pattern of one variable gets none."""
    found = moved.pop(node.variable, None)
    return node if found is None else replace(node, properties=(*node.properties, *found))


def _find_equality(conjunct: Expression) -> tuple[str, str, Expression] | None:
    if not isinstance(conjunct, Binary) or conjunct.operator is not BinaryOperator.EQUAL:
        return None
    for member, value in ((conjunct.left, conjunct.right), (conjunct.right, conjunct.left)):
        if isinstance(value, Literal | Parameter):
            found = _find_member(member)
            if found is not None:
                return (*found, value)
    return None


def _find_member(expression: Expression) -> tuple[str, str] | None:
    match expression:
        case Property(subject=Variable(name=name), key=key):
            return name, key
        case Subscript(subject=Variable(name=name), index=Literal(value=str(key))):
            return name, key
        case _:
            return None
