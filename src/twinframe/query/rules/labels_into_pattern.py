"""Moves `WHERE n:Label` into the node pattern, so that engines scan by it.

Tests with the label `Model` are not moved: in a pattern that label selects models instead of twins,
in a predicate it only tests the matched node.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.query.algebra import (
    Expression,
    HasLabels,
    LabelAnd,
    LabelExpression,
    Match,
    NodePattern,
    Operator,
    Variable,
)
from twinframe.query.evaluate.analysis import build_conjunction, find_conjuncts
from twinframe.query.evaluate.labels import find_label_names


def move_labels_into_pattern(operator: Operator) -> Operator:
    """Return the match with label tests of its nodes in their patterns."""
    if not isinstance(operator, Match) or operator.predicate is None:
        return operator
    names = {node.variable for node in operator.pattern.nodes}
    moved: dict[str, LabelExpression] = {}
    kept: list[Expression] = []
    for conjunct in find_conjuncts(operator.predicate):
        match conjunct:
            case HasLabels(subject=Variable(name=name), labels=labels) if (
                name in names and "Model" not in find_label_names(labels)
            ):
                moved[name] = LabelAnd(moved[name], labels) if name in moved else labels
            case _:
                kept.append(conjunct)
    if not moved:
        return operator
    nodes = tuple(_add_labels(node, moved) for node in operator.pattern.nodes)
    return replace(
        operator,
        pattern=replace(operator.pattern, nodes=nodes),
        predicate=build_conjunction(kept),
    )


def _add_labels(node: NodePattern, moved: dict[str, LabelExpression]) -> NodePattern:
    found = moved.pop(node.variable, None)
    if found is None:
        return node
    return replace(node, labels=found if node.labels is None else LabelAnd(node.labels, found))
