"""Copies of earlier states of a graph, which a store's query engine reads: an optional ability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from twinframe.storage.base import EntityKey, GraphSession, RelationshipRecord, TwinRecord


class EarlierState(GraphSession):
    """A state as it differs from the present one, for one snapshot; its models by their reads."""

    @abstractmethod
    def read_ancestors(self, model_id: str) -> frozenset[str]:
        """Return the models that a model extends, stored or not, and itself."""

    @abstractmethod
    def find_changed_twins(self, ids: Sequence[str]) -> Mapping[str, TwinRecord | None]:
        """Return those of the twins that changed since as they were; None did not exist."""

    @abstractmethod
    def find_changed_relationships(
        self, keys: Sequence[EntityKey]
    ) -> Mapping[EntityKey, RelationshipRecord | None]:
        """Return those of the relationships that changed since as they were; None did not exist."""

    @abstractmethod
    def iterate_gone_twins(self) -> Iterator[TwinRecord]:
        """Yield the twins that exist no longer."""

    @abstractmethod
    def iterate_gone_relationships(self) -> Iterator[RelationshipRecord]:
        """Yield the relationships that exist no longer."""


class StateCopies(ABC):
    """The ability of a session to write and to read such copies."""

    @abstractmethod
    def count_entities(self) -> int:
        """Return the number of twins and relationships of the present state, without a scan."""

    @abstractmethod
    def write_state(self, path: Path, state: EarlierState, most_bytes: int) -> None:
        """Write a copy to the empty file `path`, in the snapshot in which `state` is read.

        Raises `StorageFull` when it takes more than `most_bytes`, `QueryTimeout` when the snapshot
        ends. The file is then of no use.
        """

    @abstractmethod
    def open_state(self, path: Path) -> AbstractContextManager[GraphSession | None]:
        """Open a copy; what runs on it is interrupted with this session.

        Its time is set, by which its last use is known. None where there is no file.
        """
