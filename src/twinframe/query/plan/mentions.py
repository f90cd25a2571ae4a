"""Finds the names of models, relationships and properties that a query mentions, with their
positions.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twinframe.model.ids import MODEL_LABEL
from twinframe.model.paths import split_path
from twinframe.query.algebra import (
    Aggregate,
    Expression,
    FunctionCall,
    HasLabels,
    LabelExpression,
    ListExpression,
    Literal,
    Match,
    NodePattern,
    Operator,
    Project,
    Property,
    RelationshipPattern,
    Subplan,
    Subscript,
    Unwind,
    Variable,
)
from twinframe.query.evaluate.labels import find_label_names
from twinframe.query.spans import Span
from twinframe.query.traversal import find_expressions, walk_expressions, walk_operators

_IS_OF_MODEL = "digitaltwins.is_of_model"


class MentionKind(enum.Enum):
    """The meaning of a name."""

    LABEL = "label"
    MODEL = "model"
    RELATIONSHIP = "relationship"
    PROPERTY = "property"


@dataclass(frozen=True, slots=True)
class Mention:
    """A name and its position: the `span` of the expression with it, at whose end it is if
    `is_last`.

    `within` is the member in which the name is looked up, None for the entity itself. Only members
    of twins and relationships are included, and members of those; not those of maps that the query
    makes, nor of models as nodes.
    """

    kind: MentionKind
    name: str
    span: Span | None
    within: str | None = None
    is_last: bool = False


def find_mentions(root: Operator) -> tuple[Mention, ...]:
    """Return every name mentioned, each once at its first position, in no particular order."""
    operators = tuple(walk_operators(root))
    finder = _Finder(_find_kinds(operators))
    found: dict[tuple[MentionKind, str, str | None], Mention] = {}
    for operator in operators:
        for mention in finder.find(operator):
            key = (mention.kind, mention.name, mention.within)
            known = found.get(key)
            if known is None or _is_before(mention.span, known.span):
                found[key] = mention
    return tuple(found.values())


def _is_before(one: Span | None, other: Span | None) -> bool:
    return one is not None and (other is None or one.start < other.start)


def _find_kinds(operators: Sequence[Operator]) -> dict[str, type]:
    """Return the variables that are always a twin (`NodePattern`) or relationship."""
    kinds: dict[str, type] = {}
    others: set[str] = set()
    renamed: list[tuple[str, Expression]] = []
    for operator in operators:
        match operator:
            case Match(pattern=pattern):
                kinds.update((node.variable, NodePattern) for node in pattern.nodes)
                others.update(
                    node.variable
                    for node in pattern.nodes
                    if MODEL_LABEL in find_label_names(node.labels)
                )
                for crossed in pattern.relationships:
                    kinds[crossed.variable] = RelationshipPattern
                    if crossed.length is not None:
                        others.add(crossed.variable)
            case Project(items=items) | Aggregate(keys=items):
                renamed += items
            case Unwind(variable=variable):
                others.add(variable)
            case _:
                pass
        if isinstance(operator, Aggregate):
            others.update(name for name, _ in operator.aggregates)
    for name, expression in renamed:
        if expression != Variable(name):
            others.add(name)
    return {name: kind for name, kind in kinds.items() if name not in others}


@dataclass(frozen=True, slots=True)
class _Finder:
    kinds: dict[str, type]

    def find(self, operator: Operator) -> Iterator[Mention]:
        """Yield the mentions of an operator itself; plans within its expressions are operators
        too.
        """
        if isinstance(operator, Match):
            for node in operator.pattern.nodes:
                yield from _find_labels(node.labels, MentionKind.LABEL, node.span)
                yield from self._find_map(node)
            for crossed in operator.pattern.relationships:
                for name in crossed.types:
                    yield Mention(MentionKind.RELATIONSHIP, name, crossed.span)
                yield from self._find_map(crossed)
        for expression in find_expressions(operator):
            for part in walk_expressions(expression):
                if not isinstance(part, Subplan):
                    yield from self._find_part(part)

    def _find_map(self, element: NodePattern | RelationshipPattern) -> Iterator[Mention]:
        if isinstance(element, RelationshipPattern) or element.variable in self.kinds:
            for key, _ in element.properties:
                yield Mention(MentionKind.PROPERTY, key, element.span)

    def _find_part(self, part: Expression) -> Iterator[Mention]:
        match part:
            case Property(key=key, span=span) | Subscript(index=Literal(value=str(key)), span=span):
                yield from self._find_member(part.subject, key, span)
            case HasLabels(subject=Variable(name=name), labels=labels, span=span):
                if name in self.kinds:
                    is_node = self.kinds[name] is NodePattern
                    kind = MentionKind.LABEL if is_node else MentionKind.RELATIONSHIP
                    yield from _find_labels(labels, kind, span)
            case FunctionCall(
                name="valueAt",
                arguments=(ListExpression(items=(owner, Literal(value=str(path)))), *_),
            ):
                # NOTE: that of `series` may be telemetry, which needs no declaration.
                for name in split_path(path):
                    yield from self._find_member(owner, name, part.arguments[0].span)
                    owner = Property(owner, name)
            case FunctionCall(name=function, arguments=(_, Literal(value=str(model)), *_)):
                if function == _IS_OF_MODEL:
                    yield Mention(MentionKind.MODEL, model, part.span)
            case _:
                pass

    def _find_member(self, subject: Expression, key: str, span: Span | None) -> Iterator[Mention]:
        match subject:
            case Variable(name=name) if name in self.kinds:
                yield Mention(MentionKind.PROPERTY, key, span, is_last=True)
            case Property(subject=Variable(name=name), key=within) if name in self.kinds:
                yield Mention(MentionKind.PROPERTY, key, span, within, is_last=True)
            case _:
                pass


def _find_labels(
    labels: LabelExpression | None, kind: MentionKind, span: Span | None
) -> Iterator[Mention]:
    for name in sorted(find_label_names(labels)):
        yield Mention(kind, name, span)
