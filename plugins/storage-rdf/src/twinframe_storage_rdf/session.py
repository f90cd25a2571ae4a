"""The read side of the storage interface over triples."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import cast

import orjson

from twinframe.model.ids import MODEL_LABEL
from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import Direction, LabelExpression
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe.query.reader import Hop
from twinframe.storage.base import (
    GraphSession,
    IncomingRelationship,
    Instance,
    Listed,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
)
from twinframe.storage.entities import build_model_node, build_relationship, build_twin_node
from twinframe.storage.prefetching import PrefetchingSession
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.hierarchy import Hierarchy, HierarchyCache
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.queries import Queries
from twinframe_storage_rdf.records import Records, batched
from twinframe_storage_rdf.terms import Iri, Row
from twinframe_storage_rdf.view import View


class RdfSession(GraphSession):
    """Reads the newest state, or inside `snapshot` that of its first read.

    `names` are the IRIs of the graph, for the compiler whose queries run by `select`.
    """

    def __init__(self, engine: Engine, queries: Queries, cache: HierarchyCache) -> None:
        self.names: GraphNames = queries.names
        self._view = View(engine, queries)
        self._records = Records(queries, self._view, cache)

    def select(self, text: str) -> Iterator[Row]:
        """Yield the rows of a compiled SELECT in one state, that of the snapshot if any.

        Raises `CannotRun` when the engine cannot show that state any more; the evaluator can.
        """
        return self._view.select(text)

    def snapshot(self, deadline: float | None = None) -> AbstractContextManager[None]:
        """Show one state; a snapshot inside another shows what the outer one does."""
        return self._view.snapshot(deadline)

    def interrupt(self) -> None:
        """Stop the running query of the present snapshot at its next row."""
        self._view.stop()

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Call `look` after every 4 MiB read."""
        self._view.watch_memory(look)

    def small_reads(self, most_bytes: int) -> AbstractContextManager[None]:
        """Decline larger reads, if the engine can tell their size."""
        return self._view.small_reads(most_bytes)

    def read_steps(self) -> int:
        """Return the work of the engine: rows, or processor time where that is larger."""
        return self._view.steps

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` once the snapshot was stopped."""
        self._view.check_deadline()

    def _one_state(self) -> AbstractContextManager[None]:
        """Open a snapshot for reads of several queries, with the deadline of the present one."""
        return self._view.snapshot(self._view.deadline, ends_reads=False)

    # --- the graph itself -------------------------------------------------------------------

    def read_instance(self) -> Instance:
        """Return identity and secret, which were made with the graph."""
        facts = self._view.read_facts()
        secret = base64.b64decode(str(facts[v.SECRET]))
        return Instance(id=str(facts[v.INSTANCE]), secret=secret)

    def read_schema_version(self) -> int:
        """The number of the last change of a model."""
        return self._view.read_state().schema_version

    # --- whole graphs ---------------------------------------------------------------------------

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """The model ids of these twins."""
        with self._one_state():
            return self._records.read_twin_models(twin_ids)

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """All twins by id."""
        return self._records.iterate_twins()

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """All relationships by source and id."""
        return self._records.iterate_relationships()

    def count_twins(self) -> int:
        """Return the stored number."""
        return self._view.read_state().twins

    # --- the service's own --------------------------------------------------------------------

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The entry's body."""
        return self._records.read_bodies([(kind, key)]).get((kind, key))

    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """Entries of a kind by key."""
        return self._records.list_entries(kind, after, limit)

    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """Return events after a position; there is one at each position within the bounds."""
        with self._one_state():
            first, last = self._read_event_range()
            start = max(after + 1, first)
            positions = range(start, min(start + limit, last + 1))
            return list(self._records.read_events(positions).items())

    def read_replacements(
        self, subject: str, relationship_id: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """Events that replaced or deleted one entity."""
        with self._one_state():
            positions = self._records.list_replacements(subject, relationship_id, after)[:limit]
            return list(self._records.read_events(positions).items())

    def read_event_bounds(self) -> tuple[int, int]:
        """Return the positions of the first kept and the last event."""
        first, last = self._read_event_range()
        return (first, last) if last else (0, 0)

    def _read_event_range(self) -> tuple[int, int]:
        state = self._view.read_state()
        return state.first_event, state.last_event

    # --- twins and relationships --------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        return self._records.read_twin_document(twin_id)

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        return self.read_twin_model(twin_id) is not None

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        return self._records.read_twin_model(twin_id)

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        found = next(self._records.read_relationships([(source_id, relationship_id)]), None)
        return None if found is None else StoredDocument(found.etag, found.body)

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        return [
            Listed(record.relationship_id, StoredDocument(record.etag, record.body))
            for record in self._records.list_outgoing(source_id, name, after, limit)
        ]

    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Incoming relationships by source and id; the key is both as a JSON array."""
        start = cast("list[str]", orjson.loads(after)) if after else []
        return [
            Listed(
                orjson.dumps([record.source_id, record.relationship_id]).decode(),
                IncomingRelationship(record.source_id, record.relationship_id, record.name),
            )
            for record in self._records.list_incoming(target_id, start, limit)
        ]

    # --- models ---------------------------------------------------------------------------------

    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model."""
        return next(self._records.read_models([model_id]), None)

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by position."""
        return self._records.list_models(after, limit)

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that name it, in upload order."""
        return self._records.read_referrers(model_id)

    # --- the evaluator's port -------------------------------------------------------------------

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Twins whose model satisfies the labels; models when asked for."""
        with self._one_state():
            hierarchy = self._records.read_hierarchy()
            holds = compile_labels(labels)
            known = hierarchy.interfaces
            wanted = frozenset(model for model in known if holds(hierarchy.read_labels(model)))
            everything = len(wanted) == len(known)
            twins = self._records.scan_twins(None if everything else wanted) if wanted else ()
            models: list[ModelRecord] = []
            if MODEL_LABEL in find_label_names(labels) and holds(frozenset({MODEL_LABEL})):
                models = self._records.list_models(0, None)
        for twin in twins:
            yield build_twin_node(twin, hierarchy.read_labels(twin.model_id))
        for model in models:
            yield build_model_node(model, frozenset({MODEL_LABEL}))

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids."""
        with self._one_state():
            twins = list(self._records.read_twins(ids))
            if not twins:
                return {}
            hierarchy = self._records.read_hierarchy()
        return {
            twin.twin_id: build_twin_node(twin, hierarchy.read_labels(twin.model_id))
            for twin in twins
        }

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types."""
        return map(build_relationship, self._records.scan_relationships(types))

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin; with BOTH a loop counts as outgoing only."""
        with self._one_state():
            found: list[Hop] = []
            for batch in batched(origins):
                if direction is not Direction.INCOMING:
                    found += self._read_crossings(v.SOURCE, batch, types)
                if direction is not Direction.OUTGOING:
                    both = direction is Direction.BOTH
                    found += (
                        hop
                        for hop in self._read_crossings(v.TARGET, batch, types)
                        if not both or hop.reached != hop.origin
                    )
        return iter(found)

    def _read_crossings(self, end: Iri, origins: list[str], types: Sequence[str]) -> Iterator[Hop]:
        outgoing = end == v.SOURCE
        times = {origin: origins.count(origin) for origin in origins} if _repeats(origins) else {}
        for record in self._records.read_relationships_at(end, list(dict.fromkeys(origins)), types):
            origin, reached = (
                (record.source_id, record.target_id)
                if outgoing
                else (record.target_id, record.source_id)
            )
            for _ in range(times.get(origin, 1)):
                yield Hop(origin, build_relationship(record), reached)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Return every interface ever seen that has it among its ancestors."""
        with self._one_state():
            return self._records.read_hierarchy().read_descendants(model_id)

    def read_hierarchy(self) -> Hierarchy:
        """The interfaces with their ancestors and labels, in the state of the snapshot."""
        with self._one_state():
            return self._records.read_hierarchy()

    def read_model_ids(self) -> frozenset[str]:
        """Stored models and those that twins name."""
        with self._one_state():
            return self._records.read_model_ids()


class RemoteSession(PrefetchingSession, RdfSession):
    """A session for an engine to which each request is slow."""


def _repeats(origins: list[str]) -> bool:
    return len(set(origins)) != len(origins)
