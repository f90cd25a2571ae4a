"""Compiles operators over compiled operands: three-valued logic, comparison, arithmetic, string
predicates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import (
    equals,
    is_less,
    is_less_or_equal,
    name_type,
    negate,
    read_text,
)
from twinframe.model.values import Value
from twinframe.query.algebra import BinaryOperator, UnaryOperator
from twinframe.query.evaluate import arithmetic, text
from twinframe.query.evaluate.failures import build_type_error, note_span
from twinframe.query.evaluate.run import Evaluate, Row, Run
from twinframe.query.spans import Span

Dyadic: TypeAlias = Callable[[Value, Value], Value]
Test: TypeAlias = Callable[[Row, Run], bool]
"""A compiled condition: whether the row passes."""


def _of_texts(apply: Dyadic) -> Dyadic:
    """Wrap a test of strings, for which a time read from a document is its text there."""
    return lambda left, right: apply(read_text(left), read_text(right))


_STRICT: dict[BinaryOperator, Dyadic] = {
    BinaryOperator.EQUAL: equals,
    BinaryOperator.NOT_EQUAL: lambda left, right: negate(equals(left, right)),
    BinaryOperator.LESS: is_less,
    BinaryOperator.LESS_EQUAL: is_less_or_equal,
    BinaryOperator.GREATER: lambda left, right: is_less(right, left),
    BinaryOperator.GREATER_EQUAL: lambda left, right: is_less_or_equal(right, left),
    BinaryOperator.SUBTRACT: arithmetic.subtract,
    BinaryOperator.MULTIPLY: arithmetic.multiply,
    BinaryOperator.DIVIDE: arithmetic.divide,
    BinaryOperator.MODULO: arithmetic.modulo,
    BinaryOperator.POWER: arithmetic.power,
    BinaryOperator.STARTS_WITH: _of_texts(text.starts_with),
    BinaryOperator.ENDS_WITH: _of_texts(text.ends_with),
    BinaryOperator.CONTAINS: _of_texts(text.contains),
}


@dataclass(frozen=True, slots=True)
class OperandSpans:
    """The positions in the text of an operator and its two operands."""

    whole: Span | None
    left: Span | None
    right: Span | None


def compile_binary(
    operator: BinaryOperator, left: Evaluate, right: Evaluate, places: OperandSpans
) -> Evaluate:
    """Compile the operator's value.

    OR and AND skip an operand that cannot matter, errors included.
    """
    match operator:
        case BinaryOperator.AND:
            return _compile_junction(left, right, "AND", places, decisive=False)
        case BinaryOperator.OR:
            return _compile_junction(left, right, "OR", places, decisive=True)
        case BinaryOperator.XOR:
            return _compile_xor(left, right, places)
        case BinaryOperator.ADD:
            return _compile_sum(left, right, places.whole)
        case BinaryOperator.IN:
            raise AssertionError("IN stands in `membership`: its right side may be a range.")
        case BinaryOperator.MATCHES:
            return _compile_matches(left, right, places.whole)
        case _:
            return _compile_strict(_STRICT[operator], left, right, places.whole)


def _compile_sum(left: Evaluate, right: Evaluate, span: Span | None) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        try:
            return arithmetic.add(left(row, run), right(row, run), run)
        except QueryInvalid as error:
            raise note_span(error, span) from None

    return evaluate


def _compile_matches(left: Evaluate, right: Evaluate, span: Span | None) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        try:
            one, other = left(row, run), right(row, run)
            return text.matches(read_text(one), read_text(other), run)
        except QueryInvalid as error:
            raise note_span(error, span) from None

    return evaluate


def _compile_strict(apply: Dyadic, left: Evaluate, right: Evaluate, span: Span | None) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        # PERF: a `try` that nothing is raised in costs nothing, where one more call would.
        try:
            return apply(left(row, run), right(row, run))
        except QueryInvalid as error:
            raise note_span(error, span) from None

    return evaluate


def compile_unary(operator: UnaryOperator, operand: Evaluate, span: Span | None) -> Evaluate:
    """Compile the operator over one compiled operand at `span`."""
    match operator:
        case UnaryOperator.NOT:
            return lambda row, run: negate(check_truth(operand(row, run), "NOT", span))
        case UnaryOperator.MINUS:
            return lambda row, run: arithmetic.minus(operand(row, run))
        case UnaryOperator.PLUS:
            return lambda row, run: arithmetic.plus(operand(row, run))
        case UnaryOperator.IS_NULL:
            return lambda row, run: operand(row, run) is None
        case UnaryOperator.IS_NOT_NULL:
            return lambda row, run: operand(row, run) is not None
        case _:
            assert_never(operator)


def check_truth(value: Value, place: str, span: Span | None = None) -> bool | None:
    """Return the value where a truth value is needed: true, false or null; other types are an
    error.
    """
    if value is None or value is True or value is False:
        return value
    error = build_type_error(f"{place} takes a Boolean, not {name_type(value)}.")
    raise note_span(error, span)


def _compile_junction(
    left: Evaluate, right: Evaluate, word: str, places: OperandSpans, *, decisive: bool
) -> Evaluate:
    """Compile AND (`decisive` false) or OR (true): one decisive operand decides, whatever the other
    is.

    SPEC: openCypher 9 leaves open which operand is evaluated first, and engines choose by cost. So
    an error of one operand, including a value that is no boolean, counts only where the other one
    does not decide.
    """

    def evaluate(row: Row, run: Run) -> Value:
        try:
            one = check_truth(left(row, run), word, places.left)
        except QueryInvalid:
            if check_truth(right(row, run), word, places.right) is decisive:
                return decisive
            raise
        if one is decisive:
            return decisive
        other = check_truth(right(row, run), word, places.right)
        if other is decisive:
            return decisive
        return None if one is None or other is None else not decisive

    return evaluate


def compile_joint_test(left: Test, right: Test, *, decisive: bool) -> Test:
    """Compile two tests of which one that returns `decisive` decides, whatever the other one is.

    They are the tests of an AND where false decides, of an OR where true does. As for
    `_compile_junction`, but a test does not distinguish null from false: null decides an AND, too.
    """

    def test(row: Row, run: Run) -> bool:
        try:
            one = left(row, run)
        except QueryInvalid:
            if right(row, run) is decisive:
                return decisive
            raise
        return decisive if one is decisive else right(row, run)

    return test


def _compile_xor(left: Evaluate, right: Evaluate, places: OperandSpans) -> Evaluate:
    def evaluate(row: Row, run: Run) -> Value:
        one = check_truth(left(row, run), "XOR", places.left)
        other = check_truth(right(row, run), "XOR", places.right)
        return None if one is None or other is None else one is not other

    return evaluate
