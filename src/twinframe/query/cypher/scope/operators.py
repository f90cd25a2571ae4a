"""The operand and result types of operators and functions, as far as they are known before
running.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.algebra import BinaryOperator, UnaryOperator
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.static_types import ARITHMETIC, LOGICAL, UNKNOWN, Kind, StaticType

if TYPE_CHECKING:
    from twinframe.query.cypher.functions import Function

_NUMBERS = frozenset({Kind.INTEGER, Kind.FLOAT})
_SCALARS = _NUMBERS | {Kind.STRING, Kind.BOOLEAN, Kind.TEMPORAL}
_PREDICATES = frozenset(
    {
        BinaryOperator.IN,
        BinaryOperator.STARTS_WITH,
        BinaryOperator.ENDS_WITH,
        BinaryOperator.CONTAINS,
        BinaryOperator.MATCHES,
    }
)
_SUBJECTS_OF_MEMBERS = UNKNOWN | {Kind.MAP, Kind.NODE, Kind.RELATIONSHIP, Kind.TEMPORAL}


def demanded_kinds(
    operator: BinaryOperator,
) -> tuple[frozenset[Kind] | None, frozenset[Kind] | None]:
    """Return the kinds that the left and the right operand may have; None: any."""
    if operator is BinaryOperator.IN:
        return None, UNKNOWN | {Kind.LIST}
    kinds = _find_kinds_of_both(operator)
    return kinds, kinds


def _find_kinds_of_both(operator: BinaryOperator) -> frozenset[Kind] | None:
    if operator in _PREDICATES or operator is BinaryOperator.ADD:
        return None
    return ARITHMETIC


def can_add(left: StaticType, right: StaticType) -> bool:
    """Return whether `+` accepts the two: a list and anything, a string and a scalar, numbers,
    times.
    """
    kinds = {left.kind, right.kind}
    if kinds & (UNKNOWN | {Kind.LIST}):
        return True
    if Kind.STRING in kinds:
        return kinds <= _SCALARS
    return kinds <= _NUMBERS or kinds == {Kind.TEMPORAL}


def infer_binary(operator: BinaryOperator, left: StaticType, right: StaticType) -> StaticType:
    """The type of the result."""
    if operator in _PREDICATES:
        return t.BOOLEAN
    if operator is BinaryOperator.POWER:
        return t.FLOAT
    kinds = {left.kind, right.kind}
    if operator is BinaryOperator.ADD and Kind.LIST in kinds:
        return t.LIST
    if kinds <= _NUMBERS:
        return t.FLOAT if Kind.FLOAT in kinds else t.INTEGER
    if operator is BinaryOperator.ADD and kinds == {Kind.STRING}:
        return t.STRING
    return t.ANY


def infer_unary(operator: UnaryOperator, operand: StaticType) -> StaticType:
    """The type of the result."""
    if operator in {UnaryOperator.MINUS, UnaryOperator.PLUS}:
        return operand if operand.kind in _NUMBERS else t.ANY
    return t.BOOLEAN


def demanded_kinds_of_unary(operator: UnaryOperator) -> frozenset[Kind] | None:
    """The kinds that the operand may have; None: any."""
    if operator is UnaryOperator.NOT:
        return LOGICAL
    if operator in {UnaryOperator.MINUS, UnaryOperator.PLUS}:
        return ARITHMETIC
    return None


def infer_member(subject: StaticType) -> StaticType | None:
    """The type of a property of the subject; None if it can have none."""
    return t.ANY if subject.kind in _SUBJECTS_OF_MEMBERS else None


def infer_subscript(subject: StaticType, index: StaticType) -> StaticType | None:
    """The type of `subject[index]`; None if that is never possible."""
    if subject.kind is Kind.LIST:
        element = subject.element or t.ANY
        return element if index.kind in UNKNOWN | {Kind.INTEGER} else None
    if subject.kind in {Kind.MAP, Kind.NODE, Kind.RELATIONSHIP}:
        return t.ANY if index.kind in UNKNOWN | {Kind.STRING} else None
    if subject.kind in UNKNOWN:
        return t.ANY if index.kind in UNKNOWN | {Kind.STRING, Kind.INTEGER} else None
    return None


def infer_call(function: Function, arguments: list[StaticType]) -> StaticType:
    """The type of a call's result."""
    if not arguments:
        return function.result
    first = arguments[0]
    match function.name:
        case "head" | "last":
            return first.element or t.ANY
        case "tail" | "reverse":
            return first if first.kind is Kind.LIST else function.result
        case "collect":
            return t.list_of(first)
        case "min" | "max" if first.kind in _NUMBERS | {Kind.STRING}:
            return first
        case "coalesce":
            return t.common_type(arguments)
        case _:
            return function.result
