"""Indexes on properties of twins: an ability some stores have beside the seam. It runs no query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class PropertyIndexes(ABC):
    """What a store can do that indexes properties. Calls may block; queries go on meanwhile."""

    @abstractmethod
    def list_indexes(self) -> Sequence[str]:
        """The indexed properties, in alphabetical order."""

    @abstractmethod
    def create_index(self, name: str) -> bool:
        """Index the property `name` of all twins; False when it was indexed already.

        Writes wait until it is made. A name that can be no property is `InvalidArgument`.
        """

    @abstractmethod
    def drop_index(self, name: str) -> None:
        """Take the index of the property `name` away; `InvalidArgument` when there is none."""
