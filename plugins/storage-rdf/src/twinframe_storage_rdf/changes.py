"""The differences of a batch as one change of the engine, with its undo. It commits nothing."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar, cast

from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.differences import Differences, State, render_differences
from twinframe_storage_rdf.engines.base import Change, Engine, Guard
from twinframe_storage_rdf.hierarchy import HierarchyCache
from twinframe_storage_rdf.mapping import (
    GraphNames,
    Triple,
    build_edge_triple,
    build_interface_triples,
    build_model_triples,
    build_relationship_triples,
    build_twin_triples,
)
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, batched, read_key
from twinframe_storage_rdf.terms import Iri
from twinframe_storage_rdf.view import View

T = TypeVar("T")

UNDO_SECONDS: Final = 300
"""How long the undo of a write is kept: longer than any snapshot may last."""

_PRUNE_EVERY: Final = 64


def build_guard(names: GraphNames, version: int | None) -> Guard:
    """The graph is still of this version; None: it is not there."""
    return Guard(names.state, names.state, v.VERSION, version)


def build_write_iri(names: GraphNames, version: int) -> Iri:
    """The resource of the write that made this version."""
    return Iri(f"{names.state}:{version}")


def build_change(engine: Engine, queries: Queries, base: State, draft: Differences) -> Change:
    """The change from `base` to the draft; reads the records that the draft replaces.

    What it reads is of `base`, or the guard of the change will not hold.
    """
    names = queries.names
    old = _read_old(engine, queries, draft)
    removed = _Triples(_build_triples(names, old))
    added = _Triples(_build_triples(names, draft))
    _settle_edges(engine, queries, old, draft, removed, added)
    state_removed, state_added, marker = _build_state(names, base, old, draft)
    if (base.version + 1) % _PRUNE_EVERY == 0:
        before = int(time.time()) - UNDO_SECONDS
        state_removed += (
            (Iri(str(s)), Iri(str(p)), o) for s, p, o in engine.select(queries.outdated(before))
        )
    return Change(
        guard=build_guard(names, base.version),
        marker=marker,
        removed=[(names.data, removed.without(added)), (names.state, state_removed)],
        added=[(names.data, added.without(removed)), (names.state, state_added)],
    )


class _Triples:
    """A set of triples; 1, 1.0 and true are three values, as are a string and an IRI."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self._triples = {_key(triple): triple for triple in triples}

    def add(self, triple: Triple) -> None:
        self._triples[_key(triple)] = triple

    def without(self, other: _Triples) -> list[Triple]:
        return [triple for key, triple in self._triples.items() if key not in other._triples]


def _key(triple: Triple) -> tuple[object, ...]:
    subject, predicate, value = triple
    shown = repr(value) if isinstance(value, float) else value  # -0.0 == 0.0
    return subject, predicate, value.__class__, shown


# --- records --------------------------------------------------------------------------------------


def _read_old(engine: Engine, queries: Queries, draft: Differences) -> Differences:
    """What the engine holds of all that the draft touches: the undo of the draft."""
    records = Records(queries, View(engine, queries), HierarchyCache())
    old = Differences(
        twins=dict.fromkeys(draft.twins),
        relationships=dict.fromkeys(draft.relationships),
        interfaces=dict.fromkeys(draft.interfaces),
        models=dict.fromkeys(draft.models),
    )
    for twin in records.read_twins(draft.twins):
        old.twins[twin.twin_id] = twin
    for relationship in records.read_relationships(draft.relationships):
        old.relationships[read_key(relationship)] = relationship
    for model in records.read_models(draft.models):
        old.models[model.model_id] = model
    if draft.interfaces:
        present = records.read_hierarchy().interfaces
        for model_id in draft.interfaces:
            old.interfaces[model_id] = present.get(model_id)
    return old


def _build_triples(names: GraphNames, records: Differences) -> Iterator[Triple]:
    for twin in _present(records.twins.values()):
        yield from build_twin_triples(names, twin)
    for relationship in _present(records.relationships.values()):
        yield from build_relationship_triples(relationship)
    for model_id, parents in records.interfaces.items():
        if parents is not None:
            yield from build_interface_triples(names, model_id, parents)
    for model in _present(records.models.values()):
        yield from build_model_triples(names, model)


def _present(records: Iterable[T | None]) -> Iterator[T]:
    return (record for record in records if record is not None)


def _settle_edges(
    engine: Engine,
    queries: Queries,
    old: Differences,
    draft: Differences,
    removed: _Triples,
    added: _Triples,
) -> None:
    """Direct triples: one comes with the first of parallel relationships, goes with the last."""
    for record in draft.relationships.values():
        if record is not None:
            added.add(build_edge_triple(record))
    going = {
        (record.source_id, record.name, record.target_id): record
        for record in old.relationships.values()
        if record is not None
    }
    for batch in batched(going):
        staying = set()
        for source, name, target, key in cast(
            "Iterator[tuple[str, str, str, str]]", engine.select(queries.parallels(batch))
        ):
            if (source, key) not in draft.relationships:
                staying.add((source, name, target))
        for edge in batch:
            if edge not in staying:
                removed.add(build_edge_triple(going[edge]))


# --- state ----------------------------------------------------------------------------------------


def _build_state(
    names: GraphNames, base: State, old: Differences, draft: Differences
) -> tuple[list[Triple], list[Triple], Triple]:
    version = base.version + 1
    write = build_write_iri(names, version)
    marker: Triple = (write, v.WRITE_ID, uuid.uuid4().hex)
    removed: list[Triple] = []
    added: list[Triple] = [
        marker,
        (write, v.NUMBER, version),
        (write, v.WRITTEN_AT, int(time.time())),
    ]
    changes = [(v.VERSION, base.version, version)]
    if draft.interfaces:
        changes.append((v.HIERARCHY_VERSION, base.hierarchy_version, version))
    if draft.schema_version is not None:
        old.schema_version = base.schema_version
        changes.append((v.SCHEMA_VERSION, base.schema_version, draft.schema_version))
    if draft.last_position is not None:
        old.last_position = base.last_position
        changes.append((v.LAST_POSITION, base.last_position, draft.last_position))
    for predicate, before, after in changes:
        removed.append((names.state, predicate, before))
        added.append((names.state, predicate, after))
    added.append((write, v.UNDO, render_differences(old)))
    return removed, added, marker
