"""What a statement runs with, and what comes of it: its rows, and the counts of its changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from twinframe.model.values import Value
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.evaluate.run import Row
from twinframe.query.plan.execution import Execution
from twinframe.query.reader import GraphReader
from twinframe.query.writing.port import GraphWriter


@dataclass(slots=True)
class Counters:
    """What a statement changed."""

    nodes_created: int = 0
    nodes_deleted: int = 0
    relationships_created: int = 0
    relationships_deleted: int = 0
    properties_set: int = 0
    labels_added: int = 0
    labels_removed: int = 0

    def add(self, other: Counters) -> None:
        """Add those of another statement."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class Table(NamedTuple):
    """Rows with the names of their columns."""

    names: tuple[str, ...]
    rows: list[Row]

    def extend(self, name: str, value: Value) -> Table:
        """Return it with a column that has one value in all rows."""
        return Table((*self.names, name), [(*row, value) for row in self.rows])


def build_status(transaction: int | None, error: str | None = None) -> dict[str, Value]:
    """Return what became of a transaction of a subquery, by its number; None: it never began."""
    begun = transaction is not None
    return {
        "started": begun,
        "committed": begun and error is None,
        "transactionId": f"transaction-{transaction}" if begun else None,
        "errorMessage": error,
    }


Plans: TypeAlias = dict[Hashable, Execution]
"""Compiled reading steps by the step, the models and the types of parameters. Shared by threads."""

START: Final = ((),)
"""The rows a statement starts with: one without variables."""


@dataclass(slots=True)
class Surroundings:
    """What a statement runs with: all of it belongs to one run.

    `writer` may be None for a statement that does not write. `open_typing` says how members are
    read under the models of the moment. `most_writes` is the greatest number of entities that it
    may write. With `joins_transactions`, subqueries IN TRANSACTIONS run in the one transaction.
    """

    reader: GraphReader
    writer: GraphWriter | None
    parameters: Mapping[str, Value]
    limits: Limits
    engine: QueryEngine | None = None
    open_typing: Callable[[], tuple[int, MemberTyping | None]] = lambda: (0, None)
    most_writes: int | None = None
    joins_transactions: bool = False
    plans: Plans = field(default_factory=dict)
