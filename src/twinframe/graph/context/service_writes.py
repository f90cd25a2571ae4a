"""Marks the service's own writes in a graph, which do not count against its owner's quotas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from twinframe.storage.base import GraphTransaction, WriteFunction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceWrite(Generic[T]):
    """A write function that no quota of a hosted graph refuses: leases, the state and the end of
    jobs.

    The failure of an import must be recorded even in a full graph, and a full graph can be emptied.
    """

    function: WriteFunction[T]

    def __call__(self, transaction: GraphTransaction) -> T:
        """Run it."""
        return self.function(transaction)
