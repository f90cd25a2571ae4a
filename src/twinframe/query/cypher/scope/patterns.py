"""Checks patterns: declares the variables they bind, and refuses those bound to another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from twinframe.query.cypher import ast
from twinframe.query.cypher import static_types as t
from twinframe.query.cypher.scope.bindings import Scope
from twinframe.query.cypher.scope.columns import ComputedColumns
from twinframe.query.cypher.scope.expressions import Aggregation, ExpressionChecker
from twinframe.query.cypher.static_types import UNKNOWN, Kind, StaticType

if TYPE_CHECKING:
    from twinframe.query.spans import Span


class PatternChecker(ExpressionChecker):
    """Declares the variables of patterns in `scope` and checks the expressions in them."""

    def declare_pattern(self, parts: list[ast.PatternPart]) -> None:
        """Declare what the parts of one MATCH bind, then check their property maps."""
        crossed: set[str] = set()
        for part in parts:
            self._declare_part(part, crossed)
        for part in parts:
            for element in part.elements():
                for _, value in element.properties:
                    self.check(value)

    def _declare_part(self, part: ast.PatternPart, crossed: set[str]) -> None:
        for node, relationship in zip(part.nodes, part.relationships, strict=False):
            self._declare_node(node)
            self._declare_relationship(relationship, crossed)
        self._declare_node(part.nodes[-1])
        if part.variable is not None:
            if self.scope.lookup(part.variable) is not None:
                raise self.error(
                    part.span,
                    "VariableAlreadyBound",
                    f"the variable '{part.variable}' is taken; name the path otherwise",
                )
            self.scope.declare(part.variable, t.PATH)

    def _declare_node(self, node: ast.NodeElement) -> None:
        if node.variable is None:
            return
        found = self.scope.lookup(node.variable)
        if found is None:
            self.scope.declare(node.variable, t.NODE)
        elif found.kind not in UNKNOWN | {Kind.NODE}:
            raise self.conflict(node.variable, found, "a node", node.span)

    def _declare_relationship(self, element: ast.RelationshipElement, crossed: set[str]) -> None:
        name = element.variable
        if name is None:
            return
        if name in crossed:
            raise self.error(
                element.span,
                "RelationshipUniquenessViolation",
                f"the relationship '{name}' stands twice in one pattern, which never matches: "
                "no relationship is crossed twice",
            )
        crossed.add(name)
        found = self.scope.lookup(name)
        if element.length is None:
            if found is None:
                self.scope.declare(name, t.RELATIONSHIP)
            elif found.kind not in UNKNOWN | {Kind.RELATIONSHIP}:
                raise self.conflict(name, found, "a relationship", element.span)
        elif found is None:
            self.scope.declare(name, t.RELATIONSHIPS)
        elif not _may_be_relationships(found):
            raise self.conflict(name, found, "a list of relationships", element.span)

    def conflict(self, name: str, found: StaticType, wanted: str, span: Span) -> Exception:
        """Build the error that a variable is bound to another kind."""
        return self.error(
            span,
            "VariableTypeConflict",
            f"the variable '{name}' is {found.kind.value} already and cannot be {wanted}",
        )

    # --- patterns inside expressions

    def check_inner_pattern(
        self, node: ast.PatternExpression | ast.PatternComprehension | ast.ShortestPath
    ) -> StaticType:
        """Check a pattern inside an expression; only a comprehension may introduce variables."""
        outside, mode = self.scope, self.aggregation
        before, self.projected = self.projected, ComputedColumns()
        self.scope, self.aggregation = Scope(outer=outside), Aggregation.FORBIDDEN
        result = t.ANY
        if isinstance(node, ast.PatternComprehension):
            self.declare_pattern([node.part])
            if node.predicate is not None:
                self.check_predicate(node.predicate)
            result = self.check(node.projection)
        else:
            self._refuse_new_variables(node.part)
            self.declare_pattern([node.part])
        node.outer = tuple(self.scope.captured)
        self.scope, self.aggregation, self.projected = outside, mode, before
        return result

    def _refuse_new_variables(self, part: ast.PatternPart) -> None:
        for element in part.elements():
            if element.variable is not None and self.scope.lookup(element.variable) is None:
                raise self.error(
                    element.span,
                    "UndefinedVariable",
                    f"the variable '{element.variable}' is not defined, and a pattern in an "
                    "expression defines none; leave its name out, or write COUNT { ... }, "
                    "EXISTS { ... } or [(a)-->(b) | b]",
                )


def _may_be_relationships(found: StaticType) -> bool:
    if found.kind in UNKNOWN:
        return True
    element = found.element or t.ANY
    return found.kind is Kind.LIST and element.kind in UNKNOWN | {Kind.RELATIONSHIP}
