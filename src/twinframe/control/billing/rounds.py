"""The periodic tasks of billing: measure usage, settle months, deliver statements.

Any number of processes may run them at once, and any of them may die at any point: each record is
stored once, under a key derived from its content.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from twinframe.control.billing.accounts import ACCOUNTS, BillingAccount, read_account
from twinframe.control.billing.closing import close_month, find_closed
from twinframe.control.billing.months import Interval, Month, find_month, list_months, read_seconds
from twinframe.control.billing.providers import ProviderRegistry
from twinframe.control.billing.spans import SPANS, Span, build_span_id, list_open
from twinframe.control.billing.statements import (
    DELIVERIES,
    STATEMENT_KIND,
    Delivery,
    DeliveryState,
    build_statement,
    keep_statement,
    list_settled_months,
)
from twinframe.control.billing.usage import (
    Sample,
    Usage,
    UsageMeter,
    build_last,
    find_period,
    find_second,
    is_counted,
    record_sample,
)
from twinframe.control.records.runner import ControlRunner
from twinframe.errors import TwinframeError
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    equal,
)

LOG: Final = logging.getLogger(__name__)

_AT_ONCE: Final = 100
_LONGEST_DELIVERY: Final = 60.0


class MeterUnreadable(TwinframeError):
    """The meters of a resource cannot be read now."""

    code = "MeterUnreadable"


@dataclass(frozen=True, slots=True)
class SamplingReport:
    """The number of samples stored in a round, and of unreadable meters."""

    counted: int = 0
    failed: int = 0


class UsageSampler:
    """Measures every resource that is paid for, once in each period.

    `seconds` is the length of a period and divides a day. An unreadable meter is tried again in
    each round; after its period is over, that period stays unknown.
    """

    def __init__(
        self, runner: ControlRunner, meter: UsageMeter, seconds: int, clock: Clock = read_clock
    ) -> None:
        self._runner = runner
        self._meter = meter
        self._seconds = seconds
        self._clock = clock

    async def sample_due(self) -> SamplingReport:
        """Measure the resources not measured in the present period.

        Repeating it changes nothing.
        """
        counted = failed = 0
        after: str | None = ""
        while after is not None:
            due, after = await self._runner.read(self._find_due(after))
            for span in due:
                try:
                    counted += await self._sample(span)
                except MeterUnreadable as error:
                    failed += 1
                    LOG.warning("%s", error.message)
            if after is not None:  # PERF: a page of reads takes 3 ms of the event loop
                await asyncio.sleep(0)
        return SamplingReport(counted, failed)

    async def sample_last(self, name: ResourceName) -> bool:
        """Measure a resource that is about to be removed, up to the end of its paid time.

        Returns whether it counts: only the first call does. Call it before the data is removed.
        Raises `MeterUnreadable`.
        """
        span_id = build_span_id(name)
        span = await self._runner.read(lambda session: SPANS.read(session, span_id))
        usage = None if span is None else await self._read_meter(span)
        if span is None or usage is None:
            return False
        sample = build_last(span, usage, await self._find_now(span_id))
        return await self._runner.write(
            lambda transaction: record_sample(transaction, span_id, sample)
        )

    def _find_due(self, after: str) -> Callable[[ControlSession], tuple[list[Span], str | None]]:
        """Find those of the next spans not measured in the present period, and where to
        continue.
        """
        now = self._clock()

        def read(session: ControlSession) -> tuple[list[Span], str | None]:
            page = list_open(session, after, _AT_ONCE)
            due = [span for span in page if not self._is_counted(session, span.id, now)]
            return due, page[-1].id if len(page) == _AT_ONCE else None

        return read

    async def _sample(self, span: Span) -> bool:
        usage = await self._read_meter(span)
        if usage is None:
            return False
        at = await self._find_now(span.id)
        sample = Sample(find_period(at, self._seconds), self._seconds, at, usage)
        return await self._runner.write(
            lambda transaction: record_sample(transaction, span.id, sample)
        )

    async def _read_meter(self, span: Span) -> Usage | None:
        try:
            return await self._meter.sample(ResourceName(span.resource_id, span.incarnation))
        except (TwinframeError, OSError) as error:
            raise MeterUnreadable(
                f"The usage of {span.resource_id!r} was not measured: {error}"
            ) from error

    def _is_counted(self, session: ControlSession, span_id: str, now: int) -> bool:
        start = find_period(find_second(session, span_id, now), self._seconds)
        return is_counted(session, span_id, Interval(start, start + self._seconds))

    async def _find_now(self, span_id: str) -> int:
        now = self._clock()
        return await self._runner.read(lambda session: find_second(session, span_id, now))


class Settlement:
    """Closes months that are over and stores their statements.

    `wait` is in seconds after the end of a month: time for the last samples of other processes.
    """

    def __init__(self, runner: ControlRunner, wait: int, clock: Clock = read_clock) -> None:
        self._runner = runner
        self._wait = wait
        self._clock = clock
        self._settled: Month | None = None

    async def settle_due(self) -> int:
        """Store all statements that are due, for good; return their number.

        NOTE: the month is closed first, in a transaction of its own; after that the input of a
        statement cannot change, so that each process gets the same text each time.
        """
        last = find_month(read_seconds(self._clock()) - self._wait).previous()
        closed = await self._runner.read(find_closed)
        if closed is None or closed < last:
            closed = await self._runner.write(lambda transaction: close_month(transaction, last))
        if closed == self._settled:  # PERF: no account opened since owes for a closed month
            return 0
        settled, after = 0, ""
        while accounts := await self._runner.read(self._build_page(after)):
            for account in accounts:
                settled += await self._settle(account, closed)
            after = accounts[-1].id
        self._settled = closed
        return settled

    def _build_page(self, after: str) -> Callable[[ControlSession], tuple[BillingAccount, ...]]:
        def read(session: ControlSession) -> tuple[BillingAccount, ...]:
            behind = Condition("id", Comparison.ABOVE, after)
            return ACCOUNTS.find(session, behind, limit=_AT_ONCE)

        return read

    async def _settle(self, account: BillingAccount, closed: Month) -> int:
        done = await self._runner.read(
            lambda transaction: list_settled_months(transaction, account.id, 1)
        )
        first = done[0].next() if done else find_month(account.interval.begin)
        last = closed
        if account.closed_at is not None:
            last = min(closed, find_month(read_seconds(account.closed_at)))
        settled = 0
        for month in list_months(first, last):
            statement = await build_statement(self._runner, account, month, self._clock())

            def keep(transaction: ControlTransaction) -> bool:
                return keep_statement(transaction, statement)  # noqa: B023  (run before the next)

            settled += await self._runner.write(keep)
        return settled


class StatementDelivery:
    """Sends final statements to the provider of their account, until it accepts them.

    `longest` is how long a provider may take for one, in seconds.
    """

    def __init__(
        self,
        runner: ControlRunner,
        providers: ProviderRegistry,
        longest: float = _LONGEST_DELIVERY,
    ) -> None:
        self._runner = runner
        self._providers = providers
        self._longest = longest

    async def deliver_due(self) -> int:
        """Send the statements that no provider has yet; return how many were accepted."""
        delivered, after = 0, ""
        while page := await self._runner.read(self._build_page(after)):
            for each in page:
                delivered += await self._deliver(each)
            after = page[-1].id
        return delivered

    def _build_page(self, after: str) -> Callable[[ControlSession], tuple[Delivery, ...]]:
        def read(session: ControlSession) -> tuple[Delivery, ...]:
            pending = equal("state", DeliveryState.PENDING.value)
            behind = Condition("id", Comparison.ABOVE, after)
            return DELIVERIES.find(session, pending, behind, limit=_AT_ONCE)

        return read

    async def _deliver(self, delivery: Delivery) -> bool:
        """NOTE: keys are the ids: a call that was interrupted before its record is repeated with
        the same key.
        """
        reason = ""
        try:
            async with asyncio.timeout(self._longest):
                reference = await self._send(delivery)
        except TimeoutError:
            reason = f"The billing provider took more than {self._longest:g} s."
        except (TwinframeError, OSError) as error:
            reason = str(error) or type(error).__name__
        except Exception:
            # The job runner survives any error of a plugin; its text is for the log alone.
            LOG.exception("The billing provider failed at the statement %s", delivery.id)
            reason = "The billing provider failed unexpectedly; see the log."
        if reason:
            LOG.warning("The statement %s was not delivered: %s", delivery.id, reason)
            await self._note(delivery.id, lambda each: replace(each, error=reason))
            return False
        await self._note(
            delivery.id,
            lambda each: replace(
                each, state=DeliveryState.DELIVERED, reference=reference, error=""
            ),
        )
        return True

    async def _send(self, delivery: Delivery) -> str:
        account = await self._runner.read(
            lambda transaction: read_account(transaction, delivery.account_id)
        )
        provider = self._providers.find(account.provider)
        if not account.reference:
            reference = await provider.open_account(account, account.id)
            account = await self._runner.write(
                lambda transaction: _refer(transaction, account.id, reference)
            )
        body = await self._runner.read(
            lambda session: session.read(STATEMENT_KIND.name, delivery.id)
        )
        if body is None:
            raise TwinframeError(f"The statement {delivery.id} is gone.")
        return await provider.send(account, body.body, delivery.id)

    async def _note(self, delivery_id: str, change: Callable[[Delivery], Delivery]) -> None:
        def write(transaction: ControlTransaction) -> None:
            stored = DELIVERIES.read(transaction, delivery_id)
            if stored is not None and stored.state is DeliveryState.PENDING:
                noted = replace(change(stored), attempts=stored.attempts + 1)
                DELIVERIES.replace(transaction, noted)

        await self._runner.write(write)


def _refer(transaction: ControlTransaction, account_id: str, reference: str) -> BillingAccount:
    account = replace(read_account(transaction, account_id), reference=reference)
    ACCOUNTS.replace(transaction, account)
    return account
