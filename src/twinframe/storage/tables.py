"""The port of tables that a plugin keeps in the database of a graph, beside those of the graph.

Statements have `?` for a value and `@name` for a table, and are of the SQL that SQLite and
PostgreSQL share.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, TypeAlias

Row: TypeAlias = tuple[Any, ...]

_NAME: Final = re.compile(r"@(\w+)")


def rename_tables(statement: str, rename: Callable[[str], str]) -> str:
    """Return the statement with the names of its tables as a database has them."""
    return _NAME.sub(lambda found: rename(found[1]), statement)


class TableSession(ABC):
    """Statements in one transaction. It serves one thread."""

    @abstractmethod
    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return all rows."""

    @abstractmethod
    def read_each(self, statement: str, many: Iterable[Sequence[Any]]) -> Iterator[list[Row]]:
        """Yield the rows of the statement for each values, in order, with few trips to a server."""

    @abstractmethod
    def iterate(self, statement: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Yield rows that may be too many for the memory. Others may run meanwhile."""

    @abstractmethod
    def run(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement without rows; return how many rows it changed."""

    @abstractmethod
    def run_each(self, statement: str, many: Iterable[Sequence[Any]]) -> None:
        """Run a statement without rows for each values, with few trips to a server."""

    def find(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        """Return the first row, None where there is none."""
        return next(iter(self.read(statement, values)), None)


class Tables(ABC):
    """Tables that are created when they are first used, in the process that uses them.

    Calls may come from several threads. All raise `StorageError`.
    """

    @abstractmethod
    def exists(self) -> bool:
        """Return whether they were created. Fast."""

    @abstractmethod
    def reading(self, *, long: bool = False) -> AbstractContextManager[TableSession]:
        """See one state inside.

        Raises `StorageMoved` where the graph is moved to another database meanwhile; what is `long`
        goes on, as it cannot run again.
        """

    @abstractmethod
    def writing(self, *, durable: bool = True) -> AbstractContextManager[TableSession]:
        """Commit what is done inside, or undo it. No other transaction writes meanwhile.

        It is on stable storage afterwards if it is `durable`, and otherwise before a later durable
        one. One thread does each of the two kinds at a time.
        """

    @abstractmethod
    def measure(self) -> int:
        """Return the bytes on disk; 0 before they are created."""

    @abstractmethod
    def close(self) -> None:
        """Release everything. No call is running."""


class TableKeeper(ABC):
    """A graph store in whose database plugins may keep tables."""

    @abstractmethod
    def build_tables(self, prefix: str, version: int, statements: Sequence[str]) -> Tables:
        """Build tables beside those of the graph, without a connection.

        Their names begin with `prefix`. `statements` create those of that `version`: among them is
        `@meta` with the columns `key` and `value`, and a row `version`. They are removed with the
        graph.
        """
