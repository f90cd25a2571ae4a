"""Translates expressions of the syntax tree to the algebra; subclasses translate patterns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, assert_never, overload

from twinframe.query import algebra as al
from twinframe.query.cypher import ast
from twinframe.query.cypher.functions import FUNCTIONS_BY_NAME
from twinframe.query.cypher.scope.columns import ComputedColumns
from twinframe.query.spans import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

_EXISTS = "exists"


class ExpressionBuilder(ABC):
    """Translates expressions.

    `replaced` are the expressions that a projection has computed already. `aggregates` collects the
    aggregates found while it is a list.
    """

    def __init__(self) -> None:
        self.replaced = ComputedColumns()
        self.aggregates: list[tuple[str, al.AggregateCall]] | None = None
        self._generated = 0

    @abstractmethod
    def build_subplan(
        self,
        node: ast.Subquery | ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath,
    ) -> al.Expression:
        """A query or pattern inside an expression."""

    def generate_name(self, stem: str) -> str:
        """Generate a variable name that no query text can spell."""
        self._generated += 1
        return f" {stem}{self._generated}"

    def build(self, node: ast.Expression) -> al.Expression:  # noqa: C901 -- one arm a kind of node
        """The algebra of an expression."""
        if self.replaced and (name := self.replaced.find(node)) is not None:
            return al.Variable(name, node.span)
        match node:
            case ast.Property():
                return al.Property(self.build(node.subject), node.key, node.span)
            case ast.Variable():
                return al.Variable(node.name, node.span)
            case ast.Literal():
                return al.Literal(node.value, node.span)
            case ast.Comparison():
                return self._build_comparison(node)
            case ast.Logical():
                operands = [self.build(operand) for operand in node.operands]
                return join_balanced(node.operator, operands, node.span)
            case ast.Call():
                return self._build_call(node)
            case ast.Parameter():
                return al.Parameter(node.name, node.span)
            case ast.Binary():
                left, right = self.build(node.left), self.build(node.right)
                return al.Binary(node.operator, left, right, node.span)
            case ast.Unary():
                return al.Unary(node.operator, self.build(node.operand), node.span)
            case ast.CountRows():
                return self._collect(al.AggregateCall(al.AggregateKind.COUNT_ROWS, span=node.span))
            case ast.HasLabels():
                return al.HasLabels(self.build(node.subject), node.labels, node.span)
            case ast.ListLiteral():
                return al.ListExpression(self._build_all(node.items), node.span)
            case ast.MapLiteral():
                return al.MapExpression(self.build_entries(node.entries), node.span)
            case ast.MapProjection():
                return self._build_map_projection(node)
            case ast.Subscript():
                return self._build_subscript(node)
            case ast.Slice():
                start, end = self.build_optional(node.start), self.build_optional(node.end)
                return al.Slice(self.build(node.subject), start, end, node.span)
            case ast.Case():
                return self._build_case(node)
            case ast.ListComprehension():
                return self._build_list_comprehension(node)
            case ast.Quantifier():
                source = self.build(node.source)
                predicate = self._build_binding(node.predicate, {node.variable})
                return al.Quantifier(node.kind, node.variable, source, predicate, node.span)
            case ast.Reduce():
                return self._build_reduce(node)
            case (
                ast.Subquery()
                | ast.PatternExpression()
                | ast.PatternComprehension()
                | ast.ShortestPath()
            ):
                return self.build_subplan(node)
            case _:
                assert_never(node)

    def build_optional(self, node: ast.Expression | None) -> al.Expression | None:
        """The algebra of an expression that may be left out."""
        return None if node is None else self.build(node)

    def build_entries(
        self, entries: Sequence[tuple[str, ast.Expression]]
    ) -> tuple[tuple[str, al.Expression], ...]:
        """The algebra of the entries of a map."""
        return tuple([(key, self.build(value)) for key, value in entries])

    def _build_map_projection(self, node: ast.MapProjection) -> al.Expression:
        subject = self.build(node.subject)
        # NOTE: of two entries with one key the second counts.
        entries = tuple(dict(self.build_entries(node.entries)).items())
        arguments: tuple[al.Expression, ...] = (subject, al.MapExpression(entries, node.span))
        if node.every:
            arguments += (al.FunctionCall("properties", (subject,), node.span),)
        return al.FunctionCall(al.MAP_PROJECTION, arguments, node.span)

    def _build_all(self, nodes: Sequence[ast.Expression]) -> tuple[al.Expression, ...]:
        return tuple([self.build(node) for node in nodes])

    def _build_comparison(self, node: ast.Comparison) -> al.Expression:
        operands = self._build_all(node.operands)
        pairs: list[al.Expression] = [
            al.Binary(operator, left, right, node.span)
            for operator, left, right in zip(node.operators, operands, operands[1:], strict=False)
        ]
        return join_balanced(al.BinaryOperator.AND, pairs, node.span)

    def _build_subscript(self, node: ast.Subscript) -> al.Expression:
        subject = self.build(node.subject)
        if isinstance(node.index, ast.Literal) and isinstance(node.index.value, str):
            # NOTE: `t['name']` is `t.name`, so engines only need to know one form.
            return al.Property(subject, node.index.value, node.span)
        return al.Subscript(subject, self.build(node.index), node.span)

    def _build_case(self, node: ast.Case) -> al.Expression:
        branches = tuple([(self.build(when), self.build(then)) for when, then in node.branches])
        operand, default = self.build_optional(node.operand), self.build_optional(node.default)
        return al.Case(operand, branches, default, node.span)

    def _build_list_comprehension(self, node: ast.ListComprehension) -> al.Expression:
        source, names = self.build(node.source), {node.variable}
        predicate = self._build_binding(node.predicate, names)
        projection = self._build_binding(node.projection, names)
        return al.ListComprehension(node.variable, source, predicate, projection, node.span)

    def _build_reduce(self, node: ast.Reduce) -> al.Expression:
        initial, source = self.build(node.initial), self.build(node.source)
        step = self._build_binding(node.step, {node.variable, node.accumulator})
        return al.Reduce(node.accumulator, initial, node.variable, source, step, node.span)

    def _build_call(self, node: ast.Call) -> al.Expression:
        if node.aggregate is not None:
            # NOTE: an aggregate's arguments are computed before grouping: nothing is replaced in
            # them.
            replaced, self.replaced = self.replaced, ComputedColumns()
            arguments = self._build_all(node.arguments)
            self.replaced = replaced
            return self._collect(
                al.AggregateCall(node.aggregate, arguments, node.distinct, node.span)
            )
        arguments = self._build_all(node.arguments)
        name = FUNCTIONS_BY_NAME[node.name].name
        if name == _EXISTS:
            return al.Unary(al.UnaryOperator.IS_NOT_NULL, arguments[0], node.span)
        return al.FunctionCall(name, arguments, node.span)

    def _collect(self, call: al.AggregateCall) -> al.Expression:
        """Pass an aggregate to the `Aggregate` below; its result is a variable here."""
        assert self.aggregates is not None  # noqa: S101 -- scope lets aggregates stand only in items
        name = self.generate_name("aggregate")
        self.aggregates.append((name, call))
        return al.Variable(name, call.span)

    @overload
    def _build_binding(self, node: ast.Expression, names: set[str]) -> al.Expression: ...
    @overload
    def _build_binding(self, node: None, names: set[str]) -> None: ...
    def _build_binding(self, node: ast.Expression | None, names: set[str]) -> al.Expression | None:
        """Build an expression in which `names` are bound again, so that they are not replaced."""
        if node is None:
            return None
        before = self.replaced
        if before:
            self.replaced = before.without(names)
        found = self.build(node)
        self.replaced = before
        return found


def join_balanced(
    operator: al.BinaryOperator, operands: Sequence[al.Expression], span: Span | None
) -> al.Expression:
    """Join operands of an associative operator to a tree of least height, keeping their order."""
    if len(operands) == 1:
        return operands[0]
    middle = (len(operands) + 1) // 2
    left = join_balanced(operator, operands[:middle], span)
    return al.Binary(operator, left, join_balanced(operator, operands[middle:], span), span)
