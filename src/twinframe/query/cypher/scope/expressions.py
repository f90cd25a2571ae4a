"""Checks expressions: variables, types, functions, parameters, the position of aggregates.

`scope.clauses` checks clauses and, as a subclass, subqueries.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, assert_never

from twinframe.errors.nearest import render_suggestion
from twinframe.query.algebra import BinaryOperator, PathKind, SubplanKind
from twinframe.query.cypher import ast
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.functions import FUNCTIONS_BY_NAME, Function
from twinframe.query.cypher.scope.bindings import Scope
from twinframe.query.cypher.scope.columns import ComputedColumns
from twinframe.query.cypher.scope.operators import (
    can_add,
    demanded_kinds,
    demanded_kinds_of_unary,
    infer_binary,
    infer_call,
    infer_member,
    infer_subscript,
    infer_unary,
)
from twinframe.query.cypher.static_types import LOGICAL, UNKNOWN, Kind, StaticType

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from twinframe.errors import QueryInvalid
    from twinframe.query.errors import Source
    from twinframe.query.spans import Span


class Aggregation(enum.Enum):
    """Whether an aggregate is allowed here."""

    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    INSIDE = "inside"  # in an aggregate already


_TYPES_OF_LITERALS: dict[type, StaticType] = {
    type(None): t.NULL,
    bool: t.BOOLEAN,
    int: t.INTEGER,
    float: t.FLOAT,
    str: t.STRING,
}
_TYPES_OF_SUBQUERIES = {
    SubplanKind.EXISTS: t.BOOLEAN,
    SubplanKind.COUNT: t.INTEGER,
    SubplanKind.COLLECT: t.LIST,
}
_TYPES_OF_PATTERNS = _TYPES_OF_SUBQUERIES | {SubplanKind.COLLECT: t.PATHS}
_LABELLED = UNKNOWN | {Kind.NODE, Kind.RELATIONSHIP}


class ExpressionChecker(ABC):
    """Walks expressions within `scope`.

    `projected` are the expressions that are replaced by their column in ORDER BY and WHERE.
    """

    def __init__(self, source: Source, parameters: Collection[str]) -> None:
        self.source = source
        self.scope = Scope()
        self.used_parameters: dict[str, None] = {}
        self.projected = ComputedColumns()
        self.aggregation = Aggregation.FORBIDDEN
        self.aggregates_seen = 0
        self._parameters = parameters

    @abstractmethod
    def check_subquery(self, node: ast.Subquery) -> None:
        """Check the query inside and record the variables it reads from outside."""

    @abstractmethod
    def check_inner_pattern(
        self, node: ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath
    ) -> StaticType:
        """Check a pattern inside an expression; return the type of its projection if any."""

    def error(
        self, span: Span | None, detail: str, message: str, kind: str = "SyntaxError"
    ) -> QueryInvalid:
        """An error at `span`."""
        return self.source.error(span, detail, message, kind=kind)

    def check_predicate(self, node: ast.Expression) -> None:
        """Check an expression that decides whether a row is kept."""
        self._demand(node, self.check(node), LOGICAL, "a condition")

    def check(self, node: ast.Expression) -> StaticType:  # noqa: C901 -- one arm a kind of node
        """Check an expression and everything in it; return its static type."""
        if self.projected and (name := self.projected.find(node)) is not None:
            return self.scope.lookup(name) or t.ANY
        match node:
            case ast.Variable():
                return self._check_variable(node)
            case ast.Property():
                return self._check_property(node)
            case ast.Literal():
                return _TYPES_OF_LITERALS[node.kind]
            case ast.Comparison():
                for operand in node.operands:
                    self.check(operand)
                return t.BOOLEAN
            case ast.Logical():
                return self._check_logical(node)
            case ast.Call():
                return self._check_call(node)
            case ast.Parameter():
                return self._check_parameter(node)
            case ast.Binary():
                return self._check_binary(node)
            case ast.Unary():
                return self._check_unary(node)
            case ast.CountRows():
                self._enter_aggregate(node.span)
                return t.INTEGER
            case ast.HasLabels():
                self._demand(node.subject, self.check(node.subject), _LABELLED, "a label test")
                return t.BOOLEAN
            case ast.ListLiteral():
                return t.list_of(t.common_type([self.check(item) for item in node.items]))
            case ast.MapLiteral():
                for _, value in node.entries:
                    self.check(value)
                return t.MAP
            case ast.MapProjection():
                subject = self.check(node.subject)
                self._demand(node.subject, subject, _LABELLED | {Kind.MAP}, "a map projection")
                for key, value in node.entries:
                    self._check_projected(key, value, node.subject.name)
                return t.MAP
            case ast.Subscript():
                return self._check_subscript(node)
            case ast.Slice():
                return self._check_slice(node)
            case ast.Case():
                return self._check_case(node)
            case ast.ListComprehension():
                return self._check_list_comprehension(node)
            case ast.Quantifier():
                return self._check_quantifier(node)
            case ast.Reduce():
                return self._check_reduce(node)
            case ast.PatternExpression():
                self.check_inner_pattern(node)
                return _TYPES_OF_PATTERNS[node.kind]
            case ast.PatternComprehension():
                return t.list_of(self.check_inner_pattern(node))
            case ast.ShortestPath():
                self.check_inner_pattern(node)
                return t.PATH if node.part.kind is PathKind.SHORTEST else t.PATHS
            case ast.Subquery():
                self.check_subquery(node)
                return _TYPES_OF_SUBQUERIES[node.kind]
            case _:
                assert_never(node)

    # --- names

    def _check_variable(self, node: ast.Variable) -> StaticType:
        found = self.scope.lookup(node.name)
        if found is not None:
            return found
        raise self.undefined(node.name, node.span)

    def undefined(self, name: str, span: Span) -> QueryInvalid:
        """Build the error that no variable of this name is visible."""
        if self.scope.constant:
            return self.error(
                span, "NonConstantExpression", "SKIP and LIMIT cannot depend on the row"
            )
        known = [candidate for candidate in self.scope.names() if not candidate.startswith(" ")]
        hint = render_suggestion(name, known)
        return self.error(span, "UndefinedVariable", f"the variable '{name}' is not defined{hint}")

    def _check_parameter(self, node: ast.Parameter) -> StaticType:
        self.used_parameters[node.name] = None
        if node.name not in self._parameters:
            hint = render_suggestion(node.name, self._parameters)
            raise self.error(
                node.span,
                "MissingParameter",
                f"no value was sent for the parameter ${node.name}{hint}",
                kind="ParameterMissing",
            )
        return t.ANY

    def _check_projected(self, key: str, value: ast.Expression, subject: str) -> None:
        is_name = isinstance(value, ast.Variable) and value.name == key
        if is_name and self.scope.lookup(key) is None:
            message = f"the variable '{key}' is not defined; the property of {subject} is .{key}"
            raise self.error(value.span, "UndefinedVariable", message)
        self.check(value)

    # --- operators

    def _demand(
        self,
        node: ast.Expression,
        found: StaticType,
        demanded: frozenset[Kind] | None,
        what: str,
    ) -> None:
        if demanded is None or found.kind in demanded:
            return
        wanted = " or ".join(sorted(kind.value for kind in demanded - UNKNOWN))
        raise self.error(
            node.span, "InvalidArgumentType", f"{what} needs {wanted}, this is {found.kind.value}"
        )

    def _check_logical(self, node: ast.Logical) -> StaticType:
        for operand in node.operands:
            self._demand(operand, self.check(operand), LOGICAL, node.operator.value)
        return t.BOOLEAN

    def _check_unary(self, node: ast.Unary) -> StaticType:
        operand = self.check(node.operand)
        demanded = demanded_kinds_of_unary(node.operator)
        self._demand(node.operand, operand, demanded, node.operator.value)
        return infer_unary(node.operator, operand)

    def _check_binary(self, node: ast.Binary) -> StaticType:
        left, right = self.check(node.left), self.check(node.right)
        of_left, of_right = demanded_kinds(node.operator)
        self._demand(node.left, left, of_left, node.operator.value)
        self._demand(node.right, right, of_right, node.operator.value)
        if node.operator is BinaryOperator.ADD and not can_add(left, right):
            raise self.error(
                node.span,
                "InvalidArgumentType",
                f"+ cannot combine {left.kind.value} with {right.kind.value}",
            )
        return infer_binary(node.operator, left, right)

    def _check_property(self, node: ast.Property) -> StaticType:
        subject = self.check(node.subject)
        found = infer_member(subject)
        if found is None:
            # NOTE: the kit expects a SyntaxError for a path and a TypeError for all else.
            kind = "SyntaxError" if subject.kind is Kind.PATH else "TypeError"
            raise self.error(
                node.span,
                "InvalidArgumentType",
                f"{subject.kind.value} has no property '{node.key}'",
                kind=kind,
            )
        return found

    def _check_subscript(self, node: ast.Subscript) -> StaticType:
        subject, index = self.check(node.subject), self.check(node.index)
        found = infer_subscript(subject, index)
        if found is None:
            raise self.error(
                node.span,
                "InvalidArgumentType",
                f"{subject.kind.value} cannot be indexed by {index.kind.value}",
                kind="TypeError",
            )
        return found

    def _check_slice(self, node: ast.Slice) -> StaticType:
        subject = self.check(node.subject)
        for bound in (node.start, node.end):
            if bound is not None:
                found = self.check(bound)
                self._demand(bound, found, UNKNOWN | {Kind.INTEGER}, "a bound of [from..to]")
        if subject.kind not in UNKNOWN | {Kind.LIST}:
            raise self.error(
                node.span,
                "InvalidArgumentType",
                f"only a list has a part [from..to], this is {subject.kind.value}",
                kind="TypeError",
            )
        return subject if subject.kind is Kind.LIST else t.ANY

    def _check_case(self, node: ast.Case) -> StaticType:
        if node.operand is not None:
            self.check(node.operand)
        results: list[StaticType] = []
        for condition, result in node.branches:
            if node.operand is None:
                self.check_predicate(condition)
            else:
                self.check(condition)
            results.append(self.check(result))
        results.append(t.NULL if node.default is None else self.check(node.default))
        return t.common_type(results)

    # --- what binds variables

    def _check_source(self, node: ast.Expression) -> StaticType:
        found = self.check(node)
        self._demand(node, found, UNKNOWN | {Kind.LIST}, "IN")
        return (found.element or t.ANY) if found.kind is Kind.LIST else t.ANY

    def _check_list_comprehension(self, node: ast.ListComprehension) -> StaticType:
        element = self._check_source(node.source)
        with self._binding((node.variable, element)):
            if node.predicate is not None:
                self.check_predicate(node.predicate)
            if node.projection is not None:
                element = self.check(node.projection)
        return t.list_of(element)

    def _check_quantifier(self, node: ast.Quantifier) -> StaticType:
        element = self._check_source(node.source)
        with self._binding((node.variable, element)):
            self.check_predicate(node.predicate)
        return t.BOOLEAN

    def _check_reduce(self, node: ast.Reduce) -> StaticType:
        self.check(node.initial)
        element = self._check_source(node.source)
        with self._binding((node.accumulator, t.ANY), (node.variable, element)):
            self.check(node.step)
        return t.ANY

    @contextmanager
    def _binding(self, *variables: tuple[str, StaticType]) -> Iterator[None]:
        """Bind variables for an inner expression, in which no aggregate is allowed."""
        mode, projected = self.aggregation, self.projected
        names = [name for name, _ in variables]
        self.projected = projected.without(names)
        if mode is Aggregation.ALLOWED:
            self.aggregation = Aggregation.FORBIDDEN
        with self.scope.local(variables):
            yield
        self.aggregation, self.projected = mode, projected

    # --- functions

    def _check_call(self, node: ast.Call) -> StaticType:
        function = FUNCTIONS_BY_NAME.get(node.name)
        if function is None:
            written = self.source.text[node.span.start : node.span.end].split("(", 1)[0]
            hint = render_suggestion(
                node.name, [known.name for known in FUNCTIONS_BY_NAME.values()]
            )
            raise self.error(
                node.span, "UnknownFunction", f"there is no function {written.strip()}{hint}"
            )
        self._check_arity(node, function)
        if function.aggregate is not None:
            arguments = self._check_aggregate(node)
        else:
            arguments = [self.check(argument) for argument in node.arguments]
            if self.aggregation is Aggregation.INSIDE and function.name == "rand":
                raise self.error(
                    node.span,
                    "NonConstantExpression",
                    "an aggregate of random numbers has no meaning",
                )
        if function.first is not None:
            allowed = UNKNOWN | function.first
            self._demand(node.arguments[0], arguments[0], allowed, f"{function.name}()")
        return infer_call(function, arguments)

    def _check_arity(self, node: ast.Call, function: Function) -> None:
        count, least, most = len(node.arguments), function.minimum, function.maximum
        if count < least or (most is not None and count > most):
            wanted = f"at least {least}" if most is None else f"{least} to {most}"
            wanted = str(least) if least == most else wanted
            raise self.error(
                node.span,
                "InvalidNumberOfArguments",
                f"{function.name}() takes {wanted} argument(s), not {count}",
            )
        if node.distinct and function.aggregate is None:
            raise self.error(
                node.span, "UnexpectedSyntax", f"DISTINCT has no meaning in {function.name}()"
            )

    def _check_aggregate(self, node: ast.Call) -> list[StaticType]:
        before = self.aggregation
        if before is Aggregation.ALLOWED:
            self._enter_aggregate(node.span)
            self.aggregation = Aggregation.INSIDE
        arguments = [self.check(argument) for argument in node.arguments]
        self.aggregation = before
        if before is not Aggregation.ALLOWED:
            # NOTE: after the arguments, since the kit wants their undefined variables reported
            # first.
            self._enter_aggregate(node.span)
        return arguments

    def _enter_aggregate(self, span: Span) -> None:
        if self.aggregation is Aggregation.INSIDE:
            raise self.error(span, "NestedAggregation", "an aggregate cannot stand in an aggregate")
        if self.aggregation is Aggregation.FORBIDDEN:
            raise self.error(
                span,
                "InvalidAggregation",
                "an aggregate can stand only in the items of WITH and RETURN",
            )
        self.aggregates_seen += 1
