"""Translates patterns of the syntax tree to pattern graphs of the algebra."""

from __future__ import annotations

from dataclasses import dataclass, field

from twinframe.query import algebra as al
from twinframe.query.cypher import ast
from twinframe.query.cypher.builder.expressions import ExpressionBuilder, join_balanced
from twinframe.query.cypher.builder.variables import find_variables

_ELEMENT = " element"


@dataclass(slots=True)
class _Parts:
    """A pattern graph under construction, and its additional conditions."""

    nodes: dict[str, al.NodePattern] = field(default_factory=dict)
    relationships: list[al.RelationshipPattern] = field(default_factory=list)
    paths: list[al.PathPattern] = field(default_factory=list)
    conditions: list[al.Expression] = field(default_factory=list)


class PatternBuilder(ExpressionBuilder):
    """Translates the parts of one MATCH into one graph."""

    def build_pattern(
        self, parts: list[ast.PatternPart]
    ) -> tuple[al.GraphPattern, list[al.Expression]]:
        """Build the graph and the conditions that its form cannot express.

        Those are properties that refer to other variables of the same pattern, labels at a repeated
        mention of a node, and type expressions other than alternatives.
        """
        found = _Parts()
        own = _own_variables(parts)
        for part in parts:
            self._build_part(part, found, own)
        pattern = al.GraphPattern(
            tuple(found.nodes.values()), tuple(found.relationships), tuple(found.paths)
        )
        return pattern, found.conditions

    def build_match(
        self,
        source: al.Operator,
        parts: list[ast.PatternPart],
        where: ast.Expression | None,
        *,
        optional: bool = False,
    ) -> al.Match:
        """The operator of a MATCH; its condition is part of it."""
        pattern, conditions = self.build_pattern(parts)
        if where is not None:
            conditions.append(self.build(where))
        predicate = None
        if conditions:
            span = where.span if where is not None else None
            predicate = join_balanced(al.BinaryOperator.AND, conditions, span)
        return al.Match(source, pattern, predicate, optional)

    def _build_part(self, part: ast.PatternPart, found: _Parts, own: frozenset[str]) -> None:
        elements = [self._build_node(part.nodes[0], found, own)]
        for element, node in zip(part.relationships, part.nodes[1:], strict=True):
            left, right = elements[-1], self._build_node(node, found, own)
            name = self._build_relationship(element, left, right, found, own)
            elements += [name, right]
        if part.variable is not None or part.kind is not al.PathKind.ALL:
            found.paths.append(al.PathPattern(part.variable, tuple(elements), part.kind))

    def _build_node(self, node: ast.NodeElement, found: _Parts, own: frozenset[str]) -> str:
        name = node.variable or self.generate_name("node")
        subject = al.Variable(name, node.span)
        properties = self._build_properties(node.properties, subject, found, own)
        known = found.nodes.get(name)
        labels = node.labels
        if known is not None:
            if labels is not None and known.labels is not None:
                labels = al.LabelAnd(known.labels, labels)
            labels = labels or known.labels
            properties = known.properties + properties
        span = node.span if known is None else known.span
        found.nodes[name] = al.NodePattern(name, labels, properties, span)
        return name

    def _build_properties(
        self,
        entries: list[tuple[str, ast.Expression]],
        subject: al.Expression,
        found: _Parts,
        own: frozenset[str],
    ) -> tuple[tuple[str, al.Expression], ...]:
        """Return equalities that depend on nothing else of the pattern; the others become
        conditions.
        """
        kept: list[tuple[str, al.Expression]] = []
        for key, node in entries:
            value = self.build(node)
            if isinstance(value, al.Literal | al.Parameter) or not (find_variables(value) & own):
                kept.append((key, value))
            else:
                member = al.Property(subject, key, node.span)
                equal = al.BinaryOperator.EQUAL
                found.conditions.append(al.Binary(equal, member, value, node.span))
        return tuple(kept)

    def _build_relationship(
        self,
        element: ast.RelationshipElement,
        left: str,
        right: str,
        found: _Parts,
        own: frozenset[str],
    ) -> str:
        name = element.variable or self.generate_name("relationship")
        conditions = _Parts()
        crossed = al.Variable(name if element.length is None else _ELEMENT, element.span)
        properties = self._build_properties(element.properties, crossed, conditions, own)
        types = _list_types(element.types)
        if types is None and element.types is not None:
            conditions.conditions.append(al.HasLabels(crossed, element.types, element.span))
        found.relationships.append(
            al.RelationshipPattern(
                name, left, right, element.direction, types or (), element.length, properties,
                element.span,
            )
        )  # fmt: skip
        if element.length is None:
            found.conditions += conditions.conditions
        elif conditions.conditions:
            each = join_balanced(al.BinaryOperator.AND, conditions.conditions, element.span)
            every = al.QuantifierKind.ALL
            source = al.Variable(name, element.span)
            found.conditions.append(al.Quantifier(every, _ELEMENT, source, each, element.span))
        return name


def _own_variables(parts: list[ast.PatternPart]) -> frozenset[str]:
    names = {part.variable for part in parts}
    for part in parts:
        names.update(element.variable for element in part.elements())
    return frozenset(name for name in names if name is not None)


def _list_types(types: al.LabelExpression | None) -> tuple[str, ...] | None:
    """Return the names if the expression is a list of alternatives, else None."""
    match types:
        case al.LabelName():
            return (types.name,)
        case al.LabelOr():
            left, right = _list_types(types.left), _list_types(types.right)
            return None if left is None or right is None else left + right
        case _:
            return None
