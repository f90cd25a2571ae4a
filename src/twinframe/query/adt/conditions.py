"""Translates conditions of the vendor's language, in which a missing property is null, to the
algebra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from twinframe.query import algebra as al
from twinframe.query.adt import ast
from twinframe.query.cypher.builder.expressions import join_balanced

if TYPE_CHECKING:
    from twinframe.query.adt.names import Names
    from twinframe.query.errors import Source

_STRING_TESTS = {
    "CONTAINS": al.BinaryOperator.CONTAINS,
    "STARTSWITH": al.BinaryOperator.STARTS_WITH,
    "ENDSWITH": al.BinaryOperator.ENDS_WITH,
}
_IS_OF_MODEL = "digitaltwins.is_of_model"


class ConditionBuilder:
    """Translates WHERE."""

    def __init__(self, source: Source, names: Names) -> None:
        self._source = source
        self._names = names

    def build(self, node: ast.Condition) -> al.Expression:
        """The algebra of a condition."""
        match node:
            case ast.Comparison():
                return self._build_comparison(node)
            case ast.Junction():
                operands = [self.build(operand) for operand in node.operands]
                return join_balanced(node.operator, operands, node.span)
            case ast.Negation():
                return al.Unary(al.UnaryOperator.NOT, self.build(node.operand), node.span)
            case ast.Membership():
                return self._build_membership(node)
            case ast.Test():
                return self._build_test(node)
            case _:
                assert_never(node)

    def _build_operand(self, node: ast.Operand) -> al.Expression:
        if isinstance(node, ast.Literal):
            return al.Literal(node.value, node.span)
        return self._names.resolve(node)

    def _build_comparison(self, node: ast.Comparison) -> al.Expression:
        left, right = self._build_operand(node.left), self._build_operand(node.right)
        if isinstance(node.left, ast.Literal) and node.left.value is None:
            left, right = right, left
        # NOTE: in the vendor's language null is a value that a property may have: `= null` tests
        # for it, `!= null` for any other. In the algebra nothing is equal to null.
        if isinstance(right, al.Literal) and right.value is None:
            if node.operator is al.BinaryOperator.EQUAL:
                return al.FunctionCall("is_null", (left,), node.span)
            if node.operator is al.BinaryOperator.NOT_EQUAL:
                return al.Unary(al.UnaryOperator.IS_NOT_NULL, left, node.span)
        return al.Binary(node.operator, left, right, node.span)

    def _build_membership(self, node: ast.Membership) -> al.Expression:
        items = tuple([al.Literal(item.value, item.span) for item in node.items])
        values = al.ListExpression(items, node.span)
        operand = self._build_operand(node.operand)
        found = al.Binary(al.BinaryOperator.IN, operand, values, node.span)
        return al.Unary(al.UnaryOperator.NOT, found, node.span) if node.negated else found

    def _build_test(self, node: ast.Test) -> al.Expression:
        if node.name == "IS_OF_MODEL":
            return self._build_is_of_model(node)
        arguments = tuple([self._build_operand(argument) for argument in node.arguments])
        operator = _STRING_TESTS.get(node.name)
        if operator is not None:
            return al.Binary(operator, arguments[0], arguments[1], node.span)
        return al.FunctionCall(node.name.lower(), arguments, node.span)

    def _build_is_of_model(self, node: ast.Test) -> al.Expression:
        path = node.arguments[0]
        alias = path if isinstance(path, ast.Path) else None
        twin = self._names.resolve_twin(alias, node.span)
        arguments = [twin, self._build_operand(node.arguments[-1])]
        if node.exact:
            arguments.append(al.Literal(value=True, span=node.span))
        return al.FunctionCall(_IS_OF_MODEL, tuple(arguments), node.span)
