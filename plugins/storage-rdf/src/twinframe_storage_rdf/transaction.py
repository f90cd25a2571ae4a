"""Changing a twin graph through the storage seam: what a work changes is kept as differences.

It writes nothing; the store makes the differences of a batch one change of the engine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

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
    CannotRun,
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)
from twinframe_storage_rdf.differences import Differences, State
from twinframe_storage_rdf.engines.base import Engine
from twinframe_storage_rdf.hierarchy import HierarchyCache, Interfaces
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, read_key
from twinframe_storage_rdf.service_records import ServiceWrites
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.terms import Row
from twinframe_storage_rdf.view import View


class DraftView(View):
    """The newest state with the differences of a batch laid over it.

    NOTE: reads are not checked against writes of other processes: the change is made only if the
    version is still `base`, and else the whole batch runs again.
    """

    holds_own = True

    def __init__(self, engine: Engine, queries: Queries) -> None:
        super().__init__(engine, queries)
        self.base = self._read_newest()
        self.draft = Differences()

    @contextmanager
    def snapshot(self, deadline: float | None) -> Iterator[None]:
        """The draft is its own snapshot: reads inside still see its writes."""
        del deadline
        yield

    def read_state(self) -> State:
        """The state that the batch began with."""
        return self.base

    def differences(self) -> Differences:
        """The differences of the batch."""
        return self.draft

    def read(self, text: str) -> tuple[Iterator[Row], Differences]:
        """Rows, and the differences as they are now, however long the rows are taken."""
        return self._engine.select(text), self.draft.copy()

    def select(self, text: str) -> Iterator[Row]:
        """No compiled query sees a draft."""
        raise CannotRun("A compiled query does not see what a work has not committed.")


class RdfTransaction(RdfSession, ServiceWrites, GraphTransaction):
    """Reads the draft of a batch and changes it; `undo` takes back what a work changed."""

    def __init__(self, engine: Engine, queries: Queries, cache: HierarchyCache) -> None:
        super().__init__(engine, queries, cache)
        self.view = DraftView(engine, queries)
        self._view = self.view
        self._records = Records(queries, self.view, cache)

    def mark(self) -> Differences:
        """The draft as it is, for `undo`."""
        return self.view.draft.copy()

    def undo(self, mark: Differences) -> None:
        """Make the draft what it was."""
        self.view.draft = mark

    def read_schema_version(self) -> int:
        """The number of the last change of a model, this draft's if it has one."""
        changed = self.view.draft.schema_version
        return self.view.base.schema_version if changed is None else changed

    # --- twins and relationships --------------------------------------------------------------

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin; the name of its interface becomes known."""
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

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists; the draft knows of its own without asking."""
        draft = self.view.draft.twins
        return draft[twin_id] is not None if twin_id in draft else super().has_twin(twin_id)

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        return self._records.has_relationships(twin_id)

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship between twins that exist."""
        if not self.has_twin(record.source_id):
            raise TwinNotFound(record.source_id)
        if not self.has_twin(record.target_id):
            raise TargetTwinNotFound(record.target_id)
        self.view.draft.relationships[read_key(record)] = record

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        if self.read_relationship(source_id, relationship_id) is None:
            raise RelationshipNotFound(source_id, relationship_id)
        self.view.draft.relationships[source_id, relationship_id] = None

    # --- models ---------------------------------------------------------------------------------

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models behind the present ones."""
        ids = [record.model_id for record in records]
        stored = {model.model_id for model in self._records.read_models(ids)}
        taken = [x for at, x in enumerate(ids) if x in stored or x in ids[:at]]
        if taken:
            raise ModelAlreadyExists(*taken)
        draft = self.view.draft
        position = draft.last_position
        position = self.view.base.last_position if position is None else position
        for record in records:
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
        """A schema version that no process gave before, kept or not: the time in microseconds."""
        self.view.draft.schema_version = max(self.read_schema_version() + 1, time.time_ns() // 1000)
