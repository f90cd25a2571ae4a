"""Lets the rates of callers hold over all nodes: each tells the others what its callers spend.

What is told is in an entry of the service's own graph for each machine: the last few messages,
numbered, so that a node that reads a little late misses none.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Final

import orjson

from twinframe.access.rates import SharedBuckets
from twinframe.errors import TwinframeError
from twinframe.graph.context.context import GraphRunner, ServiceWrite
from twinframe.runtime.leases import LifeWatch
from twinframe.storage.base import GraphSession, GraphTransaction

_log = logging.getLogger(__name__)

EXCHANGE_SECONDS: Final = 1.0
HOLD_SECONDS: Final = 3.0
FORGET_SECONDS: Final = 60.0
_KIND: Final = "caller-rates"
_MOST_MACHINES: Final = 1000
_TOLD: Final = 3
"""The messages in an entry: what more than so many exchanges missed is not counted."""


class RateExchange:
    """A lifespan service of each worker; one worker of a machine at a time exchanges for all."""

    def __init__(
        self,
        runner: GraphRunner,
        buckets: SharedBuckets,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._runner = runner
        self._buckets = buckets
        self._holder = secrets.randbits(63)
        self._number = 0
        self._messages: list[Mapping[int, float]] = []
        self._seen: dict[str, int] = {}
        self._monotonic = monotonic
        self._life: LifeWatch[int] = LifeWatch(FORGET_SECONDS, monotonic)
        self._task: asyncio.Task[None] | None = None
        self._told = ""

    async def start(self) -> None:
        """Take the key that all nodes have, and begin."""
        instance = await self._runner.read(lambda session: session.read_instance())
        self._buckets.share(blake2b(b"caller-rates", key=instance.secret, digest_size=16).digest())
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End it."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(EXCHANGE_SECONDS)
            try:
                await self.exchange()
                self._told = ""
            except TwinframeError as error:
                if error.message != self._told:
                    _log.warning("Rates of callers hold on each node alone: %s", error.message)
                self._told = error.message

    async def exchange(self) -> None:
        """Tell others what callers have spent here, and count what they told."""
        now = self._monotonic()
        if not self._buckets.claim_drain(self._holder, now, HOLD_SECONDS):
            return
        spent = self._buckets.drain()
        if spent:
            self._number += 1
            self._messages = [*self._messages, spent][-_TOLD:]
            await self._runner.write(ServiceWrite(self._write))
        gone = self._take(await self._runner.read(self._read), now)
        if gone:
            await self._runner.write(ServiceWrite(lambda found: _delete(found, gone)))

    def _write(self, transaction: GraphTransaction) -> None:
        messages = [{str(tag): told for tag, told in one.items()} for one in self._messages]
        body = orjson.dumps({"number": self._number, "messages": messages})
        transaction.put_entry(_KIND, self._buckets.name, body)

    def _read(self, session: GraphSession) -> dict[str, bytes]:
        rows = session.read_entries(_KIND, after=None, limit=_MOST_MACHINES)
        return {row.key: row.item for row in rows if row.key != self._buckets.name}

    def _take(self, entries: Mapping[str, bytes], now: float) -> list[str]:
        """Count what is new; return the machines that have told nothing for long."""
        self._life.forget_all_but(entries)
        self._seen = {name: seen for name, seen in self._seen.items() if name in entries}
        gone = []
        for machine, body in entries.items():
            told = orjson.loads(body)
            number, messages = told["number"], told["messages"]
            new = min(number - self._seen.get(machine, number - 1), len(messages))
            for message in messages[len(messages) - new :]:
                self._buckets.add({int(tag): spent for tag, spent in message.items()}, now)
            self._seen[machine] = number
            if self._life.is_silent(machine, number):
                gone.append(machine)
        return gone


def _delete(transaction: GraphTransaction, machines: list[str]) -> None:
    for machine in machines:
        transaction.delete_entry(_KIND, machine)
