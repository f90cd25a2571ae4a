"""Leases on background work: one holder at a time, without comparing wall clocks.

A lease is an entry of the graph with a number (`fence`) that rises with each claim, the claim's own
name (`holder`), and a `beat` that the holder increments. A worker that sees the same three values
for a whole lease, by its own monotonic clock, takes over; at once where the `process` that holds it
is known to be dead. A holder's transactions check the lease first: a former holder changes nothing,
even if one that was thought dead is alive.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from typing import Final

import orjson

from twinframe.errors import TwinframeError
from twinframe.graph.background.holders import UNKNOWN, is_dead, read_holder
from twinframe.graph.context.ports import GraphRunner
from twinframe.graph.context.service_writes import ServiceWrite
from twinframe.storage.base import GraphSession, GraphTransaction

KIND: Final = "lease"
BEATS: Final = 3
"""The number of beats in the time of a lease."""


class LeaseLost(TwinframeError):
    """Another worker holds the work by now: stop, and change nothing."""

    code = "LeaseLost"


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim of the work `name`.

    `fence` rises with each claim, for systems outside of the graph that must distinguish a former
    holder from a newer one.
    """

    name: str
    fence: int
    holder: str

    def check(self, session: GraphSession) -> None:
        """Raise `LeaseLost` unless it still holds.

        Call it first in each transaction of the work.
        """
        stored = _read(session, self.name)
        if stored is None or (stored.fence, stored.holder) != (self.fence, self.holder):
            raise LeaseLost(f"The work {self.name} was taken over by another worker.")


@dataclass(frozen=True, slots=True)
class _Stored:
    """A lease as it is stored in the graph; it is free when `holder` is empty."""

    fence: int
    holder: str
    beat: int
    process: str = UNKNOWN


class LeaseManager:
    """Claims, renews and releases leases, for one worker. `seconds` is a lease's time."""

    def __init__(
        self,
        runner: GraphRunner,
        seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._monotonic = monotonic
        self._seen: dict[str, tuple[_Stored, float]] = {}
        self.seconds = seconds

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
            lease = Lease(name, seen.fence + 1 if seen else 1, uuid.uuid4().hex)
            _write(transaction, name, _Stored(lease.fence, lease.holder, 0, read_holder()))
            return lease

        lease = await self._runner.write(ServiceWrite(apply))
        self._seen.pop(name, None)
        return lease

    async def keep(self, lease: Lease) -> None:
        """Renew the lease; raise `LeaseLost` if it is lost."""

        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            stored = _read(transaction, lease.name)
            if stored is not None:
                _write(transaction, lease.name, replace(stored, beat=stored.beat + 1))

        await self._runner.write(ServiceWrite(apply))

    async def give_back(self, lease: Lease) -> None:
        """Release the lease, for the next worker to claim at once.

        Without effect when it was lost.
        """

        def apply(transaction: GraphTransaction) -> None:
            stored = _read(transaction, lease.name)
            if stored is not None and stored.holder == lease.holder:
                # NOTE: the number stays, so that it never falls.
                _write(transaction, lease.name, replace(stored, holder=""))

        await self._runner.write(ServiceWrite(apply))

    def forget_all_but(self, names: Collection[str]) -> None:
        """Forget what is known of other leases: their work is done or deleted."""
        self._seen = {name: seen for name, seen in self._seen.items() if name in names}

    def _is_over(self, name: str, stored: _Stored) -> bool:
        now = self._monotonic()
        before, since = self._seen.get(name, (None, now))
        if before != stored:
            since = now
        self._seen[name] = stored, since
        return now - since >= self.seconds or is_dead(stored.process)


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
