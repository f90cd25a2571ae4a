"""Reads the outbox through a filter, a batch at a time, with the models that filters need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import orjson

from twinframe.dtdl.dtmi import parse_versionless
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import ModelCache, ModelView
from twinframe.graph.context.paging import gather
from twinframe.graph.events.event import Event
from twinframe.graph.events.filters import Filter
from twinframe.graph.events.outbox import ReadEvent, read_document_after, read_events
from twinframe.graph.events.tables import build_table_rows, needs_document
from twinframe.hooks.event_sinks.tables import TableRow
from twinframe.query.evaluate.functions.digitaltwins import holds_model
from twinframe.storage.base import GraphSession

# PERF: some 10 us an event to parse and filter it; the event loop stops for less than 1 ms.
BATCH: Final = 64
_FIRST: Final = 8
MUCH: Final = 512 * 1024


@dataclass(frozen=True, slots=True)
class EventBatch:
    """The events read after a position: up to `position`, of which `events` pass.

    `read` counts all rows, `size` their bytes. `missed` counts events that can no longer be read.
    """

    position: int
    read: int
    missed: int
    events: Sequence[Event]
    size: int = 0


class EventReader:
    """Reads the events after `position` that pass a filter; without one all of them.

    PERF: a batch is as large as keeps the event loop free, only some events when they are large.
    """

    def __init__(self, context: GraphContext, position: int, passes: Filter | None) -> None:
        self.position = position
        self._context = context
        self._passes = passes
        self._limit = _FIRST

    async def read(self) -> EventBatch:
        """Return the next batch, which may be empty."""
        read = build_read(self._context.models, self.position, self._passes, self._limit)
        batch = await self._context.runner.read(read)
        self.position = batch.position
        self._limit = _adapt(self._limit, batch)
        return batch


def read_batches(
    models: ModelCache, session: GraphSession, after: int, passes: Filter | None
) -> Iterator[EventBatch]:
    """Yield all events after a position, as one session sees them, in equal batches."""
    limit = _FIRST
    while True:
        batch = build_read(models, after, passes, limit)(session)
        if not batch.read:
            return
        yield batch
        after, limit = batch.position, _adapt(limit, batch)


def _adapt(limit: int, batch: EventBatch) -> int:
    """Return how many to read next: fewer when the last ones were large."""
    if batch.size > MUCH:
        return max(limit // 2, 1)
    return min(limit * 2, BATCH) if batch.size < MUCH // 4 else limit


def build_read(
    models: ModelCache, after: int, passes: Filter | None, limit: int
) -> Callable[[GraphSession], EventBatch]:
    """Build the same as a function of a session."""

    def read(session: GraphSession) -> EventBatch:
        def fetch(after: int | None, limit: int) -> Sequence[tuple[int, ReadEvent]]:
            return read_events(session, after=after or 0, limit=limit)

        rows = gather(fetch, after, limit, MUCH, _measure)
        if not rows:
            return _build_empty(session, after)
        missed = 0
        if rows[0][0] > after + 1:
            first, _ = session.read_event_bounds()
            missed = max(min(first, rows[0][0]) - after - 1, 0)
        missed += sum(read.text is None for _, read in rows)
        size = sum(read.size for _, read in rows)
        events = [Event(position, read.key, read.text) for position, read in rows if read.text]
        if passes is not None:
            scope = ModelScope(models.open(session), session)
            events = [event for event in events if passes.passes(event, scope)]
        return EventBatch(rows[-1][0], len(rows), missed, events, size)

    return read


def read_table_rows(session: GraphSession, event: Event) -> list[TableRow]:
    """Build the rows of data history of an event; see `build_table_rows`."""
    if not needs_document(event):
        return build_table_rows(event)
    document = read_document_after(session, event.entity, event.position)
    return build_table_rows(event, None if document is None else orjson.loads(document))


def _measure(event: ReadEvent) -> int:
    return event.size


def _build_empty(session: GraphSession, after: int) -> EventBatch:
    """Return a batch without events: there are no new ones, or they were all deleted."""
    first, last = session.read_event_bounds()
    if first > after + 1 and last > after:
        return EventBatch(last, 0, last - after, ())
    return EventBatch(after, 0, 0, ())


class ModelScope:
    """The models for filters, in the state of one session."""

    def __init__(self, models: ModelView, session: GraphSession) -> None:
        self._models = models
        self._session = session
        self._descendants: dict[str, frozenset[str]] = {}

    def is_of_model(self, model_id: str, wanted: str) -> bool:
        """Whether the model is `wanted`, a later version, or has one of these as a base."""
        interface = self._models.find_interface(model_id)
        own = frozenset({model_id})
        if interface is not None:
            return holds_model(own.union(interface.ancestors), wanted)
        return holds_model(own, wanted) or model_id in self._read_descendants(wanted)

    def _read_descendants(self, wanted: str) -> frozenset[str]:
        """Return all models that extend a model or a later version, including deleted ones.

        PERF: read once for all events of a batch, and only for the versions of one model: reading
        the bases of each deleted model blocked the event loop for minutes with 2,000 models.
        """
        found = self._descendants.get(wanted)
        if found is None:
            versions = self._families.get(parse_versionless(wanted), ())
            bases = [x for x in versions if holds_model(frozenset({x}), wanted)]
            descendants = map(self._session.read_descendants, bases)
            found = self._descendants[wanted] = frozenset[str]().union(*descendants)
        return found

    @cached_property
    def _families(self) -> Mapping[str, Sequence[str]]:
        """The known models, by their ids without versions."""
        families: dict[str, list[str]] = {}
        for model_id in self._session.read_model_ids():
            families.setdefault(parse_versionless(model_id), []).append(model_id)
        return families
