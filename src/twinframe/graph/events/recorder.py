"""Records the events of a write in the outbox, in the transaction of the write.

The key of an event in the outbox, within which order is kept, is the twin's id, that of the source
for relationships; for models it is the model's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from datetime import datetime
from typing import Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import orjson

from twinframe.graph.documents.relationships import TARGET
from twinframe.graph.documents.twins import METADATA, MODEL, TOUCHED, JsonObject, is_source_time
from twinframe.graph.events.changes import Changes, add_source_times, build_changes
from twinframe.graph.events.differences import render_difference
from twinframe.graph.events.envelope import (
    add_notes,
    render_changes,
    render_notes,
    render_telemetry,
)
from twinframe.graph.events.rows import Head, build_digest, render_record, render_row, render_who
from twinframe.model.clock import Clock, render_update_time
from twinframe.model.etags import build_guid
from twinframe.model.values import JsonValue
from twinframe.settings import Settings
from twinframe.storage.base import (
    ChangeKind,
    EntityKey,
    ModelRecord,
    OutboxEvent,
    StoredDocument,
)

_SOURCE_TIME: Final = b'"sourceTime"'


class Outbox(Protocol):
    """The target of recorded events: a transaction of a graph, or a substitute."""

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Append events after the others."""

    def read_twin_model(self, twin_id: str) -> str | None:
        """The model of a twin, or None."""


class GatheredOutbox:
    """Replaces a transaction while many events are recorded, and passes them on at once.

    PERF: one statement for the events of a chunk, one read for the model of a twin in it.
    """

    def __init__(self, transaction: Outbox) -> None:
        self._transaction = transaction
        self._events: list[OutboxEvent] = []
        self._models: dict[str, str | None] = {}

    def append_events(self, events: Sequence[OutboxEvent]) -> None:
        """Keep them for `flush`."""
        self._events += events

    def read_twin_model(self, twin_id: str) -> str | None:
        """Return the model of a twin, or None; read once."""
        if twin_id not in self._models:
            self._models[twin_id] = self._transaction.read_twin_model(twin_id)
        return self._models[twin_id]

    def flush(self) -> None:
        """Pass the events on, in their order."""
        self._transaction.append_events(self._events)


class Sender(NamedTuple):
    """The sender of telemetry: the model of the twin, and that of the message.

    The latter is the component's if a component sends it; None: it is no longer known.
    """

    model_id: str
    schema: str | None


class EventRecorder:
    """Appends the changes of one graph to the outbox, as events.

    `source` is the host name in the events, `trace` the `traceparent` of the request that causes
    them, `who` its caller. A `silent` recorder appends changes of which no event is sent, so that
    earlier events can still be made whole and readers still see what changed.
    """

    def __init__(
        self, source: str, clock: Clock, trace: str = "", who: str = "", *, silent: bool = False
    ) -> None:
        self._host = source
        self._source = orjson.dumps(source)
        self._clock = clock
        self._trace = trace
        self._who = render_who(who)
        self.is_silent = silent

    def join(self, trace: str, who: str) -> EventRecorder:
        """Return a recorder for the changes of one request."""
        return EventRecorder(self._host, self._clock, trace, who, silent=self.is_silent)

    def silence(self) -> EventRecorder:
        """Return a recorder of changes of which no event is sent."""
        silent = copy(self)
        silent.is_silent = True
        return silent

    def go_back(self, moment: int, who: str) -> EventRecorder:
        """Return a recorder of changes that were made at `moment`, of which no event is sent."""
        return EventRecorder(self._host, lambda: moment, "", who, silent=True)

    # --- twins ----------------------------------------------------------------------------------

    def record_twin_put(
        self,
        transaction: Outbox,
        twin_id: str,
        document: JsonObject,
        body: bytes,
        before: StoredDocument | None,
    ) -> None:
        """Record that a twin was created, or replaced: as the equivalent patch.

        SPEC: the vendor does not document the event of a replacing PUT; subscribers that count
        twins, or look at changes, are served best by an update.
        """
        if before is None:
            created = self.build_created((twin_id, ""), _read_time(document), body)
            transaction.append_events([created])
            return
        changes = None
        if not self.is_silent:
            earlier = cast("JsonObject", orjson.loads(before.body))
            changes = build_changes(earlier, document)
            if _SOURCE_TIME in body:  # PERF: few twins have one
                add_source_times(changes, earlier, document)
        self.record_twin_patched(transaction, twin_id, document, body, before, changes)

    def record_twin_patched(
        self,
        transaction: Outbox,
        twin_id: str,
        document: JsonObject,
        body: bytes,
        before: StoredDocument,
        changes: Changes | None,
    ) -> None:
        """Record a patch of a twin, or of a component of it.

        `document` and `body` are as it is stored now. A silent recorder needs no `changes`.
        """
        metadata = cast("JsonObject", document[METADATA])
        data = notes = b""
        if changes is not None and not self.is_silent:
            data = render_changes(cast("str", metadata[MODEL]), changes.patch)
            notes = render_notes({"old": changes.old})
        head = self._build_head(cast("str", metadata[TOUCHED]))
        difference = render_difference(before.body, body, notes)
        row = render_row(head, data, notes, difference)
        event = OutboxEvent(twin_id, row, ChangeKind.TWIN_UPDATED, "", self._clock())
        transaction.append_events([event])

    def record_twin_deleted(
        self, transaction: Outbox, twin_id: str, before: StoredDocument
    ) -> None:
        """Record the deletion of a twin; the event has its last document."""
        row = render_row(self._build_head(self._read_clock()), before.body)
        event = OutboxEvent(twin_id, row, ChangeKind.TWIN_DELETED, "", self._clock())
        transaction.append_events([event])

    # --- relationships --------------------------------------------------------------------------

    def record_relationship_put(
        self,
        transaction: Outbox,
        key: EntityKey,
        body: bytes,
        before: StoredDocument | None,
    ) -> None:
        """Record that a relationship was put.

        One that gets another target or name counts as a new one.
        """
        if before is None:
            self._record_relationship_created(transaction, key, body)
            return
        old, new = orjson.loads(before.body), orjson.loads(body)
        if any(old[name] != new[name] for name in ("$targetId", "$relationshipName")):
            self.record_relationship_deleted(transaction, key, before)
            self._record_relationship_created(transaction, key, body)
        else:
            changes = None if self.is_silent else build_changes(old, new)
            self.record_relationship_patched(
                transaction, key, new["$targetId"], body, before, changes
            )

    def record_relationship_patched(
        self,
        transaction: Outbox,
        key: EntityKey,
        target_id: str,
        body: bytes,
        before: StoredDocument,
        changes: Changes | None,
    ) -> None:
        """Record a patch of a relationship; see `record_twin_patched`.

        SPEC: the model of the data is presumed to be that of the source twin.
        """
        data = notes = b""
        if changes is not None and not self.is_silent:
            data = render_changes(transaction.read_twin_model(key[0]) or "", changes.patch)
            notes = render_notes({"old": changes.old, "target": target_id})
        head = self._build_head(self._read_clock())
        difference = render_difference(before.body, body, notes)
        row = render_row(head, data, notes, difference)
        kind = ChangeKind.RELATIONSHIP_UPDATED
        transaction.append_events([OutboxEvent(key[0], row, kind, key[1], self._clock())])

    def record_relationship_deleted(
        self, transaction: Outbox, key: EntityKey, before: StoredDocument
    ) -> None:
        """Record the deletion of a relationship; the event has its last document."""
        notes = self._render_model_notes(transaction, key)
        row = render_row(self._build_head(self._read_clock()), before.body, notes)
        kind = ChangeKind.RELATIONSHIP_DELETED
        target_id: str = orjson.loads(before.body)[TARGET]
        event = OutboxEvent(key[0], row, kind, key[1], self._clock(), target_id)
        transaction.append_events([event])

    def _record_relationship_created(
        self, transaction: Outbox, key: EntityKey, body: bytes
    ) -> None:
        notes = self._render_model_notes(transaction, key)
        transaction.append_events([self.build_created(key, self._read_clock(), body, notes)])

    def _render_model_notes(self, transaction: Outbox, key: EntityKey) -> bytes:
        if self.is_silent:
            return b""
        return render_model_notes(transaction.read_twin_model(key[0]))

    # --- both, models and telemetry -------------------------------------------------------------

    def build_created(
        self, key: EntityKey, time: str, body: bytes, notes: bytes = b"", guid: str = ""
    ) -> OutboxEvent:
        """Build the event of a new twin or relationship, with the id `guid` or a new one.

        `notes` are those of a relationship (`render_model_notes`).
        """
        subject, relationship_id = key
        kind = ChangeKind.RELATIONSHIP_CREATED if relationship_id else ChangeKind.TWIN_CREATED
        if self.is_silent:
            row = render_row(self._build_head(time))
        else:
            row = render_row(self._build_head(time, guid, build_digest(body)), notes=notes)
        return OutboxEvent(subject, row, kind, relationship_id, self._clock())

    def record_model(
        self, transaction: Outbox, kind: ChangeKind, model_id: str, data: bytes = b""
    ) -> None:
        """Record that a model was created or decommissioned; `data` is its ModelData."""
        row = render_row(self._build_head(self._read_clock()), b"" if self.is_silent else data)
        transaction.append_events([OutboxEvent(model_id, row, kind, "", self._clock())])

    def record_model_deleted(
        self, transaction: Outbox, record: ModelRecord, data: bytes = b""
    ) -> None:
        """Record that a model was deleted, of which `record` was stored."""
        head, data = self._build_head(self._read_clock()), b"" if self.is_silent else data
        row = render_row(head, data, b"", render_record(record))
        event = OutboxEvent(record.model_id, row, ChangeKind.MODEL_DELETED, "", self._clock())
        transaction.append_events([event])

    def record_moment(self, transaction: Outbox) -> None:
        """Record that the moment is one of the history, at which nothing changed."""
        row = render_row(self._build_head(self._read_clock()))
        transaction.append_events([OutboxEvent("", row, ChangeKind.NOTHING, "", self._clock())])

    def record_telemetry(
        self,
        transaction: Outbox,
        twin_id: str,
        component: str | None,
        sender: Sender,
        message_id: str,
        source_time: str | None,
        payload: JsonValue,
    ) -> None:
        """Record a message of a twin, with its own time if it has one, else that of its arrival."""
        time = _read_timestamp(source_time) or render_update_time(self._clock())
        body = render_telemetry(
            self._host, twin_id, component, sender.schema, message_id, time, payload, self._trace
        )
        if component is not None:
            body = add_notes(body, render_model_notes(sender.model_id))
        event = OutboxEvent(twin_id, body, ChangeKind.NOTHING, "", self._clock())
        transaction.append_events([event])

    def _build_head(self, time: str, guid: str = "", digest: str = "") -> Head:
        """Build the head of a row; see `rows`."""
        guid = "" if self.is_silent else guid or build_guid()
        return guid, time, self._source, self._trace, digest, self._who

    def _read_clock(self) -> str:
        return render_update_time(self._clock())


def build_source(settings: Settings, host: str | None = None) -> str:
    """Return the host name of a graph for its events; `host` is that of a hosted one."""
    if host:
        return host
    return settings.events.source or urlsplit(settings.server.public_url).netloc or "localhost"


def render_model_notes(model_id: str | None) -> bytes:
    """Render the notes of a relationship whose source is of this model."""
    return render_notes({"model": model_id})


def _read_time(document: JsonObject) -> str:
    """Return when the stored twin was written: event and document have the same time."""
    return cast("str", cast("JsonObject", document[METADATA])[TOUCHED])


def _read_timestamp(text: str | None) -> str | None:
    """Return a sender's time in the form for events; None for an invalid one.

    SPEC: CloudEvents 1.0: a timestamp is one of RFC 3339, which has a colon in its offset. There
    are receivers that refuse the whole event for another form.
    """
    if text is None or not is_source_time(text):
        return None
    if text[-1] != "Z" and text[-3] != ":":
        text = f"{text[:-2]}:{text[-2:]}"
    try:
        datetime.fromisoformat(text)
    except ValueError:  # such as the 31st of February
        return None
    return text
