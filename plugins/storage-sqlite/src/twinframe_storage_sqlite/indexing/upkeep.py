"""Decides which automatic indexes are made and dropped, from what queries asked for and used."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe_storage_sqlite.index_notes import Note
from twinframe_storage_sqlite.indexing.indexes import read_permanent
from twinframe_storage_sqlite.indexing.rehearsal import Rehearsal, find_start, find_used
from twinframe_storage_sqlite.indexing.samples import (
    Sample,
    count_entities,
    estimate_pause,
    read_samples,
)
from twinframe_storage_sqlite.indexing.statistics import (
    drop_statistics,
    load_statistics,
    put_model_statistics,
    put_statistics,
)
from twinframe_storage_sqlite.indexing.tallies import (
    Tally,
    delete_tally,
    read_tallies,
    write_tally,
)
from twinframe_storage_sqlite.indexing.targets import Target, find_targets, list_automatic
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.transaction import SqliteTransaction

_FEWEST_ENTITIES: Final = 5000
_FEWEST_RUNS: Final = 3
_STEPS_PER_ROW: Final = 3  # at least, of a statement that reads all entities
_READINGS: Final = 4  # of all entities, after which an index is worth making
_FEWEST_VALUES: Final = 16
_MOST_PER_VALUE: Final = 2000
_FEW_ROWS: Final = 100
_MANY_ENTITIES: Final = 50_000
_MOST_TARGETS: Final = 32
_DAY: Final = 86_400.0
_FEW_VALUES: Final = "too few different values"
_TOO_SLOW: Final = "making it would keep writes waiting for {:.1f} s (AutomaticIndexPause)"
_NO_ROOM: Final = "the others are used more (AutomaticIndexCount, AutomaticIndexBytes)"

Writes = list[WriteFunction[None]]


def has_remains(session: SqliteSession) -> bool:
    """Return whether there are automatic indexes, or counts for some."""
    return bool(list_automatic(session.connection)) or next(read_tallies(session), None) is not None


def plan_removal(session: SqliteSession) -> Writes:
    """Plan to leave nothing behind."""
    made = list_automatic(session.connection)
    known = [target for target, _ in read_tallies(session)]
    writes: Writes = [partial(_drop, target) for target in made]
    return [*writes, *(partial(_forget, target) for target in known if target not in made)]


def plan_upkeep(
    session: SqliteSession, settings: SqliteSettings, notes: Mapping[str, Note], now: float
) -> Writes:
    """Plan what brings the indexes in line with the queries; each write is a transaction."""
    made = list_automatic(session.connection)
    found = _Survey(session, made, now).read(notes)
    stored = dict(read_tallies(session))
    writes: Writes = []
    if found.tallies:
        writes.append(partial(_record, found.tallies))
    merged = {**stored, **found.merge(stored)}
    for target in made:
        # NOTE: an index without a tally was made by a process that was killed right after that.
        merged.setdefault(target, Tally(at=now, made=now))
    idle = now - settings.automatic_index_days * _DAY
    old = {target for target, tally in merged.items() if max(tally.at, tally.made) < idle}
    makes = settings.automatic_indexes == "automatic"
    dropped = [each for each in made if each in old or not makes]
    writes += [partial(_drop, target) for target in dropped]
    writes += [partial(_forget, target) for target in old if target not in made]
    if makes:
        kept = {target: merged[target] for target in made if target not in dropped}
        writes += _Choice(session, settings, found.samples, now).plan(kept, merged)
    return writes


def _is_selective(target: Target, sample: Sample) -> bool:
    if target.name == "$relationshipName":
        return True  # a graph has few names, and some of them are rare
    return sample.values >= _FEWEST_VALUES and sample.per_value <= _MOST_PER_VALUE


@dataclass(slots=True)
class _Found:
    """What queries did since the last look, and samples of what they asked for."""

    tallies: dict[Target, Tally]
    samples: dict[Target, Sample]

    def merge(self, stored: Mapping[Target, Tally]) -> dict[Target, Tally]:
        """Return the tallies with what is stored."""
        return {
            target: stored[target].add(tally) if target in stored else tally
            for target, tally in self.tallies.items()
        }


class _Survey:
    """Learns from the statements that ran which indexes they used, and which they would use."""

    def __init__(self, session: SqliteSession, made: Collection[Target], now: float) -> None:
        self._session = session
        self._made = made
        self._now = now
        self._counts: dict[str, int] = {}
        self._found = _Found({}, {})

    def read(self, notes: Mapping[str, Note]) -> _Found:
        """Survey the statements."""
        if self._made:
            self._read_used(notes)
        slow = {text: note for text, note in notes.items() if note.is_worth_a_look}
        wanted = self._find_wanted(slow)
        for table in sorted({target.table for target in wanted}):
            targets = [target for target in wanted if target.table == table]
            self._found.samples.update(read_samples(self._session, table, targets))
        if self._found.samples:
            self._rehearse(slow, {text for text in notes if text not in slow})
        return self._found

    def _read_used(self, notes: Mapping[str, Note]) -> None:
        for text, note in notes.items():
            for target, use in find_used(self._session.connection, text).items():
                saved = note.runs * self._count(target.table) * _STEPS_PER_ROW
                self._add(target, Tally(0, note.runs, saved, self._now, uses=[use]))

    def _find_wanted(self, slow: Mapping[str, Note]) -> list[Target]:
        """Return what slow statements read and has no index, most steps first."""
        there = {*self._made}
        there |= {
            Target("twin", name) for name in read_permanent(self._session.connection).values()
        }
        steps: dict[Target, int] = {}
        for text, note in slow.items():
            for target in find_targets(text) - there:
                if self._count(target.table) >= _FEWEST_ENTITIES:
                    steps[target] = steps.get(target, 0) + note.steps + note.answered
        return sorted(steps, key=lambda target: -steps[target])[:_MOST_TARGETS]

    def _rehearse(self, slow: Mapping[str, Note], fast: Iterable[str]) -> None:
        samples = self._found.samples
        selective = {
            target: each for target, each in samples.items() if _is_selective(target, each)
        }
        with closing(self._open(selective)) as rehearsal:
            for text, note in slow.items():
                for target, use in rehearsal.find_used(text).items():
                    if target in selective:
                        self._add_asked(target, note, use)
            disturbed = {
                target for text in fast for target in self._find_disturbed(rehearsal, text)
            }
        for target in disturbed.difference(self._made):
            self._found.tallies.pop(target, None)
        for target in samples.keys() - selective.keys():
            names = [text for text in slow if target in find_targets(text)]
            asked = sum(slow[text].runs + slow[text].answered for text in names)
            self._add(target, Tally(asked, at=self._now, hindrance=_FEW_VALUES))

    def _add_asked(self, target: Target, note: Note, use: str) -> None:
        """Count the runs that asked for an index.

        PERF: columns look up one of 1,000,000 values in 0.3 ms, an index in 0.03; below 50,000, and
        for many rows or a range, they are as fast.
        """
        asked, steps = (note.runs, note.steps) if note.is_slow else (0, 0)
        entities = self._count(target.table)
        is_point = use == "equality" and self._found.samples[target].per_value <= _FEW_ROWS
        if note.answered and is_point and entities >= _MANY_ENTITIES:
            asked += note.answered
            steps += note.answered * entities * _STEPS_PER_ROW // 2
        if asked:
            self._add(target, Tally(asked, 0, steps, self._now, uses=[use]))

    def _find_disturbed(self, rehearsal: Rehearsal, text: str) -> Iterable[Target]:
        """Return the targets by which a statement that is fast would begin elsewhere.

        NOTE: SQLite knows how many relationships a name has on average, and how many twins a model
        has, and would begin with those of a frequent name, or not with those of a rare model.
        """
        used = rehearsal.find_used(text)
        if used and rehearsal.find_start(text) != find_start(self._session.connection, text):
            return used
        return ()

    def _open(self, samples: Mapping[Target, Sample]) -> Rehearsal:
        rehearsal = Rehearsal(self._session.connection)
        for target, sample in samples.items():
            rehearsal.add(target, sample.numbers)
        rehearsal.load()
        return rehearsal

    def _add(self, target: Target, tally: Tally) -> None:
        before = self._found.tallies.get(target)
        self._found.tallies[target] = tally if before is None else before.add(tally)

    def _count(self, table: str) -> int:
        if table not in self._counts:
            self._counts[table] = count_entities(self._session, table)
        return self._counts[table]


class _Choice:
    """Chooses at most one index to make: the one that saves most, if there is room for it."""

    def __init__(
        self,
        session: SqliteSession,
        settings: SqliteSettings,
        samples: Mapping[Target, Sample],
        now: float,
    ) -> None:
        self._session = session
        self._settings = settings
        self._samples = samples
        self._now = now

    def plan(self, kept: Mapping[Target, Tally], merged: Mapping[Target, Tally]) -> Writes:
        """Plan the making, and the dropping of one that saves less, or note what is in the way."""
        worthy = [
            target
            for target in self._samples
            if target in merged and target not in kept and self._is_worthy(target, merged[target])
        ]
        if not worthy:
            return []
        target = max(worthy, key=lambda each: merged[each].steps)
        tally = merged[target]
        seconds = estimate_pause(self._session, target)
        if seconds > self._settings.automatic_index_pause:
            return [partial(_hinder, target, _TOO_SLOW.format(seconds))]
        freed = self._make_room(target, kept, tally.steps)
        if freed is None:
            return [partial(_hinder, target, _NO_ROOM)]
        return [
            *(partial(_drop, each) for each in freed),
            partial(make_index, target, self._samples[target].numbers, self._now),
        ]

    def _is_worthy(self, target: Target, tally: Tally) -> bool:
        if tally.asked < _FEWEST_RUNS or tally.hindrance == _FEW_VALUES:
            return False
        entities = count_entities(self._session, target.table)
        return tally.steps >= _READINGS * _STEPS_PER_ROW * entities

    def _make_room(
        self, target: Target, kept: Mapping[Target, Tally], steps: float
    ) -> list[Target] | None:
        """Return the indexes to drop for it; None where all that would make room save more."""
        size = self._samples[target].size
        sizes = {
            each: sample.size
            for table in sorted({each.table for each in kept})
            for each, sample in read_samples(
                self._session, table, [one for one in kept if one.table == table]
            ).items()
        }
        rest = sorted(kept, key=lambda each: kept[each].steps)
        freed: list[Target] = []
        while not self._fits(size, [sizes[each] for each in rest]):
            if not rest or 2 * kept[rest[0]].steps > steps:
                return None
            freed.append(rest.pop(0))
        return freed

    def _fits(self, size: int, others: Sequence[int]) -> bool:
        settings = self._settings
        if len(others) >= settings.automatic_index_count:
            return False
        return size + sum(others) <= settings.automatic_index_bytes


# --- writes: each is a transaction of its own -----------------------------------------------------


def _record(tallies: Mapping[Target, Tally], transaction: GraphTransaction) -> None:
    stored = dict(read_tallies(transaction))
    for target, tally in tallies.items():
        before = stored.get(target)
        write_tally(transaction, target, tally if before is None else before.add(tally))


def _hinder(target: Target, hindrance: str, transaction: GraphTransaction) -> None:
    tally = dict(read_tallies(transaction)).get(target, Tally())
    write_tally(transaction, target, replace(tally, hindrance=hindrance))


def _forget(target: Target, transaction: GraphTransaction) -> None:
    delete_tally(transaction, target)


def _drop(target: Target, transaction: GraphTransaction) -> None:
    assert isinstance(transaction, SqliteTransaction)  # noqa: S101  # our own
    connection = transaction.connection
    connection.execute(f'DROP INDEX IF EXISTS "{target.index}"').fetchall()
    if not list_automatic(connection) and not read_permanent(connection):
        drop_statistics(connection)
    delete_tally(transaction, target)


def make_index(target: Target, numbers: str, now: float, transaction: GraphTransaction) -> None:
    """Make an automatic index with these statistics, unless there is one."""
    assert isinstance(transaction, SqliteTransaction)  # noqa: S101  # our own
    connection = transaction.connection
    if target in list_automatic(connection):
        return
    began = time.monotonic()
    connection.execute(target.render_index()).fetchall()
    put_statistics(connection, target.table, target.index, numbers)
    put_model_statistics(connection)
    load_statistics(connection)
    tally = dict(read_tallies(transaction)).get(target, Tally(at=now))
    seconds = time.monotonic() - began
    write_tally(transaction, target, replace(tally, made=now, seconds=seconds, hindrance=""))
