"""The periodic tasks of provisioners: health checks, purging tombstones, removing orphans.

One provisioner does each for all, when its interval has passed. A resource that is found faulty
gets a repair operation of its own.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import Final

from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.states import ResourceState
from twinframe.control.resources.attempts import FindLimits, build_context, find_no_limits
from twinframe.control.resources.documents import (
    RECONCILE_ITEMS,
    RESOURCES,
    ROUNDS,
    Resource,
    Round,
)
from twinframe.control.resources.reconcile_items import SECOND
from twinframe.control.resources.resources import Resources, purge
from twinframe.errors import TwinframeError
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.hooks.resource_types.hosting import GraphHost, ResourceName
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    equal,
)

LOG: Final = logging.getLogger(__name__)

_PAGE: Final = 100


@dataclass(frozen=True, slots=True)
class RoundIntervals:
    """The seconds between two runs of each task, and its limits.

    `health_timeout` bounds one check; `tombstone_lifetime` is how long a deleted resource is shown.
    """

    health: float = 60.0
    cleaning: float = 300.0
    health_timeout: float = 10.0
    tombstone_lifetime: float = 7 * 24 * 3600.0


class Rounds:
    """The periodic tasks of one provisioner."""

    def __init__(
        self,
        runner: ControlRunner,
        types: ResourceTypeRegistry,
        graphs: GraphHost | None,
        intervals: RoundIntervals,
        clock: Clock = read_clock,
        *,
        find_limits: FindLimits = find_no_limits,
    ) -> None:
        self._runner = runner
        self._types = types
        self._graphs = graphs
        self._intervals = intervals
        self._clock = clock
        self._find_limits = find_limits
        self._resources = Resources(types, clock)

    async def check_due(self) -> None:
        """Check health if that is due and no other process has done it."""
        if await self._claim("health", self._intervals.health):
            await self.check_health()

    async def clean_due(self) -> None:
        """Clean up if that is due and no other process has done it."""
        if await self._claim("cleaning", self._intervals.cleaning):
            await self.remove_orphans()  # first: a tombstone says that its data may be removed
            await self.purge_tombstones()

    async def check_health(self) -> int:
        """Ask the types of all running resources and queue repairs; return their number."""
        repaired, after = 0, ""
        while page := await self._runner.read(partial(_read_page, after=after)):
            for resource in page:
                finding = await self._check(resource)
                if finding is not None and await self._repair(resource, finding):
                    repaired += 1
            after = page[-1].id
        return repaired

    async def purge_tombstones(self) -> int:
        """Remove expired tombstones; return their number."""
        before = self._clock() - int(self._intervals.tombstone_lifetime * SECOND)
        purged = 0
        while count := await self._runner.write(
            lambda transaction: purge(transaction, before=before, limit=_PAGE)
        ):
            purged += count
        return purged

    async def remove_orphans(self) -> tuple[ResourceName, ...]:
        """Let each type remove the data of ended resources; return what was removed."""
        removed: list[ResourceName] = []
        for kind in self._types:
            try:
                removed += await kind.remove_orphans(self._graphs, self._is_alive)
            except TwinframeError as error:
                LOG.warning("Orphans of %s were not all removed: %s", kind.name, error.message)
            except Exception:
                # The job runner survives any error of a plugin.
                LOG.exception("Orphans of %s were not all removed", kind.name)
        for name in removed:
            LOG.warning("Removed what was left of %s (%s)", name.resource_id, name.incarnation)
        return tuple(removed)

    async def _claim(self, name: str, interval: float) -> bool:
        """Return whether the task is due and this provisioner has claimed it."""
        now, length = self._clock(), int(interval * SECOND)

        def is_due(session: ControlSession) -> bool:
            stored = ROUNDS.read(session, name)
            # NOTE: a time ahead of now is from before the clock was set back.
            return stored is None or not 0 <= now - stored.last_at < length

        def claim(transaction: ControlTransaction) -> bool:
            if not is_due(transaction):
                return False
            ROUNDS.put(transaction, Round(name, now))
            return True

        # PERF: checked each second; a write would take the writer lock of the whole store.
        return await self._runner.read(is_due) and await self._runner.write(claim)

    async def _check(self, resource: Resource) -> str | None:
        item = await self._runner.read(lambda session: RECONCILE_ITEMS.read(session, resource.id))
        if item is None or item.incarnation != resource.incarnation:
            return None
        try:
            kind = self._types.find(resource.type)
            context = build_context(resource, item, _step, self._graphs, self._find_limits)
            async with asyncio.timeout(self._intervals.health_timeout):
                return await kind.health(context)
        except (TwinframeError, TimeoutError) as error:
            LOG.warning("The health of %s is not known: %s", resource.id, error)
        except Exception:
            # The job runner survives any error of a plugin.
            LOG.exception("The health of %s is not known", resource.id)
        return None

    async def _repair(self, resource: Resource, finding: str) -> bool:
        return await self._runner.write(
            lambda transaction: self._resources.repair(
                transaction, resource.id, resource.incarnation, finding
            )
        )

    async def _is_alive(self, name: ResourceName) -> bool:
        """Return whether the resource has not ended, as far as the control store knows.

        SEC: unknown resources are kept. Otherwise, with a control store that is new, another one,
        or restored from a backup, the data of all resources created since would be removed, backups
        included.
        """
        found = await self._runner.read(lambda session: RESOURCES.read(session, name.resource_id))
        if found is None:
            LOG.warning(
                "Nothing is known of %s (%s), which is hosted here: it is left as it is. Is this "
                "the control store that it was created with?",
                name.resource_id,
                name.incarnation,
            )
            return True
        return (
            found.incarnation == name.incarnation and found.status is not ResourceState.TERMINATED
        )


async def _step(_name: str) -> None:
    """Do nothing: a health check has no effects to be interrupted."""


def _read_page(session: ControlSession, *, after: str) -> tuple[Resource, ...]:
    running = equal("status", ResourceState.RUNNING)
    return RESOURCES.find(session, running, Condition("id", Comparison.ABOVE, after), limit=_PAGE)
