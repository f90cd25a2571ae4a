"""The typed syntax tree of Cypher, with spans; `scope` checks it and `builder` translates it.

Nodes compare by structure, not by position. They are mutable, because `scope` stores its findings
in the fields that say so (PERF: frozen dataclasses cost three times as much to make).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from twinframe.query.algebra import (
    AggregateKind,
    BinaryOperator,
    Direction,
    LabelExpression,
    Length,
    PathKind,
    QuantifierKind,
    SubplanKind,
    UnaryOperator,
)
from twinframe.query.spans import Span

# --- expressions ------------------------------------------------------------------------------


@dataclass(slots=True)
class Literal:
    """A constant; `kind` distinguishes `1`, `1.0` and `true` where Python does not."""

    value: bool | int | float | str | None
    span: Span = field(compare=False)
    kind: type = field(init=False)

    def __post_init__(self) -> None:
        self.kind = type(self.value)


@dataclass(slots=True)
class Parameter:
    """`$name`."""

    name: str
    span: Span = field(compare=False)


@dataclass(slots=True)
class Variable:
    """A name in an expression."""

    name: str
    span: Span = field(compare=False)


@dataclass(slots=True)
class Property:
    """`subject.key`."""

    subject: Expression
    key: str
    span: Span = field(compare=False)


@dataclass(slots=True)
class Subscript:
    """`subject[index]`."""

    subject: Expression
    index: Expression
    span: Span = field(compare=False)


@dataclass(slots=True)
class Slice:
    """`subject[start..end]`."""

    subject: Expression
    start: Expression | None
    end: Expression | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class ListLiteral:
    """`[a, b]`."""

    items: list[Expression]
    span: Span = field(compare=False)


@dataclass(slots=True)
class MapLiteral:
    """`{key: value}`."""

    entries: list[tuple[str, Expression]]
    span: Span = field(compare=False)


@dataclass(slots=True)
class MapProjection:
    """`subject {.key, .*, key: value, variable}`; `every` is whether it has `.*`."""

    subject: Variable
    entries: list[tuple[str, Expression]]
    every: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class Unary:
    """An operator of one operand."""

    operator: UnaryOperator
    operand: Expression
    span: Span = field(compare=False)


@dataclass(slots=True)
class Binary:
    """An operator of two operands that is neither logical nor a comparison."""

    operator: BinaryOperator
    left: Expression
    right: Expression
    span: Span = field(compare=False)


@dataclass(slots=True)
class Logical:
    """Two or more operands joined by the same one of AND, OR, XOR."""

    operator: BinaryOperator
    operands: list[Expression]
    span: Span = field(compare=False)


@dataclass(slots=True)
class Comparison:
    """`a < b <= c`: one operator fewer than operands."""

    operands: list[Expression]
    operators: list[BinaryOperator]
    span: Span = field(compare=False)


@dataclass(slots=True)
class HasLabels:
    """`subject:Label`."""

    subject: Expression
    labels: LabelExpression
    span: Span = field(compare=False)


@dataclass(slots=True)
class Case:
    """CASE, simple with `operand`, else searched."""

    operand: Expression | None
    branches: list[tuple[Expression, Expression]]
    default: Expression | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Call:
    """A function by its name in lower case, namespace included; `aggregate` when it is one."""

    name: str
    arguments: list[Expression]
    distinct: bool
    aggregate: AggregateKind | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class CountRows:
    """`count(*)`."""

    span: Span = field(compare=False)


@dataclass(slots=True)
class ListComprehension:
    """`[variable IN source WHERE predicate | projection]`."""

    variable: str
    source: Expression
    predicate: Expression | None
    projection: Expression | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Quantifier:
    """`all(variable IN source WHERE predicate)` and the other quantifiers."""

    kind: QuantifierKind
    variable: str
    source: Expression
    predicate: Expression
    span: Span = field(compare=False)


@dataclass(slots=True)
class Reduce:
    """`reduce(accumulator = initial, variable IN source | step)`."""

    accumulator: str
    initial: Expression
    variable: str
    source: Expression
    step: Expression
    span: Span = field(compare=False)


@dataclass(slots=True)
class PatternExpression:
    """A pattern as a value: whether it has a match (EXISTS), how many it has (COUNT, `size` of it),
    or the list of its paths (COLLECT). `outer` is set by `scope`.
    """

    part: PatternPart
    kind: SubplanKind
    span: Span = field(compare=False)
    outer: tuple[str, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class PatternComprehension:
    """`[part WHERE predicate | projection]`. `outer` is set by `scope`."""

    part: PatternPart
    predicate: Expression | None
    projection: Expression
    span: Span = field(compare=False)
    outer: tuple[str, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class ShortestPath:
    """`shortestPath(...)` or `allShortestPaths(...)` as a value. `outer` is set by `scope`."""

    part: PatternPart
    span: Span = field(compare=False)
    outer: tuple[str, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class Subquery:
    """`EXISTS {...}`, `COUNT {...}`, `COLLECT {...}`. `outer` is set by `scope`."""

    kind: SubplanKind
    query: Query
    span: Span = field(compare=False)
    outer: tuple[str, ...] = field(default=(), compare=False)


Expression: TypeAlias = (
    Literal
    | Parameter
    | Variable
    | Property
    | Subscript
    | Slice
    | ListLiteral
    | MapLiteral
    | MapProjection
    | Unary
    | Binary
    | Logical
    | Comparison
    | HasLabels
    | Case
    | Call
    | CountRows
    | ListComprehension
    | Quantifier
    | Reduce
    | PatternExpression
    | PatternComprehension
    | ShortestPath
    | Subquery
)

# --- patterns ---------------------------------------------------------------------------------


@dataclass(slots=True)
class NodeElement:
    """`(variable:Label {key: value})`; `variable` is None when it has no name."""

    variable: str | None
    labels: LabelExpression | None
    properties: list[tuple[str, Expression]]
    span: Span = field(compare=False)
    map: Expression | None = None
    """All properties as one value, where CREATE has them so: `(n $properties)`."""
    is_plain: bool = True
    """Whether it has neither labels nor braces."""


@dataclass(slots=True)
class RelationshipElement:
    """`-[variable:TYPE*1..3 {key: value}]->`."""

    variable: str | None
    types: LabelExpression | None
    direction: Direction
    length: Length | None
    properties: list[tuple[str, Expression]]
    span: Span = field(compare=False)
    map: Expression | None = None


@dataclass(slots=True)
class PatternPart:
    """A chain of nodes and relationships, one node more, with the name of its path if any."""

    variable: str | None
    kind: PathKind
    nodes: list[NodeElement]
    relationships: list[RelationshipElement]
    span: Span = field(compare=False)

    def elements(self) -> list[NodeElement | RelationshipElement]:
        """All nodes, then all relationships."""
        return [*self.nodes, *self.relationships]


# --- clauses ----------------------------------------------------------------------------------


@dataclass(slots=True)
class Match:
    """MATCH or OPTIONAL MATCH with its WHERE."""

    optional: bool
    parts: list[PatternPart]
    where: Expression | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class Unwind:
    """UNWIND expression AS variable."""

    expression: Expression
    variable: Variable
    span: Span = field(compare=False)


@dataclass(slots=True)
class Item:
    """One projected expression; `name` is its alias or, without one, its text."""

    expression: Expression
    name: str
    aliased: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class SortItem:
    """One key of ORDER BY."""

    expression: Expression
    descending: bool


@dataclass(slots=True)
class Projection:
    """WITH or RETURN with all its parts.

    Set by `scope`: `columns` (the items with `*` expanded), `aggregating`, `hidden`, the earlier
    variables that only ORDER BY or WHERE still need, and `carried`, the variables of an enclosing
    query that are needed later though no column has their name.
    """

    final: bool
    distinct: bool
    star: bool
    items: list[Item]
    order: list[SortItem]
    skip: Expression | None
    limit: Expression | None
    where: Expression | None
    span: Span = field(compare=False)
    columns: list[Item] = field(default_factory=list, compare=False)
    aggregating: bool = field(default=False, compare=False)
    hidden: list[str] = field(default_factory=list, compare=False)
    carried: list[str] = field(default_factory=list, compare=False)


@dataclass(slots=True)
class CallSubquery:
    """`CALL {...}`; `imports` are the names of `CALL (a, b) {...}`, None when it has no such list.

    `outer` (set by `scope`) are the variables it reads from outside. `batch`, `on_error` (`FAIL`,
    `BREAK` or `CONTINUE`) and `status` are what follows IN TRANSACTIONS.
    """

    imports: list[Variable] | None
    import_all: bool
    query: Query
    span: Span = field(compare=False)
    outer: tuple[str, ...] = field(default=(), compare=False)
    batch: Expression | None = None
    in_transactions: bool = False
    on_error: str = "FAIL"
    status: Variable | None = None


@dataclass(slots=True)
class CallProcedure:
    """`CALL name(arguments) YIELD result AS variable WHERE ...`.

    `arguments` is None without parentheses, where the parameters of the request are meant;
    `yields` is None without YIELD, or with `YIELD *`, which is `star`. `standalone` says that it is
    the whole query. `columns` (set by `scope`) are the results taken, with their variables.
    """

    name: str
    arguments: list[Expression] | None
    yields: list[tuple[str, Variable]] | None
    star: bool
    where: Expression | None
    span: Span = field(compare=False)
    standalone: bool = field(default=False, compare=False)
    columns: list[tuple[str, str]] = field(default_factory=list, compare=False)


@dataclass(slots=True)
class Create:
    """CREATE pattern, pattern."""

    parts: list[PatternPart]
    span: Span = field(compare=False)


@dataclass(slots=True)
class SetProperty:
    """`subject.key = value`; `value` None removes it."""

    target: Property
    value: Expression | None
    span: Span = field(compare=False)


@dataclass(slots=True)
class SetProperties:
    """`variable = value`, or with `adds` `variable += value`."""

    variable: Variable
    value: Expression
    adds: bool
    span: Span = field(compare=False)


@dataclass(slots=True)
class SetLabels:
    """`variable:Label:Label`; with `removes` they are removed."""

    variable: Variable
    labels: list[str]
    removes: bool
    span: Span = field(compare=False)


SetItem: TypeAlias = SetProperty | SetProperties | SetLabels


@dataclass(slots=True)
class Set:
    """SET or REMOVE with its items."""

    items: list[SetItem]
    span: Span = field(compare=False)


@dataclass(slots=True)
class Merge:
    """MERGE pattern ON CREATE SET ... ON MATCH SET ..."""

    part: PatternPart
    on_create: list[SetItem]
    on_match: list[SetItem]
    span: Span = field(compare=False)


@dataclass(slots=True)
class Delete:
    """DELETE or DETACH DELETE."""

    expressions: list[Expression]
    detach: bool
    span: Span = field(compare=False)


ReadingClause: TypeAlias = Match | Unwind | Projection | CallSubquery
WritingClause: TypeAlias = Create | Merge | Set | Delete
Clause: TypeAlias = ReadingClause | WritingClause | CallProcedure
WRITING = (Create, Merge, Set, Delete)


@dataclass(slots=True)
class SingleQuery:
    """Clauses in order; all but those inside EXISTS and COUNT end in RETURN or write.

    `imports` (set by `scope`, which then removes it) are the names of the importing WITH of
    `CALL { WITH a, b ... }`.
    """

    clauses: list[Clause]
    span: Span = field(compare=False)
    imports: tuple[str, ...] = field(default=(), compare=False)


@dataclass(slots=True)
class Query:
    """One or more queries joined by UNION (`all`: UNION ALL)."""

    parts: list[SingleQuery]
    all: bool
    span: Span = field(compare=False)
