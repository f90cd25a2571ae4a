"""Compares two states of a graph by the changes between them, however many these are."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

import orjson

from twinframe.errors import StorageDamaged
from twinframe.graph.history.comparison import PropertyChange, compare_documents
from twinframe.graph.history.documents import read_documents, read_documents_before
from twinframe.graph.history.history import Range
from twinframe.graph.history.models import PastModels
from twinframe.storage.base import (
    ENTITY_CHANGES,
    ChangeKind,
    EntityChange,
    EntityKey,
    GraphSession,
    ModelRecord,
)


class EntityType(enum.Enum):
    """What can differ between two states."""

    TWINS = "twins"
    RELATIONSHIPS = "relationships"
    MODELS = "models"


_AT_ONCE: Final = 256
_DOCUMENTS_AT_ONCE: Final = 16
"""SEC: a document may have a mebibyte, and several versions of it are held."""


def iterate_graph_changes(
    session: GraphSession, within: Range, types: Collection[EntityType], after: int
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the differences of the states at both ends, as JSON, each with a position.

    That is the position of the first change of the entity; those up to `after` are left out. A
    position without a difference was looked at. What was seen is held, so take only so many.
    Call it in a snapshot.
    """
    models = _ModelComparison(session, within)
    seen: set[EntityKey | str] = set()
    while after < within.end:
        session.check_deadline()
        page = session.read_changes(after=after, limit=_AT_ONCE)
        if not page.is_complete:
            raise StorageDamaged("The history of the graph has a gap.")
        changes = [change for change in page.changes if change.position <= within.end]
        for start in range(0, len(changes), _DOCUMENTS_AT_ONCE):
            some = changes[start : start + _DOCUMENTS_AT_ONCE]
            found: dict[int, bytes | None] = {change.position: None for change in some}
            new: dict[EntityKey, int] = {}
            for change in some:
                key = _build_key(change)
                if _find_type(change) not in types or key in seen:
                    continue
                seen.add(key)
                if not isinstance(key, str):
                    new[key] = change.position
                elif models.is_first(key, change.position):
                    found[change.position] = models.compare(key)
            found.update(_compare_entities(session, within, new))
            yield from found.items()
        after = page.position


def _find_type(change: EntityChange) -> EntityType | None:
    if change.kind in ENTITY_CHANGES:
        return EntityType.RELATIONSHIPS if change.relationship_id else EntityType.TWINS
    return None if change.kind == ChangeKind.NOTHING else EntityType.MODELS


def _build_key(change: EntityChange) -> EntityKey | str:
    """Return the key of a twin or relationship, or the id of a model."""
    if change.kind in ENTITY_CHANGES:
        return change.subject, change.relationship_id
    return change.subject


def _compare_entities(
    session: GraphSession, within: Range, positions: dict[EntityKey, int]
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the differences of those whose first change is at these positions."""
    if not positions:
        return
    changes = session.read_first_changes([*positions], after=within.after)
    new = {key: found for key, found in changes.items() if found[0] == positions[key]}
    before = read_documents_before(session, new)
    after = read_documents(session, [*new], within.end)
    for key, (position, _) in new.items():
        yield position, _render_entity(key, before.get(key), after.get(key))


def _render_entity(key: EntityKey, before: bytes | None, after: bytes | None) -> bytes | None:
    source, relationship_id = key
    head: dict[str, Any] = {"kind": "twin", "id": source}
    if relationship_id:
        head = {"kind": "relationship", "sourceId": source, "relationshipId": relationship_id}
    if before is None or after is None:
        return _render_whole(head, before, after)
    return _render_updated(head, compare_documents(orjson.loads(before), orjson.loads(after)))


def _render_whole(head: dict[str, Any], before: bytes | None, after: bytes | None) -> bytes | None:
    if after is not None:
        return orjson.dumps({**head, "action": "created", "after": orjson.Fragment(after)})
    if before is not None:
        return orjson.dumps({**head, "action": "deleted", "before": orjson.Fragment(before)})
    return None


def _render_updated(head: dict[str, Any], changes: Sequence[PropertyChange]) -> bytes | None:
    if not changes:
        return None
    rendered = [change.render() for change in changes]
    return orjson.dumps({**head, "action": "updated", "changes": rendered})


class _ModelComparison:
    """The models of both states."""

    def __init__(self, session: GraphSession, within: Range) -> None:
        self._session = session
        self._within = within
        self._before = PastModels(session, within.after)
        self._after = PastModels(session, within.end)

    def is_first(self, model_id: str, position: int) -> bool:
        """Return whether this is its first change after the earlier state."""
        return self._before.find_first_change(model_id) == position

    def compare(self, model_id: str) -> bytes | None:
        """Render the difference."""
        head = {"kind": "model", "id": model_id}
        before, after = self._before.read(model_id), self._after.read(model_id)
        if before is None or after is None:
            return _render_whole(head, *map(_render_record, (before, after)))
        return _render_updated(head, [*_compare_records(before, after)])


def _render_record(record: ModelRecord | None) -> bytes | None:
    if record is None:
        return None
    is_decommissioned = b"true" if record.decommissioned else b"false"
    return b'{"decommissioned":%b,"model":%b}' % (is_decommissioned, record.document)


def _compare_records(before: ModelRecord, after: ModelRecord) -> Iterable[PropertyChange]:
    if before.decommissioned != after.decommissioned:
        yield PropertyChange("decommissioned", before.decommissioned, after.decommissioned)
    old, new = orjson.loads(before.document), orjson.loads(after.document)
    if old != new:
        yield PropertyChange("model", old, new)
