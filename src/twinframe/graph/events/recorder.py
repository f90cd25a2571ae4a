"""Records the events of a write in the outbox, in the transaction of the write.

The key of an event in the outbox, within which order is kept, is the twin's id, that of the source
for relationships; for models it is the model's id.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

import orjson

from twinframe.graph.documents.twins import METADATA, MODEL, TOUCHED, JsonObject, is_source_time
from twinframe.graph.events.changes import Changes, build_changes
from twinframe.graph.events.envelope import (
    EventType,
    add_notes,
    render_changes,
    render_event,
    render_notes,
    render_telemetry,
)
from twinframe.model.clock import Clock, render_update_time
from twinframe.model.values import JsonValue
from twinframe.settings import Settings
from twinframe.storage.base import OutboxEvent, StoredDocument

RelationshipKey = tuple[str, str]


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
    """Appends events of one graph.

    `source` is the host name in the events, `trace` the `traceparent` of the request that causes
    them.
    """

    def __init__(self, source: str, clock: Clock, trace: str = "") -> None:
        self._host = source
        self._source = orjson.dumps(source)
        self._clock = clock
        self._trace = trace

    def join_trace(self, trace: str) -> EventRecorder:
        """Return a recorder for the changes of one request."""
        return EventRecorder(self._host, self._clock, trace)

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
            time = _read_time(document)
            kind, trace = EventType.TWIN_CREATE, self._trace
            text = render_event(kind, self._source, twin_id, time, body, trace=trace)
            transaction.append_events([OutboxEvent(twin_id, text)])
            return
        old = cast("JsonObject", orjson.loads(before.body))
        self._record_twin_change(transaction, twin_id, document, build_changes(old, document))

    def record_twin_patched(
        self,
        transaction: Outbox,
        twin_id: str,
        document: JsonObject,
        changes: Changes,
    ) -> None:
        """Record a patch of a twin, or of a component of it."""
        self._record_twin_change(transaction, twin_id, document, changes)

    def record_twin_deleted(
        self, transaction: Outbox, twin_id: str, before: StoredDocument
    ) -> None:
        """Record the deletion of a twin; the event has its last document."""
        self._append(transaction, EventType.TWIN_DELETE, twin_id, twin_id, before.body)

    def _record_twin_change(
        self,
        transaction: Outbox,
        twin_id: str,
        document: JsonObject,
        changes: Changes,
    ) -> None:
        metadata = cast("JsonObject", document[METADATA])
        data = render_changes(cast("str", metadata[MODEL]), changes.patch)
        kind, time = EventType.TWIN_UPDATE, cast("str", metadata[TOUCHED])
        notes = {"old": changes.old}
        text = render_event(kind, self._source, twin_id, time, data, notes, trace=self._trace)
        transaction.append_events([OutboxEvent(twin_id, text)])

    # --- relationships --------------------------------------------------------------------------

    def record_relationship_put(
        self,
        transaction: Outbox,
        key: RelationshipKey,
        body: bytes,
        before: StoredDocument | None,
    ) -> None:
        """Record that a relationship was put.

        One that gets another target or name counts as a new one.
        """
        if before is None:
            self._tell_relationship(transaction, EventType.RELATIONSHIP_CREATE, key, body)
            return
        old, new = orjson.loads(before.body), orjson.loads(body)
        if any(old[name] != new[name] for name in ("$targetId", "$relationshipName")):
            self._tell_relationship(transaction, EventType.RELATIONSHIP_DELETE, key, before.body)
            self._tell_relationship(transaction, EventType.RELATIONSHIP_CREATE, key, body)
        else:
            changes = build_changes(old, new)
            self._record_relationship_change(transaction, key, new["$targetId"], changes)

    def record_relationship_patched(
        self,
        transaction: Outbox,
        key: RelationshipKey,
        target_id: str,
        changes: Changes,
    ) -> None:
        """Record a patch of a relationship."""
        self._record_relationship_change(transaction, key, target_id, changes)

    def record_relationship_deleted(
        self, transaction: Outbox, key: RelationshipKey, before: StoredDocument
    ) -> None:
        """Record the deletion of a relationship; the event has its last document."""
        self._tell_relationship(transaction, EventType.RELATIONSHIP_DELETE, key, before.body)

    def _record_relationship_change(
        self,
        transaction: Outbox,
        key: RelationshipKey,
        target_id: str,
        changes: Changes,
    ) -> None:
        """SPEC: the model of the data is presumed to be that of the source twin."""
        model_id = transaction.read_twin_model(key[0]) or ""
        self._append(
            transaction,
            EventType.RELATIONSHIP_UPDATE,
            key[0],
            _build_subject(key),
            render_changes(model_id, changes.patch),
            {"old": changes.old, "target": target_id},
        )

    def _tell_relationship(
        self, transaction: Outbox, kind: EventType, key: RelationshipKey, body: bytes
    ) -> None:
        notes = _build_model_notes(transaction.read_twin_model(key[0]))
        self._append(transaction, kind, key[0], _build_subject(key), body, notes)

    # --- rendered before they are recorded, for jobs --------------------------------------------

    def draft_twin_created(self, guid: str, twin_id: str, time: str, body: bytes) -> bytes:
        """Render the event of a new twin; `time` is its placeholder in `body`, see `Stamp`."""
        return render_event(EventType.TWIN_CREATE, self._source, twin_id, time, body, None, guid)

    def draft_relationship_created(
        self, guid: str, key: RelationshipKey, time: str, body: bytes
    ) -> bytes:
        """Render the event of a new relationship, without its notes (`render_model_notes`)."""
        kind, subject = EventType.RELATIONSHIP_CREATE, _build_subject(key)
        return render_event(kind, self._source, subject, time, body, None, guid)

    # --- models and telemetry -------------------------------------------------------------------

    def record_model(
        self, transaction: Outbox, kind: EventType, model_id: str, data: bytes
    ) -> None:
        """Record that a model was created, decommissioned or deleted; `data` is its ModelData."""
        self._append(transaction, kind, model_id, model_id, data)

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
        transaction.append_events([OutboxEvent(twin_id, body)])

    def _append(
        self,
        transaction: Outbox,
        kind: EventType,
        key: str,
        subject: str,
        data: bytes,
        notes: dict[str, Any] | None = None,
    ) -> None:
        time = render_update_time(self._clock())
        body = render_event(kind, self._source, subject, time, data, notes, trace=self._trace)
        transaction.append_events([OutboxEvent(key, body)])


def build_source(settings: Settings, host: str | None = None) -> str:
    """Return the host name of a graph for its events; `host` is that of a hosted one."""
    if host:
        return host
    return settings.events.source or urlsplit(settings.server.public_url).netloc or "localhost"


def render_model_notes(model_id: str) -> bytes:
    """Render the notes of a relationship whose source is of this model, for `add_notes`."""
    return render_notes(_build_model_notes(model_id))


def _build_model_notes(model_id: str | None) -> dict[str, Any]:
    return {"model": model_id}


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


def _build_subject(key: RelationshipKey) -> str:
    source_id, relationship_id = key
    return f"{source_id}/relationships/{relationship_id}"
