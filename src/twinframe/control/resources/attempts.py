"""Runs one provisioning attempt at one resource, from the claimed work to the stored result.

The result of an attempt counts only while its fence number does: each result is stored in a
transaction that checks fence and holder first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, assert_never

from twinframe.control.records.runner import ControlRunner
from twinframe.control.records.states import BUSY, Cause, ResourceState, find_next
from twinframe.control.resources.documents import (
    RESOURCES,
    Attempt,
    Goal,
    OperationStatus,
    ReconcileItem,
    Resource,
    Transition,
)
from twinframe.control.resources.operations import close_operation, note_attempt
from twinframe.control.resources.reconcile_items import (
    SECOND,
    check_claim,
    finish,
    let_go,
    put_back,
)
from twinframe.control.resources.requests import parse_settings_document
from twinframe.control.resources.resources import OnGone
from twinframe.control.tenants.audit import find_time
from twinframe.errors import TwinframeError
from twinframe.hooks.resource_types.base import (
    LeaseLost,
    ProvisionContext,
    Provisioned,
    ProvisionFailed,
    ResourceType,
    ResourceTypeRegistry,
)
from twinframe.hooks.resource_types.hosting import GraphHost
from twinframe.hooks.resource_types.quotas import QuotaLimit
from twinframe.model.clock import Clock, read_clock
from twinframe.runtime.backoff import Backoff
from twinframe.storage.control import ControlSession, ControlTransaction

LOG: Final = logging.getLogger(__name__)

Fault: TypeAlias = Callable[[str], None]
"""What the test kit may do at a named point: nothing, raise, or end the process."""

OnRunning: TypeAlias = Callable[[ControlTransaction, Resource], None]
"""Called in the transaction in which a resource becomes `running`."""

FindLimits: TypeAlias = Callable[[str], Sequence[QuotaLimit]]
"""Returns the limits of a resource type in all its skus."""

_SUCCEEDED: Final = "succeeded"


def pass_by(_point: str) -> None:
    """Do nothing: the fault points of a service."""


def find_no_limits(_type: str) -> Sequence[QuotaLimit]:
    """Return no limits."""
    return ()


@dataclass(frozen=True, slots=True)
class ProvisionRules:
    """How often and for how long a resource is tried; times in seconds."""

    max_attempts: int = 8
    attempt_timeout: float = 300.0
    pause: Backoff = Backoff(1.0, 300.0)  # noqa: RUF009 - it is immutable


class AttemptRunner:
    """Runs attempts; all of them may run at once on one event loop.

    `on_gone` are called in the transaction in which a resource becomes `terminated`, `on_running`
    in the one in which it becomes `running`, for the first time or again.
    """

    def __init__(
        self,
        runner: ControlRunner,
        types: ResourceTypeRegistry,
        graphs: GraphHost | None,
        rules: ProvisionRules,
        *,
        on_gone: tuple[OnGone, ...] = (),
        on_running: tuple[OnRunning, ...] = (),
        find_limits: FindLimits = find_no_limits,
        clock: Clock = read_clock,
        fault: Fault = pass_by,
    ) -> None:
        self._runner = runner
        self._types = types
        self._graphs = graphs
        self._rules = rules
        self._on_gone = on_gone
        self._on_running = on_running
        self._find_limits = find_limits
        self._clock = clock
        self._fault = fault

    async def run(self, mine: ReconcileItem) -> None:
        """Run the claimed work and store the result.

        Afterwards the work is done, queued for a retry, or held by another process. Errors of the
        control store are raised: the lease then runs out.
        """
        self._fault(f"{mine.goal}:claimed")
        try:
            resource = await self._read(mine)
            if resource is None:
                await self._runner.write(lambda transaction: finish(transaction, mine))
                return
            outcome = await self._try(mine, resource)
            self._fault(f"{mine.goal}:handled")
            if isinstance(outcome, Provisioned):
                await self._runner.write(
                    lambda transaction: self._succeed(transaction, mine, outcome)
                )
            else:
                await self._runner.write(lambda transaction: self._fail(transaction, mine, outcome))
            self._fault(f"{mine.goal}:stored")
        except LeaseLost as error:
            await self._lose(mine, error)

    async def let_go(self, mine: ReconcileItem) -> None:
        """Release the work without a result, if it is still held."""
        await self._runner.write(lambda transaction: let_go(transaction, mine, self._clock()))

    async def _lose(self, mine: ReconcileItem, error: LeaseLost) -> None:
        try:
            # The number is still current when the host of graphs knew a higher one.
            await self._runner.write(lambda transaction: self._fail(transaction, mine, error))
        except LeaseLost:
            # A deletion may have come meanwhile: then the lease is still held, and released.
            await self.let_go(mine)

    async def _read(self, mine: ReconcileItem) -> Resource | None:
        """Return the resource as it is under this claim; None if there is nothing to do."""

        def read(session: ControlSession) -> Resource | None:
            check_claim(session, mine)
            return RESOURCES.read(session, mine.id)

        resource = await self._runner.read(read)
        if resource is None or resource.incarnation != mine.incarnation:
            return None
        return resource if resource.status in BUSY else None

    async def _try(self, mine: ReconcileItem, resource: Resource) -> Provisioned | TwinframeError:
        if mine.attempts > self._rules.max_attempts and mine.goal is not Goal.DELETE:
            return ProvisionFailed(
                f"None of {self._rules.max_attempts} attempts came to an end.", final=True
            )

        async def step(name: str) -> None:
            self._fault(f"{mine.goal}:{name}")
            await self._runner.read(lambda session: check_claim(session, mine))

        try:
            kind = self._types.find(resource.type)
            context = build_context(resource, mine, step, self._graphs, self._find_limits)
            async with asyncio.timeout(self._rules.attempt_timeout):
                return await _call(kind, mine.goal, context)
        except LeaseLost:
            raise
        except TwinframeError as error:
            return error
        except TimeoutError:
            return ProvisionFailed(f"It took more than {self._rules.attempt_timeout:g} s.")
        except Exception:
            # The job runner survives any error of a plugin; its text is for the log alone.
            LOG.exception("%s of %s failed", mine.goal, mine.id)
            return ProvisionFailed("The resource type failed unexpectedly; see the log.")

    def _succeed(
        self, transaction: ControlTransaction, mine: ReconcileItem, outcome: Provisioned
    ) -> None:
        finish(transaction, mine)
        resource = self._end(
            transaction, mine, Cause.DONE, OperationStatus.SUCCEEDED, _SUCCEEDED, outcome.note
        )
        if resource.status is ResourceState.TERMINATED:
            resource = replace(resource, access_url="", ended_at=resource.updated_at)
            for call in self._on_gone:
                call(transaction, resource)
        else:
            resource = replace(resource, access_url=outcome.access_url or "")
            for call in self._on_running:
                call(transaction, resource)
        RESOURCES.replace(transaction, resource)

    def _fail(
        self, transaction: ControlTransaction, mine: ReconcileItem, error: TwinframeError
    ) -> None:
        check_claim(transaction, mine)
        if error.public != error.message:
            LOG.warning("An attempt failed: %s: %s", error.code, error.message)
        final = isinstance(error, ProvisionFailed) and error.final
        tried_enough = final or mine.attempts >= self._rules.max_attempts
        if tried_enough and mine.goal is not Goal.DELETE:
            finish(transaction, mine)
            resource = self._end(
                transaction, mine, Cause.FAILED, OperationStatus.FAILED, error.public, ""
            )
            RESOURCES.replace(transaction, replace(resource, error_message=error.public))
            return
        now = self._clock()
        note_attempt(transaction, mine.operation_id, Attempt(mine.attempts, now, error.public))
        pause = self._rules.pause.build_pause(mine.attempts)
        put_back(transaction, mine, now + int(pause * SECOND))

    def _end(
        self,
        transaction: ControlTransaction,
        mine: ReconcileItem,
        cause: Cause,
        status: OperationStatus,
        outcome: str,
        note: str,
    ) -> Resource:
        """Return the resource in its next state, not stored yet; its operation is closed."""
        stored = RESOURCES.read(transaction, mine.id)
        if stored is None or stored.incarnation != mine.incarnation:
            raise LeaseLost(f"The resource {mine.id!r} is gone.")
        now = max(find_time(transaction, self._clock()), stored.updated_at)
        after = find_next(mine.id, stored.status, cause)
        reason = f"attempt {mine.attempts} {outcome}" if outcome == _SUCCEEDED else outcome
        close_operation(
            transaction,
            mine.operation_id,
            status=status,
            now=now,
            transition=Transition(now, stored.status, after, reason),
            attempt=Attempt(mine.attempts, now, outcome),
            note=note,
        )
        return replace(stored, status=after, updated_at=now)


def build_context(
    resource: Resource,
    mine: ReconcileItem,
    step: Callable[[str], Awaitable[None]],
    graphs: GraphHost | None,
    find_limits: FindLimits,
) -> ProvisionContext:
    """Build the context that a type's handlers get for a resource."""
    limits = find_limits(resource.type)
    return ProvisionContext(
        name=resource.resource_name,
        project_id=resource.project_id,
        title=resource.name,
        sku=resource.sku,
        settings_json=resource.settings_json,
        settings=parse_settings_document(resource.settings_json),
        operation_id=mine.operation_id,
        attempt=mine.attempts,
        fence=mine.fence,
        step=step,
        graphs=graphs,
        limits=tuple(limit for limit in limits if limit.sku is resource.sku),
    )


async def _call(kind: ResourceType, goal: Goal, context: ProvisionContext) -> Provisioned:
    match goal:
        case Goal.CREATE | Goal.REPAIR:
            return await kind.provision(context)
        case Goal.UPDATE:
            return await kind.update(context)
        case Goal.DELETE:
            await kind.deprovision(context)
            return Provisioned()
        case _:
            assert_never(goal)
