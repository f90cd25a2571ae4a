"""The read-only port through which the evaluator reads a graph; storage drivers implement it.

Every method is batched, so that a remote store answers for a whole frontier at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from twinframe.model.temporal.instants import DateTime
from twinframe.model.values import Node, Relationship, Value
from twinframe.query.algebra import Direction, LabelExpression


@dataclass(frozen=True, slots=True)
class Hop:
    """One relationship crossed from the node `origin` to the node `reached` (both ids)."""

    origin: str
    relationship: Relationship
    reached: str


class ValueQuestion(NamedTuple):
    """The value of a property at a moment; `owner` is a twin's id and "", or a relationship's ids.

    Moments are datetimes, their texts, or (but for series) positions of changes.
    """

    owner: tuple[str, str]
    path: str
    moment: str | int | DateTime


class ChangesQuestion(NamedTuple):
    """The changes of an owner after a moment, up to another one or now."""

    owner: tuple[str, str]
    start: str | int | DateTime
    end: str | int | DateTime | None


class ValuesOverTime(NamedTuple):
    """The values of a property of a twin, or of steps of time one aggregate of them."""

    twin_id: str
    path: str
    start: str | DateTime
    end: str | DateTime | None
    every: str | None
    aggregate: str | None


class Answer(NamedTuple):
    """The answer to a question, and its size in bytes."""

    value: Value
    size: int


class PastReader(Protocol):
    """The past of single twins and relationships, beside the state that a query reads.

    Answers are in the order of the questions, which are asked together as far as possible.
    """

    def read_values(self, asked: Sequence[ValueQuestion]) -> Sequence[Answer]:
        """Return values; None where there was none."""

    def list_changes(self, asked: Sequence[ChangesQuestion]) -> Sequence[Answer]:
        """Return lists of changes as maps."""

    def read_series(self, asked: Sequence[ValuesOverTime]) -> Sequence[Answer]:
        """Return lists of maps of `time` and `value`."""


class GraphReader(ABC):
    """A consistent view of one graph during one query."""

    most_at_once: ClassVar[int] = 64
    """The number of twins or relationships requested in one call; each may have a megabyte."""

    learns_version: ClassVar[bool] = False
    """Whether reading in a snapshot tells the version of the models, which is a read of its own
    before.
    """
    is_short: bool = False
    """Whether the present work must be short: whoever has none of its own bounds declines it."""

    past: PastReader | None = None
    """The past, if the present query can read it."""

    @property
    def is_for_engines(self) -> bool:
        """Whether the store's query engine can read now what this shows."""
        return True

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
