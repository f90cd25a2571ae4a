"""The changes and reads of a batch of writes before it is applied.

The change is only made if the graph is still at the version that was read, so each record is read
at most once, and the record as read says what the change replaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from twinframe.query.engine import CannotRun
from twinframe.runtime.memory import Hold
from twinframe.storage.base import ModelRecord, RelationshipRecord, TwinRecord
from twinframe_storage_rdf.differences import Differences, State, measure_document
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.hierarchy import HierarchyCache
from twinframe_storage_rdf.mapping import (
    GraphNames,
    build_model_triples,
    build_relationship_triples,
    build_twin_triples,
    measure_triples,
)
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, read_key
from twinframe_storage_rdf.terms import Row
from twinframe_storage_rdf.view import View

_TEXT_COPIES: Final = 2
"""Copies of a text in the worker's memory: as it was read or put, and as it is sent."""
_RECORD_COPIES: Final = 4
"""Copies of a document whose members are also stored as triples."""
_STEP: Final = 64 * 1024
K = TypeVar("K")
T = TypeVar("T")


class Load:
    """Counter of bytes for a `hold` of the memory account; None means that nothing is charged.

    A change is made in memory: until it is committed, its documents are in the draft, in the text
    that is sent, and in the store process. The store process makes one change at a time and needs
    about five times the size of the text for it, which the limit of the worker's texts bounds.

    PERF: the account is charged in steps, and not at all for small writes.
    """

    def __init__(self, hold: Hold | None = None) -> None:
        self.size = 0
        self._hold = hold
        self._owed = 0

    def add_text(self, size: int) -> None:
        """Count a text of this size in bytes. Raises as `MemoryAccount.take` does."""
        self._add(size, _TEXT_COPIES)

    def add_record(self, size: int) -> None:
        """Count a document of this size in bytes that is put as triples. Raises the same."""
        self._add(size, _RECORD_COPIES)

    def _add(self, size: int, copies: int) -> None:
        self.size += size
        self._owed += copies * size
        if self._owed > _STEP and self._hold is not None:
            owed, self._owed = self._owed, 0
            self._hold.grow(owed)


class DraftView(View):
    """The newest state with the differences of a batch laid over it.

    NOTE: reads are not checked against writes of other processes: the change is made only if the
    version is still `base`, and else the whole batch runs again.
    """

    holds_own = True

    def __init__(
        self,
        engine: Engine,
        queries: Queries,
        cache: HierarchyCache,
        guess: State | None,
        load: Load,
    ) -> None:
        """`guess` is the state as the caller knows it; a wrong one is found at the commit."""
        super().__init__(engine, queries)
        self.base = guess or self._read_newest()
        self.draft = Differences()
        self.known = Known(engine, queries, cache, load)

    @contextmanager
    def snapshot(self, deadline: float | None, *, ends_reads: bool = True) -> Iterator[None]:
        """The draft is its own snapshot: reads inside still see its writes."""
        del ends_reads
        outer = self._deadline
        self._deadline = deadline or outer
        try:
            yield
        finally:
            self._deadline = outer

    def read_state(self) -> State:
        """Return the state that the batch began with."""
        return self.base

    def differences(self) -> Differences:
        """The differences of the batch."""
        return self.draft

    def read(self, text: str) -> tuple[Iterator[Row], Differences]:
        """Return rows and a copy of the current differences."""
        return self._engine.select(text), self.draft.copy()

    def select(self, text: str) -> Iterator[Row]:
        """Yield the rows of a SELECT, before anything is changed.

        They may be of a later state than the other reads. Then the change is not made.
        """
        if not self.draft.is_empty():
            raise CannotRun("A compiled query does not see what a work has not committed.")
        return self._engine.query(text, self._deadline)


class Known:
    """Records as the engine holds them, each read once per batch; None for one that is absent."""

    def __init__(self, engine: Engine, queries: Queries, cache: HierarchyCache, load: Load) -> None:
        self._held = Differences()
        self._load = load
        view = View(engine, queries)
        self._names = queries.names
        self._records = Records(queries, view, cache)
        self._sizes: dict[int, tuple[object, int]] = {}

    def read_twin(self, twin_id: str) -> TwinRecord | None:
        """The twin."""
        self._fill_twins((twin_id,))
        return self._held.twins[twin_id]

    def read_twins(self, ids: Iterable[str]) -> None:
        """Read these twins together, for later calls that need one of them."""
        self._fill_twins(dict.fromkeys(ids))

    def read_relationship(self, source_id: str, relationship_id: str) -> RelationshipRecord | None:
        """The relationship."""
        self._fill_relationships(((source_id, relationship_id),))
        return self._held.relationships[source_id, relationship_id]

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The body of the entry."""
        self._fill_entries(((kind, key),))
        return self._held.entries[kind, key]

    def read_old(self, draft: Differences) -> Differences:
        """Return the old records of everything the draft touches, which is its undo."""
        self._fill_twins(draft.twins)
        self._fill_relationships(draft.relationships)
        self._fill_entries(draft.entries)
        held = self._held
        models: dict[str, ModelRecord | None] = dict.fromkeys(draft.models)
        models |= {model.model_id: model for model in self._records.read_models(draft.models)}
        old = Differences(
            twins=_pick(held.twins, draft.twins),
            relationships=_pick(held.relationships, draft.relationships),
            models=models,
            entries=_pick(held.entries, draft.entries),
            events={**dict.fromkeys(draft.events), **self._records.read_events(draft.events)},
        )
        if draft.interfaces:
            present = self._records.read_hierarchy().interfaces
            old.interfaces = {key: present.get(key) for key in draft.interfaces}
        return old

    def count_more(self, draft: Differences) -> int:
        """Return how many more twins there are with the draft."""
        self._fill_twins(draft.twins)
        held = self._held.twins
        return sum(
            (twin is not None) - (held[twin_id] is not None)
            for twin_id, twin in draft.twins.items()
        )

    def measure_more(self, draft: Differences) -> int:
        """Return by how many bytes the draft enlarges the content."""
        return self._measure(draft) - self._measure(self.read_old(draft))

    def _measure(self, records: Differences) -> int:
        maps: tuple[Mapping[object, TwinRecord | RelationshipRecord | ModelRecord | None], ...] = (
            records.twins,  # type: ignore[assignment]  # only the values are looked at
            records.relationships,
            records.models,
        )
        return sum(self._measure_record(x) for each in maps for x in each.values() if x is not None)

    def _measure_record(self, record: TwinRecord | RelationshipRecord | ModelRecord) -> int:
        held = self._sizes.get(id(record))
        if held is None:  # the record is kept with its size, so its id is not reused
            held = self._sizes[id(record)] = record, measure_record(self._names, record)
        return held[1]

    def _fill_twins(self, ids: Iterable[str]) -> None:
        read = self._records.read_twins
        self._fill(self._held.twins, ids, lambda new: ((x.twin_id, x) for x in read(new)))

    def _fill_relationships(self, keys: Iterable[tuple[str, str]]) -> None:
        read = self._records.read_relationships
        self._fill(
            self._held.relationships, keys, lambda new: ((read_key(x), x) for x in read(new))
        )

    def _fill_entries(self, keys: Iterable[tuple[str, str]]) -> None:
        self._fill(self._held.entries, keys, lambda new: self._records.read_bodies(new).items())

    def _fill(
        self,
        held: dict[K, T | None],
        keys: Iterable[K],
        read: Callable[[list[K]], Iterable[tuple[K, T]]],
    ) -> None:
        # NOTE: `held` is changed only after all were read, so a failed read leaves no gaps.
        found: dict[K, T | None] = dict.fromkeys(key for key in keys if key not in held)
        for key, record in read(list(found)):
            self._load.add_text(measure_document(record))
            found[key] = record
        held.update(found)


def measure_record(names: GraphNames, record: TwinRecord | RelationshipRecord | ModelRecord) -> int:
    """Bytes of the triples of a record."""
    if isinstance(record, TwinRecord):
        return measure_triples(build_twin_triples(names, record))
    if isinstance(record, RelationshipRecord):
        return measure_triples(build_relationship_triples(record))
    return measure_triples(build_model_triples(names, record))


def _pick(held: Mapping[K, T], keys: Iterable[K]) -> dict[K, T]:
    return {key: held[key] for key in keys}
