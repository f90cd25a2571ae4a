"""The read-only port through which the evaluator reads a graph; storage drivers implement it.

Every method is batched, so that a remote store answers for a whole frontier at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import JsonValue, Node, Relationship, Value
from twinframe.query.algebra import Direction, LabelExpression


@dataclass(frozen=True, slots=True)
class Hop:
    """One relationship crossed from the node `origin` to the node `reached` (both ids)."""

    origin: str
    relationship: Relationship
    reached: str


class PastReader(Protocol):
    """The past of single twins and relationships, beside the state that a query reads.

    Moments are datetimes, their texts, or (but for series) positions of changes.
    """

    def read_value(
        self, owner: Node | Relationship, path: str, moment: str | int | DateTime
    ) -> JsonValue:
        """Return the value of a property at a moment; None if it had none."""

    def list_changes(
        self,
        entity: Node | Relationship,
        start: str | int | DateTime,
        end: str | int | DateTime | None,
    ) -> list[Value]:
        """Return the changes after a moment, up to another one or now, as maps."""

    def read_series(
        self,
        owner: Node,
        path: str,
        start: str | DateTime,
        end: str | DateTime | None,
        every: str | None,
        aggregate: str | None,
    ) -> list[Value]:
        """Return the values of a property or of steps of time, as maps of `time` and `value`."""


class GraphReader(ABC):
    """A consistent view of one graph during one query."""

    most_at_once: ClassVar[int] = 64
    """The number of twins or relationships requested in one call; each may have a megabyte."""

    is_short: bool = False
    """Whether the present work must be short: whoever has none of its own bounds declines it."""

    past: PastReader | None = None
    """The past, if the present query can read it."""

    @abstractmethod
    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Yield every twin that satisfies `labels` (None: every twin), and models if they include
        `Model`.
        """

    @abstractmethod
    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """Return the twins of these ids; ids without a twin are left out."""

    @abstractmethod
    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types (empty: of any type)."""

    @abstractmethod
    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """Yield every relationship at each of `origins`, followed in `direction` (BOTH: a loop
        once).
        """

    @abstractmethod
    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Return the DTMIs of all stored or once stored interfaces that extend `model_id`, and
        itself.

        Empty when it is unknown.
        """

    @abstractmethod
    def read_model_ids(self) -> frozenset[str]:
        """Return the DTMIs of all interfaces, including decommissioned ones and those that only
        twins refer to.
        """

    def check_deadline(self) -> None:  # noqa: B027  (most readers cannot be stopped)
        """Raise `QueryTimeout` once the query was stopped from outside; a no-op in most readers.

        Called every few hundred steps of work in between reads.
        """


class EmptyReader(GraphReader):
    """An empty graph: for expressions that read no graph."""

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        return iter(())

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        return {}

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        return iter(())

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        return iter(())

    def read_descendants(self, model_id: str) -> frozenset[str]:
        return frozenset()

    def read_model_ids(self) -> frozenset[str]:
        return frozenset()
