"""Runs the sources of a graph as background work: each in one process of a service at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.errors import StorageError
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.ingestion.mapper import Mapper
from twinframe.graph.ingestion.mappings import SourceMapping, list_filters
from twinframe.graph.ingestion.standing import Standing, read_standing
from twinframe.graph.ingestion.writer import LATER, BatchWriter
from twinframe.graph.series.series import Series
from twinframe.hooks.sources.base import (
    MessageSource,
    SourceFailed,
    SourceMessage,
    Subscription,
)
from twinframe.model.clock import render_update_time
from twinframe.runtime.backoff import Backoff
from twinframe.runtime.instruments.base import CURRENT_SUBJECT, Ingested, Instruments, Level
from twinframe.settings.ingestion import IngestionSettings
from twinframe.storage.base import GraphSession, GraphTransaction

_log = logging.getLogger(__name__)

_PAUSES: Final = Backoff(0.5, 60.0)
_REST: Final = 5.0
"""Seconds after which counts are stored, unless messages were refused."""


@dataclass(frozen=True, slots=True)
class Source:
    """A configured source: its plugin's, and its mappings."""

    name: str
    source: MessageSource
    mappings: Sequence[SourceMapping]


class SourceKind:
    """The sources of a graph as background work."""

    name = "source"

    def __init__(
        self,
        context: GraphContext,
        series: Series,
        sources: Sequence[Source],
        instruments: Instruments | None = None,
    ) -> None:
        self._context = context
        self._series = series
        self._sources = {source.name: source for source in sources}
        self._instruments = instruments
        self._runs: dict[str, _SourceRun] = {}
        if instruments is not None:
            instruments.watch(self)

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List all sources: each runs for as long as the service."""
        del session
        return tuple(self._sources)

    async def run(self, key: str, lease: Lease) -> None:
        """Take in messages until this is cancelled."""
        run = _SourceRun(self._context, self._series, self._sources[key], lease, self._instruments)
        self._runs[key] = run
        try:
            await run.run()
        finally:
            del self._runs[key]

    def read_levels(self) -> Mapping[Level, float]:
        """Return how many sources run here, and how many of them have no connection."""
        failing = sum(bool(run.standing.error) for run in self._runs.values())
        return {Level.SOURCES_RUNNING: len(self._runs), Level.SOURCES_FAILING: failing}


class _SourceRun:
    """One source while this worker runs it."""

    def __init__(
        self,
        context: GraphContext,
        series: Series,
        source: Source,
        lease: Lease,
        instruments: Instruments | None,
    ) -> None:
        self._context = context
        self._series = series
        self._source = source
        self._lease = lease
        self._instruments = instruments
        self._mapper = Mapper(source.mappings, series.limits)
        self._stored = 0.0
        self.standing = Standing()

    async def run(self) -> None:
        """Connect, take in messages, and connect again after each failure."""
        name = self._source.name
        CURRENT_SUBJECT.set(f"source/{name}")
        self.standing = await self._context.runner.read(lambda found: read_standing(found, name))
        self.standing.since = self.standing.since or self._render_now()
        failures = 0
        while True:
            try:
                await self._open()
                while True:
                    messages = await self._source.source.receive(self._settings.max_messages)
                    await self._take(messages)
                    failures = 0
            except SourceFailed as error:
                failures += 1
                await self._note_failure(error.message)
            finally:
                await self._close()
            await asyncio.sleep(_PAUSES.build_pause(failures))

    @property
    def _settings(self) -> IngestionSettings:
        return self._context.settings.ingestion

    async def _open(self) -> None:
        instance = await self._context.runner.read(lambda session: session.read_instance())
        filters, before = list_filters(self._source.mappings), self.standing.filters
        # Stored first: a filter that was forgotten would bring messages for ever.
        self.standing.filters = tuple(dict.fromkeys((*before, *filters)))
        await self._repeat(self._write_standing)
        subscription = Subscription(
            filters,
            tuple(one for one in before if one not in filters),
            f"twinframe-{instance.id}-{self._source.name}",
            self._settings.max_messages,
            self._settings.max_bytes,
        )
        await self._source.source.open(subscription)
        self.standing.filters, self.standing.error = filters, ""
        await self._store()
        _log.info("The source %s is connected.", self._source.name)

    async def _close(self) -> None:
        try:
            await self._source.source.close()
        except SourceFailed as error:
            _log.warning("The source %s was not closed well: %s", self._source.name, error.message)

    async def _take(self, messages: Sequence[SourceMessage]) -> None:
        """Write a batch, then acknowledge it."""
        started = time.monotonic()
        times = self._series.read_times()
        batch = await asyncio.to_thread(self._mapper.map, messages, times)
        writer = BatchWriter(self._context, self._series, batch, self._lease)
        await self._repeat(writer.write)
        refused = [(messages[number], batch.refused[number]) for number in sorted(batch.refused)]
        standing = self.standing
        standing.messages += len(messages)
        standing.points += writer.points
        standing.properties += writer.properties
        standing.stale += writer.stale
        standing.matched.update(batch.matched)
        standing.add_letters(refused, self._render_now(), self._settings.dead_letters)
        if refused:
            reasons = Counter(refusal.reason for _, refusal in refused)
            _log.warning(
                "The source %s refused %d messages (%s), such as one of the topic %s: %s",
                self._source.name,
                len(refused),
                ", ".join(sorted(reasons)),
                refused[0][0].topic,
                refused[0][1].message,
            )
        if refused:  # the broker forgets what is acknowledged: only the dead letter is left
            await self._repeat(self._write_standing)
        elif time.monotonic() - self._stored >= _REST:
            await self._store()
        await self._source.source.acknowledge(messages)
        if self._instruments is not None:
            outcomes = Counter(refusal.reason for _, refusal in refused)
            outcomes["Stale"] = writer.stale
            outcomes["Stored"] = len(messages) - outcomes.total()
            seconds = time.monotonic() - started
            ingested = Ingested(
                self._source.name, outcomes, writer.points, writer.properties, seconds
            )
            self._instruments.note_ingested(ingested)

    async def _note_failure(self, message: str) -> None:
        if self.standing.error != message:
            _log.warning("The source %s failed: %s", self._source.name, message)
            self.standing.error = message
            await self._store()
        if self._instruments is not None:
            self._instruments.note_source_failure(self._source.name)

    async def _repeat(self, write: Callable[[], Awaitable[None]]) -> None:
        """Write until the store takes it."""
        attempts = 0
        while True:
            try:
                return await write()
            except LATER as error:
                attempts += 1
                _log_once(attempts, "The source %s waits: %s", self._source.name, error.message)
                await asyncio.sleep(_PAUSES.build_pause(attempts))

    async def _store(self) -> None:
        """Store the standing; an error of the store only delays it."""
        try:
            await self._write_standing()
        except StorageError as error:
            name = self._source.name
            _log.warning("The standing of the source %s was not stored: %s", name, error.message)

    async def _write_standing(self) -> None:
        name, standing, lease = self._source.name, self.standing, self._lease

        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            standing.write(transaction, name)

        await self._context.write(ServiceWrite(apply))
        self._stored = time.monotonic()

    def _render_now(self) -> str:
        return render_update_time(self._context.clock())


def _log_once(attempts: int, text: str, *arguments: object) -> None:
    if attempts == 1:
        _log.warning(text, *arguments)
