"""Writes twins and relationships to the store, for jobs also models, and records their events.

All writes of twins and relationships come through here. Models are written here for jobs only; for
requests, `graph.models.models` writes them. Of the documents, only the size is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from twinframe.graph.events.recorder import EventRecorder, GatheredOutbox, render_model_notes
from twinframe.graph.models.models import render_model
from twinframe.model.etags import build_etag, iterate_guids
from twinframe.model.json import estimate_parsed
from twinframe.runtime.memory import Hold, Part
from twinframe.storage.base import (
    ChangeKind,
    GraphTransaction,
    ModelRecord,
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

    `before` is the former document, None for a new twin; `changes` are those of a patch. Raises
    `LimitExceeded`.
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
    if changes is WHOLE or before is None:
        recorder.record_twin_put(transaction, twin_id, document, body, before)
    else:
        recorder.record_twin_patched(transaction, twin_id, document, body, before, changes)
    return StoredDocument(etag, body)


def remove_twin(
    context: GraphContext, transaction: GraphTransaction, twin_id: str, before: StoredDocument
) -> None:
    """Delete a twin that is stored as `before`. Raises `RelationshipsNotDeleted`."""
    transaction.delete_twin(twin_id)
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

    `before` is the former document, None for a new relationship; `changes` are those of a patch.
    Raises `LimitExceeded`.
    """
    record = render_relationship(*key, body, build_etag())
    most = context.settings.graph.max_twin_bytes
    if len(record.body) > most:
        raise LimitExceeded(
            f"The relationship would have {len(record.body)} bytes; at most {most} are stored."
        )
    recorder = context.recorder
    transaction.put_relationship(record)
    if changes is WHOLE or before is None:
        recorder.record_relationship_put(transaction, key, record.body, before)
    else:
        recorder.record_relationship_patched(
            transaction, key, body.target_id, record.body, before, changes
        )
    return StoredDocument(record.etag, record.body)


def remove_relationship(
    context: GraphContext,
    transaction: GraphTransaction,
    key: tuple[str, str],
    before: StoredDocument,
) -> None:
    """Delete a relationship that is stored as `before`."""
    transaction.delete_relationship(*key)
    context.recorder.record_relationship_deleted(transaction, key, before)


def write_twins(
    context: GraphContext, transaction: GraphTransaction, records: Sequence[TwinRecord], now: str
) -> int:
    """Store the twins of a job, unchanged; `now` is the time of the events of new ones.

    Return how many of them replaced a stored twin.

    The changes are recorded as events unless the operator disables that (`Jobs__Events`): a job may
    have millions.
    """
    recorder, guids = find_job_recorder(context), iterate_guids()
    ids = [each.twin_id for each in records]
    standing = dict(transaction.read_twin_documents(ids))
    transaction.put_twins(records)
    outbox = GatheredOutbox(transaction)
    replaced = 0
    for twin_id, record in zip(ids, records, strict=True):
        body, before = record.body, standing.get(twin_id)
        if before is None:
            created = recorder.build_created((twin_id, ""), now, body, guid=next(guids))
            outbox.append_events([created])
        else:
            replaced += 1
            document = cast("JsonObject", orjson.loads(body))
            recorder.record_twin_put(outbox, twin_id, document, body, before)
        standing[twin_id] = StoredDocument(record.etag, body)  # a twin may come twice
    outbox.flush()
    return replaced


def write_relationships(
    context: GraphContext,
    transaction: GraphTransaction,
    records: Sequence[RelationshipRecord],
    models: Mapping[str, str],
    now: str,
) -> None:
    """Store the relationships of a job, unchanged; `models` are those of their sources.

    See `write_twins`.
    """
    recorder, guids = find_job_recorder(context), iterate_guids()
    notes: dict[str, bytes] = {}
    if not recorder.is_silent:
        notes = {model_id: render_model_notes(model_id) for model_id in set(models.values())}
    keys = [(each.source_id, each.relationship_id) for each in records]
    standing = dict(transaction.read_relationship_documents(keys))
    transaction.put_relationships(records)
    outbox = GatheredOutbox(transaction)
    for key, record in zip(keys, records, strict=True):
        body, before = record.body, standing.get(key)
        if before is None:
            own = notes.get(models[key[0]], b"")
            outbox.append_events([recorder.build_created(key, now, body, own, next(guids))])
        else:
            recorder.record_relationship_put(outbox, key, body, before)
        standing[key] = StoredDocument(record.etag, body)
    outbox.flush()


def write_models(
    context: GraphContext, transaction: GraphTransaction, records: Sequence[ModelRecord]
) -> None:
    """Store new models; see `write_twins`."""
    transaction.put_models(records)
    recorder = find_job_recorder(context)
    for record in records:
        data = render_model(record, with_definition=False)
        recorder.record_model(transaction, ChangeKind.MODEL_CREATED, record.model_id, data)


def decommission_model(
    context: GraphContext, transaction: GraphTransaction, record: ModelRecord
) -> None:
    """Decommission a stored model; see `write_twins`."""
    transaction.set_decommissioned(record.model_id, True)
    data = render_model(replace(record, decommissioned=True), with_definition=False)
    kind = ChangeKind.MODEL_DECOMMISSIONED
    find_job_recorder(context).record_model(transaction, kind, record.model_id, data)


def erase_relationships(
    context: GraphContext, transaction: GraphTransaction, keys: Sequence[tuple[str, str]]
) -> int:
    """Delete those that exist; return their number. See `write_twins`."""
    recorder = find_job_recorder(context)
    erased = 0
    for key in keys:
        before = transaction.read_relationship(*key)
        try:
            transaction.delete_relationship(*key)
        except RelationshipNotFound:
            continue
        erased += 1
        if before is not None:
            recorder.record_relationship_deleted(transaction, key, before)
    return erased


def erase_twins(
    context: GraphContext, transaction: GraphTransaction, twin_ids: Sequence[str]
) -> int:
    """Delete those that exist and have no relationships; return their number. See `write_twins`."""
    recorder = find_job_recorder(context)
    erased = 0
    for twin_id in twin_ids:
        before = transaction.read_twin(twin_id)
        try:
            transaction.delete_twin(twin_id)
        except (TwinNotFound, RelationshipsNotDeleted):
            continue
        erased += 1
        if before is not None:
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
    for record in going:
        data = render_model(record, with_definition=False)
        recorder.record_model_deleted(transaction, record, data)
    return len(going)


def find_job_recorder(context: GraphContext) -> EventRecorder:
    """Return the recorder of the writes of jobs, which is silent where they are no events."""
    return context.recorder if context.settings.jobs.events else context.recorder.silence()
