"""The write side of the storage interface: collects the changes of a batch as differences.

The store turns the differences of a batch into one change of the engine.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from twinframe.errors import (
    ModelAlreadyExists,
    ModelNotFound,
    ModelReferenced,
    RelationshipNotFound,
    RelationshipsNotDeleted,
    TargetTwinNotFound,
    TwinNotFound,
)
from twinframe.storage.base import (
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
)
from twinframe_storage_rdf.differences import Differences, State
from twinframe_storage_rdf.draft import DraftView, Load
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.hierarchy import HierarchyCache, Interfaces
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, read_key
from twinframe_storage_rdf.session import RdfSession

_MOST_EVENT_BYTES: Final = 4 * 1024 * 1024
"""Bytes of events that are deleted at once."""


class RdfTransaction(RdfSession, GraphTransaction):
    """Reads the draft of a batch and changes it; `undo` reverts what one write changed."""

    def __init__(
        self,
        engine: Engine,
        queries: Queries,
        cache: HierarchyCache,
        guess: State | None,
        load: Load,
    ) -> None:
        super().__init__(engine, queries, cache)
        self.view = DraftView(engine, queries, cache, guess, load)
        self._load = load
        self._view = self.view
        self._known = self.view.known
        self._records = Records(queries, self.view, cache)

    @property
    def is_for_engines(self) -> bool:
        """Until something is changed: the draft is beside the triples that SPARQL reads."""
        return self.view.draft.is_empty()

    def mark(self) -> Differences:
        """Return a copy of the draft, for `undo`."""
        return self.view.draft.copy()

    def undo(self, mark: Differences) -> None:
        """Restore the draft to `mark`."""
        self.view.draft = mark

    def read_schema_version(self) -> int:
        """Return the number of the last change of a model, this draft's if it has one."""
        changed = self.view.draft.schema_version
        return self.view.base.schema_version if changed is None else changed

    # --- reading what a change replaces ---------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        twin = self._read_twin(twin_id)
        return None if twin is None else StoredDocument(twin.etag, twin.body)

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        twin = self._read_twin(twin_id)
        return None if twin is None else twin.model_id

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """The model ids of these twins."""
        self._known.read_twins(x for x in twin_ids if x not in self.view.draft.twins)
        found = ((twin_id, self.read_twin_model(twin_id)) for twin_id in twin_ids)
        return {twin_id: model_id for twin_id, model_id in found if model_id is not None}

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        key = source_id, relationship_id
        draft = self.view.draft.relationships
        found = draft[key] if key in draft else self._known.read_relationship(*key)
        return None if found is None else StoredDocument(found.etag, found.body)

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The entry's body."""
        draft = self.view.draft.entries
        return draft[kind, key] if (kind, key) in draft else self._known.read_entry(kind, key)

    def count_twins(self) -> int:
        """Return the stored number, with the draft's changes."""
        return self.view.base.twins + self._known.count_more(self.view.draft)

    def measure_content(self) -> int:
        """Bytes of the triples of twins, relationships and models; indexes take more on disk."""
        return self.view.base.content + self._known.measure_more(self.view.draft)

    def _read_twin(self, twin_id: str) -> TwinRecord | None:
        draft = self.view.draft.twins
        return draft[twin_id] if twin_id in draft else self._known.read_twin(twin_id)

    # --- twins and relationships --------------------------------------------------------------

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin; the name of its interface becomes known."""
        self._load.add_record(len(record.body))
        self.view.draft.twins[record.twin_id] = record
        known = self.view.draft.interfaces
        if record.model_id not in known and record.model_id not in self._read_interfaces():
            known[record.model_id] = ()

    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin without relationships."""
        if not self.has_twin(twin_id):
            raise TwinNotFound(twin_id)
        if self.has_relationships(twin_id):
            raise RelationshipsNotDeleted(
                f"Twin {twin_id} has active relationships. Delete them before the twin."
            )
        self.view.draft.twins[twin_id] = None

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        return self._records.has_relationships(twin_id)

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship between twins that exist."""
        if not self.has_twin(record.source_id):
            raise TwinNotFound(record.source_id)
        if not self.has_twin(record.target_id):
            raise TargetTwinNotFound(record.target_id)
        self._load.add_record(len(record.body))
        self.view.draft.relationships[read_key(record)] = record

    def put_relationships(self, records: Sequence[RelationshipRecord]) -> None:
        """Create or replace many; the twins at their ends are read together."""
        ends = (end for record in records for end in (record.source_id, record.target_id))
        self._known.read_twins(end for end in ends if end not in self.view.draft.twins)
        for record in records:
            self.put_relationship(record)

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        if self.read_relationship(source_id, relationship_id) is None:
            raise RelationshipNotFound(source_id, relationship_id)
        self.view.draft.relationships[source_id, relationship_id] = None

    # --- the service's own ----------------------------------------------------------------------

    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Create or replace an entry."""
        self._load.add_text(len(body))
        self.view.draft.entries[kind, key] = body

    def delete_entry(self, kind: str, key: str) -> bool:
        """Delete an entry."""
        if self.read_entry(kind, key) is None:
            return False
        self.view.draft.entries[kind, key] = None
        return True

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append events after the others, each at a position of its own."""
        if not events:
            return
        self._load.add_text(sum(len(event.body) for event in events))
        _, last = self._read_event_range()
        draft = self.view.draft
        draft.events.update(enumerate(events, last + 1))
        draft.last_event = last + len(events)

    def delete_events(self, *, up_to: int, limit: int) -> int:
        """Delete the oldest events."""
        first, last = self._read_event_range()
        end = max(min(up_to, last, first + limit - 1) + 1, first)
        end = self._find_short_end(first, end)
        if end > first:
            self.view.draft.events.update(dict.fromkeys(range(first, end)))
            self.view.draft.first_event = end
        return end - first

    def _find_short_end(self, first: int, end: int) -> int:
        """Return the end of a few megabytes of events: all deleted ones go into the undo."""
        size = 0
        for position, length in self._records.measure_events(range(first, end)):
            size += length
            if size > _MOST_EVENT_BYTES:
                end = position + 1
                break
        self._load.add_text(size)
        return end

    def _read_event_range(self) -> tuple[int, int]:
        base, draft = self.view.base, self.view.draft
        return (
            base.first_event if draft.first_event is None else draft.first_event,
            base.last_event if draft.last_event is None else draft.last_event,
        )

    # --- models ---------------------------------------------------------------------------------

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models after the present ones."""
        ids = [record.model_id for record in records]
        stored = {model.model_id for model in self._records.read_models(ids)}
        taken = [x for at, x in enumerate(ids) if x in stored or x in ids[:at]]
        if taken:
            raise ModelAlreadyExists(*taken)
        draft = self.view.draft
        position = draft.last_position
        position = self.view.base.last_position if position is None else position
        for record in records:
            self._load.add_text(len(record.document))
            position += 1
            draft.models[record.model_id] = replace(record, position=position)
            draft.interfaces[record.model_id] = record.extends
        draft.last_position = position
        self._count_change()

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the model's flag."""
        stored = self.read_model(model_id)
        if stored is None:
            raise ModelNotFound(model_id)
        self.view.draft.models[model_id] = replace(stored, decommissioned=decommissioned)
        self._count_change()

    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete models that no other model refers to any more; they stay known."""
        stored = {model.model_id for model in self._records.read_models(model_ids)}
        absent = [model_id for model_id in model_ids if model_id not in stored]
        if absent:
            raise ModelNotFound(*absent)
        going = frozenset(model_ids)
        for model_id in model_ids:
            staying = tuple(x for x in self._records.read_referrers(model_id) if x not in going)
            if staying:
                raise ModelReferenced(model_id, staying)
        for model_id in going:
            self.view.draft.models[model_id] = None
        self._count_change()

    def _read_interfaces(self) -> Interfaces:
        return self._records.read_hierarchy().interfaces

    def _count_change(self) -> None:
        """Set a schema version that no process used, even uncommitted: the time in microseconds."""
        self.view.draft.schema_version = max(self.read_schema_version() + 1, time.time_ns() // 1000)
