"""Reads the service's own records of a graph: entries and events."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import orjson

from twinframe.storage.base import Listed, OutboxEvent
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import EntryKey
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Source, batched
from twinframe_storage_rdf.terms import Iri


class ServiceRecords:
    """Reads entries and events of the version of the graph that `source` shows."""

    def __init__(self, queries: Queries, source: Source) -> None:
        self._queries = queries
        self._source = source

    def read_bodies(self, keys: Iterable[EntryKey]) -> Mapping[EntryKey, bytes]:
        """Return the bodies of those of these entries that exist."""
        found: dict[EntryKey, bytes] = {}
        for batch in batched(keys):
            rows, differ = self._source.read(self._queries.entries_by_key(batch))
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
        more = len(self._source.differences().entries)
        while True:
            rows, differ = self._source.read(self._queries.entries_after(kind, after, limit + more))
            if len(differ.entries) <= more:
                break
            more = 2 * len(differ.entries)
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
            rows, _ = self._source.read(self._queries.event_sizes(batch))
            found += (
                (v.parse_event_iri(cast("Iri", iri)), cast("int", length)) for iri, length in rows
            )
        return sorted(found)

    def read_events(self, positions: Iterable[int]) -> Mapping[int, OutboxEvent]:
        """Return the events at these positions that exist, in the order of positions."""
        found: dict[int, OutboxEvent] = {}
        for batch in batched(positions):
            rows, differ = self._source.read(self._queries.events_at(batch))
            for iri, text in rows:
                subject, body = cast("list[str]", orjson.loads(cast("bytes", text)))
                position = v.parse_event_iri(cast("Iri", iri))
                found[position] = OutboxEvent(subject, body.encode())
            for position in batch:
                if position in differ.events:
                    event = differ.events[position]
                    found.pop(position, None)
                    if event is not None:
                        found[position] = event
        return {position: found[position] for position in sorted(found)}
