"""Compiles expressions of the algebra to SQL: as terms (values) and as tests (conditions).

The SELECT that owns an entity chooses its table. Where SQL would answer differently from Cypher,
the compiler raises `CannotRun`, or adds a trap if that depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from twinframe.model.values import Value
from twinframe.query.algebra import (
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
    QuantifierKind,
    Reduce,
    Slice,
    Subplan,
    Subscript,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.sql import functions
from twinframe.query.sql import kinds as k
from twinframe.query.sql.bindings import Source, build_json, build_scalar
from twinframe.query.sql.choices import build_choice
from twinframe.query.sql.comparison import (
    compile_equal,
    compile_in,
    compile_order,
    compile_string_test,
    render_whole,
)
from twinframe.query.sql.dialect import Dialect
from twinframe.query.sql.entities import compile_member
from twinframe.query.sql.extensions import Extensions
from twinframe.query.sql.labels import compile_has_labels
from twinframe.query.sql.select import Select
from twinframe.query.sql.term import NULL_TERM, Term, check_droppable
from twinframe.query.sql.texts import render_balanced

CompileSubplan = Callable[[Subplan, Select], Term]

_ORDERS = frozenset({"<", "<=", ">", ">="})
_STRINGS = frozenset({"STARTS WITH", "ENDS WITH", "CONTAINS"})
_LEARNT = _ORDERS | _STRINGS | {"="}
_ARITHMETIC = frozenset({"+", "-", "*", "/", "%", "^"})
_ENDS = {"head": "0", "last": "-1"}


class ExpressionCompiler:
    """Compiles expressions over the scope of one SELECT."""

    def __init__(
        self, select: Select, extensions: Extensions, compile_subplan: CompileSubplan
    ) -> None:
        self.extensions = extensions
        self._select = select
        self._statement = select.statement
        self._bindings = select.statement.bindings
        self._dialect = select.dialect
        self._compile_subplan = compile_subplan

    # --- values ---------------------------------------------------------------------------------

    def compile_term(self, expression: Expression) -> Term:
        """The value of an expression."""
        term = self._compile_kind(expression)
        if term.kinds == k.NULL:
            # NOTE: an expression known to be null may be dropped by its user.
            check_droppable(term)
        return term

    def _compile_kind(self, expression: Expression) -> Term:
        match expression:
            case Property(subject=subject, key=key):
                member = compile_member(self.compile_term(subject), key, self._dialect)
                return self._select.refine(member)
            case Variable(name=name):
                return self._compile_variable(name)
            case Literal():
                return self._compile_literal(expression)
            case Parameter():
                return self._compile_parameter(expression)
            case Unary() | HasLabels():
                return self._compile_unary_term(expression)
            case Binary():
                return self._compile_binary_term(expression)
            case FunctionCall():
                return self._compile_call(expression)
            case Case():
                return self._compile_case(expression)
            case ListExpression() | MapExpression() | Slice():
                return self._compile_collection(expression)
            case Subscript():
                return self._compile_subscript(expression)
            case Subplan():
                return self._compile_subplan(expression, self._select)
            case ListComprehension() | Quantifier() | Reduce():
                return self._compile_elements(expression)
            case _:
                assert_never(expression)

    def _compile_collection(self, expression: ListExpression | MapExpression | Slice) -> Term:
        match expression:
            case ListExpression(items=items):
                constant = self._compile_constants(items)
                if constant is not None:
                    return constant
                return self.extensions.build_list(tuple(self.compile_term(item) for item in items))
            case MapExpression(entries=entries):
                return self.extensions.build_map(
                    tuple((key, self.compile_term(each)) for key, each in entries)
                )
            case Slice():
                return self._compile_slice(expression)

    def _compile_constants(self, items: Sequence[Expression]) -> Term | None:
        """Compile a list that consists of literals to one bound value."""
        values: list[Value] = []
        kinds = 0
        for item in items:
            if not isinstance(item, Literal):
                return None
            values.append(item.value)
            kinds |= k.find_kind(item.value) or 0
        source = Source(None, values)
        text = self._dialect.render_given(self._bindings.bind(source, build_json), k.LIST)
        return Term(k.LIST, text, source=source, elements=kinds or k.NULL)

    def _compile_elements(self, expression: ListComprehension | Quantifier | Reduce) -> Term:
        source = self.compile_term(expression.source)
        if source.kinds == k.NULL:
            return NULL_TERM
        initial = self.compile_term(expression.initial) if isinstance(expression, Reduce) else None
        return self.extensions.compile_elements(
            expression, source, initial, self._select, self._open
        )

    def _open(self, select: Select) -> ExpressionCompiler:
        return ExpressionCompiler(select, self.extensions, self._compile_subplan)

    def _compile_slice(self, expression: Slice) -> Term:
        subject = self.compile_term(expression.subject)
        bounds = [
            None if each is None else self.compile_term(each)
            for each in (expression.start, expression.end)
        ]
        if any(each is not None and each.kinds == k.NULL for each in (subject, *bounds)):
            check_droppable(subject, *(each for each in bounds if each is not None))
            return NULL_TERM
        return self.extensions.compile_slice(subject, bounds[0], bounds[1])

    def _compile_variable(self, name: str) -> Term:
        term = self._select.scope.get(name)
        if term is None:
            raise CannotRun(f"The variable {name}.")
        return self._select.refine(term)

    def _compile_literal(self, literal: Literal) -> Term:
        if literal.value is None:
            return NULL_TERM
        source = Source(None, literal.value)
        kinds = k.find_kind(literal.value) or 0
        return self._build_given(source, kinds)

    def _compile_parameter(self, parameter: Parameter) -> Term:
        kinds = self._statement.read_parameter_kinds(parameter.name)
        if kinds == k.NULL:
            return NULL_TERM
        return self._build_given(Source(parameter.name), kinds)

    def _build_given(self, source: Source, kinds: int) -> Term:
        transform = build_json if kinds & (k.LIST | k.MAP) else build_scalar
        placeholder = self._bindings.bind(source, transform)
        return Term(kinds, self._dialect.render_given(placeholder, kinds), source=source)

    def _compile_unary_term(self, expression: Unary | HasLabels) -> Term:
        if isinstance(expression, HasLabels):
            return self._compile_truth(expression)
        operand = expression.operand
        match expression.operator:
            case UnaryOperator.NOT:
                value = self.compile_truth_value(operand)
                return Term(k.BOOLEAN | k.NULL, f"(NOT {value})", assumed=True)
            case UnaryOperator.MINUS:
                return self._compile_minus(operand)
            case UnaryOperator.PLUS:
                term = self.compile_term(operand)
                value = self._dialect.read_as(term, k.NUMBER, "the operator +")
                return Term(term.kinds & (k.NUMBER | k.NULL), value, assumed=True)
            case UnaryOperator.IS_NULL:
                return Term(k.BOOLEAN, f"({self.compile_term(operand).value} IS NULL)")
            case UnaryOperator.IS_NOT_NULL:
                return Term(k.BOOLEAN, f"({self.compile_term(operand).value} IS NOT NULL)")

    def _compile_minus(self, operand: Expression) -> Term:
        if isinstance(operand, Literal) and type(operand.value) in (int, float):
            value = -operand.value  # type: ignore[operator]  # a number by the test above
            return self._compile_literal(Literal(value))
        return self.extensions.compile_minus(self.compile_term(operand))

    def _compile_binary_term(self, expression: Binary) -> Term:
        operator = expression.operator.value
        if operator in _ARITHMETIC:
            left, right = self.compile_term(expression.left), self.compile_term(expression.right)
            return self.extensions.compile_arithmetic(left, operator, right)
        if expression.operator in (BinaryOperator.AND, BinaryOperator.OR):
            operands = [self.compile_truth_value(each) for each in find_operands(expression)]
            return Term(k.BOOLEAN | k.NULL, render_balanced(operands, operator), assumed=True)
        if expression.operator is BinaryOperator.XOR:
            return Term(k.BOOLEAN | k.NULL, self._compile_xor(expression, "<>"), assumed=True)
        return self._compile_truth(expression)

    def _compile_xor(self, expression: Binary, operator: str) -> str:
        left, right = map(self._compile_truth_term, (expression.left, expression.right))
        test = f"{left.value} {operator} {right.value}"
        return f"({render_whole(test, left, right, self._dialect)})"

    def _compile_truth(self, expression: Expression) -> Term:
        """The value of a predicate, built of its two tests."""
        yes = self.compile_test(expression, wanted=True)
        no = self.compile_test(expression, wanted=False)
        dialect = self._dialect
        value = f"CASE WHEN {yes} THEN {dialect.yes} WHEN {no} THEN {dialect.no} END"
        return Term(k.BOOLEAN | k.NULL, value)

    def compile_truth_value(self, expression: Expression) -> str:
        """0, 1 or NULL of an expression that must be a boolean or null."""
        return self._compile_truth_term(expression).value

    def _compile_truth_term(self, expression: Expression) -> Term:
        term = self.compile_term(expression)
        value = f"({self._dialect.read_as(term, k.BOOLEAN, 'a logical operator')})"
        return Term(term.kinds & k.NULL | k.BOOLEAN, value, assumed=term.assumed)

    def _compile_case(self, case: Case) -> Term:
        operand = None if case.operand is None else self.compile_term(case.operand)
        branches: list[tuple[str, Term]] = []
        for when, then in case.branches:
            if operand is None:
                test = self.compile_test(when, wanted=True)
            else:
                given = self.compile_term(when)
                test = compile_equal(operand, given, self._dialect, wanted=True)
            branches.append((test, self.compile_term(then)))
        default = NULL_TERM if case.default is None else self.compile_term(case.default)
        return build_choice(branches, default, self._dialect)

    def _compile_subscript(self, expression: Subscript) -> Term:
        subject = self.compile_term(expression.subject)
        if isinstance(expression.index, Literal) and isinstance(expression.index.value, str):
            member = compile_member(subject, expression.index.value, self._dialect)
            return self._select.refine(member)
        index = self.compile_term(expression.index)
        if k.NULL in (subject.kinds, index.kinds):
            check_droppable(subject, index)
            return NULL_TERM
        if index.kinds == k.STRING and index.source is not None:
            return self.extensions.compile_named_member(subject, index, self._bindings)
        if index.kinds & k.INTEGER and subject.kinds & k.LIST:
            return self.extensions.compile_element(subject, index, self._select)
        raise CannotRun("A subscript by a computed string.")

    def _compile_call(self, call: FunctionCall) -> Term:
        if call.name in functions.TESTS:
            return self._compile_truth(call)
        arguments = [self.compile_term(each) for each in call.arguments]
        if call.name in _ENDS:
            if arguments[0].kinds == k.NULL:
                return NULL_TERM
            position = Term(k.INTEGER, _ENDS[call.name])
            return self.extensions.compile_element(arguments[0], position, self._select)
        return functions.compile_call(call.name, arguments, self.extensions)

    # --- conditions -----------------------------------------------------------------------------

    def compile_condition(self, expression: Expression) -> str:
        """Compile a test that every row kept must pass; the SELECT learns the kinds that it
        implies.
        """
        match expression:
            case Binary(operator=operator) if operator.value in _LEARNT:
                left = self.compile_term(expression.left)
                right = self.compile_term(expression.right)
                test = self._compile_comparison(operator, left, right, wanted=True)
                self._learn(left, right)
                return test
            case Unary(operator=UnaryOperator.IS_NOT_NULL, operand=operand):
                term = self.compile_term(operand)
                self._select.add_knowledge(term.value, ~k.NULL)
                return f"{term.value} IS NOT NULL"
            case _:
                return self.compile_test(expression, wanted=True)

    def _learn(self, left: Term, right: Term) -> None:
        widened = k.build_widened(left.kinds), k.build_widened(right.kinds)
        for term, other in ((left, widened[1]), (right, widened[0])):
            if term.tag is not None:
                self._select.add_knowledge(term.value, other & ~k.NULL)

    # --- tests ----------------------------------------------------------------------------------

    def compile_test(self, expression: Expression, *, wanted: bool) -> str:
        """Compile to SQL that is 1 exactly when the expression is `wanted`, and 0 or NULL
        otherwise.

        A value that is no boolean is a trap.
        """
        match expression:
            case Unary(operator=UnaryOperator.NOT, operand=operand):
                return self.compile_test(operand, wanted=not wanted)
            case Unary(operator=UnaryOperator.IS_NULL, operand=operand):
                word = "IS NULL" if wanted else "IS NOT NULL"
                return f"{self.compile_term(operand).value} {word}"
            case Unary(operator=UnaryOperator.IS_NOT_NULL, operand=operand):
                word = "IS NOT NULL" if wanted else "IS NULL"
                return f"{self.compile_term(operand).value} {word}"
            case Binary():
                return self._compile_binary_test(expression, wanted=wanted)
            case HasLabels(subject=subject, labels=labels):
                term = self.compile_term(subject)
                return compile_has_labels(term, labels, self._statement, wanted=wanted)
            case FunctionCall(name=name) if name in functions.TESTS:
                if name in functions.PRESENCES:
                    self._check_member(expression.arguments[0])
                arguments = [self.compile_term(each) for each in expression.arguments]
                return functions.compile_test(expression, arguments, self._statement, wanted=wanted)
            case Quantifier(kind=QuantifierKind.ANY) if wanted:
                source = self.compile_term(expression.source)
                if source.kinds == k.NULL:
                    return self._dialect.no
                return self.extensions.compile_some(expression, source, self._select, self._open)
            case Literal(value=bool() as value):
                return self._dialect.yes if value is wanted else self._dialect.no
            case _:
                return _compile_truth_test(self.compile_term(expression), wanted, self._dialect)

    def _check_member(self, expression: Expression) -> None:
        """Raise `CannotRun` for what has a member's form, and whose presence no document tells."""
        match expression:
            case Property(subject=subject) | Subscript(subject=subject, index=Literal(value=str())):
                if self.compile_term(subject).entries is not None:
                    raise CannotRun("Whether a map of the query has a member.")
            case Subscript(index=index):
                if not isinstance(index, Parameter) or self.compile_term(index).kinds != k.STRING:
                    raise CannotRun("Whether an element is present.")
            case _:
                pass

    def _compile_binary_test(self, expression: Binary, *, wanted: bool) -> str:
        operator = expression.operator
        if operator in (BinaryOperator.AND, BinaryOperator.OR):
            tests = [self.compile_test(each, wanted=wanted) for each in find_operands(expression)]
            return render_balanced(tests, "AND" if (operator.value == "AND") == wanted else "OR")
        if operator is BinaryOperator.XOR:
            return self._compile_xor(expression, "<>" if wanted else "=")
        left, right = self.compile_term(expression.left), self.compile_term(expression.right)
        return self._compile_comparison(operator, left, right, wanted=wanted)

    def _compile_comparison(
        self, operator: BinaryOperator, left: Term, right: Term, *, wanted: bool
    ) -> str:
        if operator is BinaryOperator.EQUAL:
            return compile_equal(left, right, self._dialect, wanted=wanted)
        if operator is BinaryOperator.NOT_EQUAL:
            return compile_equal(left, right, self._dialect, wanted=not wanted)
        if operator.value in _ORDERS:
            return compile_order(left, operator.value, right, self._dialect, wanted=wanted)
        if operator.value in _STRINGS:
            return compile_string_test(left, operator.value, right, self._statement, wanted=wanted)
        if operator is BinaryOperator.IN:
            return compile_in(left, right, self._statement, wanted=wanted)
        raise CannotRun(f"The operator {operator.value}.")


def _compile_truth_test(term: Term, wanted: bool, dialect: Dialect) -> str:
    if not term.kinds & ~(k.BOOLEAN | k.NULL):
        if term.kinds == k.NULL:
            return dialect.no
        value = dialect.read_plain(term)
        return f"({value})" if wanted else f"(NOT ({value}))"
    if term.tag is None:
        raise CannotRun(f"A {k.render_kinds(term.kinds)} as a condition.")
    return dialect.render_truth(term, wanted=wanted)


def find_operands(expression: Binary) -> list[Expression]:
    """The operands of a chain of one associative operator, without recursion over the chain."""
    operands: list[Expression] = []
    pending: list[Expression] = [expression]
    while pending:
        each = pending.pop()
        if isinstance(each, Binary) and each.operator is expression.operator:
            pending += (each.right, each.left)
        else:
            operands.append(each)
    return operands
