"""Leases on background tasks and jobs: entries of the graph, as `runtime.leases` describes them.

A worker also takes over at once where the `process` that holds a lease is known to be dead.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Final, TypeVar

import orjson

from twinframe.graph.background.holders import UNKNOWN, is_dead, read_holder
from twinframe.graph.context.context import GraphRunner, ServiceWrite
from twinframe.runtime.leases import LeaseLost, LeaseState, LifeWatch
from twinframe.storage.base import GraphSession, GraphTransaction, WriteFunction

T = TypeVar("T")

KIND: Final = "lease"


@dataclass(frozen=True, slots=True)
class _Stored(LeaseState):
    process: str = UNKNOWN


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim of the work `name`.

    `fence` rises with each claim, for systems outside of the graph that must distinguish a former
    holder from a newer one.
    """

    name: str
    fence: int
    holder: str

    def check(self, session: GraphSession) -> _Stored:
        """Return what is stored of it. Raises `LeaseLost` unless it still holds.

        Call it first in each transaction of the work.
        """
        stored = _read(session, self.name)
        if stored is None or not stored.is_held_by(self.fence, self.holder):
            raise LeaseLost(f"The work {self.name} was taken over by another worker.")
        return stored

    def guard(self, function: WriteFunction[T]) -> WriteFunction[T]:
        """Return the write function without effect, and with `LeaseLost`, once it is lost."""

        def checked(transaction: GraphTransaction) -> T:
            self.check(transaction)
            return function(transaction)

        return checked


class LeaseManager(LifeWatch[_Stored]):
    """Claims, renews and releases leases, for one worker, and watches those of others.

    `seconds` is a lease's time.
    """

    def __init__(
        self,
        runner: GraphRunner,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(seconds, monotonic)
        self._runner = runner

    async def claim(self, name: str) -> Lease | None:
        """Return the lease if it is free, was not renewed for its time, or its holder is dead; else
        None: try again later.
        """
        seen = await self._runner.read(lambda session: _read(session, name))
        if seen is not None and seen.holder and not self._is_over(name, seen):
            return None

        def apply(transaction: GraphTransaction) -> Lease | None:
            if _read(transaction, name) != seen:
                return None
            mine = (seen or _Stored(fence=0)).claim(uuid.uuid4().hex)
            _write(transaction, name, replace(mine, process=read_holder()))
            return Lease(name, mine.fence, mine.holder)

        lease = await self._runner.write(ServiceWrite(apply))
        self.forget(name)
        return lease

    async def keep(self, lease: Lease) -> None:
        """Renew the lease; raise `LeaseLost` if it is lost."""

        def apply(transaction: GraphTransaction) -> None:
            _write(transaction, lease.name, lease.check(transaction).renew())

        await self._runner.write(ServiceWrite(apply))

    async def give_back(self, lease: Lease) -> None:
        """Release the lease, for the next worker to claim at once.

        Without effect when it was lost.
        """

        def apply(transaction: GraphTransaction) -> None:
            stored = _read(transaction, lease.name)
            if stored is not None and stored.holder == lease.holder:
                _write(transaction, lease.name, stored.release())

        await self._runner.write(ServiceWrite(apply))

    def _is_over(self, name: str, stored: _Stored) -> bool:
        return self.is_silent(name, stored) or is_dead(stored.process)


def delete_lease(transaction: GraphTransaction, name: str) -> None:
    """Delete the lease of deleted work; its holder, if any, loses it."""
    transaction.delete_entry(KIND, name)


def delete_free_lease(transaction: GraphTransaction, name: str) -> None:
    """Delete the lease of deleted work unless it is held.

    Its holder deletes it at its end: work that is begun again under the name waits until then.
    """
    stored = _read(transaction, name)
    if stored is not None and not stored.holder:
        delete_lease(transaction, name)


def _read(session: GraphSession, name: str) -> _Stored | None:
    body = session.read_entry(KIND, name)
    return None if body is None else _Stored(**orjson.loads(body))


def _write(transaction: GraphTransaction, name: str, stored: _Stored) -> None:
    transaction.put_entry(KIND, name, orjson.dumps(asdict(stored)))
