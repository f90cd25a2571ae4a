"""Enforces the quotas of one hosted graph: operations over all workers, twins and storage.

The limits come with the catalog entry; `hooks.resource_types.quotas` decides when one is exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from twinframe.control.hosting.catalog import HostedSettings, WindowCounts
from twinframe.control.hosting.slots import SharedSlots
from twinframe.errors import StorageDamaged
from twinframe.graph.context.context import ServiceWrite
from twinframe.hooks.resource_types.prices import Sku
from twinframe.hooks.resource_types.quotas import (
    WINDOWS,
    OperationBudget,
    Quota,
    QuotaLimit,
    check_quota,
    find_limit,
)
from twinframe.model.clock import Clock, read_clock
from twinframe.runtime.instruments.base import Instruments
from twinframe.settings import StorageSettings
from twinframe.storage.base import GraphStore, GraphTransaction, WriteFunction
from twinframe.storage.runner import StoreRunner

T = TypeVar("T")

_FORMAT: Final = "Q"
_SECONDS: Final = tuple(WINDOWS.values())
_WIDTH: Final = 2 * len(_SECONDS)


class SharedCounter:
    """An `OperationCounter` in a file: start and count of each window, with a slot for each worker.

    `others` are the counts of other machines, as they were when these were last exchanged.

    Counts of a worker that ended are kept: the next owner of its slot continues from there. Only
    power loss, or a smaller number of workers, may lose counts. PERF: 2 us to count; nothing is
    locked.
    """

    def __init__(self, path: Path, workers: int) -> None:
        """`workers` is how many share it. Raises `OSError` when it cannot be opened."""
        self._places = SharedSlots(path, _FORMAT, _WIDTH, workers)
        self._numbers = self._places.numbers
        self.others: WindowCounts = {}

    def read_own(self) -> WindowCounts:
        """Return the latest window of each length that this machine counted in."""
        found = {}
        for seconds in _SECONDS:
            first = 2 * _SECONDS.index(seconds)
            start = max(self._numbers[first::_WIDTH])
            found[seconds] = (start, self._read_own(seconds, start))
        return found

    def take(self, seconds: int, start: int, limit: int) -> int:
        """Count one more below the limit, in all workers together."""
        numbers, own = self._numbers, self._places.own + 2 * _SECONDS.index(seconds)
        if numbers[own] != start:
            # NOTE: in this order, so that no reader sees the old count under the new start.
            numbers[own + 1] = 0
            numbers[own] = start
        # NOTE: counted first and checked afterwards: two that come at once may both be refused, but
        # never both be admitted.
        numbers[own + 1] += 1
        used = self.read(seconds, start) - 1
        if used >= limit:
            numbers[own + 1] -= 1
        return used

    def read(self, seconds: int, start: int) -> int:
        """Return the count of all workers, and of other machines as far as they have told."""
        begun, others = self.others.get(seconds, (start, 0))
        return self._read_own(seconds, start) + (others if begun == start else 0)

    def _read_own(self, seconds: int, start: int) -> int:
        numbers, first = self._numbers, 2 * _SECONDS.index(seconds)
        return sum(
            numbers[directory + 1]
            for directory in range(first, len(numbers), _WIDTH)
            if numbers[directory] == start
        )

    def close(self) -> None:
        """Release the slot, keeping its counts."""
        self._places.close()


class GraphQuotas:
    """The quotas of one graph in one worker; changed settings apply at once."""

    def __init__(
        self, settings: HostedSettings, counter: SharedCounter, clock: Clock = read_clock
    ) -> None:
        self._counter = counter
        self._clock = clock
        self.take(settings)

    def take(self, settings: HostedSettings) -> None:
        """Apply newer limits.

        A graph that is over a lower one keeps its data; only growth is refused.
        """
        # NOTE: replaced as a whole: the writing thread reads them.
        self._sku, self._limits = parse_limits(settings)
        self._budget = OperationBudget(
            self._limits, self._sku, counter=self._counter, clock=self._clock
        )

    @property
    def storage_bytes(self) -> int | None:
        """The most bytes of the graph; None: no limit."""
        return find_limit(self._limits, self._sku, Quota.STORAGE_BYTES)

    def read_counts(self) -> WindowCounts:
        """Return the operations that this machine counted; nothing where they are not limited."""
        is_limited = any(
            find_limit(self._limits, self._sku, quota) is not None for quota in WINDOWS
        )
        return self._counter.read_own() if is_limited else {}

    def take_counts(self, others: WindowCounts) -> None:
        """Count those of other machines too."""
        self._counter.others = others

    def spend(self) -> None:
        """Count one operation. Raises `QuotaExceeded`."""
        self._budget.spend()

    def bind(self, function: WriteFunction[T]) -> WriteFunction[T]:
        """Wrap a write function to undo it with `QuotaExceeded` when the graph grows beyond its
        limits.

        SEC: decided in the transaction by its changes: writers are serialized, so no two of them
        can pass together, and it makes no difference how a twin is written. PERF: 8 us for both
        limits, 1.5 us without any.
        """

        def bound(transaction: GraphTransaction) -> T:
            sku, limits = self._sku, self._limits
            counts_twins = find_limit(limits, sku, Quota.TWINS) is not None
            measures = find_limit(limits, sku, Quota.STORAGE_BYTES) is not None
            twins = transaction.count_twins() if counts_twins else 0
            size = transaction.measure_content() if measures else None
            result = function(transaction)
            if counts_twins:
                more = transaction.count_twins() - twins
                check_quota(limits, sku, Quota.TWINS, used=twins, adding=more)
            if size is not None:
                grown = (transaction.measure_content() or size) - size
                check_quota(limits, sku, Quota.STORAGE_BYTES, used=size, adding=grown)
            return result

        return bound

    def close(self) -> None:
        """Release the slot among the workers."""
        self._counter.close()


class QuotaRunner(StoreRunner):
    """A store runner that refuses writes beyond the graph's quotas."""

    def __init__(
        self,
        store: GraphStore,
        settings: StorageSettings,
        quotas: GraphQuotas,
        instruments: Instruments | None = None,
    ) -> None:
        super().__init__(store, settings, instruments)
        self._quotas = quotas

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run `background_tasks` in the next batch; `QuotaExceeded` undoes it alone, unless it is
        the service's own.
        """
        bound = function if isinstance(function, ServiceWrite) else self._quotas.bind(function)
        return await super().write(bound, alone=alone)


def parse_limits(settings: HostedSettings) -> tuple[Sku, Sequence[QuotaLimit]]:
    """Return sku and limits of a catalog entry. Raises `StorageDamaged` for an unknown limit."""
    try:
        sku = Sku(settings.sku or Sku.FREE)
        return sku, [QuotaLimit(sku, Quota(name), limit) for name, limit in settings.limits.items()]
    except ValueError as error:
        raise StorageDamaged(
            f"The limits of the hosted graph cannot be held: {error} Is the provisioner of another "
            "release?"
        ) from error
