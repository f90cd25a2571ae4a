"""The reference graph store, which keeps a graph in this process's memory.

It defines the meaning of the interface and serves for tests and trials. Each worker process has its
own graph, so serve it with one worker.
"""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import ClassVar, TypeVar, cast

import orjson

from twinframe import hookimpl
from twinframe.errors import QueryTimeout
from twinframe.model.ids import MODEL_LABEL, build_labels
from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import (
    Direction,
    LabelExpression,
)
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe.query.reader import Hop
from twinframe.settings import Section
from twinframe.storage.base import (
    EntityKey,
    GraphSession,
    GraphStore,
    GraphTransaction,
    IncomingRelationship,
    Instance,
    Listed,
    ModelRecord,
    OutboxEvent,
    Outcome,
    Placement,
    RelationshipRecord,
    StoredDocument,
    StoreTraits,
    TwinRecord,
    WriteFunction,
)
from twinframe.storage.control import ControlStore
from twinframe.storage.control_memory import MemoryControlStore
from twinframe.storage.entities import build_model_node, build_relationship, build_twin_node
from twinframe.storage.memory_state import GraphState, RelationshipKey, find_faults

T = TypeVar("T")


class MemorySession(GraphSession):
    """Reads the state that `newest` returns, or inside `snapshot` the one at its begin."""

    keeps_history: ClassVar[bool] = True

    def __init__(self, instance: Instance, newest: Callable[[], GraphState]) -> None:
        self._instance = instance
        self._newest = newest
        self._pinned: GraphState | None = None
        self._deadline: float | None = None
        self._interrupted = False

    @property
    def state(self) -> GraphState:
        """The state that a read sees now."""
        return self._pinned or self._newest()

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Hold the present state; a nested snapshot shows that of the outer one."""
        before = self._pinned, self._deadline
        self._pinned, self._deadline = self.state, deadline
        try:
            yield
        finally:
            self._pinned, self._deadline = before
            if self._pinned is None:
                self._interrupted = False

    def interrupt(self) -> None:
        """Stop running reads at their next item."""
        self._interrupted = True

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` when the snapshot's time is over or it was interrupted."""
        is_late = self._deadline is not None and time.monotonic() >= self._deadline
        if self._interrupted or is_late:
            raise QueryTimeout("The query ran longer than it may (Query__Timeout) and was stopped.")

    # --- the graph itself -------------------------------------------------------------------

    def read_instance(self) -> Instance:
        """Identity and secret, made with the graph."""
        return self._instance

    def read_schema_version(self) -> int:
        """Return the count of model changes."""
        return self.state.schema_version

    # --- the service's own --------------------------------------------------------------------

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The entry's body."""
        own = self.state.entries.get(kind)
        return None if own is None else own.get(key)

    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """Entries of a kind by key."""
        own: Mapping[str, bytes] = self.state.entries.get(kind, {})
        keys = sorted(key for key in own if after is None or key > after)
        return [Listed(key, own[key]) for key in keys[:limit]]

    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """Return events after a position."""
        state = self.state
        start = max(after + 1, state.first_event)
        end = min(start + limit, state.last_event + 1)
        return [(position, state.events[position]) for position in range(start, end)]

    def read_replacements(
        self, subject: str, relationship_id: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """Events that replaced or deleted one entity."""
        state = self.state
        found = (
            (position, state.events[position])
            for position in self._find_changes((subject, relationship_id), after)
        )
        return [*islice((pair for pair in found if pair[1].replaced), limit)]

    def read_first_changes(
        self, keys: Sequence[EntityKey], *, after: int
    ) -> Mapping[EntityKey, tuple[int, OutboxEvent]]:
        """The first change of each entity after a position."""
        state = self.state
        found = {key: self._find_changes(key, after)[:1] for key in keys}
        return {
            key: (position, state.events[position])
            for key, positions in found.items()
            for position in positions
        }

    def read_entity_changes(
        self, key: EntityKey, *, after: int, before: int | None, limit: int, newest_first: bool
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """The changes of an entity between two positions."""
        state, positions = self.state, self._find_changes(key, after)
        if before is not None:
            positions = positions[: bisect_left(positions, before)]
        wanted = positions[::-1] if newest_first else positions
        return [(position, state.events[position]) for position in wanted[:limit]]

    def _find_changes(self, key: EntityKey, after: int) -> Sequence[int]:
        positions = self.state.changed.get(key, ())
        return positions[bisect_right(positions, after) :]

    def read_event_bounds(self) -> tuple[int, int]:
        """Return the positions of the first kept and the last event."""
        state = self.state
        return (state.first_event, state.last_event) if state.last_event else (0, 0)

    # --- twins and relationships --------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        twin = self.state.twins.get(twin_id)
        return None if twin is None else StoredDocument(twin.etag, twin.body)

    def count_twins(self) -> int:
        """How many twins there are."""
        return len(self.state.twins)

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""
        return twin_id in self.state.twins

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        twin = self.state.twins.get(twin_id)
        return None if twin is None else twin.model_id

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """Every twin by id."""
        twins = self.state.twins
        return self._in_time(twins[twin_id] for twin_id in sorted(twins))

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Every relationship by source and id."""
        relationships = self.state.relationships
        return self._in_time(relationships[key] for key in sorted(relationships))

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        record = self.state.relationships.get((source_id, relationship_id))
        return None if record is None else StoredDocument(record.etag, record.body)

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        state = self.state
        found = (state.relationships[key] for key in state.outgoing.get(source_id, ()))
        wanted = [
            record
            for record in found
            if (name is None or record.name == name)
            and (after is None or record.relationship_id > after)
        ]
        wanted.sort(key=lambda record: record.relationship_id)
        return [
            Listed(record.relationship_id, StoredDocument(record.etag, record.body))
            for record in wanted[:limit]
        ]

    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Incoming relationships by source and id; the key is both as a JSON array."""
        state = self.state
        start = after and _parse_key(after)
        keys = sorted(k for k in state.incoming.get(target_id, ()) if not start or k > start)
        return [
            Listed(
                orjson.dumps(key).decode(),
                IncomingRelationship(*key, name=state.relationships[key].name),
            )
            for key in keys[:limit]
        ]

    # --- models ---------------------------------------------------------------------------------

    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model."""
        return self.state.models.get(model_id)

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by position."""
        found = [record for record in self.state.models.values() if record.position > after]
        return sorted(found, key=lambda record: record.position)[:limit]

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that name it."""
        return self.state.build_referrers(model_id)

    # --- the evaluator's port -------------------------------------------------------------------

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Yield twins by model, testing labels once a model; then models, when asked for."""
        state, holds = self.state, compile_labels(labels)
        for model_id, twin_ids in state.twins_of.items():
            own = build_labels(state.ancestors[model_id])
            if holds(own):
                yield from self._in_time(build_twin_node(state.twins[x], own) for x in twin_ids)
        own = frozenset({MODEL_LABEL})
        if MODEL_LABEL in find_label_names(labels) and holds(own):
            yield from self._in_time(build_model_node(m, own) for m in state.models.values())

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids."""
        state = self.state
        found = (state.twins[twin_id] for twin_id in ids if twin_id in state.twins)
        return {
            twin.twin_id: build_twin_node(twin, build_labels(state.ancestors[twin.model_id]))
            for twin in self._in_time(found)
        }

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types."""
        wanted = frozenset(types)
        for record in self._in_time(self.state.relationships.values()):
            if not wanted or record.name in wanted:
                yield build_relationship(record)

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin; with BOTH a loop counts as outgoing only."""
        state, wanted = self.state, frozenset(types)
        for origin in self._in_time(origins):
            for key, reached in _hop_keys(state, origin, direction):
                record = state.relationships[key]
                if not wanted or record.name in wanted:
                    yield Hop(origin, build_relationship(record), reached)

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """Every interface ever seen that has it among its ancestors."""
        return frozenset(x for x, above in self.state.ancestors.items() if model_id in above)

    def read_model_ids(self) -> frozenset[str]:
        """Stored models and those that twins name."""
        return frozenset(self.state.models) | frozenset(self.state.twins_of)

    def _in_time(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            self.check_deadline()
            yield item


class MemoryTransaction(MemorySession, GraphTransaction):
    """Changes a state of its own; the store publishes it when the write function succeeds."""

    def __init__(self, instance: Instance, state: GraphState) -> None:
        super().__init__(instance, lambda: self._own)
        self._own = state

    @contextmanager
    def snapshot(self, deadline: float | None = None) -> Iterator[None]:
        """Show the transaction's own state: reads inside still see its own writes."""
        del deadline
        yield

    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin."""
        self._own = self._own.put_twin(record)

    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin without relationships."""
        self._own = self._own.delete_twin(twin_id)

    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""
        return twin_id in self.state.outgoing or twin_id in self.state.incoming

    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace a relationship."""
        self._own = self._own.put_relationship(record)

    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship."""
        self._own = self._own.delete_relationship(source_id, relationship_id)

    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models."""
        self._own = self._own.put_models(records)

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the flag."""
        self._own = self._own.set_decommissioned(model_id, decommissioned)

    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete models together."""
        self._own = self._own.delete_models(model_ids)

    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Create or replace an entry."""
        self._own = self._own.put_entry(kind, key, body)

    def delete_entry(self, kind: str, key: str) -> bool:
        """Delete an entry."""
        before = self._own
        self._own = before.delete_entry(kind, key)
        return self._own is not before

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append events after the others."""
        self._own = self._own.append_events(events)

    def delete_events(self, *, up_to: int, limit: int) -> int:
        """Delete the oldest events."""
        first = self._own.first_event
        self._own = self._own.delete_events(up_to, limit)
        return self._own.first_event - first


def _hop_keys(
    state: GraphState, origin: str, direction: Direction
) -> Iterator[tuple[RelationshipKey, str]]:
    if direction is not Direction.INCOMING:
        for key in state.outgoing.get(origin, ()):
            yield key, state.relationships[key].target_id
    if direction is not Direction.OUTGOING:
        for key in state.incoming.get(origin, ()):
            if direction is Direction.INCOMING or key[0] != origin:
                yield key, key[0]


def _parse_key(key: str) -> RelationshipKey:
    return cast("RelationshipKey", tuple(orjson.loads(key)))


class MemoryGraph:
    """The data of one graph; stores opened on the same object share it, as on one file."""

    def __init__(self) -> None:
        self.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))
        self.state = GraphState()
        self.writer_lock = threading.Lock()


class MemoryStore(GraphStore):
    """A store over a `MemoryGraph`, a new one unless given; the data live as long as it."""

    traits = StoreTraits(point_reads=Placement.INLINE, shared=False)

    def __init__(self, graph: MemoryGraph | None = None) -> None:
        self._graph = graph or MemoryGraph()

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing; the graph stays, and opening the store again finds it."""

    def session(self) -> GraphSession:
        """A session that sees the newest state at each call."""
        graph = self._graph
        return MemorySession(graph.instance, lambda: graph.state)

    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run the write functions one after the other, then publish the result."""
        graph = self._graph
        outcomes: list[Outcome[object]] = []
        with graph.writer_lock:
            state = graph.state
            for function in functions:
                transaction = MemoryTransaction(graph.instance, state)
                try:
                    result = function(transaction)
                except Exception as error:  # noqa: BLE001  (the seam: each work gets its own error)
                    outcomes.append(Outcome(error=error))
                else:
                    outcomes.append(Outcome(result=result))
                    state = transaction.state
            graph.state = state
        return outcomes

    def verify(self) -> Sequence[str]:
        """Compare records and indexes."""
        return list(find_faults(self._graph.state))

    def remove(self, timeout: float) -> None:
        """Replace the graph by a new, empty one of another identity."""
        graph = self._graph
        with graph.writer_lock:
            graph.instance = Instance(id=str(uuid.uuid4()), secret=secrets.token_bytes(32))
            graph.state = GraphState()


@hookimpl
def twinframe_graph_store(settings: Section, graph: str) -> GraphStore:
    """Build a new empty graph, whatever its settings and name."""
    del settings, graph
    return MemoryStore()


@hookimpl
def twinframe_control_store(settings: Section, name: str) -> ControlStore:
    """Build a new empty store of records, whatever its settings and name."""
    del settings, name
    return MemoryControlStore()
