"""Short spellings of algebra terms for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.unit.query.evaluate.graphs import MemoryReader, build_building
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import (
    Binary,
    BinaryOperator,
    Direction,
    Expression,
    FunctionCall,
    GraphPattern,
    LabelName,
    Length,
    ListExpression,
    Literal,
    MapExpression,
    NodePattern,
    Operator,
    PathPattern,
    Project,
    Property,
    Query,
    RelationshipPattern,
    Unit,
    Variable,
)
from twinframe.query.evaluate.engine import run
from twinframe.query.evaluate.limits import Limits


def lit(value: Any) -> Expression:
    """A literal, or an expression of literals for lists and maps."""
    match value:
        case list():
            return ListExpression(tuple(lit(item) for item in value))
        case dict():
            return MapExpression(tuple((key, lit(item)) for key, item in value.items()))
        case None | bool() | int() | float() | str():
            return Literal(value)
        case _:
            return value


def var(name: str) -> Variable:
    return Variable(name)


def prop(name: str, key: str) -> Property:
    return Property(Variable(name), key)


def op(left: Any, operator: str, right: Any) -> Binary:
    return Binary(BinaryOperator(operator), lit(left), lit(right))


def call(name: str, *arguments: Any) -> FunctionCall:
    return FunctionCall(name, tuple(lit(argument) for argument in arguments))


def node(name: str, label: str | None = None, /, **properties: Any) -> NodePattern:
    """A node pattern; the property `id` stands for `$dtId`."""
    entries = tuple(
        ("$dtId" if key == "id" else key, lit(value)) for key, value in properties.items()
    )
    return NodePattern(name, LabelName(label) if label else None, entries)


def rel(  # a pattern has as many parts
    name: str,
    left: str,
    right: str,
    *types: str,
    way: str = "->",
    length: tuple[int, int | None] | None = None,
    **properties: Any,
) -> RelationshipPattern:
    return RelationshipPattern(
        name,
        left,
        right,
        Direction(way),
        types,
        Length(*length) if length else None,
        tuple((key, lit(value)) for key, value in properties.items()),
    )


def pattern(*parts: NodePattern | RelationshipPattern | PathPattern) -> GraphPattern:
    return GraphPattern(
        tuple(part for part in parts if isinstance(part, NodePattern)),
        tuple(part for part in parts if isinstance(part, RelationshipPattern)),
        tuple(part for part in parts if isinstance(part, PathPattern)),
    )


def rows(
    root: Operator,
    *columns: str,
    graph: MemoryReader | None = None,
    parameters: Mapping[str, Value] | None = None,
    limits: Limits | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of a plan, with nodes as their ids and relationships as `source:id`."""
    found = run(Query(root, columns), graph or build_building(), parameters, limits)
    return [tuple(show(value) for value in row) for row in found]


def show(value: Any) -> Any:
    """A value with nodes and relationships by their ids."""
    match value:
        case Node():
            return value.id
        case Relationship():
            return f"{value.source}:{value.id}"
        case list():
            return [show(item) for item in value]
        case _:
            return value


def value_of(expression: Any, **parameters: Value) -> Any:
    """The value of an expression over one row without variables."""
    plan = Project(Unit(), (("x", lit(expression)),))
    [(value,)] = rows(plan, "x", parameters=parameters)
    return value
