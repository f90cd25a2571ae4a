"""Labels of the interfaces of a graph, and which satisfy a label expression. It reads no twin."""

from __future__ import annotations

from typing import assert_never

from twinframe.cypher.algebra import LabelAnd, LabelExpression, LabelName, LabelNot, LabelOr
from twinframe.model.ids import MODEL_LABEL, build_labels
from twinframe_storage_sqlite.statements import StatementRunner

_ALL = """
SELECT c.descendant, a.dtmi
FROM interface_closure c JOIN interface a ON a.id = c.ancestor
ORDER BY c.descendant"""

LabelSets = dict[int, frozenset[str]]
"""Row id of an interface -> the labels of its twins."""


def read_label_sets(runner: StatementRunner) -> LabelSets:
    """The labels of every interface."""
    above: dict[int, set[str]] = {}
    for interface, ancestor in runner.read_all(_ALL):
        above.setdefault(interface, set()).add(ancestor)
    return {interface: build_labels(frozenset(found)) for interface, found in above.items()}


def has_labels(wanted: LabelExpression, labels: frozenset[str]) -> bool:
    """Whether a node with these labels satisfies the expression."""
    match wanted:
        case LabelName(name=name):
            return name in labels
        case LabelNot(operand=operand):
            return not has_labels(operand, labels)
        case LabelAnd(left=left, right=right):
            return has_labels(left, labels) and has_labels(right, labels)
        case LabelOr(left=left, right=right):
            return has_labels(left, labels) or has_labels(right, labels)
        case _:
            assert_never(wanted)


def names_models(labels: LabelExpression) -> bool:
    """Whether the expression asks for models: whether `Model` stands anywhere in it."""
    match labels:
        case LabelName(name=name):
            return name == MODEL_LABEL
        case LabelNot(operand=operand):
            return names_models(operand)
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            return names_models(left) or names_models(right)
        case _:
            assert_never(labels)
