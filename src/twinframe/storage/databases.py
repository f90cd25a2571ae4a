"""Graphs in one of several databases: an optional ability of stores besides the storage interface.

Each move of a graph has an id of its own, 16 hexadecimal digits, which is its fencing token.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence


class SeveralDatabases(ABC):
    """The ability of a store whose graph is in one of several databases, and can be moved.

    The methods here need no open store. They may block for long, and raise `StorageError`.
    """

    @abstractmethod
    def list_databases(self) -> Sequence[str]:
        """Return the names of all databases; the first one is that of graphs without a name."""

    @abstractmethod
    def measure_database(self, database: str) -> int:
        """Return the bytes of a database."""

    @abstractmethod
    def measure_graph(self) -> int:
        """Return the bytes of this graph in its database."""

    @abstractmethod
    def move(self, target: str, move: str, report: Callable[[str], None]) -> float:
        """Move the graph to the database `target` while it is served; return for how many seconds
        writers waited.

        `report` is called with what is done next. Whether it returns or raises, `settle_move` has
        to be called, by this or another process.
        """

    @abstractmethod
    def settle_move(self, target: str, move: str) -> bool:
        """End a move from this store's database; return whether the graph is at `target` now.

        Otherwise it is where it was, and a mover that comes late changes nothing. Raises
        `StorageError` when it cannot be known or done now; then call it again.
        """

    @abstractmethod
    def clear_move(self, move: str) -> None:
        """Remove what a move has left in this store's database."""
