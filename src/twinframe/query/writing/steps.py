"""The steps of a statement that writes or calls procedures: what its clauses become.

A step takes a table of rows and gives one. Rows and scope are those of the algebra, whose operators
are the reading steps. A step is done with all rows before the next one begins.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from twinframe.query.algebra import (
    Argument,
    Expression,
    Match,
    Operator,
    PathPattern,
)
from twinframe.query.spans import Span
from twinframe.query.writing.port import Effect
from twinframe.query.writing.procedures import Procedure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from twinframe.query.errors import Source


@dataclass(frozen=True, slots=True)
class Read:
    """An operator tree over the rows before it, which come at its leaf; None: it starts anew."""

    root: Operator
    leaf: Argument | None


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to create; `properties` is a map, or None."""

    variable: str
    labels: tuple[str, ...]
    properties: Expression | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NewRelationship:
    """A relationship to create between two variables."""

    variable: str
    source: str
    target: str
    type: str
    properties: Expression | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Create:
    """Creates its elements for each row, in order, and adds their variables, then its paths.

    The properties of an element may read those before it.
    """

    elements: tuple[NewNode | NewRelationship, ...]
    paths: tuple[PathPattern, ...] = ()


@dataclass(frozen=True, slots=True)
class SetProperty:
    """Sets, or with `value` None removes, the property at `path` of an entity."""

    subject: Expression
    path: tuple[str, ...]
    value: Expression | None
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetProperties:
    """Sets the properties of a map, or of another entity; without `adds` all others go."""

    subject: Expression
    value: Expression
    adds: bool
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SetLabels:
    """Gives a node labels, or removes them."""

    subject: Expression
    labels: tuple[str, ...]
    removes: bool
    span: Span | None = field(default=None, compare=False)


SetItem: TypeAlias = SetProperty | SetProperties | SetLabels


@dataclass(frozen=True, slots=True)
class Set:
    """Applies its items to each row, in order; each sees what was set before it."""

    items: tuple[SetItem, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    """Extends each row by the matches of `match`, or creates `create` where there is none.

    A row sees what those before it created. `tests` are the properties of the pattern, none of
    which may be null.
    """

    leaf: Argument
    match: Match
    create: Create
    tests: tuple[tuple[str, Expression], ...]
    on_create: tuple[SetItem, ...]
    on_match: tuple[SetItem, ...]
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes the entities of all rows; `detach`: nodes with their relationships."""

    expressions: tuple[Expression, ...]
    detach: bool


@dataclass(frozen=True, slots=True)
class Call:
    """Extends each row by the results of a procedure, by their position: (index, variable)."""

    procedure: Procedure
    arguments: tuple[Expression, ...]
    results: tuple[tuple[int, str], ...]
    predicate: Expression | None
    span: Span | None = field(default=None, compare=False)


class OnError(Enum):
    """What a subquery in transactions does after one of them had an error and was rolled back."""

    FAIL = "FAIL"
    BREAK = "BREAK"
    CONTINUE = "CONTINUE"


@dataclass(frozen=True, slots=True)
class CallStatement:
    """Runs a statement for each row, whose columns it adds; without columns each row is kept once.

    `batch` is the number of rows of one transaction of the store, where it is to have its own.
    After an error in one, `on_error` says what becomes of the others, and `status` is the variable
    of what became of each row.
    """

    statement: Statement
    outer: tuple[str, ...]
    in_transactions: bool = False
    batch: Expression | None = None
    on_error: OnError = OnError.FAIL
    status: str | None = None
    span: Span | None = field(default=None, compare=False)


Step: TypeAlias = Read | Create | Merge | Set | Delete | Call | CallStatement


@dataclass(frozen=True, slots=True)
class Statement:
    """A whole statement: its parts are joined by UNION, without `all` each distinct row once.

    `columns` is empty where it ends with a clause that writes. `effects` are those of its text.
    """

    parts: tuple[tuple[Step, ...], ...]
    all: bool
    columns: tuple[str, ...]
    effects: frozenset[Effect] = frozenset()
    source: Source | None = field(default=None, compare=False, repr=False)

    @property
    def writes(self) -> bool:
        """Whether it may change the graph."""
        return bool(self.effects - {Effect.READ})

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions that the procedures of its text need of their own."""
        return frozenset({call.procedure.permission for call in self.list_calls()} - {""})

    def list_calls(self) -> Iterator[Call]:
        """Yield all calls of procedures, also those of subqueries."""
        for part in self.parts:
            for step in part:
                if isinstance(step, Call):
                    yield step
                elif isinstance(step, CallStatement):
                    yield from step.statement.list_calls()

    @property
    def is_query(self) -> bool:
        """Whether it only reads, and calls no procedure."""
        return all(isinstance(step, Read) for part in self.parts for step in part)

    @property
    def in_transactions(self) -> bool:
        """Whether a part of it runs in transactions of its own."""
        steps = (step for part in self.parts for step in part)
        return any(isinstance(step, CallStatement) and step.in_transactions for step in steps)
