"""Indexes on properties of twins: an optional ability of stores besides the storage interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class PropertyIndexes(ABC):
    """The ability to index properties. Calls may block; queries continue meanwhile."""

    @abstractmethod
    def list_indexes(self) -> Sequence[str]:
        """The indexed properties, in alphabetical order."""

    @abstractmethod
    def create_index(self, name: str) -> bool:
        """Index the property `name` of all twins; return False when it was indexed already.

        Writes wait until it is made. An impossible property name raises `InvalidArgument`.
        """

    @abstractmethod
    def drop_index(self, name: str) -> None:
        """Drop the index of the property `name`; `InvalidArgument` when there is none."""
