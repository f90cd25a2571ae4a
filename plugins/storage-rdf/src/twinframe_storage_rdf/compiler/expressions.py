"""Compiles expressions of the algebra to SPARQL expressions over the scope of one SELECT.

Where SPARQL would answer differently from Cypher, the compiler raises `CannotRun`, or adds a guard
to the SELECT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    Reduce,
    Slice,
    Subplan,
    Subscript,
    Unary,
    UnaryOperator,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe.query.evaluate.constants import find_known
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW
from twinframe_storage_rdf.compiler.bindings import Source, read_parameter
from twinframe_storage_rdf.compiler.comparison import (
    compile_equal,
    compile_in,
    compile_in_parameter,
    compile_order,
)
from twinframe_storage_rdf.compiler.entities import compile_member, find_member_path, read_system
from twinframe_storage_rdf.compiler.functions import compile_call
from twinframe_storage_rdf.compiler.labels import render_labels, render_types
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import NULL_TERM, Term, render_bound, render_is

CompileSubplan = Callable[[Subplan, Select], Term]

_STRINGS: Mapping[BinaryOperator, str] = {
    BinaryOperator.STARTS_WITH: "STRSTARTS",
    BinaryOperator.ENDS_WITH: "STRENDS",
    BinaryOperator.CONTAINS: "CONTAINS",
}
_ORDERS = frozenset({"<", "<=", ">", ">="})
_ARITHMETIC = frozenset({"+", "-", "*", "/"})
LARGEST_OPERAND = 2_000
"""The limit on characters of SPARQL, since guards repeat their operands."""


class ExpressionCompiler:
    """Compiles expressions over the scope of one SELECT."""

    def __init__(self, select: Select, compile_subplan: CompileSubplan) -> None:
        self._select = select
        self._statement = select.statement
        self._bindings = select.statement.bindings
        self._compile_subplan = compile_subplan
        self._guard = select.add_guard

    # --- values ---------------------------------------------------------------------------------

    def compile_term(self, expression: Expression, *, certain: bool = False) -> Term:
        """The value of an expression; with `certain`, rows where it is null may be dropped."""
        if not isinstance(expression, Literal):
            found = find_known(expression, self._select.known)
            if found is not None:
                return self._compile_known(found.value)
        return self._compile_open(expression, certain=certain)

    def _compile_open(self, expression: Expression, *, certain: bool) -> Term:
        match expression:
            case Property() | Subscript():
                return self._compile_member(expression, certain=certain)
            case Variable(name=name):
                return self._read_variable(name)
            case Literal(value=value):
                return self._compile_known(value)
            case Parameter():
                return self._compile_parameter(expression)
            case Unary():
                return self._compile_unary(expression)
            case HasLabels():
                return self._compile_labels(expression)
            case Binary():
                return self._compile_binary(expression)
            case FunctionCall():
                return compile_call(expression, self.compile_term, self._select)
            case Case():
                return self._compile_case(expression)
            case Subplan():
                return self._compile_subplan(expression, self._select)
            case ListExpression() | MapExpression() | Slice():
                raise CannotRun("A list or map that the query makes.")
            case ListComprehension() | Quantifier() | Reduce():
                raise CannotRun("An expression over the elements of a list.")
            case _:
                assert_never(expression)

    def _compile_known(self, value: Value) -> Term:
        if value is None:
            return NULL_TERM
        kind = k.find_kind(value) or 0
        if not kind & k.SCALAR:
            raise CannotRun("A value of the query that SPARQL has no literal of.")
        source = Source(None, value)
        if isinstance(value, bool):
            # NOTE: not `true` or `false`, which some engines evaluate wrongly as a condition.
            return Term(kind, "true" if value else "false", source=source)
        return Term(kind, self._bindings.bind(source), source=source)

    def _read_variable(self, name: str) -> Term:
        term = self._select.scope.get(name)
        if term is None:
            raise CannotRun(f"The variable {name}.")
        return term

    def _compile_member(self, expression: Property | Subscript, *, certain: bool) -> Term:
        path = find_member_path(expression)
        if path is None:
            raise CannotRun("A member of a computed value.")
        term = self._read_variable(path.name)
        if term.kinds == k.NULL:
            return NULL_TERM
        if term.kinds & ~(k.ENTITIES | k.NULL):
            raise CannotRun("A member of a value that may be no node or relationship.")
        # NOTE: a triple that rows require may only be added to the group that is being filtered.
        certain = certain and term.owner is self._select.root and not term.kinds & k.NULL
        return compile_member(term, path.names, self._guard, certain=certain)

    def _compile_parameter(self, parameter: Parameter) -> Term:
        kinds = self._statement.parameter_kinds.get(parameter.name)
        if kinds is None:
            read_parameter({}, parameter.name)
            raise AssertionError
        if kinds == k.NULL:
            return NULL_TERM
        if kinds & k.NESTED:
            raise CannotRun("A list or map as a parameter.")
        source = Source(parameter.name)
        return Term(kinds, self._bindings.bind(source), source=source)

    def _compile_unary(self, expression: Unary) -> Term:
        operand = expression.operand
        match expression.operator:
            case UnaryOperator.NOT:
                return Term(k.BOOLEAN | k.NULL, f"(!{self.compile_truth(operand)})")
            case UnaryOperator.IS_NULL:
                return Term(k.BOOLEAN, f"(!{render_bound(self.compile_term(operand))})")
            case UnaryOperator.IS_NOT_NULL:
                return Term(k.BOOLEAN, render_bound(self.compile_term(operand)))
            case UnaryOperator.MINUS:
                if isinstance(operand, Literal) and type(operand.value) in (int, float):
                    value = -operand.value  # type: ignore[operator]  # a number by the test above
                    return self.compile_term(Literal(value))
                raise CannotRun("The operator - of a computed value.")
            case UnaryOperator.PLUS:
                raise CannotRun("The operator + of one operand.")
            case _:
                assert_never(expression.operator)

    def _compile_labels(self, expression: HasLabels) -> Term:
        term = self.compile_term(expression.subject)
        known, nullable = term.kinds & ~k.NULL, term.kinds & k.NULL
        if not known:
            return NULL_TERM
        if known == k.NODE:
            text = render_labels(expression.labels, read_system(term, v.MODEL), self._statement)
        elif known == k.RELATIONSHIP:
            text = render_types(expression.labels, read_system(term, v.NAME), self._statement)
        else:
            raise CannotRun("Labels of a value that may be no node or relationship.")
        if nullable:
            text = f"IF({render_bound(term)}, {text}, ?null)"
        return Term(k.BOOLEAN | nullable, text)

    def _compile_case(self, case: Case) -> Term:
        operand = None if case.operand is None else self.compile_term(case.operand)
        default = NULL_TERM if case.default is None else self.compile_term(case.default)
        text, kinds = default.text, default.kinds
        for when, then in reversed(case.branches):
            if operand is None:
                test = self.compile_truth(when)
            else:
                test = compile_equal(operand, self.compile_term(when), self._bindings, self._guard)
            value = self.compile_term(then)
            text = f"IF(COALESCE({test}, false), {value.text}, {text})"
            kinds |= value.kinds
        if kinds & k.ENTITIES:
            raise CannotRun("A choice of nodes or relationships.")
        return Term(kinds, text)

    def _compile_binary(self, expression: Binary) -> Term:
        operator = expression.operator
        if operator in (BinaryOperator.AND, BinaryOperator.OR, BinaryOperator.XOR):
            # SPEC: SPARQL 1.1 section 17.2: `&&` and `||` of errors are those of Cypher's nulls.
            word = {"AND": "&&", "OR": "||", "XOR": "!="}[operator.value]
            sides = [self.compile_truth(each) for each in (expression.left, expression.right)]
            return Term(k.BOOLEAN | k.NULL, f"({sides[0]} {word} {sides[1]})")
        return self._compile_operation(expression, certain=False)

    def _compile_operation(self, expression: Binary, *, certain: bool) -> Term:
        """An operator that is null when an operand is; with `certain`, rows may be dropped."""
        operator, kinds = expression.operator, k.BOOLEAN | k.NULL
        if operator is BinaryOperator.IN:
            return Term(kinds, self._compile_in(expression, certain=certain))
        left = self.compile_term(expression.left, certain=certain)
        right = self.compile_term(expression.right, certain=certain)
        if operator is BinaryOperator.EQUAL or operator is BinaryOperator.NOT_EQUAL:
            text = compile_equal(left, right, self._bindings, self._guard)
            return Term(kinds, text if operator is BinaryOperator.EQUAL else f"(!{text})")
        if operator.value in _ORDERS:
            text = compile_order(left, operator.value, right, self._bindings, self._guard)
            return Term(kinds, text)
        if operator in _STRINGS:
            if not (left.kinds & k.STRING and right.kinds & k.STRING):
                return NULL_TERM
            # SPEC: SPARQL 1.1 section 17.4.3: an argument that is no string is a type error.
            known = (left.kinds | right.kinds) & ~k.NULL == k.STRING
            name = _STRINGS[operator] + (NARROW if known else "")
            return Term(kinds, f"{name}({left.text}, {right.text})")
        if operator.value in _ARITHMETIC:
            return compile_arithmetic(left, operator.value, right, self._guard)
        raise CannotRun(f"The operator {operator.value}.")

    def _compile_in(self, expression: Binary, *, certain: bool) -> str:
        members = expression.right
        if self._is_null(members):
            self.compile_term(expression.left)  # guards against its errors
            return "?null"
        if isinstance(members, ListExpression):
            item = self.compile_term(expression.left, certain=certain and bool(members.items))
            terms = [self.compile_term(each) for each in members.items]
            return compile_in(item, terms, self._bindings, self._guard)
        found = find_known(members, self._select.known)
        if found is not None and isinstance(found.value, list):
            item = self.compile_term(expression.left, certain=certain and bool(found.value))
            terms = [self._compile_known(each) for each in found.value]
            return compile_in(item, terms, self._bindings, self._guard)
        if not isinstance(members, Parameter):
            raise CannotRun("The operator IN over a computed list.")
        elements = self._statement.list_kinds.get(members.name)
        if elements is None:
            raise CannotRun("The operator IN over a parameter that is no list of scalars.")
        item = self.compile_term(expression.left, certain=certain)
        return compile_in_parameter(
            item, Source(members.name), elements, self._bindings, self._guard
        )

    def _is_null(self, expression: Expression) -> bool:
        match expression:
            case Literal(value=value):
                return value is None
            case Parameter(name=name):
                return self._statement.parameter_kinds.get(name) == k.NULL
            case _:
                return False

    # --- conditions -----------------------------------------------------------------------------

    def compile_truth(self, expression: Expression) -> str:
        """Compile an expression that must be a boolean or null to true, false or an error."""
        return self._read_truth(self.compile_term(expression))

    def _read_truth(self, term: Term) -> str:
        if term.kinds & ~(k.BOOLEAN | k.NULL):
            if not term.kinds & k.BOOLEAN:
                raise CannotRun("A condition that is no boolean.")
            # SPEC: SPARQL 1.1 section 17.2.2 gives strings and numbers a truth value too.
            self._guard(f"{render_bound(term)} && !{render_is(term, k.BOOLEAN)}")
        if term.source is not None and term.source.name is not None:
            return f"({term.text} = true)"
        return term.text

    def compile_condition(self, expression: Expression, *, certain: bool) -> str:
        """Compile the test of a condition.

        With `certain`, values that the condition needs in order to be true are joined.
        """
        match expression:
            case Binary(operator=BinaryOperator.AND | BinaryOperator.OR | BinaryOperator.XOR):
                return self.compile_truth(expression)
            case Binary():
                # NOTE: a join would drop a row in which another operand is an error.
                certain = certain and _is_harmless(expression.left, expression.right)
                return self._read_truth(self._compile_operation(expression, certain=certain))
            case _:
                return self.compile_truth(expression)


def _is_harmless(*operands: Expression) -> bool:
    """Return whether no operand can be an error."""
    for operand in operands:
        match operand:
            case Literal() | Parameter() | Variable():
                pass
            case Property(subject=Variable()):
                pass
            case ListExpression(items=items) if _is_harmless(*items):
                pass
            case _:
                return False
    return True


def compile_arithmetic(
    left: Term, operator: str, right: Term, guard: Callable[[str], None]
) -> Term:
    """Compile `left + right` and the same for `- * /`.

    A guard covers results that are no number, caused by an overflow or another type.
    """
    if k.NULL in (left.kinds, right.kinds):
        raise CannotRun("An operation that the type of null decides.")
    if not (left.kinds & k.NUMBER and right.kinds & k.NUMBER):
        raise CannotRun(f"The operator {operator} over values that are no numbers.")
    if len(left.text) + len(right.text) > LARGEST_OPERAND:
        raise CannotRun(f"The operator {operator} in so deep an expression.")
    kinds = _find_kinds(left, right)
    if kinds & k.FLOAT:
        # NOTE: a sum of doubles may be infinite, and engines differ in what they return then.
        _check_finite(left, operator, right, guard)
    result = f"({left.text} {operator} {right.text})"
    if operator == "/":
        if kinds & k.INTEGER:
            raise CannotRun("A division that may be one of integers.")
        guard(f"{right.text} = 0")
    bound = " && ".join(render_bound(each) for each in (left, right))
    guard(f"{bound} && !COALESCE(isNumeric({result}), false)")
    return Term(kinds | (left.kinds | right.kinds) & k.NULL, result)


def _check_finite(left: Term, operator: str, right: Term, guard: Callable[[str], None]) -> None:
    guard(f"ABS({left.text} {operator} {right.text}) > 1.0e308")


def _find_kinds(left: Term, right: Term) -> int:
    a, b = left.kinds & k.NUMBER, right.kinds & k.NUMBER
    return k.FLOAT if k.FLOAT in (a, b) else a | b
