"""The port through which statements write: the use cases above the query languages implement it."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from twinframe.model.values import JsonValue, Node, Relationship, Value

Document: TypeAlias = dict[str, JsonValue]


class Effect(enum.Enum):
    """What a statement may do to the graph, by its text."""

    READ = "read"
    WRITE_NODES = "write nodes"
    DELETE_NODES = "delete nodes"
    WRITE_RELATIONSHIPS = "write relationships"
    DELETE_RELATIONSHIPS = "delete relationships"


class _Removed:
    """Says that a property is removed."""

    def __repr__(self) -> str:
        return "removed"


REMOVED: Final = _Removed()

Assigned: TypeAlias = "Value | _Removed"


@dataclass(slots=True)
class Change:
    """What one clause sets in an entity, all of its rows together.

    `before` is the document as it is stored. `values` are in the order in which they were set, by
    the path of the property; no path lies within another one. `labels` are a node's new ones and
    those it loses.
    """

    before: Mapping[str, JsonValue]
    values: dict[tuple[str, ...], Assigned] = field(default_factory=dict)
    added: dict[str, None] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)

    def is_set(self, path: tuple[str, ...]) -> bool:
        """Whether the stored document has something at the path."""
        found: JsonValue = dict(self.before)
        for name in path:
            if not isinstance(found, dict) or name not in found:
                return False
            found = found[name]
        return True


class GraphWriter(ABC):
    """Writes to the graph of one transaction, each time at once.

    Documents that are returned are as they are stored, and belong to the caller. Errors are those
    of the use cases that it stands for; one ends the statement.
    """

    @abstractmethod
    def create_node(
        self, labels: Sequence[str], properties: Mapping[str, Value], *, is_read: bool
    ) -> Node:
        """Create a node. A property that is null is not stored.

        Without `is_read`, only the id of what is returned counts: the statement reads no more.
        """

    @abstractmethod
    def create_relationship(
        self, source: Node, target: Node, kind: str, properties: Mapping[str, Value]
    ) -> Relationship:
        """Create a relationship between two nodes that exist."""

    @abstractmethod
    def change_node(self, node: Node, change: Change) -> tuple[Document, frozenset[str]]:
        """Apply a change; return the document and the labels after it."""

    @abstractmethod
    def change_relationship(self, relationship: Relationship, change: Change) -> Document:
        """Apply a change; return the document after it."""

    @abstractmethod
    def delete_node(self, node_id: str, *, detach: bool) -> Sequence[tuple[str, str]] | None:
        """Delete a node, with `detach` also its relationships, whose sources and ids are returned.

        None: it has relationships, and nothing was deleted.
        """

    @abstractmethod
    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship that exists."""

    @abstractmethod
    def has_label(self, node: Node, label: str) -> bool:
        """Whether the node has the label by the names of this graph."""
