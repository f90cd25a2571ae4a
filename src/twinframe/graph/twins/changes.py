"""Writes twins and relationships to the store, for jobs also models, and records their events.

All writes of twins and relationships come through here. Models are written here for jobs only; for
requests, `graph.models.models` writes them. Of the documents, only the size is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, cast

import orjson

from twinframe.errors import (
    LimitExceeded,
    RelationshipNotFound,
    RelationshipsNotDeleted,
    TwinNotFound,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.relationships import RelationshipBody, render_relationship
from twinframe.graph.documents.twins import ETAG, ID, METADATA, MODEL, JsonObject
from twinframe.graph.events.changes import Changes
from twinframe.graph.events.envelope import EventType
from twinframe.graph.events.recorder import EventRecorder, GatheredOutbox
from twinframe.graph.models.models import render_model
from twinframe.model.etags import build_etag
from twinframe.model.json import estimate_parsed
from twinframe.runtime.memory import Hold, Part
from twinframe.storage.base import (
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    StoredDocument,
    TwinRecord,
)

_MODELS_AT_ONCE: Final = 1000
_SMALL_BYTES: Final = 64 * 1024
_COPIES: Final = 4
"""Copies of a document as text: as it was, as it is, and both in its event."""
WHOLE: Final = None
"""Replaces the changes of a patch where the document was put as a whole."""


def is_large(stored: StoredDocument) -> bool:
    """Return whether the memory for working on a stored document is charged (`hold_document`)."""
    return len(stored.body) > _SMALL_BYTES


def hold_document(context: GraphContext, stored: StoredDocument) -> Hold:
    """Reserve the memory for parsing, changing and writing a stored document.

    Raises as `MemoryAccount.take` does.
    """
    size = _COPIES * len(stored.body) + estimate_parsed(stored.body)
    return context.memory.hold(Part.WRITES, size)


def write_twin(
    context: GraphContext,
    transaction: GraphTransaction,
    document: JsonObject,
    before: StoredDocument | None = None,
    changes: Changes | None = WHOLE,
) -> StoredDocument:
    """Store a twin under a new etag.

    `before` is the former document, which is required where events are kept; `changes` are those of
    a patch. Raises `LimitExceeded`.
    """
    etag = document[ETAG] = build_etag()
    body = orjson.dumps(document)
    most = context.settings.graph.max_twin_bytes
    if len(body) > most:
        raise LimitExceeded(f"The twin has {len(body)} bytes; at most {most} are stored.")
    twin_id = cast("str", document[ID])
    model_id = cast("str", cast("JsonObject", document[METADATA])[MODEL])
    recorder = context.recorder
    transaction.put_twin(TwinRecord(twin_id, model_id, etag, body))
    if recorder is not None:
        if changes is WHOLE or before is None:
            recorder.record_twin_put(transaction, twin_id, document, body, before)
        else:
            recorder.record_twin_patched(transaction, twin_id, document, changes)
    return StoredDocument(etag, body)


def remove_twin(
    context: GraphContext, transaction: GraphTransaction, twin_id: str, before: StoredDocument
) -> None:
    """Delete a twin that is stored as `before`. Raises `RelationshipsNotDeleted`."""
    transaction.delete_twin(twin_id)
    if context.recorder is not None:
        context.recorder.record_twin_deleted(transaction, twin_id, before)


def write_relationship(
    context: GraphContext,
    transaction: GraphTransaction,
    key: tuple[str, str],
    body: RelationshipBody,
    before: StoredDocument | None = None,
    changes: Changes | None = WHOLE,
) -> StoredDocument:
    """Store a relationship under a new etag; `key` is its source and its id.

    `before` is the document that a patch was applied to, and `changes` are those of the patch; a
    put has neither. Raises `LimitExceeded`.
    """
    record = render_relationship(*key, body, build_etag())
    most = context.settings.graph.max_twin_bytes
    if len(record.body) > most:
        raise LimitExceeded(
            f"The relationship would have {len(record.body)} bytes; at most {most} are stored."
        )
    recorder = context.recorder
    if recorder is not None and before is None:
        before = transaction.read_relationship(*key)
    transaction.put_relationship(record)
    if recorder is not None:
        if changes is WHOLE or before is None:
            recorder.record_relationship_put(transaction, key, record.body, before)
        else:
            recorder.record_relationship_patched(transaction, key, body.target_id, changes)
    return StoredDocument(record.etag, record.body)


def remove_relationship(
    context: GraphContext,
    transaction: GraphTransaction,
    key: tuple[str, str],
    before: StoredDocument,
) -> None:
    """Delete a relationship that is stored as `before`."""
    transaction.delete_relationship(*key)
    if context.recorder is not None:
        context.recorder.record_relationship_deleted(transaction, key, before)


def write_twins(
    context: GraphContext,
    transaction: GraphTransaction,
    records: Sequence[TwinRecord],
    created: Sequence[bytes],
) -> None:
    """Store the twins of a job, unchanged.

    Their events are recorded unless the operator disables that (`Jobs__Events`): a job may have
    millions. `created` are the events of new ones, rendered beforehand; it is ignored where they
    are not recorded.
    """
    recorder = find_job_recorder(context)
    if recorder is None:
        transaction.put_twins(records)
        return
    ids = [each.twin_id for each in records]
    standing = dict(transaction.read_twin_documents(ids))
    transaction.put_twins(records)
    if not standing and len(set(ids)) == len(ids):
        transaction.append_events([*map(OutboxEvent, ids, created)])
        return
    outbox = GatheredOutbox(transaction)
    for twin_id, record, text in zip(ids, records, created, strict=True):
        body, before = record.body, standing.get(twin_id)
        if before is None:
            outbox.append_events([OutboxEvent(twin_id, text)])
        else:
            document = cast("JsonObject", orjson.loads(body))
            recorder.record_twin_put(outbox, twin_id, document, body, before)
        standing[twin_id] = StoredDocument(record.etag, body)  # a twin may come twice
    outbox.flush()


def write_relationships(
    context: GraphContext,
    transaction: GraphTransaction,
    records: Sequence[RelationshipRecord],
    created: Sequence[bytes],
) -> None:
    """Store the relationships of a job, unchanged; see `write_twins`."""
    recorder = find_job_recorder(context)
    if recorder is None:
        transaction.put_relationships(records)
        return
    keys = [(each.source_id, each.relationship_id) for each in records]
    standing = dict(transaction.read_relationship_documents(keys))
    transaction.put_relationships(records)
    if not standing and len(set(keys)) == len(keys):
        transaction.append_events(
            [OutboxEvent(key[0], text) for key, text in zip(keys, created, strict=True)]
        )
        return
    outbox = GatheredOutbox(transaction)
    for key, record, text in zip(keys, records, created, strict=True):
        before = standing.get(key)
        if before is None:
            outbox.append_events([OutboxEvent(key[0], text)])
        else:
            recorder.record_relationship_put(outbox, key, record.body, before)
        standing[key] = StoredDocument(record.etag, record.body)
    outbox.flush()


def write_models(
    context: GraphContext, transaction: GraphTransaction, records: Sequence[ModelRecord]
) -> None:
    """Store new models; see `write_twins`."""
    transaction.put_models(records)
    recorder = find_job_recorder(context)
    if recorder is not None:
        for record in records:
            data = render_model(record, with_definition=False)
            recorder.record_model(transaction, EventType.MODEL_CREATE, record.model_id, data)


def decommission_model(
    context: GraphContext, transaction: GraphTransaction, record: ModelRecord
) -> None:
    """Decommission a stored model; see `write_twins`."""
    transaction.set_decommissioned(record.model_id, True)
    recorder = find_job_recorder(context)
    if recorder is not None:
        data = render_model(replace(record, decommissioned=True), with_definition=False)
        kind = EventType.MODEL_DECOMMISSION
        recorder.record_model(transaction, kind, record.model_id, data)


def erase_relationships(
    context: GraphContext, transaction: GraphTransaction, keys: Sequence[tuple[str, str]]
) -> int:
    """Delete those that exist; return their number. See `write_twins`."""
    recorder = find_job_recorder(context)
    erased = 0
    for key in keys:
        before = transaction.read_relationship(*key) if recorder is not None else None
        try:
            transaction.delete_relationship(*key)
        except RelationshipNotFound:
            continue
        erased += 1
        if recorder is not None and before is not None:
            recorder.record_relationship_deleted(transaction, key, before)
    return erased


def erase_twins(
    context: GraphContext, transaction: GraphTransaction, twin_ids: Sequence[str]
) -> int:
    """Delete those that exist and have no relationships; return their number. See `write_twins`."""
    recorder = find_job_recorder(context)
    erased = 0
    for twin_id in twin_ids:
        before = transaction.read_twin(twin_id) if recorder is not None else None
        try:
            transaction.delete_twin(twin_id)
        except (TwinNotFound, RelationshipsNotDeleted):
            continue
        erased += 1
        if recorder is not None and before is not None:
            recorder.record_twin_deleted(transaction, twin_id, before)
    return erased


def erase_models(context: GraphContext, transaction: GraphTransaction) -> int:
    """Delete all models; return their number. See `write_twins`."""
    going: list[ModelRecord] = []
    while page := transaction.read_models(
        after=going[-1].position if going else 0, limit=_MODELS_AT_ONCE
    ):
        going += page
    if going:
        transaction.delete_models([record.model_id for record in going])
    recorder = find_job_recorder(context)
    if recorder is not None:
        for record in going:
            data = render_model(record, with_definition=False)
            recorder.record_model(transaction, EventType.MODEL_DELETE, record.model_id, data)
    return len(going)


def find_job_recorder(context: GraphContext) -> EventRecorder | None:
    """Return the recorder of events for the writes of jobs; None where they are not recorded."""
    return context.recorder if context.settings.jobs.events else None
