"""The logical algebra of queries: the contract between the query languages and the engines.

It is independent of both languages' syntax and of how an engine runs a query: a pattern stays a
graph, so that each engine chooses its own join order.

Rows and scope. An operator yields a bag of rows; a row maps variable names to values. An operator
defines which variables it adds; only `Project` and `Aggregate` remove variables. Names are unique
within a scope, not within a query: a later `Project` may give an old name a new meaning.

Values are those of `twinframe.model.values`. Logic is three-valued as openCypher 9 defines it.
Spans are for errors only and take no part in equality.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from twinframe.query.spans import Span

if TYPE_CHECKING:
    from twinframe.query.errors import Source


def _no_span() -> Span | None:
    return None


# --- expressions ------------------------------------------------------------------------------

MAP_PROJECTION: Final = "map projection"
"""The function that no text can name: `subject {entries}`, null where the subject is.

Its arguments are the subject (a node, relationship or map), a map of the entries, and with `.*` the
subject's properties, which the entries replace.
"""


class BinaryOperator(enum.Enum):
    """Operators of two operands; the value is the Cypher spelling."""

    OR = "OR"
    XOR = "XOR"
    AND = "AND"
    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    POWER = "^"
    IN = "IN"
    STARTS_WITH = "STARTS WITH"
    ENDS_WITH = "ENDS WITH"
    CONTAINS = "CONTAINS"
    MATCHES = "=~"


MIRRORED: Final[Mapping[BinaryOperator, BinaryOperator]] = {
    BinaryOperator.EQUAL: BinaryOperator.EQUAL,
    BinaryOperator.NOT_EQUAL: BinaryOperator.NOT_EQUAL,
    BinaryOperator.LESS: BinaryOperator.GREATER,
    BinaryOperator.LESS_EQUAL: BinaryOperator.GREATER_EQUAL,
    BinaryOperator.GREATER: BinaryOperator.LESS,
    BinaryOperator.GREATER_EQUAL: BinaryOperator.LESS_EQUAL,
}
"""The comparison that says the same with its operands exchanged."""


class UnaryOperator(enum.Enum):
    """Operators of one operand; the value is the Cypher spelling."""

    NOT = "NOT"
    MINUS = "-"
    PLUS = "+"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


class QuantifierKind(enum.Enum):
    """`all`, `any`, `none` and `single` over a list."""

    ALL = "all"
    ANY = "any"
    NONE = "none"
    SINGLE = "single"


class AggregateKind(enum.Enum):
    """Aggregating functions. `COUNT_ROWS` is `count(*)`."""

    COUNT_ROWS = "count(*)"
    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    COLLECT = "collect"
    STDEV = "stDev"
    STDEVP = "stDevP"
    PERCENTILE_CONT = "percentileCont"
    PERCENTILE_DISC = "percentileDisc"


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A constant of the text: null, boolean, 64-bit integer, float or string."""

    value: bool | int | float | str | None
    span: Span | None = field(default_factory=_no_span, compare=False)

    # NOTE: in Python 1, 1.0 and True are equal, and 0.0 and -0.0; as constants of a query they are
    # not, and a search for equal expressions must not confuse them.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value supplied with the request under `name`; absent is a compile-time error."""

    name: str
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """The value bound to `name` in the row (or by an enclosing comprehension)."""

    name: str
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Property:
    """Member `key` of a node, relationship, map (or component of a temporal value); null if absent.

    For nodes and relationships `key` may be a system member: `$dtId`, `$etag`, `$metadata`,
    `$relationshipId`, `$sourceId`, `$targetId`, `$relationshipName`.
    """

    subject: Expression
    key: str
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Subscript:
    """`subject[index]`: element of a list by integer, member of a map or entity by string."""

    subject: Expression
    index: Expression
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Slice:
    """`subject[start..end]` of a list; either bound may be left out."""

    subject: Expression
    start: Expression | None
    end: Expression | None
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class ListExpression:
    """`[a, b, ...]`."""

    items: tuple[Expression, ...]
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class MapExpression:
    """`{key: value, ...}`, entries in text order."""

    entries: tuple[tuple[str, Expression], ...]
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """An operator of one operand."""

    operator: UnaryOperator
    operand: Expression
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator of two operands. A chain `a < b < c` arrives as `a < b AND b < c`."""

    operator: BinaryOperator
    left: Expression
    right: Expression
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class HasLabels:
    """Whether a node satisfies a label expression (for relationships: whether its type does)."""

    subject: Expression
    labels: LabelExpression
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Case:
    """Simple CASE when `operand` is given (compared with `=`), else searched CASE."""

    operand: Expression | None
    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression | None
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A scalar function by its canonical name (see `query.cypher.functions`), arity already
    checked.

    The vendor's predicates arrive here too, under `digitaltwins.is_of_model`, `is_defined`,
    `is_object`, `is_number`, `is_string`, `is_bool`, `is_primitive`, `is_null`, `array_contains`.
    """

    name: str
    arguments: tuple[Expression, ...]
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class ListComprehension:
    """`[variable IN source WHERE predicate | projection]`."""

    variable: str
    source: Expression
    predicate: Expression | None
    projection: Expression | None
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Quantifier:
    """`all|any|none|single(variable IN source WHERE predicate)`."""

    kind: QuantifierKind
    variable: str
    source: Expression
    predicate: Expression
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Reduce:
    """`reduce(accumulator = initial, variable IN source | step)`."""

    accumulator: str
    initial: Expression
    variable: str
    source: Expression
    step: Expression
    span: Span | None = field(default_factory=_no_span, compare=False)


class SubplanKind(enum.Enum):
    """The value to which a correlated subplan is reduced."""

    EXISTS = "exists"  # true when it yields a row
    COUNT = "count"  # how many rows it yields
    COLLECT = "collect"  # the list of `value` over its rows (pattern comprehension)


@dataclass(frozen=True, slots=True)
class Subplan:
    """A plan run once per row with the row's variables in scope (its leaf is `Argument`).

    Pattern predicates and `EXISTS {}` are EXISTS, `COUNT {}` is COUNT, and pattern comprehensions
    `[(a)-->(b) | x]` are COLLECT.
    """

    kind: SubplanKind
    plan: Operator
    value: Expression | None = None
    span: Span | None = field(default_factory=_no_span, compare=False)


Expression = (
    Literal
    | Parameter
    | Variable
    | Property
    | Subscript
    | Slice
    | ListExpression
    | MapExpression
    | Unary
    | Binary
    | HasLabels
    | Case
    | FunctionCall
    | ListComprehension
    | Quantifier
    | Reduce
    | Subplan
)


# --- labels -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelName:
    """A label: `Twin`, `Model`, a DTMI, or the last name segment of a DTMI. Includes subtypes."""

    name: str


@dataclass(frozen=True, slots=True)
class LabelNot:
    """Every node for which the operand does not hold."""

    operand: LabelExpression


@dataclass(frozen=True, slots=True)
class LabelAnd:
    """Both hold."""

    left: LabelExpression
    right: LabelExpression


@dataclass(frozen=True, slots=True)
class LabelOr:
    """At least one holds."""

    left: LabelExpression
    right: LabelExpression


LabelExpression = LabelName | LabelNot | LabelAnd | LabelOr


# --- patterns ---------------------------------------------------------------------------------


class Direction(enum.Enum):
    """The direction in which a relationship pattern is followed, from its `left` node to its
    `right` node.
    """

    OUTGOING = "->"
    INCOMING = "<-"
    BOTH = "--"


@dataclass(frozen=True, slots=True)
class Length:
    """Bounds of a variable-length relationship, both inclusive; `maximum` None is unbounded.

    `limit` applies where `maximum` is not below it: a longer walk raises `LimitExceeded`. It is a
    setting and no part of the query, hence not part of equality.
    """

    minimum: int
    maximum: int | None
    limit: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NodePattern:
    """A node to match. `properties` are equalities (`{key: value}`); `labels` None is any twin.

    Anonymous nodes carry a generated name that no query text can spell (it starts with a space). A
    variable bound before the pattern restricts it to that node.
    """

    variable: str
    labels: LabelExpression | None = None
    properties: tuple[tuple[str, Expression], ...] = ()
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class RelationshipPattern:
    """A relationship between the nodes named `left` and `right`; `types` empty is any.

    With `length` None it binds `variable` to one relationship, else to the list of relationships
    followed, in order from `left` to `right`; `properties` then hold for each of them. With BOTH
    and `left` = `right` a loop is matched once.
    """

    variable: str
    left: str
    right: str
    direction: Direction
    types: tuple[str, ...] = ()
    length: Length | None = None
    properties: tuple[tuple[str, Expression], ...] = ()
    span: Span | None = field(default_factory=_no_span, compare=False)


class PathKind(enum.Enum):
    """Which of the matching paths are kept."""

    ALL = "all"
    SHORTEST = "shortestPath"
    ALL_SHORTEST = "allShortestPaths"


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A named path (or shortest path): its node and relationship variables alternate in `elements`.

    `variable` None is an unnamed shortest-path pattern.
    """

    variable: str | None
    elements: tuple[str, ...]
    kind: PathKind = PathKind.ALL


@dataclass(frozen=True, slots=True)
class GraphPattern:
    """All comma-separated parts of one MATCH. No relationship is used twice within one match."""

    nodes: tuple[NodePattern, ...]
    relationships: tuple[RelationshipPattern, ...] = ()
    paths: tuple[PathPattern, ...] = ()


# --- operators --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """One row without variables: where a query starts."""


@dataclass(frozen=True, slots=True)
class Argument:
    """The one outer row of a `Subplan` or `Apply`, with the listed variables."""

    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """Every way to extend each row of `source` by `pattern` for which `predicate` is true.

    Adds the pattern's variables. With `optional`, a row without any match is kept once, with null
    for the added variables.
    """

    source: Operator
    pattern: GraphPattern
    predicate: Expression | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps the rows for which `predicate` is true (not false, not null)."""

    source: Operator
    predicate: Expression


@dataclass(frozen=True, slots=True)
class Project:
    """Replaces the scope by `items`: (name, expression) in column order."""

    source: Operator
    items: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate over the rows of a group; `arguments` is empty for COUNT_ROWS.

    Percentiles carry the value first and the percentile second.
    """

    kind: AggregateKind
    arguments: tuple[Expression, ...] = ()
    distinct: bool = False
    span: Span | None = field(default_factory=_no_span, compare=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Groups by the values of `keys` (equivalence: null is one group) and replaces the scope.

    The new scope is the names of `keys` and of `aggregates`. Without keys there is exactly one
    group, also over no rows. Expressions around aggregates arrive as a `Project` above.
    """

    source: Operator
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[tuple[str, AggregateCall], ...]


@dataclass(frozen=True, slots=True)
class Distinct:
    """One of each set of equivalent rows."""

    source: Operator


@dataclass(frozen=True, slots=True)
class SortKey:
    """Order by `expression` in Cypher's total order across types (null last ascending)."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Sort:
    """Orders the rows; the first key decides first."""

    source: Operator
    keys: tuple[SortKey, ...]


@dataclass(frozen=True, slots=True)
class Skip:
    """Leaves out the first `count` rows; `count` is row-independent and a non-negative integer."""

    source: Operator
    count: Expression


@dataclass(frozen=True, slots=True)
class Limit:
    """Keeps the first `count` rows; `count` is row-independent and a non-negative integer."""

    source: Operator
    count: Expression


@dataclass(frozen=True, slots=True)
class Unwind:
    """One row per element of a list, bound to `variable`; null gives none, a non-list gives one."""

    source: Operator
    expression: Expression
    variable: str


@dataclass(frozen=True, slots=True)
class Union:
    """Rows of both sides, which have the same variables; without `all` each distinct row once."""

    left: Operator
    right: Operator
    all: bool


@dataclass(frozen=True, slots=True)
class Apply:
    """Runs `plan` (leaf `Argument`) for each row of `source` and adds its variables: `CALL {}`."""

    source: Operator
    plan: Operator


Operator = (
    Unit
    | Argument
    | Match
    | Filter
    | Project
    | Aggregate
    | Distinct
    | Sort
    | Skip
    | Limit
    | Unwind
    | Union
    | Apply
)


# --- whole queries ----------------------------------------------------------------------------


class ResultShape(enum.Enum):
    """The form of a result row on the wire."""

    OBJECT = "object"  # a JSON object keyed by column
    DOCUMENT = "document"  # the one column's node or relationship document itself


@dataclass(frozen=True, slots=True)
class Query:
    """A whole query: `root` yields rows whose variables include every one of `columns`.

    `columns` are in output order; a column's variable is its name on the wire. With `omit_null` a
    null column is left out of its row's object (the vendor's language). `source` is the text that
    the spans are of.
    """

    root: Operator
    columns: tuple[str, ...]
    shape: ResultShape = ResultShape.OBJECT
    omit_null: bool = False
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def members(self) -> tuple[str, ...]:
        """The names in each row's object; none where a row is a document with its own names."""
        return self.columns if self.shape is ResultShape.OBJECT else ()
