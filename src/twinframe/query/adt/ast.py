"""The typed syntax tree of the vendor's language, before names are resolved by `builder`."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

from twinframe.query.algebra import AggregateKind, BinaryOperator, Direction, Length
from twinframe.query.spans import Span


class Collection(enum.Enum):
    """What a query reads from."""

    TWINS = "DIGITALTWINS"
    RELATIONSHIPS = "RELATIONSHIPS"


# --- expressions ------------------------------------------------------------------------------


@dataclass(slots=True)
class Literal:
    """A constant."""

    value: bool | int | float | str | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Path:
    """`T.a.b`, or `a.b` where the alias may be left out."""

    names: tuple[str, ...]
    span: Span = field(compare=False)


Operand: TypeAlias = Literal | Path


@dataclass(slots=True)
class Comparison:
    """Two operands and one of `= != < > <= >=`."""

    operator: BinaryOperator
    left: Operand
    right: Operand
    span: Span = field(compare=False)


@dataclass(slots=True)
class Membership:
    """`operand IN [...]`, with `negated` NIN."""

    operand: Operand
    items: list[Literal]
    negated: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class Test:
    """A function that yields a truth value, by its upper-case name."""

    name: str
    arguments: list[Operand]
    exact: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class Negation:
    """`NOT condition`."""

    operand: Condition
    span: Span = field(compare=False)


@dataclass(slots=True)
class Junction:
    """Two or more conditions joined by AND or by OR."""

    operator: BinaryOperator
    operands: list[Condition]
    span: Span = field(compare=False)


Condition: TypeAlias = Comparison | Membership | Test | Negation | Junction


# --- clauses ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Aggregate:
    """`COUNT()` (no path), or an aggregate of a path, which the vendor's language lacks."""

    kind: AggregateKind
    path: Path | None
    distinct: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class Item:
    """One of the selected things with its alias."""

    value: Path | Aggregate
    alias: str | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Join:
    """`JOIN target RELATED source.name alias`."""

    target: str
    source: str
    relationship: str
    alias: str | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Edge:
    """`-[alias:name|name*1..3]->` of a MATCH; `names` empty is any."""

    alias: str | None
    names: tuple[str, ...]
    direction: Direction
    length: Length | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Match:
    """A chain of twins (None: without alias) and one edge fewer."""

    twins: list[str | None]
    edges: list[Edge]
    span: Span = field(compare=False)


@dataclass(slots=True)
class SortItem:
    """One key of ORDER BY, which the vendor's language lacks."""

    value: Path | Aggregate
    descending: bool


@dataclass(slots=True)
class Query:
    """A whole query; `items` empty is `*`."""

    top: int | None
    distinct: bool
    items: list[Item]
    collection: Collection
    alias: str | None
    joins: list[Join]
    match: Match | None
    where: Condition | None
    groups: list[Path]
    order: list[SortItem]
    prefix: str
    select: Span = field(compare=False)
