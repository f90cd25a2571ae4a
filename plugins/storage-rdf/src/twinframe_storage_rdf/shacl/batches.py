"""Splits a graph into batches of twins with everything that the shapes of their models look at.

For each twin these are its own properties, its relationships, and the models of their targets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from twinframe.storage.base import GraphSession, RelationshipRecord, TwinRecord
from twinframe.storage.triples import N_TRIPLES
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.mapping import (
    GraphNames,
    Triple,
    build_edge_triple,
    build_twin_triples,
)
from twinframe_storage_rdf.shacl.judge import Batch
from twinframe_storage_rdf.triples.nodes import find_ancestors
from twinframe_storage_rdf.triples.syntaxes import write_nodes

_MOST_TWINS: Final = 1000
_MOST_BYTES: Final = 4 * 1024**2
_MOST_EDGES: Final = 20_000
_LOOK_UP: Final = 500
_UNSEEN: Final = frozenset((v.BUCKET, v.DOCUMENT, v.ETAG, v.ID))


@dataclass
class TwinBatch:
    """Twins that are validated together.

    `overfull` are those with more relationships than are held.
    """

    twins: list[TwinRecord] = field(default_factory=list)
    edges: set[Triple] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    overfull: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the batch should take no more."""
        return (
            len(self.twins) >= _MOST_TWINS
            or self.size >= _MOST_BYTES
            or len(self.edges) >= _MOST_EDGES
        )


def iterate_batches(session: GraphSession) -> Iterator[TwinBatch]:
    """Yield all twins of the caller's snapshot, with their relationships."""
    relationships = session.iterate_relationships()
    coming = next(relationships, None)
    batch = TwinBatch()
    for twin in session.iterate_twins():
        batch.twins.append(twin)
        batch.size += len(twin.body)
        while coming is not None and coming.source_id <= twin.twin_id:
            if coming.source_id == twin.twin_id:
                _add_edge(batch, coming)
            coming = next(relationships, None)
        if batch.is_full:
            yield batch
            batch = TwinBatch()
    if batch.twins:
        yield batch


def _add_edge(batch: TwinBatch, relationship: RelationshipRecord) -> None:
    if len(batch.edges) < 2 * _MOST_EDGES:
        batch.edges.add(build_edge_triple(relationship))
        batch.targets.add(relationship.target_id)
    elif not batch.overfull or batch.overfull[-1] != relationship.source_id:
        batch.overfull.append(relationship.source_id)


class BatchBuilder:
    """Builds the batches for the validator, for the models of one snapshot."""

    def __init__(self, names: GraphNames, session: GraphSession, stored: frozenset[str]) -> None:
        self._names = names
        self._session = session
        self._stored = stored
        self._ancestors: Mapping[str, set[str]] = find_ancestors(session)
        self._classes = [
            (names.build_model_iri(model), v.RDFS_SUBCLASS, names.build_model_iri(ancestor))
            for model, ancestors in self._ancestors.items()
            for ancestor in ancestors
        ]

    def build(self, batch: TwinBatch) -> Batch:
        """Build a batch in which each twin is validated by the shapes of its model and its
        ancestors.
        """
        targets: dict[str, list[str]] = {}
        triples: list[Triple] = [*self._classes, *batch.edges]
        for twin in batch.twins:
            for shape in self._find_shapes(twin.model_id):
                targets.setdefault(shape, []).append(v.build_twin_iri(twin.twin_id))
            triples += (t for t in build_twin_triples(self._names, twin) if t[1] not in _UNSEEN)
        triples += self._read_targets(batch)
        text = b"".join(write_nodes([[triple] for triple in triples], N_TRIPLES, self._names.data))
        return Batch(text.decode(), targets)

    def _find_shapes(self, model_id: str) -> list[str]:
        models = {model_id, *self._ancestors.get(model_id, ())} & self._stored
        return [str(v.build_shape_iri(model)) for model in sorted(models)]

    def _read_targets(self, batch: TwinBatch) -> Iterator[Triple]:
        others = sorted(batch.targets - {twin.twin_id for twin in batch.twins})
        for at in range(0, len(others), _LOOK_UP):
            models = self._session.read_twin_models(others[at : at + _LOOK_UP])
            for twin_id, model_id in models.items():
                model = self._names.build_model_iri(model_id)
                yield v.build_twin_iri(twin_id), v.RDF_TYPE, model
