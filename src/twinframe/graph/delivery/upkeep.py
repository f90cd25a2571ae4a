"""Deletes old events in the background: by age, by size, and not before they are delivered.

They are also the history of the graph, for which they are kept longer.

The ledger is an entry with the sizes of stretches of the outbox, so that nothing is measured twice.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

import orjson

from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.records import read_progress, read_routes
from twinframe.settings import Settings
from twinframe.settings.events import MOST_ROUTES
from twinframe.storage.base import GraphSession, GraphTransaction

_KIND: Final = "outbox"
_LEDGER: Final = "ledger"
_STRETCH: Final = 1000
_CHUNK: Final = 1000
_FEW: Final = 25
_MANY: Final = 200
_MUCH: Final = 256 * 1024
_OVERHEAD: Final = 32  # bytes of an event besides its texts
_PARTS: Final = 64  # the most stretches, as parts of what is kept by time and by size
_HOUR: Final = 3_600_000_000_000
_DAY: Final = 24 * _HOUR


@dataclass(frozen=True, slots=True)
class Stretch:
    """Events up to `position`, after the previous stretch: their bytes, and when the last was
    stored, or was seen where that is not known.
    """

    position: int
    size: int
    moment: int


class OutboxKind:
    """The upkeep of the outbox as background work."""

    name = "outbox"

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    def list_pending(self, session: GraphSession) -> Iterable[str]:
        """List itself, when a stretch is to be measured or one is old enough to be deleted."""
        ledger = read_ledger(session)
        first, _ = session.read_event_bounds()
        if self._is_measurable(session, ledger) or self._find_end(session, ledger) >= max(first, 1):
            return (_LEDGER,)
        return ()

    async def run(self, key: str, lease: Lease) -> None:
        """Measure new events, then delete old ones."""
        del key
        runner = self._context.runner
        while await self._measure(lease):
            continue
        end = await runner.read(lambda session: self._find_end(session, read_ledger(session)))
        while await runner.write(lambda transaction: self._forget(transaction, lease, end)):
            continue

    def _forget(self, transaction: GraphTransaction, lease: Lease, end: int) -> bool:
        """Delete some of the events up to `end`; return whether there may be more.

        The last one stays where history is kept: it says from which moment on the next state was.
        """
        lease.check(transaction)
        last = end - 1 if self._keeps_history(transaction) else end
        if transaction.delete_events(up_to=last, limit=_CHUNK):
            return True
        ledger = read_ledger(transaction)
        write_ledger(transaction, [stretch for stretch in ledger if stretch.position > end])
        return False

    def _keeps_history(self, session: GraphSession) -> bool:
        return self._context.settings.history.enabled and session.keeps_history

    async def _measure(self, lease: Lease) -> bool:
        """Add a stretch to the ledger; return whether there may be another.

        NOTE: some are read at a time, and before the transaction: a thousand events may be a
        gigabyte.
        """
        runner = self._context.runner
        after = await runner.read(self._find_measurable)
        position, size, count, limit = after, 0, 0, _FEW
        moment = self._context.clock()
        while position is not None and count < _STRETCH:
            rows = await runner.read(partial(_read_sizes, position, limit))
            if not rows:
                break
            position, count = rows[-1][0], count + len(rows)
            # NOTE: an imported history is as old as it says.
            moment = min(rows[-1][2] or moment, self._context.clock())
            read = sum(length for _, length, _ in rows)
            size += read
            limit = min(_MANY if read < _MUCH else _FEW, _STRETCH - count)
        if after is None or position is None or not count:
            return False
        added = Stretch(position, size, moment)

        def apply(transaction: GraphTransaction) -> None:
            lease.check(transaction)
            limits = build_limits(self._context.settings, self._keeps_history(transaction))
            write_ledger(transaction, merge([*read_ledger(transaction), added], limits))

        await runner.write(apply)
        return True

    def _find_measurable(self, session: GraphSession) -> int | None:
        """Return the position after which a stretch is to be measured, if there is one."""
        ledger = read_ledger(session)
        return _find_seen(session, ledger) if self._is_measurable(session, ledger) else None

    def _is_measurable(self, session: GraphSession, ledger: Sequence[Stretch]) -> bool:
        """Return whether there are enough new events, or they have waited long enough."""
        fresh = session.read_event_bounds()[1] - _find_seen(session, ledger)
        if fresh <= 0:
            return False
        limits = build_limits(self._context.settings, self._keeps_history(session))
        waited = self._context.clock() - ledger[-1].moment if ledger else 0
        return not ledger or fresh >= _STRETCH or waited >= limits.time / _PARTS

    def _find_end(self, session: GraphSession, ledger: Sequence[Stretch]) -> int:
        """Return the position up to which events may be deleted; 0 is none."""
        settings, now = self._context.settings.events, self._context.clock()
        end = find_end(ledger, now - int(settings.keep_hours * _HOUR), settings.keep_bytes)
        if self._keeps_history(session):
            history = self._context.settings.history
            old = now - int(history.keep_days * _DAY)
            end = min(end, find_end(ledger, old, history.keep_bytes))
        if not end:
            return 0
        places = [
            progress.position
            for route in read_routes(session, after=None, limit=MOST_ROUTES)
            if (progress := read_progress(session, route.id)) is not None
        ]
        if not places or min(places) >= end:
            return end
        return max(min(places), find_end(ledger, 0, settings.undelivered_bytes))


def find_end(ledger: Sequence[Stretch], old: int, most: int) -> int:
    """Return the end of the stretches that are older than `old`, or too much with the rest."""
    end = 0
    rest = sum(stretch.size for stretch in ledger)
    for stretch in ledger:
        if stretch.moment >= old and rest <= most:
            break
        end = stretch.position
        rest -= stretch.size
    return end


class Limits(NamedTuple):
    """What is kept in all: bytes, and nanoseconds."""

    size: int
    time: float


def build_limits(settings: Settings, keeps_history: bool) -> Limits:
    """Build the limits of all that is kept, for events and for history."""
    events, history = settings.events, settings.history
    limits = Limits(events.keep_bytes, events.keep_hours * _HOUR)
    if not keeps_history:
        return limits
    return Limits(max(limits.size, history.keep_bytes), max(limits.time, history.keep_days * _DAY))


def merge(ledger: Sequence[Stretch], limits: Limits) -> list[Stretch]:
    """Merge neighbours as long as they are a small part of what is kept, so that few remain."""
    small, short = limits.size // _PARTS, limits.time / _PARTS
    merged: list[Stretch] = []
    for stretch in ledger:
        before = merged[-1] if merged else None
        if (
            before is not None
            and stretch.moment - before.moment < short
            and before.size + stretch.size <= small
        ):
            merged[-1] = Stretch(stretch.position, before.size + stretch.size, before.moment)
        else:
            merged.append(stretch)
    return merged


def read_ledger(session: GraphSession) -> list[Stretch]:
    """The stretches, oldest first."""
    body = session.read_entry(_KIND, _LEDGER)
    return [] if body is None else list(itertools.starmap(Stretch, orjson.loads(body)))


def write_ledger(transaction: GraphTransaction, ledger: Sequence[Stretch]) -> None:
    """Store the stretches."""
    rows = [(stretch.position, stretch.size, stretch.moment) for stretch in ledger]
    transaction.put_entry(_KIND, _LEDGER, orjson.dumps(rows))


def _read_sizes(after: int, limit: int, session: GraphSession) -> list[tuple[int, int, int]]:
    """Position, bytes and moment of the next events."""
    rows = session.read_events(after=after, limit=limit)
    return [
        (
            position,
            len(event.body) + len(event.subject) + len(event.relationship_id) + _OVERHEAD,
            event.moment,
        )
        for position, event in rows
    ]


def _find_seen(session: GraphSession, ledger: Sequence[Stretch]) -> int:
    return ledger[-1].position if ledger else max(session.read_event_bounds()[0] - 1, 0)
