"""Reads the changes of one twin or relationship, with the documents before and after each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from twinframe.errors import StorageDamaged
from twinframe.graph.events.differences import read_difference
from twinframe.graph.events.rows import DELETIONS, Row, parse_row
from twinframe.graph.history.documents import CREATIONS, read_document
from twinframe.graph.history.history import Range
from twinframe.storage.base import ChangeKind, EntityKey, GraphSession

_FEW: Final = 4
_MANY: Final = 64
"""SEC: a row may have megabytes, so that few are held at once."""
_LARGE: Final = 256 * 1024


class Version(NamedTuple):
    """A change of an entity: its row, and the documents before and after, None for none."""

    position: int
    moment: int
    kind: ChangeKind
    row: Row
    before: bytes | None
    after: bytes | None


def iterate_versions(
    session: GraphSession, key: EntityKey, within: Range, *, newest_first: bool
) -> Iterator[Version]:
    """Yield the changes of an entity in a range, few of which are held at once.

    Call it in a snapshot.
    """
    after, before = within.after, within.end + 1
    limit = _FEW
    while after < before:
        found = _read_versions(session, key, after, before, limit, newest_first)
        yield from found
        session.check_deadline()
        if len(found) < limit:
            return
        if newest_first:
            before = found[-1].position
        else:
            after = found[-1].position
        size = sum(len(each.before or b"") + len(each.after or b"") for each in found)
        limit = min(4 * limit, _MANY) if size < _LARGE else _FEW


def _read_versions(
    session: GraphSession, key: EntityKey, after: int, before: int, limit: int, newest_first: bool
) -> list[Version]:
    rows = session.read_entity_changes(
        key, after=after, before=before, limit=limit, newest_first=newest_first
    )
    if not rows:
        return []
    backwards = rows if newest_first else rows[::-1]
    document = read_document(session, key, backwards[0][0])
    found: list[Version] = []
    for position, event in backwards:
        row = parse_row(event.body)
        if row is None or event.kind is None:
            raise StorageDamaged(f"The history of {'/'.join(filter(None, key))} has a gap.")
        earlier: bytes | None = None
        if event.kind in DELETIONS:
            earlier = row.data
        elif event.kind not in CREATIONS:
            earlier = read_difference(row.difference, document or b"", row.notes)
        found.append(Version(position, event.moment, event.kind, row, earlier, document))
        document = earlier
    return found if newest_first else found[::-1]
