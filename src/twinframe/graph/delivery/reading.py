"""Reading the outbox through a filter: a batch at a time, models looked up. It keeps no place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from twinframe.events.event import Event
from twinframe.events.filters import Filter
from twinframe.graph.context import GraphContext
from twinframe.graph.model_cache import ModelCache, ModelView
from twinframe.storage.base import GraphSession

# PERF: some 10 us an event to parse and judge it; the event loop stands still for less than 1 ms.
BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class EventBatch:
    """What was read behind a position: up to `position`, of which `events` pass.

    `read` counts all of them. `missed` says how many positions had been forgotten before.
    """

    position: int
    read: int
    missed: int
    events: Sequence[Event]


async def read_batch(
    context: GraphContext, after: int, passes: Filter | None, limit: int = BATCH
) -> EventBatch:
    """The next events behind a position that pass; without a filter all do."""
    return await context.runner.read(build_read(context.models, after, passes, limit))


def build_read(
    models: ModelCache, after: int, passes: Filter | None, limit: int
) -> Callable[[GraphSession], EventBatch]:
    """The same as a function of a session."""

    def read(session: GraphSession) -> EventBatch:
        rows = session.read_events(after=after, limit=limit)
        if not rows:
            return _build_empty(session, after)
        missed = 0
        if rows[0][0] > after + 1:
            first, _ = session.read_event_bounds()
            missed = max(min(first, rows[0][0]) - after - 1, 0)
        events = [Event(position, stored.subject, stored.body) for position, stored in rows]
        if passes is not None:
            scope = ModelScope(models.open(session), session)
            events = [event for event in events if passes.passes(event, scope)]
        return EventBatch(rows[-1][0], len(rows), missed, events)

    return read


def _build_empty(session: GraphSession, after: int) -> EventBatch:
    """Nothing new, or all that was is forgotten."""
    first, last = session.read_event_bounds()
    if first > after + 1 and last > after:
        return EventBatch(last, 0, last - after, ())
    return EventBatch(after, 0, 0, ())


class ModelScope:
    """Models as filters ask for them, in the state of one session."""

    __slots__ = ("_models", "_session")

    def __init__(self, models: ModelView, session: GraphSession) -> None:
        self._models = models
        self._session = session

    def read_ancestors(self, model_id: str) -> frozenset[str]:
        """The model and its bases. Of a deleted one the store still knows what it extended."""
        interface = self._models.find_interface(model_id)
        if interface is not None:
            return frozenset(interface.ancestors) | {model_id}
        session = self._session
        known = session.read_model_ids()
        return frozenset(x for x in known if model_id in session.read_descendants(x))
