"""Writes by which the service keeps its own books in a graph: they are of no owner's account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from twinframe.storage.base import GraphTransaction, Work

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OwnWork(Generic[T]):
    """A work that no quota of a hosted graph refuses: leases, the state and the end of jobs.

    A graph that is full must still be told that its import has failed, and be emptied.
    """

    work: Work[T]

    def __call__(self, transaction: GraphTransaction) -> T:
        """Run it."""
        return self.work(transaction)
