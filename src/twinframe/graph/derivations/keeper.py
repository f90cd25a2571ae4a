"""Keeps derived values true: follows the changes of the graph, and computes what they concern."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from twinframe.errors import LimitExceeded, MemoryExhausted, QueryTimeout, StorageBusy
from twinframe.graph.background.leases import Lease
from twinframe.graph.context.context import GraphContext, ServiceWrite
from twinframe.graph.derivations.changes import Changes, find_concerned, read_changes
from twinframe.graph.derivations.computing import AT_ONCE, Attempt, Computed, Computing
from twinframe.graph.derivations.order import Understood
from twinframe.graph.derivations.progress import Progress, put_progress, read_progress
from twinframe.graph.derivations.reading import read_order
from twinframe.graph.derivations.texts import build_count_text, build_fill_text, build_text
from twinframe.graph.derivations.writing import DefinitionChanged, WriteValues
from twinframe.graph.documents.derivations import Derivation, read_derivation, read_derivations
from twinframe.graph.queries.plans import build_options
from twinframe.graph.queries.short_runs import SHORT_SECONDS, SHORT_STEPS
from twinframe.graph.twins.derived import is_same_value
from twinframe.model.clock import render_update_time
from twinframe.query.algebra import LabelName
from twinframe.storage.base import GraphSession, GraphTransaction

_MOST_RESTS: Final = 8
"""What times out again and again has a ninth of the time."""
_FILL_IDS: Final = 20_000
_FEW_ROWS: Final = 64
"""Rows of the outbox that are read on the event loop: 10 us each."""
_ROWS: Final = 1000
_BUSY_PAUSE: Final = 0.2
_FLUSH_SECONDS: Final = 0.5
"""Seconds between two stores of the progress where no value is written with it."""
_SHORTEST_PAUSE: Final = 0.001
_PAUSE_GROWTH: Final = 1.2
_LONGEST_PAUSE: Final = 0.01
_BUSY_PAUSES: Final = 2
_PAUSE_LOOKS: Final = 50
_LONGEST_REMOTE_PAUSE: Final = 0.5
"""Seconds between looks for changes of other workers, of which the store may tell nothing.

PERF: a look takes 10 us in a local store: a thousandth of the processor where nothing happens. Of a
remote store it takes milliseconds; then a pause is as long as 50 looks.
"""
_GATHERINGS: Final = 10
_LONGEST_GATHERING: Final = 0.1
"""Where all derivations settle later, changes are read ten times in the shortest settle time."""


@dataclass(slots=True)
class Kept:
    """A derivation that is followed: the twins to be computed, since when, and what was stored.

    `context` is that of its writes. `waiting` are ids of a fill that were read and not yet
    computed. `is_stored` is False while the progress has moved on since it was stored. `at_once`
    twins are tried together, after so many `timeouts` in a row not before `rests_until`.
    """

    understood: Understood
    context: GraphContext
    settle_seconds: float
    text: str
    progress: Progress
    dirty: dict[str, None] = field(default_factory=dict)
    since: float = 0.0
    waiting: deque[str] = field(default_factory=deque)
    is_stored: bool = True
    at_once: int = AT_ONCE
    timeouts: int = 0
    rests_until: float = 0.0

    @property
    def derivation(self) -> Derivation:
        """Its definition."""
        return self.understood.derivation

    @property
    def is_waited_for(self) -> bool:
        """Whether there are values to be computed, now or later."""
        return bool(self.dirty) or self.progress.fill is not None

    @property
    def missing(self) -> int:
        """How many twins of a fill are to be computed."""
        progress = self.progress
        return 0 if progress.fill is None else max(progress.total - progress.done, 0)

    @property
    def due(self) -> float:
        """When the values are to be computed, if there are any."""
        return max(self.since + self.settle_seconds, self.rests_until)


class _Own(NamedTuple):
    """The rows after `before` up to `last`, which a derivation's own writes are."""

    before: int
    last: int
    derivation: Derivation


class _Marked(NamedTuple):
    """The changes that were read, and by derivation the twins that they concern.

    `is_known` is False where models or derivations have changed. `refills` says that the values of
    all twins may have changed.
    """

    changes: Changes
    concerned: Sequence[set[str]]
    is_known: bool = True
    refills: bool = False


class Keeper:
    """Follows the graph as long as neither models nor derivations change.

    `idle_seconds` is how long it stays when there is nothing to do; None is for ever.
    """

    def __init__(
        self,
        context: GraphContext,
        computing: Computing,
        lease: Lease,
        idle_seconds: float | None,
    ) -> None:
        self._context = context
        self._computing = computing
        self._lease = lease
        self._idle_seconds = idle_seconds
        self._version = -1
        self._position = 0
        self._time = ""
        self._own: deque[_Own] = deque()
        self._flushed = 0.0
        self._look = 0.0
        self._gathers = 0.0
        self._rest = _SHORTEST_PAUSE
        self.kept: list[Kept] = []
        self.halted: Mapping[str, str] = {}

    async def follow(self) -> bool:
        """Keep values true; return True to begin again, False when there is nothing left to do."""
        timeout = self._context.settings.query.timeout
        if not await self._context.runner.scan(self._load, timeout):
            return False
        await self._store_halted()
        loop = asyncio.get_running_loop()
        idle_since = self._flushed = loop.time()
        try:
            while True:
                start, since = loop.time(), self._context.signal.count
                has_read = await self._read_changes()
                if has_read is None:
                    return True
                has_settled = await self._settle()
                has_worked = await self._fill() or has_settled
                if has_read or has_worked or any(one.is_waited_for for one in self.kept):
                    idle_since = loop.time()
                elif self._is_over(loop.time() - idle_since):
                    await self._flush()
                    return False
                if loop.time() - self._flushed >= _FLUSH_SECONDS:
                    await self._flush()
                if has_worked or (has_read and not self._gathers):
                    self._rest = _SHORTEST_PAUSE
                    # PERF: under load many changes are then read at once, and at most a third of
                    # the event loop's time is spent here.
                    busy = _BUSY_PAUSES * (loop.time() - start)
                    await asyncio.sleep(max(_SHORTEST_PAUSE, min(busy, _LONGEST_PAUSE)))
                else:
                    await self._pause(since)
        except DefinitionChanged:
            return True
        except (MemoryExhausted, StorageBusy):  # what is stored of the progress misses nothing
            await asyncio.sleep(_BUSY_PAUSE)
            return True

    def _is_over(self, idle: float) -> bool:
        return self._idle_seconds is not None and idle >= self._idle_seconds

    # --- definitions ----------------------------------------------------------------------------

    def _load(self, session: GraphSession) -> bool:
        """Read definitions and progress; return whether there are any."""
        derivations = read_derivations(session)
        self._version = session.read_schema_version()
        _, last = session.read_event_bounds()
        options = build_options(self._context.settings.query)
        found = read_order(session, derivations, self._context.models.open(session), options)
        self.halted = found.halted
        settings = self._context.settings.derivations
        for understood in found.settling:
            derivation = understood.derivation
            seconds = derivation.settle_seconds
            progress = read_progress(session, derivation) or Progress(derivation.epoch, last)
            text = build_text(derivation, with_stored=True)
            settle = settings.settle_seconds if seconds is None else seconds
            kept = Kept(
                understood, self._join(derivation), settle, text, replace(progress, halted="")
            )
            kept.is_stored = not progress.halted
            if progress.halted:  # its values were left alone meanwhile
                kept.progress = _begin_fill(kept.progress, last)
            self.kept.append(kept)
        self._position = min((one.progress.position for one in self.kept), default=last)
        shortest = min((one.settle_seconds for one in self.kept), default=0.0)
        self._gathers = min(shortest / _GATHERINGS, _LONGEST_GATHERING)
        return bool(derivations)

    def _join(self, derivation: Derivation) -> GraphContext:
        """Return a context for writes whose history says which derivation made them."""
        context = self._context
        if not context.settings.history.who:
            return context
        who = f"derivation:{derivation.id}"
        return replace(context, recorder=context.recorder.join("", who))

    async def _store_halted(self) -> None:
        """Store why derivations are halted, where it is news."""
        if not self.halted:
            return

        def apply(transaction: GraphTransaction) -> None:
            self._lease.check(transaction)
            _, last = transaction.read_event_bounds()
            for derivation_id, reason in self.halted.items():
                derivation = read_derivation(transaction, derivation_id)
                if derivation is None:
                    continue
                progress = read_progress(transaction, derivation)
                progress = progress or Progress(derivation.epoch, 0)
                halted = replace(progress, halted=reason, position=last, fill=None)
                if halted != progress:
                    put_progress(transaction, derivation_id, halted)

        await self._context.write(ServiceWrite(apply))

    # --- changes --------------------------------------------------------------------------------

    async def _read_changes(self) -> bool | None:
        """Read changes to the last one; return whether there were any, None to begin again."""
        loop, has_read = asyncio.get_running_loop(), False
        while True:
            start = loop.time()
            position, version = await self._context.runner.read(_read_state)
            if version != self._version:
                return None
            if position == self._position:
                look = loop.time() - start
                # On a busy machine one may take long once.
                self._look = min(look, 2 * self._look) if self._look else look
                return has_read
            time = render_update_time(self._context.clock())
            marked = await self._mark_soon(position - self._position)
            if not marked.is_known:
                return None
            self._add(marked, time)
            has_read = True
            await asyncio.sleep(0)

    async def _mark_soon(self, behind: int) -> _Marked:
        """Mark few changes at once if that is short, else more of them in a thread."""
        runner = self._context.runner
        if 0 < behind <= _FEW_ROWS:
            read = partial(self._mark, _FEW_ROWS)
            if (found := runner.read_short(read, SHORT_STEPS, SHORT_SECONDS)) is not None:
                return found
        timeout, rows = self._context.settings.query.timeout, _ROWS
        while rows:
            try:
                return await runner.scan(partial(self._mark, rows), timeout)
            except (LimitExceeded, QueryTimeout):
                rows //= 8
        return await runner.scan(self._skip, timeout)

    def _skip(self, session: GraphSession) -> _Marked:
        """Pass a change that concerns so many twins that it takes too long to find them."""
        changes = read_changes(session, self._position, 1, self._find_own)
        is_known = session.read_schema_version() == self._version
        return _Marked(changes, [set[str]() for _ in self.kept], is_known, refills=True)

    def _mark(self, rows: int, session: GraphSession) -> _Marked:
        changes = read_changes(session, self._position, rows, self._find_own)
        if session.read_schema_version() != self._version:
            return _Marked(changes, (), is_known=False)
        refills = not changes.is_complete or any(
            next(iter(session.scan_nodes(LabelName(model_id))), None) is not None
            for model_id in changes.models
        )
        concerned = [find_concerned(session, changes, one.understood) for one in self.kept]
        return _Marked(changes, concerned, refills=refills)

    def _find_own(self, position: int) -> Derivation | None:
        return next((x.derivation for x in self._own if x.before < position <= x.last), None)

    def _add(self, marked: _Marked, time: str) -> None:
        """Take over the twins that changes concern, which are then known to be behind."""
        now = asyncio.get_running_loop().time()
        self._position, self._time = marked.changes.position, time
        while self._own and self._own[0].last <= self._position:
            self._own.popleft()
        for one, concerned in zip(self.kept, marked.concerned, strict=True):
            if concerned and not one.dirty:
                one.since = now
            one.dirty.update(dict.fromkeys(concerned))
            if marked.refills:
                one.progress = _begin_fill(one.progress, self._position)
                one.waiting.clear()
                one.is_stored = False
            if not one.dirty:
                one.progress = replace(one.progress, position=self._position, time=time)
                one.is_stored = False

    # --- values ---------------------------------------------------------------------------------

    async def _settle(self) -> bool:
        """Compute what is due, each derivation after those that it reads; return whether there was
        anything.
        """
        loop, has_worked = asyncio.get_running_loop(), False
        for one in self.kept:
            if not one.dirty or loop.time() < one.due:
                continue
            ids, one.dirty = deque(one.dirty), {}
            position, time, is_late = self._position, self._time, False
            while ids and not is_late:  # then others go first
                attempt = await self._compute(one, ids)
                is_late, progress = attempt.is_late, one.progress
                if not ids:
                    progress = replace(progress, position=position, time=time)
                await self._write(one, attempt.values, progress)
            one.dirty = dict.fromkeys(ids)
            has_worked = True
            if await self._read_changes() is None:
                raise DefinitionChanged
        return has_worked

    async def _fill(self) -> bool:
        """Compute some of the twins of the first derivation of which not all are."""
        now = asyncio.get_running_loop().time()
        filling = (one for one in self.kept if one.progress.fill is not None)
        one = next((one for one in filling if one.rests_until <= now), None)
        if one is None:
            return False
        after = one.progress.fill or ""
        if not after and not one.waiting:
            rows = await self._computing.run(build_count_text(one.derivation), {})
            one.progress = replace(one.progress, total=rows[0]["count"], done=0)
        if not one.waiting:
            text = build_fill_text(one.derivation, _FILL_IDS)
            rows = await self._computing.run(text, {"after": after})
            one.waiting.extend(row["id"] for row in rows)
        one.is_stored = False
        if not one.waiting:
            one.progress = replace(one.progress, fill=None)
            return True
        attempt = await self._compute(one, one.waiting)
        fill = attempt.done[-1] if attempt.done else one.progress.fill
        progress = replace(one.progress, fill=fill, done=one.progress.done + len(attempt.done))
        await self._write(one, attempt.values, progress)
        return True

    async def _compute(self, one: Kept, ids: deque[str]) -> Attempt:
        """Compute the first values, and remove their twins from `ids`.

        After a timeout the derivation rests as long, and longer after several in a row: one whose
        values never end leaves the time to others.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        attempt = await self._computing.compute(one.text, [*islice(ids, AT_ONCE)], one.at_once)
        now = loop.time()
        for _ in attempt.done:
            ids.popleft()
        one.at_once = attempt.at_once
        one.timeouts = min(one.timeouts + 1, _MOST_RESTS) if attempt.is_late else 0
        one.rests_until = now + one.timeouts * (now - start)
        return attempt

    async def _write(self, one: Kept, values: Sequence[Computed], progress: Progress) -> None:
        """Write the values that changed."""
        progress = replace(progress, computed=progress.computed + len(values))
        changed = [each for each in values if _is_news(each)]
        former = one.progress
        if not changed:
            one.progress, one.is_stored = progress, False
        while changed:
            command = WriteValues(one.derivation, self._lease, changed, progress, former)
            written = await one.context.write(ServiceWrite(partial(command.apply, one.context)))
            one.context.signal.set()
            one.progress, one.is_stored = written.progress, True
            if written.last > written.before:
                self._own.append(_Own(written.before, written.last, one.derivation))
            del changed[: written.count]
            progress = replace(
                progress,
                written=written.progress.written,
                errors=written.progress.errors,
                error=written.progress.error,
                error_twin=written.progress.error_twin,
                error_time=written.progress.error_time,
            )

    # --- progress -------------------------------------------------------------------------------

    async def _flush(self) -> None:
        """Store the progress that was not stored with values."""
        self._flushed = asyncio.get_running_loop().time()
        moved = [one for one in self.kept if not one.is_stored]
        if not moved:
            return

        def apply(transaction: GraphTransaction) -> None:
            self._lease.check(transaction)
            for one in moved:
                present = read_derivation(transaction, one.derivation.id)
                if present is None or present.epoch != one.derivation.epoch:
                    raise DefinitionChanged
                put_progress(transaction, one.derivation.id, one.progress)

        await self._context.write(ServiceWrite(apply))
        for one in moved:
            one.is_stored = True

    async def _pause(self, since: int) -> None:
        """Wait for a write after the count `since`, for values that are due, or some time."""
        now = asyncio.get_running_loop().time()
        dues = [one.due - now for one in self.kept if one.dirty]
        if self._gathers:
            await asyncio.sleep(min([*dues, self._gathers]) if dues else self._gathers)
            return
        remote = min(_PAUSE_LOOKS * self._look, _LONGEST_REMOTE_PAUSE)
        seconds = max(min([*dues, max(self._rest, remote)]), 0)
        self._rest = min(self._rest * _PAUSE_GROWTH, _LONGEST_PAUSE)
        heard = max(min([*dues, _LONGEST_REMOTE_PAUSE]), 0)
        await self._context.wait(since, seconds, heard=heard)


def _read_state(session: GraphSession) -> tuple[int, int]:
    return session.read_event_bounds()[1], session.read_schema_version()


def _begin_fill(progress: Progress, position: int) -> Progress:
    return replace(progress, position=position, fill="", total=0, done=0)


def _is_news(value: Computed) -> bool:
    return bool(value.error) or not is_same_value(value.value, value.stored)
