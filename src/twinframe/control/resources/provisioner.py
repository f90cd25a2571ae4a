"""The reconciler: claims due work, renews its leases, and runs attempts.

Several may run on one control store, in one process or many. Whatever one leaves unfinished when it
dies, at any point, another one finishes: see `work` for how leases end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from twinframe.control.records.runner import ControlRunner
from twinframe.control.resources.attempts import (
    AttemptRunner,
    Fault,
    FindLimits,
    OnRunning,
    ProvisionRules,
    find_no_limits,
    pass_by,
)
from twinframe.control.resources.documents import ReconcileItem
from twinframe.control.resources.reconcile_items import (
    LifeSign,
    claim,
    find_claimable,
    list_life_signs,
    read_fences,
    renew,
)
from twinframe.control.resources.resources import OnGone
from twinframe.control.resources.rounds import RoundIntervals, Rounds
from twinframe.errors import TwinframeError
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.hooks.resource_types.hosting import GraphHost
from twinframe.model.clock import Clock, read_clock
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.leases import BEATS, LifeWatch
from twinframe.settings import ControlSettings

LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProvisionerOptions:
    """How one provisioner works; times in seconds.

    `grace` is the time of running attempts at a stop; unfinished ones are left to their leases.
    """

    concurrency: int = 4
    poll_interval: float = 1.0
    lease: float = 30.0
    grace: float = 10.0
    rules: ProvisionRules = field(default_factory=ProvisionRules)
    intervals: RoundIntervals = field(default_factory=RoundIntervals)


def build_options(settings: ControlSettings) -> ProvisionerOptions:
    """Build the options from the settings."""
    return ProvisionerOptions(
        concurrency=settings.concurrency,
        poll_interval=settings.poll_interval,
        lease=settings.lease_seconds,
        rules=ProvisionRules(
            max_attempts=settings.max_attempts,
            attempt_timeout=settings.attempt_timeout,
            pause=Backoff(settings.retry_delay, settings.max_retry_delay),
        ),
        intervals=RoundIntervals(
            health=settings.health_interval,
            cleaning=settings.cleaning_interval,
            tombstone_lifetime=settings.tombstone_lifetime,
        ),
    )


@dataclass(slots=True)
class _Running:
    """A running attempt, and whether it releases its lease when it is cancelled."""

    mine: ReconcileItem
    task: asyncio.Task[None]
    outdated: bool = False


class Provisioner:
    """One reconciler on one event loop."""

    def __init__(
        self,
        runner: ControlRunner,
        types: ResourceTypeRegistry,
        graphs: GraphHost | None = None,
        options: ProvisionerOptions | None = None,
        *,
        on_gone: tuple[OnGone, ...] = (),
        on_running: tuple[OnRunning, ...] = (),
        find_limits: FindLimits = find_no_limits,
        clock: Clock = read_clock,
        monotonic: Callable[[], float] = time.monotonic,
        fault: Fault = pass_by,
    ) -> None:
        self.name = f"{os.getpid()}-{secrets.token_hex(6)}"
        self._runner = runner
        self._options = options or ProvisionerOptions()
        self._clock = clock
        self._fault = fault
        self._attempts = AttemptRunner(
            runner,
            types,
            graphs,
            self._options.rules,
            on_gone=on_gone,
            on_running=on_running,
            find_limits=find_limits,
            clock=clock,
            fault=fault,
        )
        self._rounds = Rounds(
            runner, types, graphs, self._options.intervals, clock, find_limits=find_limits
        )
        self._watch = LifeWatch[LifeSign](self._options.lease, monotonic)
        self._running: dict[str, _Running] = {}
        self._wakened = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Look for work now: there is new work from this process."""
        self._wakened.set()

    def stop(self) -> None:
        """Claim nothing more; `run` ends when the running attempts have, or after the grace."""
        self._stopping = True
        self._wakened.set()

    async def run(self) -> None:
        """Work until `stop`. Errors of the control store are logged and retried."""
        beats = asyncio.ensure_future(self._beat_for_ever())
        # NOTE: a separate task, as checks of products that hang take ten seconds each.
        checks = asyncio.ensure_future(self._go_round_for_ever(self._rounds.check_due))
        cleaning = asyncio.ensure_future(self._clean_for_ever())
        try:
            while not self._stopping:
                await self._survive(self._look())
                await self._wait()
            await self._finish()
        finally:
            tasks = [beats, checks, cleaning, *(each.task for each in self._running.values())]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def run_once(self) -> int:
        """Claim what can be claimed now and finish it; return the number of attempts.

        For tests, tools.
        """
        await self._look()
        tasks = [each.task for each in self._running.values()]
        await asyncio.gather(*tasks)
        return len(tasks)

    async def _look(self) -> None:
        running = tuple(self._running)
        signs, fences = await self._runner.read(
            lambda session: (list_life_signs(session), read_fences(session, running))
        )
        self._cancel_outdated(running, fences)
        silent = {
            resource_id: sign
            for resource_id, sign in self._watch.list_silent(signs).items()
            if resource_id not in self._running
        }
        room = self._options.concurrency - len(self._running)
        if room <= 0:
            return
        items = await self._runner.read(
            lambda session: find_claimable(
                session,
                now=self._clock(),
                longest_pause=self._options.rules.pause.longest,
                limit=room,
            )
        )
        items = [item for item in items if item.id not in self._running]
        silent = dict(list(silent.items())[: room - len(items)])
        if items or silent:
            self._fault("claim:found")
            claimed = await self._runner.write(
                lambda transaction: claim(transaction, holder=self.name, items=items, silent=silent)
            )
            self._fault("claim:stored")
            for mine in claimed:
                self._start(mine)

    def _start(self, mine: ReconcileItem) -> None:
        task = asyncio.ensure_future(self._attempt(mine))
        self._running[mine.id] = _Running(mine, task)
        task.add_done_callback(lambda _task: self._forget(mine))

    def _forget(self, mine: ReconcileItem) -> None:
        del self._running[mine.id]
        self._wakened.set()  # there is a free slot, and perhaps more to do here

    async def _attempt(self, mine: ReconcileItem) -> None:
        try:
            await self._survive(self._attempts.run(mine))
        except asyncio.CancelledError:
            running = self._running.get(mine.id)
            if running is None or not running.outdated:
                raise
            await self._survive(self._attempts.let_go(mine))

    def _cancel_outdated(self, looked: Sequence[str], fences: Mapping[str, int]) -> None:
        """End attempts whose fence number is no longer that of their work.

        NOTE: an attempt that has stored its result holds nothing any more and still has its number;
        it is about to end by itself.
        """
        for resource_id in looked:
            running = self._running.get(resource_id)
            if running is None or running.outdated:
                continue
            if fences.get(resource_id) != running.mine.fence:
                running.outdated = True
                running.task.cancel()

    async def _beat_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self._options.lease / BEATS)
            held = {each.mine.id: each.mine.holder for each in self._running.values()}
            if held:
                await self._survive(self._runner.write(partial(renew, held=held)))

    async def _clean_for_ever(self) -> None:
        await self._survive(self._rounds.remove_orphans())  # for whatever a dead provisioner left
        await self._go_round_for_ever(self._rounds.clean_due)

    async def _go_round_for_ever(self, work: Callable[[], Coroutine[object, object, None]]) -> None:
        while True:
            await self._survive(work())
            await asyncio.sleep(self._options.poll_interval)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._options.poll_interval):
                await self._wakened.wait()
        except TimeoutError:
            pass
        self._wakened.clear()

    async def _finish(self) -> None:
        tasks = [each.task for each in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=self._options.grace)

    async def _survive(self, work: Coroutine[object, object, object]) -> None:
        try:
            await work
        except TwinframeError as error:
            LOG.warning("The provisioner goes on after: %s", error.message)
