"""Reading a twin graph from triples through the storage seam. It changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar, cast

import orjson
from rdflib import RDF, URIRef

from twinframe.cypher.algebra import Direction, LabelExpression
from twinframe.errors import QueryTimeout
from twinframe.evaluator.labels import compile_labels, find_label_names
from twinframe.evaluator.reader import Hop
from twinframe.model.ids import MODEL_LABEL, build_labels
from twinframe.model.values import Node, Relationship
from twinframe.storage.base import (
    GraphSession,
    IncomingRelationship,
    Instance,
    Listed,
    ModelRecord,
    RelationshipRecord,
    StoredDocument,
)
from twinframe.storage.entities import build_model_node, build_relationship, build_twin_node
from twinframe_storage_rdf.hierarchy import read_ancestors, read_known_models, read_lineage
from twinframe_storage_rdf.records import (
    read_document,
    read_model,
    read_relationship,
    read_twin,
)
from twinframe_storage_rdf.triples import SharedTriples, Triples
from twinframe_storage_rdf.vocabulary import (
    TF,
    build_graph_iri,
    build_model_iri,
    build_relationship_iri,
    build_twin_iri,
)

T = TypeVar("T")

STATE = build_graph_iri("state")
"""The resource that holds what belongs to the graph as a whole."""


class RdfSession(GraphSession):
    """Reads the current triples, or inside `snapshot` those that were current at its begin.

    NOTE: scans are read whole before the first item is given: a graph in memory is small, and no
    read may hold up writers between two items.
    """

    def __init__(self, shared: SharedTriples, instance: Instance) -> None:
        self._shared = shared
        self._instance = instance
        self._pinned: Triples | None = None
        self._deadline: float | None = None

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Pin the current triples; a snapshot inside another shows what the outer one does."""
        before = self._pinned, self._deadline
        held: AbstractContextManager[Triples] = (
            nullcontext(self._pinned) if self._pinned is not None else self._shared.pinned()
        )
        with held as triples:
            self._pinned, self._deadline = triples, deadline
            try:
                yield
            finally:
                self._pinned, self._deadline = before

    def _view(self) -> AbstractContextManager[Triples]:
        return nullcontext(self._pinned) if self._pinned is not None else self._shared.reading()

    # --- the graph itself -------------------------------------------------------------------

    def read_instance(self) -> Instance:
        """Identity and secret, made with the graph."""
        return self._instance

    def read_schema_version(self) -> int:
        """Counts the changes of models."""
        with self._view() as triples:
            return int(triples.read_text(STATE, TF.schemaVersion) or 0)

    # --- twins and relationships --------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        with self._view() as triples:
            return read_document(triples, build_twin_iri(twin_id))

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        with self._view() as triples:
            return triples.has(build_twin_iri(twin_id), TF.id)

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        with self._view() as triples:
            return triples.read_text(build_twin_iri(twin_id), TF.model)

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        with self._view() as triples:
            return read_document(triples, build_relationship_iri(source_id, relationship_id))

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        with self._view() as triples:
            found = self._read_ends(triples, TF.source, source_id)
        wanted = sorted(
            (r for r in found if name is None or r.name == name),
            key=lambda record: record.relationship_id,
        )
        return [
            Listed(record.relationship_id, StoredDocument(record.etag, record.body))
            for record in wanted
            if after is None or record.relationship_id > after
        ][:limit]

    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Incoming relationships by source and id; the key is both as a JSON array."""
        start = cast("list[str]", orjson.loads(after)) if after else []
        with self._view() as triples:
            found = self._read_ends(triples, TF.target, target_id)
        found.sort(key=lambda record: (record.source_id, record.relationship_id))
        return [
            Listed(
                orjson.dumps([record.source_id, record.relationship_id]).decode(),
                IncomingRelationship(record.source_id, record.relationship_id, record.name),
            )
            for record in found
            if [record.source_id, record.relationship_id] > start
        ][:limit]

    # --- models ---------------------------------------------------------------------------------

    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model."""
        with self._view() as triples:
            return read_model(triples, build_model_iri(model_id))

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by position."""
        with self._view() as triples:
            found = [model for model in self._read_models(triples) if model.position > after]
        return sorted(found, key=lambda model: model.position)[:limit]

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that name it, in upload order."""
        with self._view() as triples:
            return read_referrers(triples, model_id)

    # --- the evaluator's port -------------------------------------------------------------------

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Twins model by model, so that labels are decided once a model; models when asked for."""
        holds = compile_labels(labels)
        found: list[Node] = []
        with self._view() as triples:
            for model in read_known_models(triples):
                own = build_labels(read_ancestors(triples, model))
                if holds(own):
                    twins = triples.read_subjects(TF.model, model)
                    found += self._in_time(
                        build_twin_node(read_twin(triples, t), own) for t in twins
                    )
            if MODEL_LABEL in find_label_names(labels):
                own = frozenset({MODEL_LABEL})
                models = self._read_models(triples) if holds(own) else []
                found += self._in_time(build_model_node(model, own) for model in models)
        return iter(found)

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids."""
        found: dict[str, Node] = {}
        with self._view() as triples:
            for twin_id in self._in_time(ids):
                iri = build_twin_iri(twin_id)
                if triples.has(iri, TF.id):
                    twin = read_twin(triples, iri)
                    ancestors = read_ancestors(triples, build_model_iri(twin.model_id))
                    found[twin_id] = build_twin_node(twin, build_labels(ancestors))
        return found

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types."""
        with self._view() as triples:
            all_ = triples.read_subjects(RDF.type, TF.Relationship)
            records = [read_relationship(triples, iri) for iri in self._in_time(all_)]
        return iter(build_relationship(r) for r in records if not types or r.name in types)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin; with BOTH a loop counts as outgoing only."""
        found: list[Hop] = []
        with self._view() as triples:
            for origin in self._in_time(origins):
                for record, reached in self._read_crossings(triples, origin, direction):
                    if not types or record.name in types:
                        found.append(Hop(origin, build_relationship(record), reached))
        return iter(found)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Every interface ever seen that has it among its ancestors."""
        with self._view() as triples:
            return read_lineage(triples, build_model_iri(model_id))

    def read_model_ids(self) -> frozenset[str]:
        """Stored models and those that twins name."""
        with self._view() as triples:
            return frozenset(
                str(model)
                for model in read_known_models(triples)
                if triples.has(model, TF.document) or triples.read_subjects(TF.model, model)
            )

    # --- parts ------------------------------------------------------------------------------------

    def _read_models(self, triples: Triples) -> list[ModelRecord]:
        found = (read_model(triples, iri) for iri in read_known_models(triples))
        return [model for model in self._in_time(found) if model is not None]

    def _read_ends(self, triples: Triples, end: URIRef, twin_id: str) -> list[RelationshipRecord]:
        found = triples.read_subjects(end, build_twin_iri(twin_id))
        return [read_relationship(triples, iri) for iri in self._in_time(found)]

    def _read_crossings(
        self, triples: Triples, origin: str, direction: Direction
    ) -> Iterator[tuple[RelationshipRecord, str]]:
        if direction is not Direction.INCOMING:
            for record in self._read_ends(triples, TF.source, origin):
                yield record, record.target_id
        if direction is not Direction.OUTGOING:
            for record in self._read_ends(triples, TF.target, origin):
                if direction is Direction.INCOMING or record.source_id != origin:
                    yield record, record.source_id

    def _in_time(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            if self._deadline is not None and time.monotonic() >= self._deadline:
                raise QueryTimeout("The query passed its deadline and was stopped.")
            yield item


def read_referrers(triples: Triples, model_id: str) -> tuple[str, ...]:
    """Ids of the other stored models that extend the model or have it as a component."""
    iri = build_model_iri(model_id)
    found = {
        *triples.read_subjects(TF.extends, iri),
        *triples.read_subjects(TF.component, iri),
    } - {iri}
    records = [model for other in found if (model := read_model(triples, other)) is not None]
    records.sort(key=lambda model: model.position)
    return tuple(model.model_id for model in records)
