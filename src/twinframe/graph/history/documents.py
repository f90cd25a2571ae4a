"""Builds documents as they were at a position of the history.

The first change of an entity after the position says whether it existed there: not if it was
created. Otherwise the differences of this and the later changes lead back to its document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from twinframe.errors import StorageDamaged
from twinframe.graph.events.differences import is_whole, read_difference
from twinframe.graph.events.rows import DELETIONS, Row, parse_row
from twinframe.storage.base import ChangeKind, EntityKey, GraphSession, OutboxEvent

CREATIONS: Final = frozenset({ChangeKind.TWIN_CREATED, ChangeKind.RELATIONSHIP_CREATED})
_ROWS_AT_ONCE: Final = 24


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
    return {
        key: _lead_back(session, key, at, event)
        for key, (at, event) in changes.items()
        if event.kind not in CREATIONS
    }


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


def _lead_back(session: GraphSession, key: EntityKey, at: int, event: OutboxEvent) -> bytes:
    """Return the document before the event at `at`."""
    differences: list[Row] = []
    rows: Sequence[tuple[int, OutboxEvent]] = [(at, event)]
    asked = 1
    document: bytes | None = None
    while document is None:
        for _, event in rows:
            row = _parse(key, event)
            if event.kind in DELETIONS:
                document = row.data
            elif is_whole(row.difference):
                document = read_difference(row.difference)
            else:
                differences.append(row)
                continue
            break
        else:
            if len(rows) < asked:
                document = _read_stored(session, [key]).get(key)
                if document is None:
                    raise _build_damage(key)
            else:
                asked = _ROWS_AT_ONCE
                rows = session.read_replacements(*key, after=rows[-1][0], limit=asked)
    for row in reversed(differences):
        document = read_difference(row.difference, document, row.notes)
    return document


def _parse(key: EntityKey, event: OutboxEvent) -> Row:
    row = parse_row(event.body)
    if row is None:
        raise _build_damage(key)
    return row


def _build_damage(key: EntityKey) -> StorageDamaged:
    return StorageDamaged(f"The history of {'/'.join(filter(None, key))} has a gap.")
