"""The steps of a planned graph pattern, as data: `layout` builds them, `matching` runs them.

Each step extends every input row at its end, by the variables that the step binds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from twinframe.query.algebra import (
    Expression,
    LabelExpression,
    Length,
    NodePattern,
    PathKind,
    PathPattern,
    RelationshipPattern,
)
from twinframe.query.spans import Span


@dataclass(frozen=True, slots=True)
class ScanNodes:
    """Binds `node` to every node of its labels."""

    node: NodePattern


@dataclass(frozen=True, slots=True)
class SeekNodes:
    """Binds `node` to the twins whose `$dtId` is `ids` (one id or a list of them)."""

    node: NodePattern
    ids: Expression


@dataclass(frozen=True, slots=True)
class ScanRelationships:
    """Binds a relationship to every one of its types, and `start` to its left end."""

    relationship: RelationshipPattern
    start: NodePattern
    reads_start: bool


@dataclass(frozen=True, slots=True)
class SeekEnd:
    """Binds `node` to the end of a relationship that is bound already."""

    relationship: RelationshipPattern
    node: NodePattern


@dataclass(frozen=True, slots=True)
class CheckLabels:
    """Keeps rows whose bound node has the labels."""

    variable: str
    labels: LabelExpression


@dataclass(frozen=True, slots=True)
class CheckPredicate:
    """Keeps rows for which the predicate is true."""

    predicate: Expression


@dataclass(frozen=True, slots=True)
class CheckNode:
    """Keeps rows in which a variable that was bound before the pattern is a node, not null."""

    variable: str
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Cross:
    """The data of all steps that follow a relationship pattern from the bound node `origin`.

    `target` is the pattern of the node at the other end; `target_bound` says that it is bound
    already, `reads_target` that its document or labels are needed. `used` are the relationship
    variables of the same match that are bound before. `reversed` says that the walk goes from the
    pattern's right to its left.
    """

    relationship: RelationshipPattern
    origin: str
    target: NodePattern
    target_bound: bool
    reads_target: bool
    used: tuple[str, ...]
    reversed: bool


@dataclass(frozen=True, slots=True)
class Expand:
    """Follows one relationship. `relationship_bound`: it is bound before and only checked."""

    cross: Cross
    relationship_bound: bool


@dataclass(frozen=True, slots=True)
class ExpandVariable:
    """Follows `length` relationships, each of which has the properties `filters`."""

    cross: Cross
    length: Length
    filters: tuple[tuple[str, Expression], ...]
    relationship_bound: bool


@dataclass(frozen=True, slots=True)
class ShortestPath:
    """As `ExpandVariable`, between two bound nodes, keeping one or all of the shortest."""

    cross: Cross
    kind: PathKind
    length: Length
    filters: tuple[tuple[str, Expression], ...]
    is_list: bool


@dataclass(frozen=True, slots=True)
class BuildPath:
    """Binds the path variable from its elements, all bound before."""

    path: PathPattern


Step: TypeAlias = (
    ScanNodes
    | SeekNodes
    | ScanRelationships
    | SeekEnd
    | CheckLabels
    | CheckPredicate
    | CheckNode
    | Expand
    | ExpandVariable
    | ShortestPath
    | BuildPath
)
