"""An immutable state of a graph in memory; every change returns a new state."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Generic, TypeVar

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
    ENTITY_CHANGES,
    EntityKey,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

# PERF: a change copies one shard and the tuple of shards; 256 keeps both small to 100,000 keys.
_SHARDS: Final = 256


class FrozenMap(Mapping[K, V], Generic[K, V]):
    """A mapping whose `set` and `delete` return a changed copy and leave the original unchanged."""

    __slots__ = ("_shards", "_size")

    def __init__(self) -> None:
        empty: dict[K, V] = {}
        self._shards: tuple[dict[K, V], ...] = (empty,) * _SHARDS
        self._size = 0

    def __getitem__(self, key: K) -> V:
        return self._shards[hash(key) % _SHARDS][key]

    def __iter__(self) -> Iterator[K]:
        for shard in self._shards:
            yield from shard

    def __len__(self) -> int:
        return self._size

    def set(self, key: K, value: V) -> FrozenMap[K, V]:
        """A copy in which `key` has `value`."""
        shard = self._shards[hash(key) % _SHARDS]
        return self._copy(key, {**shard, key: value})

    def delete(self, key: K) -> FrozenMap[K, V]:
        """A copy without `key`; `KeyError` when it is absent."""
        shard = self._shards[hash(key) % _SHARDS].copy()
        del shard[key]
        return self._copy(key, shard)

    def _copy(self, key: K, shard: dict[K, V]) -> FrozenMap[K, V]:
        at = hash(key) % _SHARDS
        copy: FrozenMap[K, V] = FrozenMap.__new__(FrozenMap)
        copy._size = self._size + len(shard) - len(self._shards[at])
        copy._shards = (*self._shards[:at], shard, *self._shards[at + 1 :])
        return copy


RelationshipKey = tuple[str, str]
"""(source id, relationship id)"""

_VERSIONS: Final = itertools.count(1)
"""Numbers of model changes, for all graphs of the process: rolled-back ones do not recur."""


@dataclass(frozen=True, slots=True)
class GraphState:
    """All records of a graph and the indexes over them. Each change returns a new state.

    `outgoing` and `incoming` hold, for twins that have any, the keys of their relationships.
    `twins_of` holds the ids of the twins of each model that has any. `extends` and `ancestors`
    include every interface that was ever stored or referred to by a twin: a twin keeps its labels
    when its model is deleted. `ancestors` are transitive and include the interface itself. `events`
    are by position, without a gap from `first_event` to `last_event`; `changed` are the positions
    of those that changed a twin or relationship, in order.
    """

    twins: FrozenMap[str, TwinRecord] = field(default_factory=FrozenMap)
    relationships: FrozenMap[RelationshipKey, RelationshipRecord] = field(default_factory=FrozenMap)
    outgoing: FrozenMap[str, frozenset[RelationshipKey]] = field(default_factory=FrozenMap)
    incoming: FrozenMap[str, frozenset[RelationshipKey]] = field(default_factory=FrozenMap)
    twins_of: FrozenMap[str, FrozenMap[str, None]] = field(default_factory=FrozenMap)
    models: FrozenMap[str, ModelRecord] = field(default_factory=FrozenMap)
    extends: FrozenMap[str, tuple[str, ...]] = field(default_factory=FrozenMap)
    ancestors: FrozenMap[str, frozenset[str]] = field(default_factory=FrozenMap)
    entries: FrozenMap[str, FrozenMap[str, bytes]] = field(default_factory=FrozenMap)
    events: FrozenMap[int, OutboxEvent] = field(default_factory=FrozenMap)
    changed: FrozenMap[EntityKey, tuple[int, ...]] = field(default_factory=FrozenMap)
    latest_moment: int = 0
    schema_version: int = 0
    last_position: int = 0
    first_event: int = 1
    last_event: int = 0

    # --- twins ------------------------------------------------------------------------------

    def put_twin(self, record: TwinRecord) -> GraphState:
        """Create or replace a twin and remember its model's name."""
        old = self.twins.get(record.twin_id)
        twins_of, ancestors = self.twins_of, self.ancestors
        if old is not None:
            twins_of = _without_twin(twins_of, old)
        same = twins_of.get(record.model_id, FrozenMap[str, None]())
        twins_of = twins_of.set(record.model_id, same.set(record.twin_id, None))
        if record.model_id not in ancestors:
            ancestors = ancestors.set(record.model_id, frozenset({record.model_id}))
        twins = self.twins.set(record.twin_id, record)
        return replace(self, twins=twins, twins_of=twins_of, ancestors=ancestors)

    def delete_twin(self, twin_id: str) -> GraphState:
        """Delete a twin without relationships."""
        old = self.twins.get(twin_id)
        if old is None:
            raise TwinNotFound(twin_id)
        if twin_id in self.outgoing or twin_id in self.incoming:
            raise RelationshipsNotDeleted(
                f"Twin {twin_id} has active relationships. Delete them before the twin."
            )
        twins_of = _without_twin(self.twins_of, old)
        return replace(self, twins=self.twins.delete(twin_id), twins_of=twins_of)

    # --- relationships ------------------------------------------------------------------------

    def put_relationship(self, record: RelationshipRecord) -> GraphState:
        """Create or replace a relationship between two twins that exist."""
        if record.source_id not in self.twins:
            raise TwinNotFound(record.source_id)
        if record.target_id not in self.twins:
            raise TargetTwinNotFound(record.target_id)
        key = (record.source_id, record.relationship_id)
        state = self if key not in self.relationships else self.delete_relationship(*key)
        return replace(
            state,
            relationships=state.relationships.set(key, record),
            outgoing=_with_key(state.outgoing, record.source_id, key),
            incoming=_with_key(state.incoming, record.target_id, key),
        )

    def delete_relationship(self, source_id: str, relationship_id: str) -> GraphState:
        """Delete a relationship."""
        key = (source_id, relationship_id)
        old = self.relationships.get(key)
        if old is None:
            raise RelationshipNotFound(source_id, relationship_id)
        return replace(
            self,
            relationships=self.relationships.delete(key),
            outgoing=_without_key(self.outgoing, source_id, key),
            incoming=_without_key(self.incoming, old.target_id, key),
        )

    # --- models ---------------------------------------------------------------------------------

    def put_models(self, records: Sequence[ModelRecord]) -> GraphState:
        """Store new models after the present ones."""
        ids = [record.model_id for record in records]
        taken = [x for at, x in enumerate(ids) if x in self.models or x in ids[:at]]
        if taken:
            raise ModelAlreadyExists(*taken)
        models, extends, position = self.models, self.extends, self.last_position
        for record in records:
            position += 1
            models = models.set(record.model_id, replace(record, position=position))
            extends = extends.set(record.model_id, record.extends)
        return replace(
            self,
            models=models,
            extends=extends,
            ancestors=_build_ancestors(self.ancestors, extends, ids),
            schema_version=next(_VERSIONS),
            last_position=position,
        )

    def set_decommissioned(self, model_id: str, decommissioned: bool) -> GraphState:
        """Set the model's flag."""
        record = self.models.get(model_id)
        if record is None:
            raise ModelNotFound(model_id)
        models = self.models.set(model_id, replace(record, decommissioned=decommissioned))
        return replace(self, models=models, schema_version=next(_VERSIONS))

    def delete_models(self, model_ids: Sequence[str]) -> GraphState:
        """Delete models that no other model refers to any more."""
        absent = [model_id for model_id in model_ids if model_id not in self.models]
        if absent:
            raise ModelNotFound(*absent)
        going = frozenset(model_ids)
        for model_id in model_ids:
            staying = tuple(x for x in self.build_referrers(model_id) if x not in going)
            if staying:
                raise ModelReferenced(model_id, staying)
        models = self.models
        for model_id in going:
            models = models.delete(model_id)
        return replace(self, models=models, schema_version=next(_VERSIONS))

    # --- the service's own -----------------------------------------------------------------------

    def put_entry(self, kind: str, key: str, body: bytes) -> GraphState:
        """Create or replace an entry."""
        own = self.entries.get(kind, FrozenMap[str, bytes]())
        return replace(self, entries=self.entries.set(kind, own.set(key, body)))

    def delete_entry(self, kind: str, key: str) -> GraphState:
        """Delete an entry; the same state when there is none."""
        own = self.entries.get(kind)
        if own is None or key not in own:
            return self
        rest = own.delete(key)
        entries = self.entries.set(kind, rest) if rest else self.entries.delete(kind)
        return replace(self, entries=entries)

    def append_events(self, events: Sequence[OutboxEvent]) -> GraphState:
        """Append events after the others."""
        kept, changed, last = self.events, self.changed, self.last_event
        moment = self.latest_moment if kept else 0
        for event in events:
            last += 1
            moment = max(moment, event.moment)
            kept = kept.set(last, replace(event, moment=moment))
            if event.kind in ENTITY_CHANGES:
                key = event.subject, event.relationship_id
                changed = changed.set(key, (*changed.get(key, ()), last))
        return replace(self, events=kept, changed=changed, last_event=last, latest_moment=moment)

    def delete_events(self, up_to: int, limit: int) -> GraphState:
        """Delete the oldest events."""
        kept, changed = self.events, self.changed
        first = max(min(up_to, self.last_event, self.first_event + limit - 1) + 1, self.first_event)
        for position in range(self.first_event, first):
            event = kept[position]
            kept = kept.delete(position)
            if event.kind in ENTITY_CHANGES:
                key = event.subject, event.relationship_id
                rest = changed[key][1:]
                changed = changed.set(key, rest) if rest else changed.delete(key)
        return replace(self, events=kept, changed=changed, first_event=first)

    def build_referrers(self, model_id: str) -> tuple[str, ...]:
        """Ids of the other stored models that name it directly, in upload order."""
        found = [
            record
            for record in self.models.values()
            if record.model_id != model_id and model_id in (*record.extends, *record.components)
        ]
        found.sort(key=lambda record: record.position)
        return tuple(record.model_id for record in found)


def _build_ancestors(
    known: FrozenMap[str, frozenset[str]],
    extends: Mapping[str, tuple[str, ...]],
    new_ids: Sequence[str],
) -> FrozenMap[str, frozenset[str]]:
    """Return the closure after these ids were added; stored descendants get a revived parent."""
    new = frozenset(new_ids)
    touched = new | {model_id for model_id, own in known.items() if not own.isdisjoint(new)}
    for model_id in touched:
        known = known.set(model_id, _walk(model_id, extends))
    return known


def _walk(start: str, edges: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    seen = {start}
    open_ = [start]
    while open_:
        for parent in edges.get(open_.pop(), ()):
            if parent not in seen:
                seen.add(parent)
                open_.append(parent)
    return frozenset(seen)


def _without_twin(
    twins_of: FrozenMap[str, FrozenMap[str, None]], twin: TwinRecord
) -> FrozenMap[str, FrozenMap[str, None]]:
    rest = twins_of[twin.model_id].delete(twin.twin_id)
    return twins_of.set(twin.model_id, rest) if rest else twins_of.delete(twin.model_id)


def _with_key(
    index: FrozenMap[str, frozenset[RelationshipKey]], twin_id: str, key: RelationshipKey
) -> FrozenMap[str, frozenset[RelationshipKey]]:
    return index.set(twin_id, index.get(twin_id, frozenset()) | {key})


def _without_key(
    index: FrozenMap[str, frozenset[RelationshipKey]], twin_id: str, key: RelationshipKey
) -> FrozenMap[str, frozenset[RelationshipKey]]:
    rest = index[twin_id] - {key}
    return index.set(twin_id, rest) if rest else index.delete(twin_id)


def find_faults(state: GraphState) -> Iterable[str]:
    """Yield faults of a state: relationships without a twin, indexes that contradict records."""
    for key, record in state.relationships.items():
        for end in (record.source_id, record.target_id):
            if end not in state.twins:
                yield f"relationship {key} ends at {end}, which is no twin"
        if key not in state.outgoing.get(record.source_id, frozenset()):
            yield f"relationship {key} is missing from the outgoing index"
        if key not in state.incoming.get(record.target_id, frozenset()):
            yield f"relationship {key} is missing from the incoming index"
    for name, index in (("outgoing", state.outgoing), ("incoming", state.incoming)):
        if sum(map(len, index.values())) != len(state.relationships):
            yield f"the {name} index does not have one entry a relationship"
    for twin_id, twin in state.twins.items():
        if twin_id not in state.twins_of.get(twin.model_id, {}):
            yield f"twin {twin_id} is missing from the index of its model"
    if sum(map(len, state.twins_of.values())) != len(state.twins):
        yield "the index of twins by model does not have one entry a twin"
