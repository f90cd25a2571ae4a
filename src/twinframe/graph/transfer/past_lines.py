"""Writes the history of a graph as lines: the state at its beginning, then every change since.

The lines have no positions, which the graph that reads them gives anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from twinframe.errors import StorageDamaged
from twinframe.graph.events.rows import parse_record, parse_row
from twinframe.graph.history.documents import read_document
from twinframe.graph.models.uploads import cut_pieces, outline_model
from twinframe.model.clock import render_update_time
from twinframe.storage.base import (
    ENTITY_CHANGES,
    ChangeKind,
    GraphSession,
    ModelRecord,
    OutboxEvent,
)

CHANGE, TIME, WHO, ITEM, RELATIONSHIP, DOCUMENT, UPLOADED = (
    "change",
    "time",
    "who",
    "id",
    "relationshipId",
    "document",
    "uploadTime",
)
"""The members of a line."""
COUNT: Final = "changes"
"""The only member of the last line: how many there are."""
NAMES: Final = {
    kind: "".join(map(str.capitalize, kind.name.split("_"))) for kind in ChangeKind if kind
}
"""The changes by their name in lines, such as `TwinCreated`."""
_AT_ONCE: Final = 64


class PastRange(NamedTuple):
    """The positions after which the history begins and up to which it goes, and its `since`."""

    after: int
    end: int
    since: int | None


def find_past(session: GraphSession, first: int | None) -> PastRange | None:
    """Return what there is of the history, whose first state is that at the position `first`.

    None: nothing is kept by which a moment could be named.
    """
    if first is None:
        return None
    end = session.read_event_bounds()[1]
    if not first:
        return PastRange(0, end, None)
    oldest = session.read_moment(first)
    if oldest is None:
        return None
    # All changes of a transaction have one moment: between them there is no state of the graph.
    after, since = oldest
    while (following := session.read_moment(after + 1)) is not None and following[1] == since:
        after = following[0]
    return PastRange(after, end, since)


def render_changes(session: GraphSession, past: PastRange) -> Iterator[bytes]:
    """Yield the lines of the changes in a range, and the last one. Call it in a snapshot."""
    count, at = 0, past.after
    models = _ModelDocuments(session, past.after)
    waiting: list[dict[str, Any]] = []
    while at < past.end and (rows := session.read_events(after=at, limit=_AT_ONCE)):
        for position, event in rows:
            line = _build_change(session, models, position, event)
            if line is None:
                continue
            count += 1
            # New models of one upload may come before those that they need.
            is_model = event.kind == ChangeKind.MODEL_CREATED
            if waiting and not (is_model and waiting[0][TIME] == line[TIME]):
                yield from map(orjson.dumps, _sort_models(waiting))
                waiting = []
            if is_model:
                waiting.append(line)
            else:
                yield orjson.dumps(line)
        at = rows[-1][0]
    yield from map(orjson.dumps, _sort_models(waiting))
    yield orjson.dumps({COUNT: count})


def _build_change(
    session: GraphSession, models: _ModelDocuments, position: int, event: OutboxEvent
) -> dict[str, Any] | None:
    if event.kind == ChangeKind.NOTHING:
        return None
    row = parse_row(event.body)
    if row is None or event.kind is None:
        raise StorageDamaged(f"The history has a gap at position {position}.")
    line: dict[str, Any] = {
        CHANGE: NAMES[event.kind],
        TIME: render_update_time(event.moment),
        ITEM: event.subject,
    }
    if event.relationship_id:
        line[RELATIONSHIP] = event.relationship_id
    if row.who:
        line[WHO] = row.who
    if event.kind in ENTITY_CHANGES:
        body = read_document(session, (event.subject, event.relationship_id), position)
        if body is not None:
            line[DOCUMENT] = orjson.Fragment(body)
    elif event.kind == ChangeKind.MODEL_CREATED:
        record = models.read(event.subject, position)
        line |= {UPLOADED: record.upload_time, DOCUMENT: orjson.Fragment(record.document)}
    return line


class _ModelDocuments:
    """What was stored of each model: the row of its deletion has it, or it is stored still."""

    def __init__(self, session: GraphSession, after: int) -> None:
        self._session = session
        self._deleted: dict[str, list[int]] = defaultdict(list)
        for position, event in session.read_model_changes(after=after):
            if event.kind == ChangeKind.MODEL_DELETED:
                self._deleted[event.subject].append(position)

    def read(self, model_id: str, position: int) -> ModelRecord:
        """Return what was stored of a model that was created at a position."""
        for at in self._deleted.get(model_id, ()):
            if at > position:
                _, event = self._session.read_events(after=at - 1, limit=1)[0]
                row = parse_row(event.body)
                if row is not None and row.difference:
                    return parse_record(row.difference)
        record = self._session.read_model(model_id)
        if record is None:
            raise StorageDamaged(f"The history of {model_id} has a gap.")
        return record


def _sort_models(lines: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield new models after those that they need, otherwise in their order."""
    outlines = [outline_model(orjson.loads(orjson.dumps(line[DOCUMENT])), 0) for line in lines]
    for piece in cut_pieces(outlines):
        yield from (lines[place] for place in piece)
