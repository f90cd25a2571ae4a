"""Builds documents as they were at a position of the history.

The first change of an entity after the position says whether it existed there: not if it was
created. Otherwise the differences of this and the later changes lead back to its document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from twinframe.errors import StorageDamaged
from twinframe.graph.events.differences import is_whole, read_difference
from twinframe.graph.events.rows import DELETIONS, split_row
from twinframe.storage.base import ChangeKind, EntityKey, GraphSession, OutboxEvent

CREATIONS: Final = frozenset({ChangeKind.TWIN_CREATED, ChangeKind.RELATIONSHIP_CREATED})
_FEW_ROWS: Final = 8
_MANY_ROWS: Final = 24


def read_document(session: GraphSession, key: EntityKey, position: int) -> bytes | None:
    """Return the document of an entity after the event at `position`, byte for byte, or None.

    Call it in a snapshot.
    """
    return read_documents(session, [key], position).get(key)


def read_documents(
    session: GraphSession, keys: Sequence[EntityKey], position: int
) -> Mapping[EntityKey, bytes]:
    """Return `read_document` of those entities that existed, by key."""
    changes = session.read_first_changes(keys, after=position)
    found = _read_stored(session, [key for key in keys if key not in changes])
    return found | read_documents_before(session, changes)


def read_documents_before(
    session: GraphSession, changes: Mapping[EntityKey, tuple[int, OutboxEvent]]
) -> dict[EntityKey, bytes]:
    """Return the documents before these changes, one of each entity, of those that existed."""
    ways = {
        key: _WayBack(key) for key, (_, event) in changes.items() if event.kind not in CREATIONS
    }
    waiting = {key: changes[key][0] for key in ways if not ways[key].follow(changes[key][1])}
    unchanged: list[EntityKey] = []
    limit = _FEW_ROWS
    while waiting:
        rows = session.read_ways_back(waiting, limit=limit)
        going: dict[EntityKey, int] = {}
        for key in waiting:
            later = rows.get(key, ())
            if any(ways[key].follow(_complete(session, key, *each)) for each in later):
                continue
            if len(later) < limit:
                unchanged.append(key)
            else:
                going[key] = later[-1][0]
        waiting, limit = going, _MANY_ROWS
    stored = _read_stored(session, unchanged)
    return {key: way.build(stored.get(key)) for key, way in ways.items()}


class _WayBack:
    """The way from a later document of an entity back to the one before its first change."""

    __slots__ = ("_document", "_key", "_steps")

    def __init__(self, key: EntityKey) -> None:
        self._key = key
        self._document: bytes | None = None
        self._steps: list[tuple[bytes, bytes]] = []

    def follow(self, event: OutboxEvent) -> bool:
        """Add the next change; return whether it has a whole document, from which to begin."""
        texts = split_row(event.body)
        if texts is None:
            raise _build_damage(self._key)
        data, notes, difference = texts
        if event.kind in DELETIONS:
            self._document = data
        elif is_whole(difference):
            self._document = read_difference(difference)
        else:
            self._steps.append((difference, notes))
        return self._document is not None

    def build(self, stored: bytes | None) -> bytes:
        """Build the document; `stored` is the present one, for an entity that was not deleted."""
        document = stored if self._document is None else self._document
        if document is None:
            raise _build_damage(self._key)
        for difference, notes in reversed(self._steps):
            document = read_difference(difference, document, notes)
        return document


def _complete(session: GraphSession, key: EntityKey, at: int, event: OutboxEvent) -> OutboxEvent:
    """Return the event with its body, which is left out of a read of many if it is large."""
    if event.body:
        return event
    rows = session.read_entity_changes(
        key, after=at - 1, before=at + 1, limit=1, newest_first=False
    )
    return rows[0][1]


def _read_stored(session: GraphSession, keys: Sequence[EntityKey]) -> dict[EntityKey, bytes]:
    """Return the present documents of those that exist."""
    twins = [subject for subject, relationship_id in keys if not relationship_id]
    relationships = [key for key in keys if key[1]]
    found: dict[EntityKey, bytes] = {}
    if twins:
        stored = session.read_twin_documents(twins)
        found.update({(twin_id, ""): each.body for twin_id, each in stored.items()})
    if relationships:
        edges = session.read_relationship_documents(relationships)
        found.update({key: each.body for key, each in edges.items()})
    return found


def _build_damage(key: EntityKey) -> StorageDamaged:
    return StorageDamaged(f"The history of {'/'.join(filter(None, key))} has a gap.")
