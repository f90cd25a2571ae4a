"""Compiles expressions of the algebra to functions that give a vector for the rows of a frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.algebra import (
    MIRRORED,
    Binary,
    BinaryOperator,
    Case,
    Expression,
    FunctionCall,
    HasLabels,
    ListComprehension,
    ListExpression,
    Literal,
    MapExpression,
    Parameter,
    Property,
    Quantifier,
    Reduce,
    Slice,
    Subplan,
    Subscript,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate.analysis import find_variables
from twinframe.query.evaluate.constants import compile_in_run
from twinframe.query.traversal import walk_expressions
from twinframe_columns.arithmetic import calculate, raise_to
from twinframe_columns.branches import choose
from twinframe_columns.comparing import compare, test_in, test_text
from twinframe_columns.frame import Frame, Run
from twinframe_columns.functions import compile_call
from twinframe_columns.kinds import Bools
from twinframe_columns.lists import concatenate, is_list, test_membership
from twinframe_columns.members import may_be_null, read_member, test_labels
from twinframe_columns.merging import merge, read_lists
from twinframe_columns.nesting import compile_nested
from twinframe_columns.rowwise import apply_to_rows, is_random
from twinframe_columns.texts import join_texts, test_pattern
from twinframe_columns.vectors import (
    NULL,
    Constant,
    Entities,
    Maps,
    Numbers,
    Truths,
    Vector,
    find_false,
    is_null,
    join_and,
    join_or,
    join_xor,
    negate,
    read_truths,
    simplify,
    take,
)

Evaluate: TypeAlias = Callable[[Run, Frame], Vector]
CompileSubplan: TypeAlias = Callable[[Subplan], Evaluate]
Condition: TypeAlias = Callable[[Run, Frame], Truths]

_TEXT_TESTS: Final = frozenset(
    (BinaryOperator.STARTS_WITH, BinaryOperator.ENDS_WITH, BinaryOperator.CONTAINS)
)
_JUNCTIONS: Final = frozenset((BinaryOperator.AND, BinaryOperator.OR, BinaryOperator.XOR))
_ARITHMETIC: Final = frozenset(
    (
        BinaryOperator.ADD,
        BinaryOperator.SUBTRACT,
        BinaryOperator.MULTIPLY,
        BinaryOperator.DIVIDE,
        BinaryOperator.MODULO,
    )
)


class ExpressionCompiler:
    """Compiles expressions over variables; `compile_subplan` is for those with patterns."""

    def __init__(self, compile_subplan: CompileSubplan) -> None:
        self._compile_subplan = compile_subplan

    def compile(self, expression: Expression) -> Evaluate:
        """Return the function, or raise `CannotRun`."""
        match expression:
            case Literal(value=value):
                constant = Constant(value)
                return lambda _run, _frame: constant
            case Parameter(name=name):
                return lambda run, _frame: Constant(run.parameters[name])
            case Variable(name=name):
                return lambda _run, frame: frame.variables[name]
            case Subplan():
                return self._compile_subplan(expression)
            case _ if _is_constant(expression):
                return _compile_constant(expression)
            case Property() | Subscript(index=Literal(value=str())):
                return self._compile_member(expression)
            case (
                ListExpression()
                | MapExpression()
                | Subscript()
                | Slice()
                | ListComprehension()
                | Quantifier()
                | Reduce()
            ):
                return compile_nested(expression, self.compile)
            case Unary():
                return self._compile_unary(expression)
            case Binary():
                return self._compile_binary(expression)
            case HasLabels(subject=subject, labels=labels):
                inner = self.compile(subject)
                return lambda run, frame: test_labels(run, inner(run, frame), labels)
            case Case():
                return self._compile_case(expression)
            case FunctionCall():
                arguments = [self.compile(one) for one in expression.arguments]
                presences = [self._compile_presence(one) for one in expression.arguments]
                return compile_call(expression, arguments, presences)
            case _:
                raise CannotRun(f"{type(expression).__name__} in columns.")

    def compile_condition(self, expression: Expression) -> Condition:
        """Return a function that gives the truth of a condition."""
        evaluate = self.compile(expression)
        return lambda run, frame: read_truths(evaluate(run, frame), frame.count)

    def _compile_presence(self, expression: Expression) -> Evaluate:
        """Compile whether the expression names a member that is there, null or not."""
        subject, path = find_path(expression)
        member, owner = self.compile(expression), self.compile(subject)

        def test(run: Run, frame: Frame) -> Vector:
            if isinstance(subject, Subscript):
                raise CannotRun("Whether an element is present.")
            nulls = is_null(member(run, frame), frame.count)
            vector = owner(run, frame) if path and nulls.any() else NULL
            if vector != NULL and (
                not isinstance(vector, Entities) or may_be_null(run, vector, path)
            ):
                raise CannotRun("A member that may be null or missing.")
            return Truths(~nulls)

        return test

    def _compile_member(self, expression: Expression) -> Evaluate:
        subject, path = find_path(expression)
        evaluate = self.compile(subject)

        def read(run: Run, frame: Frame) -> Vector:
            vector = evaluate(run, frame)
            rest = path
            while rest and isinstance(vector, Maps | Constant) and vector != NULL:
                vector, rest = _read_key(vector, rest[0], frame.count), rest[1:]
            if vector == NULL or not rest:
                return vector
            if not isinstance(vector, Entities):
                raise CannotRun("A member of a value.")
            return read_member(run, vector, rest)

        return read

    def _compile_unary(self, expression: Unary) -> Evaluate:
        operand = self.compile(expression.operand)
        match expression.operator:
            case UnaryOperator.NOT:
                return lambda run, frame: negate(read_truths(operand(run, frame), frame.count))
            case UnaryOperator.IS_NULL:
                return lambda run, frame: Truths(is_null(operand(run, frame), frame.count))
            case UnaryOperator.IS_NOT_NULL:
                return lambda run, frame: Truths(~is_null(operand(run, frame), frame.count))
            case UnaryOperator.MINUS:
                return lambda run, frame: calculate(
                    BinaryOperator.MULTIPLY, Constant(-1), operand(run, frame), frame.count
                )
            case UnaryOperator.PLUS:
                return lambda run, frame: _check_number(operand(run, frame))

    def _compile_binary(self, expression: Binary) -> Evaluate:
        operator = expression.operator
        left, right = self.compile(expression.left), self.compile(expression.right)
        if operator in (BinaryOperator.AND, BinaryOperator.OR):
            return _compile_junction(left, right, is_and=operator is BinaryOperator.AND)
        if operator is BinaryOperator.XOR:
            return lambda run, frame: join_xor(
                read_truths(left(run, frame), frame.count),
                read_truths(right(run, frame), frame.count),
            )
        if operator in MIRRORED:
            return lambda run, frame: compare(
                operator, left(run, frame), right(run, frame), frame.count
            )
        if operator in _TEXT_TESTS:
            return _compile_text_test(expression, left, right)
        if operator is BinaryOperator.IN:
            return _compile_membership(left, right)
        if operator in _ARITHMETIC:
            return _compile_arithmetic(expression, left, right)
        return _compile_other(expression, left, right)

    def _compile_case(self, expression: Case) -> Evaluate:
        operand = None if expression.operand is None else self.compile(expression.operand)
        branches = [(self.compile(when), self.compile(then)) for when, then in expression.branches]
        default = self.compile(expression.default or Literal(None))
        is_cheap = all(map(_is_cheap, walk_expressions(expression)))

        def choose_rows(run: Run, frame: Frame) -> Vector:
            if is_cheap:
                try:
                    found = _choose_at_once(run, frame)
                except CannotRun:  # perhaps for a row of which another branch counts
                    found = None
                if found is not None:
                    return found
            rest = np.arange(frame.count, dtype=np.int32)
            part = frame
            parts = []
            for when, then in branches:
                if not len(rest):
                    break
                value = when(run, part)
                if operand is not None:
                    subject = operand(run, part)
                    holds = compare(BinaryOperator.EQUAL, subject, value, part.count).true
                else:
                    holds = read_truths(value, part.count).true
                if holds.any():
                    parts.append((rest[holds], then(run, part.take(holds))))
                    part, rest = part.take(~holds), rest[~holds]
            if len(rest):
                parts.append((rest, default(run, part)))
            return merge(parts, frame.count)

        def _choose_at_once(run: Run, frame: Frame) -> Vector | None:
            """PERF: half the time where all branches are cheap: no rows are picked."""
            if not frame.count:
                return None
            subject = None if operand is None else operand(run, frame)
            conditions = []
            for when, _ in branches:
                value = when(run, frame)
                if subject is not None:
                    value = compare(BinaryOperator.EQUAL, subject, value, frame.count)
                conditions.append(read_truths(value, frame.count).true)
            values = [then(run, frame) for _, then in branches]
            return choose(conditions, [*values, default(run, frame)], frame.count)

        return choose_rows


def _is_cheap(expression: Expression) -> bool:
    """Whether one operation on all rows takes little longer than one on some of them."""
    match expression:
        case Literal() | Parameter() | Variable() | Property() | Unary() | Case():
            return True
        case Binary(operator=operator):
            return operator in MIRRORED or operator in _ARITHMETIC or operator in _JUNCTIONS
        case _:
            return False


def find_path(expression: Expression) -> tuple[Expression, tuple[str, ...]]:
    """Return whose member it is, and the names of the member and of those that it is in."""
    path: tuple[str, ...] = ()
    while True:
        match expression:
            case Property(subject=outer, key=key):
                pass
            case Subscript(subject=outer, index=Literal(value=str() as key)):
                pass
            case _:
                return expression, path
        expression, path = outer, (key, *path)


def _read_key(vector: Maps | Constant, key: str, count: int) -> Vector:
    """Return the values of a key; null of null, and where there is no such key."""
    if isinstance(vector, Constant):
        if not isinstance(vector.value, dict):
            raise CannotRun("A member of a value.")
        return Constant(vector.value.get(key))
    found = vector.members.get(key, NULL)
    if vector.valid is None:
        return found
    rows = np.flatnonzero(vector.valid).astype(np.int32)
    return merge([(rows, take(found, rows))], count)


def _is_constant(expression: Expression) -> bool:
    """Whether it has one value for all rows of a run."""
    if find_variables(expression):
        return False
    return not any(isinstance(one, Subplan) for one in walk_expressions(expression))


def _compile_constant(expression: Expression) -> Evaluate:
    if is_random(expression):
        raise CannotRun("A value that changes from row to row.")
    if isinstance(expression, ListExpression) and all(
        isinstance(one, Literal) for one in expression.items
    ):
        listed = Constant([one.value for one in expression.items if isinstance(one, Literal)])
        return lambda _run, _frame: listed
    evaluate = compile_in_run(expression)

    def read(run: Run, _frame: Frame) -> Vector:
        try:
            value = evaluate(run.constants)
        except (QueryInvalid, LimitExceeded) as error:
            raise CannotRun("A constant that is an error.") from error
        if value != value:
            raise CannotRun("A constant that is no number.")
        return Constant(value)

    return read


def _compile_junction(left: Evaluate, right: Evaluate, *, is_and: bool) -> Evaluate:
    """Compile AND or OR. What is no boolean counts only where the other side does not decide."""
    join = join_and if is_and else join_or

    def decide(truths: Truths) -> Bools:
        return find_false(truths) if is_and else truths.true

    def evaluate(run: Run, frame: Frame) -> Vector:
        try:
            one = read_truths(left(run, frame), frame.count)
        except CannotRun:
            other = read_truths(right(run, frame), frame.count)
            return _join_rest(run, frame, other, left)
        try:
            return join(one, read_truths(right(run, frame), frame.count))
        except CannotRun:
            return _join_rest(run, frame, one, right)

    def _join_rest(run: Run, frame: Frame, known: Truths, other: Evaluate) -> Vector:
        """Evaluate the other side where the known one does not decide."""
        open_ones = np.flatnonzero(~decide(known)).astype(np.int32)
        if len(open_ones) == frame.count:
            raise CannotRun("A condition that no row decides.")
        part = frame.take(open_ones)
        rest = read_truths(other(run, part), part.count)
        own = take(known, open_ones)
        assert isinstance(own, Truths)  # noqa: S101  # as it was
        joined = join(own, rest)
        true, found = known.true.copy(), np.ones(frame.count, np.bool_)
        true[open_ones] = joined.true
        if joined.known is not None:
            found[open_ones] = joined.known
        return Truths(true, found)

    return evaluate


def _compile_text_test(expression: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    in_general = apply_to_rows(expression)

    def evaluate(run: Run, frame: Frame) -> Vector:
        one, text = left(run, frame), right(run, frame)
        if not isinstance(text, Constant):
            return in_general(run, frame, (one, text))
        return test_text(expression.operator, one, text.value, frame.count)

    return evaluate


def _compile_other(expression: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    in_general = apply_to_rows(expression)

    def evaluate(run: Run, frame: Frame) -> Vector:
        one, other = left(run, frame), right(run, frame)
        found: Vector | None = None
        if expression.operator is BinaryOperator.POWER:
            found = raise_to(simplify(one), other)
        elif expression.operator is BinaryOperator.MATCHES:
            found = test_pattern(one, other)
        return in_general(run, frame, (one, other)) if found is None else found

    return evaluate


def _compile_arithmetic(expression: Binary, left: Evaluate, right: Evaluate) -> Evaluate:
    in_general = apply_to_rows(expression)
    is_sum = expression.operator is BinaryOperator.ADD

    def evaluate(run: Run, frame: Frame) -> Vector:
        one, other = left(run, frame), right(run, frame)
        joined = join_texts(one, other) if is_sum else None
        if joined is not None:
            return joined
        one, other = simplify(one), simplify(other)
        if is_sum and (is_list(one) or is_list(other)):
            return concatenate(one, other, frame.count)
        if _is_number(one) and _is_number(other):
            return calculate(expression.operator, one, other, frame.count)
        return in_general(run, frame, (one, other))

    return evaluate


def _is_number(vector: Vector) -> bool:
    if isinstance(vector, Constant):
        return vector.value is None or type(vector.value) in (int, float)
    return isinstance(vector, Numbers)


def _check_number(vector: Vector) -> Vector:
    if not _is_number(simplify(vector)):
        raise CannotRun("A sign of what is no number.")
    return vector


def _compile_membership(left: Evaluate, right: Evaluate) -> Evaluate:
    def evaluate(run: Run, frame: Frame) -> Vector:
        item, items = left(run, frame), right(run, frame)
        if isinstance(items, Constant):
            return test_in(item, items.value, frame.count)
        return test_membership(item, read_lists(items, frame.count))

    return evaluate


def is_safe(expression: Expression) -> bool:
    """Whether it is never an error."""
    match expression:
        case Literal() | Variable() | Parameter():
            return True
        case Property(subject=Variable()):
            return True
        case Subscript(subject=Variable(), index=Literal(value=str())):
            return True
        case _:
            return False
