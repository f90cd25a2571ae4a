"""Compiles label expressions to tests on a set of labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, assert_never

from twinframe.query.algebra import LabelAnd, LabelExpression, LabelName, LabelNot, LabelOr

HoldsLabels: TypeAlias = Callable[[frozenset[str]], bool]


def compile_labels(labels: LabelExpression | None) -> HoldsLabels:
    """Compile a test of a node's labels, which include those of all its supertypes; None is always
    true.
    """
    match labels:
        case None:
            return lambda _held: True
        case LabelName(name=name):
            return lambda held: name in held
        case LabelNot(operand=operand):
            inner = compile_labels(operand)
            return lambda held: not inner(held)
        case LabelAnd(left=left, right=right):
            one, other = compile_labels(left), compile_labels(right)
            return lambda held: one(held) and other(held)
        case LabelOr(left=left, right=right):
            one, other = compile_labels(left), compile_labels(right)
            return lambda held: one(held) or other(held)
        case _:
            assert_never(labels)


def find_label_names(labels: LabelExpression | None) -> frozenset[str]:
    """Return every label that the expression names."""
    match labels:
        case None:
            return frozenset()
        case LabelName(name=name):
            return frozenset((name,))
        case LabelNot(operand=operand):
            return find_label_names(operand)
        case LabelAnd(left=left, right=right) | LabelOr(left=left, right=right):
            return find_label_names(left) | find_label_names(right)
        case _:
            assert_never(labels)
