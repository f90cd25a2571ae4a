"""Exports the kept history of a graph as the tables of data history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import orjson

from twinframe.errors import StorageDamaged
from twinframe.graph.context.context import GraphContext
from twinframe.graph.delivery.reading import MUCH, read_table_rows
from twinframe.graph.delivery.tables import MOST_SIZE
from twinframe.graph.documents.relationships import TARGET
from twinframe.graph.documents.twins import METADATA, MODEL
from twinframe.graph.events.changes import add_source_times, build_changes
from twinframe.graph.events.differences import read_difference
from twinframe.graph.events.envelope import render_changes, render_event
from twinframe.graph.events.event import Event
from twinframe.graph.events.outbox import read_events
from twinframe.graph.events.rows import DELETIONS, EVENT_TYPES, Row, parse_row
from twinframe.graph.history.documents import read_document
from twinframe.graph.history.history import History, Range
from twinframe.hooks.event_sinks.tables import TableRow, TableSink
from twinframe.storage.base import ENTITY_CHANGES, ChangeKind, GraphSession, OutboxEvent

_AT_ONCE: Final = 256

Report = Callable[[int], None]
"""Is told after each part how many rows there are so far."""


class ExportedTables(NamedTuple):
    """How many rows an export has, and the positions of the events that they are of."""

    rows: int
    within: Range


class TableExport:
    """Exports the history of one graph."""

    def __init__(self, context: GraphContext, history: History) -> None:
        self._context = context
        self._history = history

    async def export_tables(
        self, sink: TableSink, start: str | None, end: str | None, report: Report
    ) -> ExportedTables:
        """Store the rows of all changes after `start` up to `end` in a sink.

        Both are moments or positions, as `History.build_range` takes them. The same range has the
        same names, so an export that is repeated replaces its files. Errors: `InvalidArgument`,
        `HistoryNotKept`, `Unsupported`, `DeliveryFailed`.
        """
        within = await self._history.find_range(start, end)
        instance = await self._context.runner.read(lambda session: session.read_instance())
        graph = instance.id
        await sink.open()
        try:
            count, after = 0, within.after
            rows: list[TableRow] = []
            first, size, limit = after, 0, 1
            while after < within.end:
                after, found = await self._read(within._replace(after=after), limit)
                rows += found
                read = sum(row.size for row in found)
                size += read
                limit = max(limit // 2, 1) if read > MUCH else min(limit * 2, _AT_ONCE)
                is_full = len(rows) >= sink.rows or size >= MOST_SIZE
                if rows and (is_full or after >= within.end):
                    await sink.write(f"export-{graph}-{first:012d}-{after:012d}", rows)
                    count, first, size, rows = count + len(rows), after, 0, []
                    report(count)
        finally:
            await sink.close()
        return ExportedTables(count, within)

    async def _read(self, rest: Range, limit: int) -> tuple[int, list[TableRow]]:
        """Return the rows of some events, and the position up to which they are."""

        def read(session: GraphSession) -> tuple[int, list[TableRow]]:
            with session.snapshot():
                self._history.check(session, rest.after)
                return read_rows(session, rest, limit)

        return await self._context.runner.read(read)


def read_rows(session: GraphSession, rest: Range, limit: int) -> tuple[int, list[TableRow]]:
    """Return the rows of the first events of a range, at most `limit` events, and the position up
    to which they are. Call it in a snapshot.
    """
    rows: list[TableRow] = []
    stored = session.read_events(after=rest.after, limit=limit)
    texts = dict(read_events(session, after=rest.after, limit=limit))
    for position, event in stored:
        if position > rest.end:
            return rest.end, rows
        if event.kind is not None and event.kind not in ENTITY_CHANGES:
            continue
        text = texts[position].text or _render_silent(session, position, event)
        rows += read_table_rows(session, Event(position, event.subject, text))
    return (stored[-1][0] if len(stored) == limit else rest.end), rows


def _render_silent(session: GraphSession, position: int, event: OutboxEvent) -> bytes:
    """Render the event that would have been sent of a change of which none was."""
    row = parse_row(event.body)
    if row is None:
        raise StorageDamaged(f"The event at position {position} cannot be read.")
    key = event.subject, event.relationship_id
    subject = f"{key[0]}/relationships/{key[1]}" if key[1] else key[0]
    data, notes = _build_silent(session, position, event, row)
    source = orjson.dumps(row.source)
    return render_event(EVENT_TYPES[event.kind], source, subject, row.time, data, notes)


def _build_silent(
    session: GraphSession, position: int, event: OutboxEvent, row: Row
) -> tuple[bytes, dict[str, Any]]:
    """Build the data and the notes of the event."""
    if event.kind in DELETIONS:
        return row.data, {}
    key = event.subject, event.relationship_id
    body = read_document(session, key, position)
    if body is None:
        raise StorageDamaged(f"The history of {'/'.join(filter(None, key))} has a gap.")
    document = orjson.loads(body)
    model = document[METADATA][MODEL] if not key[1] else _read_model(session, key[0], position)
    if event.kind in (ChangeKind.TWIN_CREATED, ChangeKind.RELATIONSHIP_CREATED):
        return body, {"model": model}
    before = orjson.loads(read_difference(row.difference, body, row.notes))
    changes = build_changes(before, document)
    notes: dict[str, Any] = {"old": changes.old}
    if key[1]:
        notes["target"] = document[TARGET]
    else:
        add_source_times(changes, before, document)
    return render_changes(model, changes.patch), notes


def _read_model(session: GraphSession, twin_id: str, position: int) -> str:
    twin = read_document(session, (twin_id, ""), position)
    found: str = "" if twin is None else orjson.loads(twin)[METADATA][MODEL]
    return found
