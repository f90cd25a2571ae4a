"""Changing a twin graph in triples through the storage seam. It takes no turn, undoes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rdflib import Literal, URIRef

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
    Instance,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
)
from twinframe_storage_rdf.records import (
    MODEL_PROPERTIES,
    build_decommissioned_triple,
    build_model_triples,
    build_relationship_triples,
    build_twin_triples,
)
from twinframe_storage_rdf.session import STATE, RdfSession, read_referrers
from twinframe_storage_rdf.triples import SharedTriples, Triples
from twinframe_storage_rdf.vocabulary import (
    TF,
    build_model_iri,
    build_relationship_iri,
    build_twin_iri,
)


class RdfTransaction(RdfSession, GraphTransaction):
    """Reads and changes the triples that the writer holds.

    `count_change` gives the number of a change of models, never the same twice.
    """

    def __init__(
        self,
        shared: SharedTriples,
        instance: Instance,
        triples: Triples,
        count_change: Callable[[], int],
    ) -> None:
        super().__init__(shared, instance)
        self._triples = triples
        self._count_change = count_change

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """The writer's triples are its snapshot: reads inside still see its own writes."""
        del deadline
        yield

    def _view(self) -> AbstractContextManager[Triples]:
        return nullcontext(self._triples)

    # --- twins and relationships --------------------------------------------------------------

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin; the name of its interface becomes known."""
        self._triples.remove(build_twin_iri(record.twin_id))
        self._triples.add(build_twin_triples(record))

    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin without relationships."""
        if not self.has_twin(twin_id):
            raise TwinNotFound(twin_id)
        if self.has_relationships(twin_id):
            raise RelationshipsNotDeleted(
                f"Twin {twin_id} has active relationships. Delete them before the twin."
            )
        self._triples.remove(build_twin_iri(twin_id))

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        twin = build_twin_iri(twin_id)
        return any(self._triples.read_subjects(end, twin) for end in (TF.source, TF.target))

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship between two twins that exist."""
        if not self.has_twin(record.source_id):
            raise TwinNotFound(record.source_id)
        if not self.has_twin(record.target_id):
            raise TargetTwinNotFound(record.target_id)
        self._triples.remove(build_relationship_iri(record.source_id, record.relationship_id))
        self._triples.add(build_relationship_triples(record))

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        iri = build_relationship_iri(source_id, relationship_id)
        if not self._triples.has(iri, TF.id):
            raise RelationshipNotFound(source_id, relationship_id)
        self._triples.remove(iri)

    # --- models ---------------------------------------------------------------------------------

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models behind the present ones."""
        ids = [record.model_id for record in records]
        taken = [x for at, x in enumerate(ids) if self._is_stored(x) or x in ids[:at]]
        if taken:
            raise ModelAlreadyExists(*taken)
        position = int(self._triples.read_text(STATE, TF.lastPosition) or 0)
        for record in records:
            position += 1
            self._triples.remove(build_model_iri(record.model_id))
            self._triples.add(build_model_triples(record, position))
        self._set_state(TF.lastPosition, position)
        self._set_state(TF.schemaVersion, self._count_change())

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the model's flag."""
        if not self._is_stored(model_id):
            raise ModelNotFound(model_id)
        self._triples.remove(build_model_iri(model_id), TF.decommissioned)
        self._triples.add([build_decommissioned_triple(model_id, decommissioned)])
        self._set_state(TF.schemaVersion, self._count_change())

    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete models that no other model refers to any more; they stay known."""
        absent = [model_id for model_id in model_ids if not self._is_stored(model_id)]
        if absent:
            raise ModelNotFound(*absent)
        going = frozenset(model_ids)
        for model_id in model_ids:
            staying = tuple(x for x in read_referrers(self._triples, model_id) if x not in going)
            if staying:
                raise ModelReferenced(model_id, staying)
        for model_id in going:
            self._triples.remove(build_model_iri(model_id), *MODEL_PROPERTIES, TF.component)
        self._set_state(TF.schemaVersion, self._count_change())

    def _is_stored(self, model_id: str) -> bool:
        return self._triples.has(build_model_iri(model_id), TF.document)

    def _set_state(self, predicate: URIRef, value: int) -> None:
        self._triples.remove(STATE, predicate)
        self._triples.add([(STATE, predicate, Literal(str(value)))])
