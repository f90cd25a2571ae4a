"""A session that shows a graph as it was at a position of its history."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

import orjson

from twinframe.graph.documents.relationships import ETAG, NAME, TARGET
from twinframe.graph.documents.twins import METADATA, MODEL
from twinframe.graph.history.documents import (
    CREATIONS,
    read_document,
    read_documents,
    read_documents_before,
)
from twinframe.graph.history.gone import Gone, GoneCache, IncomingRank
from twinframe.graph.history.models import PastModels
from twinframe.model.ids import MODEL_LABEL
from twinframe.model.values import Node, Relationship
from twinframe.query.algebra import Direction, LabelExpression
from twinframe.query.evaluate.labels import compile_labels, find_label_names
from twinframe.query.reader import Hop
from twinframe.storage.base import (
    ChangeKind,
    EntityKey,
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
from twinframe.storage.entities import build_model_node
from twinframe.storage.states import EarlierState

T = TypeVar("T")

_AT_ONCE: Final = 64
_MOST_CHANGED: Final = 20_000
"""Changes after the position that are looked up for a scan; with more, all entities are."""


_RankedIncoming: TypeAlias = dict[IncomingRank, Listed[IncomingRelationship]]


class _Changed(NamedTuple):
    twins: frozenset[EntityKey]
    relationships: frozenset[EntityKey]

    def has(self, key: EntityKey) -> bool:
        return key in self.twins or key in self.relationships


class PastSession(EarlierState):
    """The graph after the event at `position`; use it in one snapshot of `session`.

    Its events and entries are those of the present.
    """

    def __init__(self, session: GraphSession, position: int, gone: GoneCache | None = None) -> None:
        """`gone` remembers what is gone between the pages of a listing."""
        self._session = session
        self._gone = GoneCache() if gone is None else gone
        self._position = position
        self._models = PastModels(session, position)

    @property
    def present(self) -> GraphSession:
        """The session of the present state."""
        return self._session

    @property
    def position(self) -> int:
        """The position."""
        return self._position

    @property
    def is_present(self) -> bool:
        """Whether no later event exists, so that the present state is this one."""
        return self._session.read_event_bounds()[1] == self._position

    # --- what is no part of the state -----------------------------------------------------------

    def snapshot(self, deadline: float | None = None) -> AbstractContextManager[None]:
        """Go on in the snapshot of the session."""
        return self._session.snapshot(deadline)

    def check_deadline(self) -> None:
        """Raise `QueryTimeout` when the time is over."""
        self._session.check_deadline()

    def interrupt(self) -> None:
        """Stop running reads."""
        self._session.interrupt()

    def watch_memory(self, look: Callable[[], None]) -> None:
        """Look at the memory at intervals."""
        self._session.watch_memory(look)

    def read_steps(self) -> int:
        """The work of the store's engine."""
        return self._session.read_steps()

    def read_instance(self) -> Instance:
        """Identity and secret of the graph."""
        return self._session.read_instance()

    def read_entry(self, kind: str, key: str) -> bytes | None:
        """The present entry."""
        return self._session.read_entry(kind, key)

    def read_entries(self, kind: str, *, after: str | None, limit: int) -> Sequence[Listed[bytes]]:
        """The present entries."""
        return self._session.read_entries(kind, after=after, limit=limit)

    def read_events(self, *, after: int, limit: int) -> Sequence[tuple[int, OutboxEvent]]:
        """The events, later ones too."""
        return self._session.read_events(after=after, limit=limit)

    def read_event_bounds(self) -> tuple[int, int]:
        """The bounds of the events."""
        return self._session.read_event_bounds()

    # --- models ---------------------------------------------------------------------------------

    def read_schema_version(self) -> int:
        """Return the version of the models then."""
        return self._models.version

    def read_model(self, model_id: str) -> ModelRecord | None:
        """The model."""
        return self._models.read(model_id)

    def read_models(self, *, after: int, limit: int) -> Sequence[ModelRecord]:
        """Models by order of upload."""
        return self._models.read_page(after, limit)

    def read_model_referrers(self, model_id: str) -> Sequence[str]:
        """Ids of the models that name it."""
        return [
            record.model_id
            for record in self._models.iterate()
            if record.model_id != model_id and model_id in (*record.extends, *record.components)
        ]

    def read_descendants(self, model_id: str) -> frozenset[str]:
        """The known models that extend it, and itself."""
        return self._models.read_descendants(model_id)

    def read_model_ids(self) -> frozenset[str]:
        """The known models."""
        return self._models.read_ids()

    # --- twins and relationships ----------------------------------------------------------------

    def read_twin(self, twin_id: str) -> StoredDocument | None:
        """The twin's document."""
        return _build_stored(read_document(self._session, (twin_id, ""), self._position))

    def has_twin(self, twin_id: str) -> bool:
        """Whether the twin existed."""
        return self.read_twin(twin_id) is not None

    def read_twin_model(self, twin_id: str) -> str | None:
        """The twin's model id."""
        body = read_document(self._session, (twin_id, ""), self._position)
        return None if body is None else _read_model(orjson.loads(body))

    def iterate_twins(self) -> Iterator[TwinRecord]:
        """Every twin by id; all ids are held in memory."""
        for keys in _batch(sorted(self._find_twins())):
            found = read_documents(self._session, keys, self._position)
            for key in keys:
                if key in found:
                    yield _build_twin(key, found[key])

    def iterate_relationships(self) -> Iterator[RelationshipRecord]:
        """Every relationship by source and id; all keys are held in memory."""
        for keys in _batch(sorted(self._find_relationships())):
            found = read_documents(self._session, keys, self._position)
            for key in keys:
                if key in found:
                    yield _build_edge(key, found[key])

    def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument | None:
        """The relationship's document."""
        key = source_id, relationship_id
        return _build_stored(read_document(self._session, key, self._position))

    def read_relationships(
        self, source_id: str, *, name: str | None, after: str | None, limit: int
    ) -> Sequence[Listed[StoredDocument]]:
        """Outgoing relationships by id; the key is the id."""
        session = self._session
        gone = session.find_deleted_relationships(after=self._position, sources=[source_id])
        left = sorted({own for _, own in gone if after is None or own > after})
        found: list[Listed[StoredDocument]] = []
        while len(found) < limit:
            some = session.read_relationships(source_id, name=name, after=after, limit=limit)
            end = None if len(some) < limit else some[-1].key
            ids = {listed.key for listed in some}
            ids |= {own for own in left if _is_between(own, after, end)}
            keys = [(source_id, own) for own in sorted(ids)]
            documents = read_documents(session, keys, self._position)
            for key in keys:
                body = documents.get(key)
                if body is None:
                    continue
                document = orjson.loads(body)
                if name is None or document[NAME] == name:
                    found.append(Listed(key[1], StoredDocument(document[ETAG], body)))
            if end is None:
                break
            after = end
        return found[:limit]

    def read_incoming(
        self, target_id: str, *, after: str | None, limit: int
    ) -> Sequence[Listed[IncomingRelationship]]:
        """Incoming relationships in the order of the present ones.

        The key is the store's own, the source and the id as a JSON array: several relationships
        that are gone may have one key of the store.
        """
        session = self._session
        place: str | None = None
        start: IncomingRank | None = None
        if after is not None:
            place, source_id, relationship_id = orjson.loads(after)
            start = session.rank_incoming_key(place), source_id, relationship_id
        gone = self._find_gone(target_id)
        # NOTE: the last one of the page before may have been deleted since, which moves it.
        moved = None if start is None else start[1:]
        at = 0 if start is None else bisect_right(gone.ranks, start)
        found: list[Listed[IncomingRelationship]] = []
        size = limit
        while len(found) < limit:
            some = session.read_incoming(target_id, after=place, limit=size)
            here = [each for each in some if _read_key(each.item) not in gone.keys]
            end = None if len(some) < size else session.rank_incoming_key(some[-1].key)
            page = self._keep_incoming(here, target_id)
            # PERF: those after the page are not looked at: there may be many times as many.
            while at < len(gone.ranks) and len(page) <= len(some) + limit:
                rank = gone.ranks[at]
                if end is not None and rank[0] > end:
                    break
                if rank[1:] != moved:
                    page[rank] = gone.listed[rank]
                at += 1
            found += [page[rank] for rank in sorted(page)]
            if end is None:
                break
            place, size = some[-1].key, min(2 * size, max(limit, _AT_ONCE))
        return found[:limit]

    def _find_gone(self, target_id: str) -> Gone:
        """Find those that are gone, from those that were at the page before."""
        session, position = self._session, self._position
        known = self._gone.find(position, target_id)
        last = session.read_event_bounds()[1]
        deleted = session.find_deleted_relationships(after=known.until, targets=[target_id])
        new = dict.fromkeys(key for key in deleted if key not in known.keys)
        if new:
            listed = {**known.listed, **self._find_gone_incoming(new, target_id)}
            known = Gone(last, {*known.keys, *new}, sorted(listed), listed)
        else:
            known = replace(known, until=last)
        self._gone.keep(position, target_id, known)
        return known

    def _keep_incoming(
        self, present: Iterable[Listed[IncomingRelationship]], target_id: str
    ) -> _RankedIncoming:
        """Return those that were at the target then, too."""
        session, position = self._session, self._position
        found: _RankedIncoming = {}
        for batch in _batch(present):
            keys = [_read_key(each.item) for each in batch]
            later = session.read_first_changes(keys, after=position)
            changed = [key for key in later if later[key][1].kind not in CREATIONS]
            documents = read_documents(session, changed, position) if changed else {}
            for listed, key in zip(batch, keys, strict=True):
                if key not in later or (
                    key in documents and orjson.loads(documents[key])[TARGET] == target_id
                ):
                    found |= self._rank_incoming(listed.key, listed.item)
        return found

    def _find_gone_incoming(self, keys: Iterable[EntityKey], target_id: str) -> _RankedIncoming:
        """Return those that were at the target, where the store would have them."""
        found: _RankedIncoming = {}
        for batch in _batch(keys):
            for key, body in read_documents(self._session, batch, self._position).items():
                document = orjson.loads(body)
                if document[TARGET] == target_id:
                    item = IncomingRelationship(*key, document[NAME])
                    found |= self._rank_incoming(
                        self._session.find_incoming_key(*key, item.name), item
                    )
        return found

    def _rank_incoming(self, place: str, item: IncomingRelationship) -> _RankedIncoming:
        key = _read_key(item)
        listed = Listed(orjson.dumps((place, *key)).decode(), item)
        return {(self._session.rank_incoming_key(place), *key): listed}

    # --- what differs from the present, for a copy ----------------------------------------------

    def read_ancestors(self, model_id: str) -> frozenset[str]:
        """The models that a model extends, and itself."""
        return self._models.read_ancestors(model_id)

    def find_changed_twins(self, ids: Sequence[str]) -> Mapping[str, TwinRecord | None]:
        """Those that changed, as they were."""
        found = self._find_changed([(twin_id, "") for twin_id in ids])
        return {
            key[0]: None if body is None else _build_twin(key, body) for key, body in found.items()
        }

    def find_changed_relationships(
        self, keys: Sequence[EntityKey]
    ) -> Mapping[EntityKey, RelationshipRecord | None]:
        """Those that changed, as they were."""
        found = self._find_changed(keys)
        return {
            key: None if body is None else _build_edge(key, body) for key, body in found.items()
        }

    def _find_changed(self, keys: Sequence[EntityKey]) -> dict[EntityKey, bytes | None]:
        if self._changed is not None:
            keys = [key for key in keys if self._changed.has(key)]
        changes = self._session.read_first_changes(keys, after=self._position) if keys else {}
        return dict.fromkeys(changes) | read_documents_before(self._session, changes)

    def iterate_gone_twins(self) -> Iterator[TwinRecord]:
        """The twins that exist no longer."""
        for keys in self._find_gone_twins():
            for key, body in read_documents(self._session, keys, self._position).items():
                yield _build_twin(key, body)

    def iterate_gone_relationships(self) -> Iterator[RelationshipRecord]:
        """The relationships that exist no longer."""
        for keys in self._find_gone_relationships():
            for key, body in read_documents(self._session, keys, self._position).items():
                yield _build_edge(key, body)

    # --- the evaluator's port -------------------------------------------------------------------

    def scan_nodes(self, labels: LabelExpression | None) -> Iterator[Node]:
        """Yield the twins whose labels satisfy it, then models if they are asked for."""
        holds = compile_labels(labels)
        if self._changed is not None and self._models.is_present:
            for node in self._session.scan_nodes(labels):
                if (node.id, "") not in self._changed.twins and MODEL_LABEL not in node.labels:
                    yield node
            keys: Iterable[EntityKey] = self._changed.twins
        else:
            keys = self._find_twins()
        for batch in _batch(keys):
            for node in self._build_nodes(batch):
                if labels is None or holds(node.labels):
                    yield node
        own = frozenset({MODEL_LABEL})
        if labels is not None and MODEL_LABEL in find_label_names(labels) and holds(own):
            yield from (build_model_node(record, own) for record in self._models.iterate())

    def read_nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """The twins of these ids."""
        return {node.id: node for node in self._build_nodes([(each, "") for each in ids])}

    def scan_relationships(self, types: Sequence[str]) -> Iterator[Relationship]:
        """Every relationship of these types."""
        wanted = frozenset(types)
        keys: Iterable[EntityKey]
        if self._changed is not None:
            keys = self._changed.relationships
            for each in self._session.scan_relationships(types):
                if (each.source, each.id) not in self._changed.relationships:
                    yield each
        else:
            keys = self._find_relationships()
        for batch in _batch(keys):
            for each in self._build_relationships(batch):
                if not wanted or each.type in wanted:
                    yield each

    def read_hops(
        self, origins: Iterable[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        """The relationships at each origin; with BOTH a loop counts as outgoing only."""
        for batch in _batch(dict.fromkeys(origins)):
            yield from self._read_hops(batch, direction, types)

    def _read_hops(
        self, origins: Sequence[str], direction: Direction, types: Sequence[str]
    ) -> Iterator[Hop]:
        session, position = self._session, self._position
        uncertain: dict[EntityKey, None] = {}
        if direction is not Direction.INCOMING:
            uncertain |= dict.fromkeys(
                session.find_deleted_relationships(after=position, sources=origins)
            )
        if direction is not Direction.OUTGOING:
            uncertain |= dict.fromkeys(
                session.find_deleted_relationships(after=position, targets=origins)
            )
        for hops in _batch(session.read_hops(origins, direction, types)):
            keys = [(hop.relationship.source, hop.relationship.id) for hop in hops]
            later = session.read_first_changes(keys, after=position)
            uncertain |= dict.fromkeys(later)
            yield from (hop for hop, key in zip(hops, keys, strict=True) if key not in uncertain)
        wanted, at = frozenset(types), frozenset(origins)
        for batch in _batch(uncertain):
            for each in self._build_relationships(batch):
                if not wanted or each.type in wanted:
                    yield from _build_hops(each, at, direction)

    def _build_nodes(self, keys: Sequence[EntityKey]) -> Iterator[Node]:
        for key, body in read_documents(self._session, keys, self._position).items():
            document = orjson.loads(body)
            yield Node(key[0], document, self._models.read_labels(_read_model(document)))

    def _build_relationships(self, keys: Sequence[EntityKey]) -> Iterator[Relationship]:
        for key, body in read_documents(self._session, keys, self._position).items():
            document = orjson.loads(body)
            yield Relationship(key[0], key[1], document[TARGET], document[NAME], document)

    @cached_property
    def _changed(self) -> _Changed | None:
        """The entities that changed after the position; None if these are too many to look up."""
        after, last = self._position, self._session.read_event_bounds()[1]
        if last - after > _MOST_CHANGED:
            return None
        twins: set[EntityKey] = set()
        relationships: set[EntityKey] = set()
        while after < last:
            page = self._session.read_changes(after=after, limit=_AT_ONCE)
            for change in page.changes:
                if change.kind < ChangeKind.RELATIONSHIP_CREATED:
                    twins.add((change.subject, ""))
                elif change.kind < ChangeKind.MODEL_CREATED:
                    relationships.add((change.subject, change.relationship_id))
            after = page.position
        return _Changed(frozenset(twins), frozenset(relationships))

    def _find_twins(self) -> Iterator[EntityKey]:
        """Yield each twin that exists now or was deleted since."""
        for node in self._session.scan_nodes(None):
            yield node.id, ""
        for keys in self._find_gone_twins():
            yield from keys

    def _find_gone_twins(self) -> Iterator[list[EntityKey]]:
        """Yield in batches the twins that were deleted since and exist no longer."""
        gone = dict.fromkeys(self._session.find_deleted_twins(after=self._position))
        for twin_ids in _batch(gone):
            present = self._session.read_twin_models(twin_ids)
            yield [(twin_id, "") for twin_id in twin_ids if twin_id not in present]

    def _find_relationships(self) -> Iterator[EntityKey]:
        """Yield each relationship that exists now or was deleted since."""
        for each in self._session.scan_relationships(()):
            yield each.source, each.id
        for keys in self._find_gone_relationships():
            yield from keys

    def _find_gone_relationships(self) -> Iterator[list[EntityKey]]:
        gone = dict.fromkeys(self._session.find_deleted_relationships(after=self._position))
        for keys in _batch(gone):
            present = self._session.read_relationship_documents(keys)
            yield [key for key in keys if key not in present]


def _batch(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch


def _build_twin(key: EntityKey, body: bytes) -> TwinRecord:
    document = orjson.loads(body)
    return TwinRecord(key[0], _read_model(document), document[ETAG], body)


def _build_edge(key: EntityKey, body: bytes) -> RelationshipRecord:
    document = orjson.loads(body)
    return RelationshipRecord(*key, document[NAME], document[TARGET], document[ETAG], body)


def _build_stored(body: bytes | None) -> StoredDocument | None:
    return None if body is None else StoredDocument(orjson.loads(body)[ETAG], body)


def _read_model(document: Any) -> str:
    model_id: str = document[METADATA][MODEL]
    return model_id


def _read_key(item: IncomingRelationship) -> EntityKey:
    return item.source_id, item.relationship_id


def _is_between(key: str, after: str | None, end: str | None) -> bool:
    return (after is None or key > after) and (end is None or key <= end)


def _build_hops(each: Relationship, origins: frozenset[str], direction: Direction) -> Iterator[Hop]:
    if direction is not Direction.INCOMING and each.source in origins:
        yield Hop(each.source, each, each.target)
    is_other = direction is Direction.INCOMING or each.source != each.target
    if direction is not Direction.OUTGOING and each.target in origins and is_other:
        yield Hop(each.target, each, each.source)
