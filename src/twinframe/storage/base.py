"""The storage interface: what every graph store promises.

Promise of a write: when `GraphStore.write` returns an outcome without error, the change is on
stable storage (as far as the operator's durability setting asks), atomic with its indexes, and
every read that starts later, in any process, sees it.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar

import orjson

from twinframe.query.engine import CannotRun
from twinframe.query.reader import GraphReader
from twinframe.runtime.memory import MemoryAccount
from twinframe.storage.notices import Notices

T = TypeVar("T")

_EVENTS_AT_ONCE: Final = 100


# --- what is stored -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A twin or relationship as it is sent on the wire: `body` is its JSON text in UTF-8."""

    etag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class TwinRecord:
    """A twin to be stored: `body` is the whole document with its system members."""

    twin_id: str
    model_id: str
    etag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class RelationshipRecord:
    """A relationship to be stored; `body` is the whole document with its system members."""

    source_id: str
    relationship_id: str
    name: str
    target_id: str
    etag: str
    body: bytes


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model as stored.

    `document` is the uploaded JSON unchanged in meaning; `display_name` and `description` are JSON
    objects language -> text; `extends` and `components` are direct references (DTMIs);
    `upload_time` is in the wire's form; `position` orders models by upload, given by the store.
    """

    model_id: str
    document: bytes
    display_name: bytes
    description: bytes
    extends: tuple[str, ...]
    components: tuple[str, ...]
    upload_time: str
    decommissioned: bool = False
    position: int = 0


@dataclass(frozen=True, slots=True)
class IncomingRelationship:
    """One row of the incoming list: which relationship of which source ends here."""

    source_id: str
    relationship_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """One item of a key-ordered listing and the `key` after which the next page starts."""

    key: str
    item: T


class ChangeKind(enum.IntEnum):
    """What the write of an event changed. The numbers are stored."""

    NOTHING = 0  # a message, such as telemetry
    TWIN_CREATED = 1
    TWIN_UPDATED = 2
    TWIN_DELETED = 3
    RELATIONSHIP_CREATED = 4
    RELATIONSHIP_UPDATED = 5
    RELATIONSHIP_DELETED = 6
    MODEL_CREATED = 7
    MODEL_DECOMMISSIONED = 8
    MODEL_DELETED = 9


_KINDS: Final = tuple(ChangeKind)
REPLACEMENTS: Final = frozenset(
    {
        ChangeKind.TWIN_UPDATED,
        ChangeKind.TWIN_DELETED,
        ChangeKind.RELATIONSHIP_UPDATED,
        ChangeKind.RELATIONSHIP_DELETED,
    }
)
"""The changes after which the earlier document of a twin or relationship is no longer stored."""
ChangeRow = tuple[int, int, int | None, bytes]  # position, moment, kind and body of an event
ENTITY_CHANGES: Final = frozenset(kind for kind in ChangeKind if 1 <= kind <= 6)
"""The changes of twins and relationships."""
MODEL_CHANGES: Final = frozenset(kind for kind in ChangeKind if kind >= 7)
"""The changes of models."""

EntityKey = tuple[str, str]
"""The id of a twin and an empty text, or source and id of a relationship."""


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """An event of the graph, or a change that is no event: one row of the outbox.

    `subject` is the id of its twin or model, within which order counts; `relationship_id` is set
    for changes of a relationship, whose source the subject is. `body` is text in UTF-8, which the
    store does not interpret. `kind` is None for events that a release without kinds stored.
    `moment` is when it was stored, in nanoseconds since 1970-01-01T00:00:00Z, 0 if unknown.
    `target_id` is set for a deleted relationship: the twin that it led to. A store without history
    keeps neither.
    """

    subject: str
    body: bytes
    kind: ChangeKind | None = ChangeKind.NOTHING
    relationship_id: str = ""
    moment: int = 0
    target_id: str = ""

    @property
    def replaced(self) -> tuple[str, str] | None:
        """The twin or relationship whose document it replaced or deleted, if it did."""
        return (self.subject, self.relationship_id) if self.kind in REPLACEMENTS else None


class EntityChange(NamedTuple):
    """Which entity a write changed, and how; see `OutboxEvent`. PERF: a reader may get millions."""

    position: int
    kind: ChangeKind
    subject: str
    relationship_id: str = ""


@dataclass(frozen=True, slots=True)
class ChangePage:
    """The changes after a position up to `position`, oldest first.

    One entity may occur several times. `is_complete` is False if some changes after the position
    that was asked for are no longer kept, or their kind is not known: the caller reads all entities
    instead, and goes on after the last position.
    """

    changes: Sequence[EntityChange]
    position: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Instance:
    """Identity of a stored graph: `secret` (32 bytes) signs continuation tokens everywhere."""

    id: str
    secret: bytes


# --- capabilities ---------------------------------------------------------------------------------


class Placement(enum.Enum):
    """Where the service should run a kind of work of this store."""

    INLINE = "inline"  # microseconds, on the event loop
    POOL = "pool"  # may wait or scan, in a worker thread


@dataclass(frozen=True, slots=True)
class StoreTraits:
    """What the service must know of a store to schedule its work.

    `point_reads`: where reads by id run, in `point_read_threads` threads if not on the loop.
    `largest_batch`: the most writes of one `write` call that gain from being committed together.
    `shared`: whether several processes that open the graph see the same one; a store of one process
    is served by one worker only. `followed`: whether projections of the graph may follow it: to
    list changes by position and to read all entities is cheap. `distributed`: machines share it.
    """

    point_reads: Placement
    largest_batch: int = 128
    shared: bool = True
    point_read_threads: int = 8
    followed: bool = False
    distributed: bool = False


# --- reading ---------------------------------------------------------------------------------


class GraphSession(GraphReader):
    """A view of one graph for one thread. Each call sees all writes acknowledged before it."""

    keeps_history: ClassVar[bool] = False
    """Whether earlier states of the graph can be read: the store keeps all fields of events, gives
    documents back byte for byte, and finds the changes of one entity without a search of all.
    """

    @abstractmethod
    def snapshot(self, deadline: float | None = None) -> AbstractContextManager[None]:
        """Show one state of the graph to all reads inside.

        `deadline` is a `time.monotonic()` moment after which a running statement is interrupted and
        `QueryTimeout` is raised. In a transaction its own writes are seen all the same.
        """

    def short_snapshot(self, steps: int, seconds: float) -> AbstractContextManager[None]:
        """Like `snapshot`, for work that blocks its caller: it is ended if it is not short.

        The store's engine stops after `steps` of its steps (`read_steps`), after `seconds`, or at a
        value so large that handling it takes long, with `QueryTimeout` or `LimitExceeded`. A
        session that cannot promise this raises `CannotRun`. Not inside another snapshot.
        """
        raise CannotRun("This store does not bound the work of a statement.")

    @abstractmethod
    def read_instance(self) -> Instance:
        """Return identity and signing secret of this graph."""

    @abstractmethod
    def read_schema_version(self) -> int:
        """Return a number that is new after every change of a model.

        A number that a write function saw never recurs, not even when its changes were rolled back:
        data cached under it would be mistaken for others. Cheap: it is read with each write.
        """

    def has_schema(self, version: int) -> bool:
        """Return whether `read_schema_version` is this. Call it after a read of the same snapshot.

        PERF: a store may know without a read that nothing has changed since it was asked last.
        """
        return self.read_schema_version() == version

    @abstractmethod
    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document, or None."""

    @abstractmethod
    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin exists."""

    @abstractmethod
    def read_twin_model(self, twin_id: str) -> str | None:
        """The model id of the twin, or None if there is no twin."""

    @abstractmethod
    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document, or None."""

    @abstractmethod
    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Return outgoing relationships in a stable key order, at most `limit`, after `after`."""

    @abstractmethod
    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Return incoming relationships in a stable key order, at most `limit`, after `after`."""

    def find_incoming_key(self, source_id: str, relationship_id: str, name: str) -> str:
        """Return the key of `read_incoming` at which a relationship was that is gone.

        Where the store no longer knows it exactly, it is that of the next place.
        """
        return orjson.dumps((source_id, relationship_id)).decode()

    def rank_incoming_key(self, key: str) -> tuple[str | int, ...]:
        """Return what the keys of `read_incoming` are ordered by."""
        return tuple(orjson.loads(key))

    @abstractmethod
    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model, or None."""

    @abstractmethod
    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by upload order with `position` > `after`, at most `limit`."""

    @abstractmethod
    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the stored models that extend it or use it as a component, itself excluded."""

    @abstractmethod
    def read_entry(self, kind: str, key: str) -> bytes | None:
        """Return the entry's body, or None.

        Entries are the service's own small documents in a graph (routes of events, jobs, leases),
        texts in UTF-8; queries do not find them as nodes.
        """

    @abstractmethod
    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """Return entries of a kind by the code points of their keys, after `after`."""

    @abstractmethod
    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """Return at most `limit` events with their positions, in order, after `after`.

        An event is not seen before each with a lower position, nor before the state that it was
        written with: a reader that has read up to a position never misses an event below it.
        """

    @abstractmethod
    def read_event_bounds(self) -> tuple[int, int]:
        """Return the positions of the first kept event, and of the last one ever.

        When none is kept, the first is the next to come; (0, 0) if there never was one. Read often.
        """

    def read_changes(self, *, after: int, limit: int) -> ChangePage:
        """Return which entities the next `limit` events after `after` changed.

        A store that can does not read the bodies of the events. NOTE: a restored graph assigns
        positions again, in a new epoch (`storage.epochs`).
        """
        rows = self.read_events(after=after, limit=limit)
        found = ((at, event.kind, event.subject, event.relationship_id) for at, event in rows)
        # Read after the rows: events that are deleted in between must not be overlooked.
        return build_change_page(found, after, self.read_event_bounds())

    def read_replacements(
        self, subject: str, relationship_id: str, *, after: int, limit: int
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """Return at most `limit` events that replaced or deleted a twin, after `after`, in order.

        With a `relationship_id` they are those of the relationship. A store that can finds them
        without reading other events.
        """
        found: list[tuple[int, OutboxEvent]] = []
        key = subject, relationship_id
        while len(found) < limit and (rows := self.read_events(after=after, limit=_EVENTS_AT_ONCE)):
            after = rows[-1][0]
            found += ((at, event) for at, event in rows if event.replaced == key)
        return found[:limit]

    # The reads for earlier states, which only a store with history makes fast.

    def read_moment(self, position: int) -> tuple[int, int] | None:
        """Return position and moment of the first kept event from `position` on, if there is one.

        Moments never go back from one event to the next.
        """
        rows = self.read_events(after=position - 1, limit=1)
        return (rows[0][0], rows[0][1].moment) if rows else None

    def read_first_changes(
        self, keys: Sequence[EntityKey], *, after: int
    ) -> Mapping[EntityKey, tuple[int, OutboxEvent]]:
        """Return the first event after a position that changed each of these entities, if any."""
        found: dict[EntityKey, tuple[int, OutboxEvent]] = {}
        wanted = set(keys)
        for at, event in self._iterate_events(after, ENTITY_CHANGES):
            key = event.subject, event.relationship_id
            if key in wanted:
                found.setdefault(key, (at, event))
        return found

    def read_entity_changes(
        self, key: EntityKey, *, after: int, before: int | None, limit: int, newest_first: bool
    ) -> Sequence[tuple[int, OutboxEvent]]:
        """Return at most `limit` events that changed an entity, between two positions."""
        rows = self._iterate_events(after, ENTITY_CHANGES)
        found = [row for row in rows if (row[1].subject, row[1].relationship_id) == key]
        found = [row for row in found if before is None or row[0] < before]
        return (found[::-1] if newest_first else found)[:limit]

    def read_change_rows(
        self, key: EntityKey, *, after: int, before: int, limit: int
    ) -> Sequence[ChangeRow]:
        """Return the first rows of `read_entity_changes`, in order; a store may do so faster."""
        bounds = {"after": after, "before": before, "limit": limit}
        found = self.read_entity_changes(key, **bounds, newest_first=False)
        return [(at, event.moment, event.kind, event.body) for at, event in found]

    def read_ways_back(
        self, starts: Mapping[EntityKey, int], *, limit: int
    ) -> Mapping[EntityKey, Sequence[tuple[int, OutboxEvent]]]:
        """Return at most `limit` events that replaced or deleted each entity, in order.

        They are those after the position given with the entity, at least up to the first deletion.
        A store that uses one read for all entities gives large events without their bodies.
        """
        return {
            key: self.read_replacements(*key, after=after, limit=limit)
            for key, after in starts.items()
        }

    def find_deleted_twins(self, *, after: int) -> Iterator[str]:
        """Yield the twins that were deleted after a position; one may come several times."""
        for _, event in self._iterate_events(after, {ChangeKind.TWIN_DELETED}):
            yield event.subject

    def find_deleted_relationships(
        self,
        *,
        after: int,
        sources: Sequence[str] | None = None,
        targets: Sequence[str] | None = None,
    ) -> Iterator[EntityKey]:
        """Yield the relationships that were deleted after a position, or got another target or
        name then; one may come several times. Only those of these sources, or of these targets at
        that time, if they are given.
        """
        for _, event in self._iterate_events(after, {ChangeKind.RELATIONSHIP_DELETED}):
            if (sources is None or event.subject in sources) and (
                targets is None or event.target_id in targets
            ):
                yield event.subject, event.relationship_id

    def read_model_changes(self, *, after: int) -> Iterator[tuple[int, OutboxEvent]]:
        """Yield the events after a position that changed a model, with their positions."""
        yield from self._iterate_events(after, MODEL_CHANGES)

    def _iterate_events(
        self, after: int, kinds: AbstractSet[ChangeKind]
    ) -> Iterator[tuple[int, OutboxEvent]]:
        while rows := self.read_events(after=after, limit=_EVENTS_AT_ONCE):
            after = rows[-1][0]
            yield from ((at, event) for at, event in rows if event.kind in kinds)

    def read_twin_models(self, twin_ids: Sequence[str]) -> Mapping[str, str]:
        """Return twin id -> model id of those that exist; a store may use one read for all."""
        return {one: found for one in twin_ids if (found := self.read_twin_model(one)) is not None}

    def read_twin_documents(self, twin_ids: Sequence[str]) -> Mapping[str, StoredDocument]:
        """Return `read_twin` of those of these twins that exist, by id; see `read_twin_models`."""
        return {one: found for one in twin_ids if (found := self.read_twin(one)) is not None}

    def read_relationship_documents(
        self, keys: Sequence[tuple[str, str]]
    ) -> Mapping[tuple[str, str], StoredDocument]:
        """Return `read_relationship` of those that exist, by key; see `read_twin_models`."""
        found = ((key, self.read_relationship(*key)) for key in keys)
        return {key: stored for key, stored in found if stored is not None}

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """Yield every twin, by the code points of its id, in a snapshot that the caller holds.

        A store that can yields them as it finds them; this default holds all ids in memory.
        """
        for twin_id in sorted(node.id for node in self.scan_nodes(None)):
            stored, model_id = self.read_twin(twin_id), self.read_twin_model(twin_id)
            if stored is not None and model_id is not None:
                yield TwinRecord(twin_id, model_id, stored.etag, stored.body)

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Yield every relationship by its source's id, then its own; see `iterate_twins`."""
        found = sorted((r.source, r.id, r.type, r.target) for r in self.scan_relationships(()))
        for source_id, relationship_id, name, target_id in found:
            stored = self.read_relationship(source_id, relationship_id)
            if stored is not None:
                yield RelationshipRecord(
                    source_id, relationship_id, name, target_id, stored.etag, stored.body
                )

    def count_twins(self) -> int:
        """Return the number of twins.

        It is read with each write of a graph with a limit on twins: a store that keeps the number
        returns it; this default scans all twins.
        """
        return sum(1 for _ in self.scan_nodes(None))

    def interrupt(self) -> None:
        """Stop the reads of the present snapshot, from any thread: they raise `QueryTimeout`. A
        session that cannot do this does nothing.
        """

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Call `look` from now on at intervals while much is read or processed; it raises when the
        process has too much memory. A session that cannot do this does nothing.
        """

    def small_reads(self, most_bytes: int) -> AbstractContextManager[None]:
        """Within the context, a session may decline a read of more bytes with `CannotRun` or
        `LimitExceeded` as soon as it knows the size. The caller repeats the read where it delays no
        others. A session that cannot tell the size declines nothing.
        """
        del most_bytes
        return nullcontext()

    def read_steps(self) -> int:
        """Return the work of the store's engine since the present snapshot began, about 20 ns a
        step; 0 if it is not counted. It serves to compare queries and is not exact.
        """
        return 0

    def close(self) -> None:
        """Release the resources of the session."""


def build_change_page(
    rows: Iterable[tuple[int, int | None, str, str]], after: int, bounds: tuple[int, int]
) -> ChangePage:
    """Build the page of the rows (position, kind, subject, relationship) after a position.

    `bounds` are those of the events, read after the rows.
    """
    changes: list[EntityChange] = []
    position, (first, last) = after, bounds
    is_complete = first - 1 <= after <= last
    for at, kind, subject, relationship_id in rows:
        position = at
        if kind is None:
            is_complete = False
        elif kind:
            changes.append(EntityChange(at, _KINDS[kind], subject, relationship_id))
    return ChangePage(changes, position, is_complete)


# --- writing ---------------------------------------------------------------------------------


class GraphTransaction(GraphSession):
    """The write view that a `WriteFunction` gets. All its changes are kept, or none."""

    @property
    def is_for_engines(self) -> bool:
        """Whether the store's query engine reads all that was changed until now."""
        return False

    def measure_content(self) -> int | None:
        """Bytes in the storage, without free space and outbox, or None. Read like `count_twins`."""
        return None

    @abstractmethod
    def put_twin(self, record: TwinRecord) -> None:
        """Create or replace a twin; its relationships are kept. Its model need not be stored."""

    def put_twins(self, records: Sequence[TwinRecord]) -> None:
        """`put_twin` for each, in order; faster in a store that can."""
        for record in records:
            self.put_twin(record)

    @abstractmethod
    def delete_twin(self, twin_id: str) -> None:
        """Delete a twin; absent: `TwinNotFound`; with relationships: `RelationshipsNotDeleted`."""

    @abstractmethod
    def has_relationships(self, twin_id: str) -> bool:
        """Whether any relationship starts or ends at the twin."""

    @abstractmethod
    def put_relationship(self, record: RelationshipRecord) -> None:
        """Create or replace by (source, id); missing ends: `TwinNotFound`, `TargetTwinNotFound`."""

    def put_relationships(self, records: Sequence[RelationshipRecord]) -> None:
        """`put_relationship` for each, in order; faster in a store that can."""
        for record in records:
            self.put_relationship(record)

    @abstractmethod
    def delete_relationship(self, source_id: str, relationship_id: str) -> None:
        """Delete a relationship; absent: `RelationshipNotFound`."""

    @abstractmethod
    def put_models(self, records: Sequence[ModelRecord]) -> None:
        """Store new models, in order, closure included. A taken id is `ModelAlreadyExists`."""

    @abstractmethod
    def set_decommissioned(self, model_id: str, decommissioned: bool) -> None:
        """Set the flag; absent: `ModelNotFound`."""

    @abstractmethod
    def delete_models(self, model_ids: Sequence[str]) -> None:
        """Delete these models together.

        Absent: `ModelNotFound`; referred to by others that stay: `ModelReferenced`. Twins of a
        deleted model are kept, and still found by its labels.
        """

    @abstractmethod
    def put_entry(self, kind: str, key: str, body: bytes) -> None:
        """Create or replace an entry."""

    @abstractmethod
    def delete_entry(self, kind: str, key: str) -> bool:
        """Delete an entry; False when there is none."""

    @abstractmethod
    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append these events after all others, in this order, atomically with the other changes.

        Positions are from 1 up and rise; one that was seen never recurs, whatever is deleted. There
        may be gaps. All fields of an event are stored. A store with history keeps moments, too; one
        before that of the last event becomes that.
        """

    @abstractmethod
    def delete_events(self, *, up_to: int, limit: int) -> int:
        """Delete at most `limit` of the oldest events, up to `up_to`; return their number."""


WriteFunction = Callable[[GraphTransaction], T]
"""A unit of writing. It may run more than once; it has no effect except through its argument."""


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """The outcome of one `WriteFunction`: `result`, or `error` unless that is None."""

    result: T | None = None
    error: BaseException | None = None


# --- the store -------------------------------------------------------------------------------


class GraphStore(Notices, ABC):
    """One stored graph. Drivers give it neither `__len__` nor `__bool__`. Calls may block.

    `scratch` is a directory of this graph's own for files that may be lost at any time, the same in
    all processes; None if the store has no directory on this machine. It is created when needed.

    `beside` is such a directory for durable files that others keep beside it; it is removed with
    the graph. Backups do not have it.

    `memory` is the memory account of this process, set before the first write. A store that keeps
    changes in memory charges them to it; None means that nothing is charged.
    """

    traits: StoreTraits
    scratch: Path | None = None
    beside: Path | None = None
    memory: MemoryAccount | None = None

    @abstractmethod
    def open(self) -> None:
        """Open or create, migrate, verify identity. Call in the process that will use it."""

    @abstractmethod
    def close(self) -> None:
        """Finish and release everything. No session may be in use."""

    @abstractmethod
    def session(self) -> GraphSession:
        """A session for one thread at a time, which need not be the one that opened it."""

    @abstractmethod
    def write(self, functions: Sequence[WriteFunction[object]]) -> Sequence[Outcome[object]]:
        """Run each write atomically and commit all that succeeded together; one thread at a time.

        A write that raises leaves no changes and does not affect the others. If the commit itself
        fails, every outcome has that error. A store may split them into several commits, in order,
        if they are too large for one; each outcome is then that of its own commit.
        """

    def refresh_statistics(self) -> None:
        """After an import: count for the plans of queries, where nothing else does so in time."""

    @abstractmethod
    def verify(self) -> Sequence[str]:
        """Check the stored data in depth; return the faults, empty when sound."""

    @abstractmethod
    def remove(self, timeout: float) -> None:
        """Delete the graph with everything that belongs to it; the next opening creates a new one.

        The store must not be open here. While others have it open, it waits for `timeout` seconds
        and then raises `StorageBusy`. Without effect when nothing exists; interrupted at any point,
        it can be called again.
        """
