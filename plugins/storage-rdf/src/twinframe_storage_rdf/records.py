"""Reads the records of one version of a graph, even if the engine holds a newer one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from heapq import merge
from itertools import chain, islice
from typing import Any, Final, TypeVar, cast

from twinframe.storage.base import (
    Listed,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
)
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import Differences, EntryKey, RelationshipKey
from twinframe_storage_rdf.hierarchy import Hierarchy, HierarchyCache
from twinframe_storage_rdf.mapping import read_event
from twinframe_storage_rdf.queries import (
    Queries,
    read_model_row,
    read_relationship_row,
    read_twin_row,
)
from twinframe_storage_rdf.terms import Iri, Row
from twinframe_storage_rdf.view import View

K = TypeVar("K")
T = TypeVar("T")
Key = TypeVar("Key", str, tuple[str, str])

BATCH: Final = 500
"""The most keys in one query."""
_SLICE_BYTES: Final = 2 * 1024**2
_FEWEST_SLICES: Final = 32  # with fewer, the list of places of each would be long


class Records:
    """Reads records of the version of the graph that `view` shows."""

    def __init__(self, queries: Queries, view: View, cache: HierarchyCache) -> None:
        self.queries = queries
        self._view = view
        self._cache = cache

    # --- twins ----------------------------------------------------------------------------------

    def read_twins(self, ids: Iterable[str]) -> Iterator[TwinRecord]:
        """The twins of these ids, each once, in no particular order."""
        for batch in batched(dict.fromkeys(ids)):
            rows, differ = self._view.read(self.queries.twins_by_id(batch))
            found = (read_twin_row(self.queries.names, row) for row in rows)
            yield from _merge_keyed(found, differ.twins, _read_twin_id, batch)

    def read_twin_document(self, twin_id: str) -> StoredDocument | None:
        """Etag and document of a twin alone."""
        rows, differ = self._view.read(self.queries.document_of(v.build_twin_iri(twin_id)))
        if twin_id in differ.twins:
            twin = differ.twins[twin_id]
            return None if twin is None else StoredDocument(twin.etag, twin.body)
        row = next(rows, None)
        return None if row is None else StoredDocument(*cast("tuple[str, bytes]", row))

    def read_twin_model(self, twin_id: str) -> str | None:
        """The DTMI of a twin's interface; None when there is no twin."""
        rows, differ = self._view.read(self.queries.model_of_twin(twin_id))
        if twin_id in differ.twins:
            twin = differ.twins[twin_id]
            return None if twin is None else twin.model_id
        row = next(rows, None)
        return None if row is None else self.queries.names.parse_model_iri(cast("Iri", row[0]))

    def read_twin_models(self, ids: Iterable[str]) -> dict[str, str]:
        """The DTMIs of the interfaces of these twins, by id."""
        parse = self.queries.names.parse_model_iri
        models: dict[str, str] = {}
        for batch in batched(dict.fromkeys(ids)):
            rows, differ = self._view.read(self.queries.models_of_twins(batch))
            found = {cast("str", key): parse(cast("Iri", model)) for key, model in rows}
            for key in batch:
                twin = differ.twins.get(key)
                if twin is not None:
                    models[key] = twin.model_id
                elif key in found and key not in differ.twins:
                    models[key] = found[key]
        return models

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """All twins by id; only the ids are held in memory."""
        ids: list[str] = []
        differ = Differences()
        for places in self._slice():
            rows, differ = self._view.read(self.queries.twin_ids(places))
            ids += (cast("str", row[0]) for row in rows)
        build = partial(self.queries.twins_by_id, ordered=True)
        for batch in batched(_sort(ids, differ.twins.keys())):
            rows, differ = self._view.read(build(batch))
            found = (read_twin_row(self.queries.names, row) for row in rows)
            yield from _merge_ordered(found, differ.twins, _read_twin_id, batch)

    def scan_twins(self, models: frozenset[str] | None) -> Iterator[TwinRecord]:
        """The twins of these models; of all, if None."""
        wanted = None if models is None else sorted(models)
        rows, differ = self._view.read(self.queries.twins_by_model(wanted))
        found = (read_twin_row(self.queries.names, row) for row in rows)
        return _merge(
            found,
            differ.twins,
            _read_twin_id,
            lambda twin: models is None or twin.model_id in models,
        )

    # --- relationships --------------------------------------------------------------------------

    def read_relationships(self, keys: Iterable[RelationshipKey]) -> Iterator[RelationshipRecord]:
        """The relationships of these sources and ids."""
        for batch in batched(dict.fromkeys(keys)):
            rows, differ = self._view.read(self.queries.relationships_by_key(batch))
            found = map(read_relationship_row, rows)
            yield from _merge_keyed(found, differ.relationships, read_key, batch)

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Yield all relationships by source and id; only their keys are held in memory."""
        keys: list[RelationshipKey] = []
        differ = Differences()
        for places in self._slice():
            rows, differ = self._view.read(self.queries.relationship_keys(places))
            keys += (cast("RelationshipKey", row) for row in rows)
        build = partial(self.queries.relationships_by_key, ordered=True)
        for batch in batched(_sort(keys, differ.relationships.keys())):
            rows, differ = self._view.read(build(batch))
            found = map(read_relationship_row, rows)
            yield from _merge_ordered(found, differ.relationships, read_key, batch)

    def _slice(self) -> Iterator[range | None]:
        """Yield all places in as many parts as hold some megabytes of the graph each.

        PERF: an answer takes a kilobyte a row while it is parsed, the result of it a tenth.
        """
        count = min(v.BUCKETS, self._view.read_state().content // _SLICE_BYTES)
        if count < _FEWEST_SLICES:
            yield None
            return
        width = -(-v.BUCKETS // count)
        for first in range(0, v.BUCKETS, width):
            yield range(first, min(first + width, v.BUCKETS))

    def scan_relationships(self, types: Sequence[str]) -> Iterator[RelationshipRecord]:
        """The relationships of these types, of all if there are none."""
        text = self.queries.relationships_by_type(types)
        return self._relationships(text, lambda r: not types or r.name in types)

    def read_relationships_at(
        self, end: Iri, twins: Sequence[str], types: Sequence[str]
    ) -> Iterator[RelationshipRecord]:
        """The relationships whose `end` (`SOURCE` or `TARGET`) is one of these twins."""
        for batch in batched(twins):
            holds = _build_end_test(end, frozenset(batch), types)
            yield from self._relationships(self.queries.relationships_at(end, batch, types), holds)

    def list_outgoing(
        self, source_id: str, name: str | None, after: str | None, limit: int
    ) -> list[RelationshipRecord]:
        """A page by id."""

        def holds(record: RelationshipRecord) -> bool:
            return (
                record.source_id == source_id
                and (name is None or record.name == name)
                and (after is None or record.relationship_id > after)
            )

        rows, differ = self._read_page(
            "relationships",
            lambda more: self.queries.outgoing(source_id, name, after, limit + more),
        )
        return sorted(_merge_relationships(rows, differ, holds), key=read_key)[:limit]

    def list_incoming(
        self, target_id: str, after: Sequence[str], limit: int
    ) -> list[RelationshipRecord]:
        """A page by source and id."""

        def holds(record: RelationshipRecord) -> bool:
            return record.target_id == target_id and [*read_key(record)] > [*after]

        rows, differ = self._read_page(
            "relationships", lambda more: self.queries.incoming(target_id, after, limit + more)
        )
        return sorted(_merge_relationships(rows, differ, holds), key=read_key)[:limit]

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship is at the twin."""
        rows, differ = self._read_page(
            "relationships", lambda more: self.queries.keys_at(twin_id, more + 1)
        )
        if any(row not in differ.relationships for row in cast("Iterator[Any]", rows)):
            return True
        return next(differ.relationships_at(twin_id), None) is not None

    def _relationships(
        self, text: str, holds: Callable[[RelationshipRecord], bool]
    ) -> Iterator[RelationshipRecord]:
        rows, differ = self._view.read(text)
        return _merge_relationships(rows, differ, holds)

    def _read_page(
        self, kind: str, build: Callable[[int], str]
    ) -> tuple[Iterator[Row], Differences]:
        """Return the rows of `build(more)`, of which differences of a kind hide at most `more`."""
        more = len(getattr(self._view.differences(), kind))
        while True:
            rows, differ = self._view.read(build(more))
            hidden = len(getattr(differ, kind))
            if hidden <= more:
                return rows, differ
            more = 2 * hidden  # so that writers cannot exceed it

    # --- models ---------------------------------------------------------------------------------

    def read_models(self, ids: Iterable[str]) -> Iterator[ModelRecord]:
        """The stored models of these ids."""
        for batch in batched(dict.fromkeys(ids)):
            rows, differ = self._view.read(self.queries.models_by_id(batch))
            found = map(read_model_row, rows)
            yield from _merge_keyed(found, differ.models, _read_model_id, batch)

    def list_models(self, after: int, limit: int | None) -> list[ModelRecord]:
        """Stored models by position."""

        def build(more: int) -> str:
            return self.queries.models_after(after, None if limit is None else limit + more)

        rows, differ = self._read_page("models", build)
        found = _merge(
            map(read_model_row, rows),
            differ.models,
            _read_model_id,
            lambda model: model.position > after,
        )
        return sorted(found, key=lambda model: model.position)[:limit]

    def read_referrers(self, model_id: str) -> tuple[str, ...]:
        """Ids of the other stored models that extend it or have it as a component, in order."""
        rows, differ = self._view.read(self.queries.referrers(model_id))
        found = {cast("str", row[0]): cast("int", row[1]) for row in rows}
        for key, model in differ.models.items():
            found.pop(key, None)
            if model is not None and model_id in (*model.extends, *model.components):
                found[key] = model.position
        found.pop(model_id, None)
        return tuple(sorted(found, key=lambda key: found[key]))

    def read_model_ids(self) -> frozenset[str]:
        """Stored models and those that twins name."""
        rows, differ = self._view.read(self.queries.stored_models())
        stored = {cast("str", row[0]) for row in rows} - differ.models.keys()
        stored |= {key for key, model in differ.models.items() if model is not None}
        return frozenset(stored | self._read_named_models())

    def _read_named_models(self) -> set[str]:
        rows, differ = self._view.read(self.queries.twins_of_models())
        parse = self.queries.names.parse_model_iri
        counts = {parse(cast("Iri", row[0])): cast("int", row[1]) for row in rows if row[0]}
        for batch in batched(differ.twins):
            rows, _ = self._view.read(self.queries.twins_by_id(batch))
            for row in rows:
                counts[parse(cast("Iri", row[1]))] -= 1
        for twin in differ.twins.values():
            if twin is not None:
                counts[twin.model_id] = counts.get(twin.model_id, 0) + 1
        return {model for model, count in counts.items() if count > 0}

    # --- the service's own ----------------------------------------------------------------------

    def read_bodies(self, keys: Iterable[EntryKey]) -> Mapping[EntryKey, bytes]:
        """Return the bodies of those of these entries that exist."""
        found: dict[EntryKey, bytes] = {}
        for batch in batched(keys):
            rows, differ = self._view.read(self.queries.entries_by_key(batch))
            bodies = {cast("Iri", iri): cast("bytes", body) for iri, body in rows}
            for key in batch:
                body = (
                    differ.entries[key]
                    if key in differ.entries
                    else bodies.get(v.build_entry_iri(*key))
                )
                if body is not None:
                    found[key] = body
        return found

    def list_entries(self, kind: str, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """A page of a kind by key."""
        rows, differ = self._read_page(
            "entries", lambda more: self.queries.entries_after(kind, after, limit + more)
        )
        found = {cast("str", key): cast("bytes", body) for key, body in rows}
        for (own, key), body in differ.entries.items():
            if own == kind:
                found.pop(key, None)
                if body is not None and (after is None or key > after):
                    found[key] = body
        return [Listed(key, found[key]) for key in sorted(found)[:limit]]

    def measure_events(self, positions: Iterable[int]) -> Sequence[tuple[int, int]]:
        """Read the position and length of the stored events at these positions, in order."""
        found: list[tuple[int, int]] = []
        for batch in batched(positions):
            rows, _ = self._view.read(self.queries.event_sizes(batch))
            found += (
                (v.parse_event_iri(cast("Iri", iri)), cast("int", length)) for iri, length in rows
            )
        return sorted(found)

    def read_events(self, positions: Iterable[int]) -> Mapping[int, OutboxEvent]:
        """Return the events at these positions that exist, in the order of positions."""
        found: dict[int, OutboxEvent] = {}
        for batch in batched(positions):
            rows, differ = self._view.read(self.queries.events_at(batch))
            for iri, text in rows:
                found[v.parse_event_iri(cast("Iri", iri))] = read_event(cast("bytes", text))
            for position in batch:
                if position in differ.events:
                    event = differ.events[position]
                    found.pop(position, None)
                    if event is not None:
                        found[position] = event
        return {position: found[position] for position in sorted(found)}

    def list_replacements(self, twin_id: str, relationship_id: str, after: int) -> list[int]:
        """List the positions after `after` of events that replaced or deleted one entity."""
        rows, differ = self._view.read(self.queries.replacements(twin_id, relationship_id))
        found = {v.parse_event_iri(cast("Iri", row[0])) for row in rows} - differ.events.keys()
        key = twin_id, relationship_id
        found |= {at for at, event in differ.events.items() if event and event.replaced == key}
        return sorted(position for position in found if position > after)

    # --- the hierarchy --------------------------------------------------------------------------

    def read_hierarchy(self) -> Hierarchy:
        """The hierarchy of interfaces."""
        version = self._view.read_state().hierarchy_version
        differ = self._view.differences()
        cached = self._cache.held
        if cached is not None and cached[0] == version:
            held = cached[1]
        else:
            rows, differ = self._view.read(self.queries.interfaces())
            held = Hierarchy(self._read_interfaces(rows))
            exact = self._view.holds_own or not differ.interfaces
            if exact and self._view.is_newest_hierarchy(version):
                self._cache.held = version, held
        return _lay_over(held, differ.interfaces) if differ.interfaces else held

    def _read_interfaces(self, rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
        parse = self.queries.names.parse_model_iri
        found: dict[str, tuple[str, ...]] = {}
        for key, parent in cast("Iterable[tuple[str, Iri | None]]", rows):
            known = found.get(key, ())
            found[key] = known if parent is None else (*known, parse(parent))
        return found


def read_key(record: RelationshipRecord) -> RelationshipKey:
    """Source and id."""
    return record.source_id, record.relationship_id


def _sort(found: list[Key], others: Collection[Key]) -> list[Key]:
    """Merge both by code point without duplicates; `found` has none, and is consumed."""
    if others:
        found[:] = set(found).union(others)
    found.sort()
    return found


def batched(items: Iterable[K]) -> Iterator[list[K]]:
    """The items in lists of at most `BATCH`."""
    rest = iter(items)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _lay_over(base: Hierarchy, differ: Mapping[str, tuple[str, ...] | None]) -> Hierarchy:
    merged = {**base.interfaces, **differ}
    return Hierarchy({key: parents for key, parents in merged.items() if parents is not None})


def _read_twin_id(twin: TwinRecord) -> str:
    return twin.twin_id


def _read_model_id(model: ModelRecord) -> str:
    return model.model_id


def _build_end_test(
    end: Iri, twins: frozenset[str], types: Sequence[str]
) -> Callable[[RelationshipRecord], bool]:
    outgoing = end == v.SOURCE

    def holds(record: RelationshipRecord) -> bool:
        at = record.source_id if outgoing else record.target_id
        return at in twins and (not types or record.name in types)

    return holds


def _merge_keyed(
    found: Iterator[T], differ: Mapping[K, T | None], key: Callable[[T], K], keys: Iterable[K]
) -> Iterator[T]:
    """Found records of these keys with the differences of the same keys."""
    if not differ:
        return found
    other = [record for at in keys if (record := differ.get(at)) is not None]
    return chain((record for record in found if key(record) not in differ), other)


def _merge_ordered(
    found: Iterator[T], differ: Mapping[Key, T | None], key: Callable[[T], Key], keys: Iterable[Key]
) -> Iterator[T]:
    """Merge as `_merge_keyed` does, for `found` and keys that are both in order.

    SEC: the records are passed on as they are read: all of a batch may take hundreds of megabytes.
    """
    if not differ:
        return found
    other = (record for at in keys if (record := differ.get(at)) is not None)
    return merge((record for record in found if key(record) not in differ), other, key=key)


def _merge_relationships(
    rows: Iterator[Row], differ: Differences, holds: Callable[[RelationshipRecord], bool]
) -> Iterator[RelationshipRecord]:
    return _merge(map(read_relationship_row, rows), differ.relationships, read_key, holds)


def _merge(
    found: Iterator[T],
    differ: Mapping[K, T | None],
    key: Callable[[T], K],
    holds: Callable[[T], bool],
) -> Iterator[T]:
    if not differ:
        return found
    other = [record for record in differ.values() if record is not None and holds(record)]
    return chain((record for record in found if key(record) not in differ), other)
