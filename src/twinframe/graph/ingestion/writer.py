"""Writes what a batch of messages gives: points, and properties in transactions of many."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, TypeAlias

from twinframe.errors import (
    MemoryExhausted,
    MemoryLimitExceeded,
    QuotaExceeded,
    StorageError,
    TwinframeError,
)
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.ingestion.mapper import UNFORESEEN, MappedBatch
from twinframe.graph.ingestion.properties import WriteProperties
from twinframe.graph.ingestion.standing import Refusal
from twinframe.graph.series.series import Series
from twinframe.runtime.leases import LeaseLost
from twinframe.storage.base import GraphTransaction

_log = logging.getLogger(__name__)

LATER: Final = (StorageError, MemoryExhausted, QuotaExceeded)
"""Errors that are not of a message: what failed by them is tried again, for as long as needed."""

_GROUP_BYTES: Final = 4 * 1024 * 1024

Numbered: TypeAlias = tuple[int, WriteProperties]
_Made: TypeAlias = bool | Refusal
"""Whether properties were written, or else were older than those stored; or why not."""


class BatchWriter:
    """Writes one batch. It may be run again after an error of `LATER`, and goes on from there."""

    def __init__(
        self, context: GraphContext, series: Series, batch: MappedBatch, lease: Lease
    ) -> None:
        self._context = context
        self._joined = context.join_request()
        self._series = series
        self._batch = batch
        self._lease = lease
        self._waiting = list(batch.writes)
        self._stale: set[int] = set()
        self._written: set[int] = set()
        self.points = 0
        self.properties = 0

    @property
    def stale(self) -> int:
        """The number of messages of which nothing was newer than what is stored."""
        own = self._stale - self._written - self._batch.refused.keys()
        return len(own.difference(self._batch.parsed.lines))

    async def write(self) -> None:
        """Write all that was not yet written. Raises errors of `LATER`, and `LeaseLost`."""
        parsed = self._batch.parsed
        if parsed.lines and not self.points:
            await self._series.write_parsed(parsed)
            self.points = len(parsed.lines)
            for number, (_, error) in parsed.errors.items():
                self._refuse(number, Refusal(error.code, error.message))
        while self._waiting:
            group = self._waiting[: self._context.settings.bulk.group_items]
            made = await self._write_group(group)
            for (number, write), one in zip(group, made, strict=False):
                self._note(number, write, one)
            del self._waiting[: len(made)]
            self._context.signal.set()

    def _note(self, number: int, write: WriteProperties, made: _Made) -> None:
        if isinstance(made, Refusal):
            self._refuse(number, made)
        elif made:
            self._written.add(number)
            self.properties += len(write.values)
        else:
            self._stale.add(number)

    def _refuse(self, number: int, refusal: Refusal) -> None:
        self._batch.refused.setdefault(number, refusal)

    async def _write_group(self, group: Sequence[Numbered]) -> Sequence[_Made]:
        try:
            return await self._context.write(partial(self._apply, group))
        except (*LATER, LeaseLost, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001  (one message must not stop all that follow)
            if len(group) == 1:
                return [_build_refusal(error)]
        return await self._write_group(group[:1])  # alone it stops no other

    def _apply(self, group: Sequence[Numbered], transaction: GraphTransaction) -> Sequence[_Made]:
        self._lease.check(transaction)
        context = self._joined.pin_models(transaction)
        made: list[_Made] = []
        size = 0
        for _, write in group:
            try:
                stored = write.apply(context, transaction)
            except (*LATER, MemoryLimitExceeded):  # which may come halfway: nothing is kept
                raise
            except TwinframeError as error:
                made.append(_build_refusal(error))
                continue
            made.append(stored is not None)
            size += 0 if stored is None else len(stored.body)
            if size >= _GROUP_BYTES:
                break
        return made


def _build_refusal(error: Exception) -> Refusal:
    if isinstance(error, TwinframeError):
        details = [detail.message for detail in error.details]
        return Refusal(error.code, " ".join([error.message, *details]))
    _log.error("A message could not be written.", exc_info=error)
    return Refusal(UNFORESEEN, repr(error))
