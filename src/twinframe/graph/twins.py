"""Use cases of twins: read, put, patch, delete. They know no HTTP and hold no store engine.

Each write is one work of the store: precondition, model and document are judged in the
transaction that writes, so of racing writers with one etag exactly one wins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import orjson

from twinframe.errors import LimitExceeded, ModelDecommissioned, PreconditionFailed, TwinNotFound
from twinframe.graph.context import GraphContext
from twinframe.graph.model_cache import LoadedModel, ModelView
from twinframe.graph.twin_documents import (
    ETAG,
    METADATA,
    MODEL,
    JsonObject,
    build_failure,
    build_refusal,
    build_twin,
    parse_twin_body,
)
from twinframe.graph.twin_patches import TwinPatch, find_new_model, find_parts
from twinframe.model.clock import render_update_time
from twinframe.model.etags import IfMatch, build_etag, parse_if_match, parse_if_none_match
from twinframe.model.ids import parse_twin_id
from twinframe.model.patches import PatchOperation, parse_patch
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphTransaction, StoredDocument, TwinRecord


class Twins:
    """Reading and writing twins."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def read_twin(self, twin_id: str) -> StoredDocument:
        """The twin's document and etag; `InvalidArgument`, `TwinNotFound`."""
        parse_twin_id(twin_id)
        stored = await self._context.runner.read(lambda session: session.read_twin(twin_id))
        if stored is None:
            raise TwinNotFound(twin_id)
        return stored

    async def put_twin(
        self, twin_id: str, document: JsonValue, if_none_match: str | None = None
    ) -> StoredDocument:
        """Create or replace a twin; with `If-None-Match: *` only create.

        Errors: `InvalidArgument`, `ValidationFailed`, `ModelDecommissioned`, `LimitExceeded`,
        `PreconditionFailed`.
        """
        must_be_new = parse_if_none_match(if_none_match)
        parse_twin_id(twin_id)
        body, model_id = parse_twin_body(document)

        def work(transaction: GraphTransaction) -> StoredDocument:
            if must_be_new and transaction.has_twin(twin_id):
                raise PreconditionFailed(
                    f"If-None-Match: * header was specified but a twin with the id {twin_id} was "
                    "found. Please specify a different twin id."
                )
            model = self._find_model(transaction, twin_id, model_id)
            # Read here, not before: twins of one batch are stamped in the order they are stored.
            now = render_update_time(self._context.clock())
            details = model.validator.validate_twin(body)
            if details:
                raise build_refusal(details)
            twin = build_twin(twin_id, model_id, body, model.interface.components, now)
            twin[ETAG] = build_etag()
            return self._write(transaction, twin_id, twin)

        return await self._context.runner.write(work)

    async def patch_twin(self, twin_id: str, patch: JsonValue, if_match: str | None = None) -> str:
        """Apply a JSON Patch to a twin; the new etag, new even for an empty patch.

        Errors: `InvalidArgument`, `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`,
        `PreconditionFailed`, `ModelDecommissioned` for a move to such a model, `LimitExceeded`.
        """
        condition = parse_if_match(if_match)
        operations = parse_patch(
            patch, max_operations=self._context.settings.graph.max_patch_operations
        )
        return await self.write_patch(twin_id, operations, condition)

    async def write_patch(
        self,
        twin_id: str,
        operations: Sequence[PatchOperation],
        condition: IfMatch,
        part: str | None = None,
    ) -> str:
        """Apply parsed operations; `part` names a component that must be there."""
        parse_twin_id(twin_id)
        new_model_id = find_new_model(operations)

        def work(transaction: GraphTransaction) -> str:
            stored = transaction.read_twin(twin_id)
            if stored is None:
                raise TwinNotFound(twin_id)
            condition.check(stored.etag)
            document = cast("JsonObject", orjson.loads(stored.body))
            model = self._find_patched_model(transaction, document, new_model_id)
            parts = find_parts(document, model.interface.contents, model.interface.components)
            if part is not None and (part not in parts or part not in document):
                _refuse_missing_part(part, operations)
            changes = TwinPatch(document, parts, render_update_time(self._context.clock()))
            for operation in operations:
                changes.apply(operation)
            moved = new_model_id is not None
            _validate(model, document, None if moved else changes.touched)
            return self._write(transaction, twin_id, changes.finish(build_etag())).etag

        return await self._context.runner.write(work)

    async def delete_twin(self, twin_id: str, if_match: str | None = None) -> None:
        """Delete a twin that has no relationships.

        Errors: `InvalidArgument`, `TwinNotFound`, `PreconditionFailed`,
        `RelationshipsNotDeleted`.
        """
        condition = parse_if_match(if_match)
        parse_twin_id(twin_id)

        def work(transaction: GraphTransaction) -> None:
            stored = transaction.read_twin(twin_id)
            if stored is None:
                raise TwinNotFound(twin_id)
            condition.check(stored.etag)
            transaction.delete_twin(twin_id)

        await self._context.runner.write(work)

    def _find_model(
        self, transaction: GraphTransaction, twin_id: str, model_id: str
    ) -> LoadedModel:
        model = require_model(self._context.models.open(transaction), model_id)
        # SPEC: only new twins of a decommissioned model are refused; its own may be replaced.
        if model.decommissioned and transaction.read_twin_model(twin_id) != model_id:
            raise _build_decommissioned(model_id)
        return model

    def _find_patched_model(
        self, transaction: GraphTransaction, document: JsonObject, new_model_id: str | None
    ) -> LoadedModel:
        current = cast("str", cast("JsonObject", document[METADATA])[MODEL])
        models = self._context.models.open(transaction)
        if new_model_id is None or new_model_id == current:
            return require_model(models, current)
        model = require_model(models, new_model_id)
        if model.decommissioned:
            raise _build_decommissioned(new_model_id)
        return model

    def _write(
        self, transaction: GraphTransaction, twin_id: str, document: JsonObject
    ) -> StoredDocument:
        body = orjson.dumps(document)
        most = self._context.settings.graph.max_twin_bytes
        if len(body) > most:
            raise LimitExceeded(f"The twin has {len(body)} bytes; at most {most} are stored.")
        etag = cast("str", document[ETAG])
        model_id = cast("str", cast("JsonObject", document[METADATA])[MODEL])
        transaction.put_twin(TwinRecord(twin_id, model_id, etag, body))
        return StoredDocument(etag, body)


def require_model(models: ModelView, model_id: str) -> LoadedModel:
    """The model of a twin to be written; `ValidationFailed` when it is not stored (any more).

    SPEC: the vendor answers an unknown model with 400, not 404.
    """
    model = models.find(model_id)
    if model is None:
        raise build_failure(
            f"The model {model_id} of the twin, or one of its dependencies, does not exist. "
            "Upload the model first, or move the twin to a stored one."
        )
    return model


def _build_decommissioned(model_id: str) -> ModelDecommissioned:
    return ModelDecommissioned(
        f"The model {model_id} is decommissioned: new twins of it cannot be created."
    )


def _refuse_missing_part(part: str, operations: Sequence[PatchOperation]) -> None:
    for operation in operations:
        operation.refuse_missing(part)
    # An empty patch has no operation to name.
    PatchOperation(0, "replace", (part,)).refuse_missing(part)


def _validate(model: LoadedModel, document: JsonObject, touched: set[str] | None) -> None:
    """Judge a patched twin: as a whole after a move (None), else only what was touched.

    The rest was judged when it was stored, and by the same model, since a model never changes
    while it is stored. After a model was deleted and uploaded again with another content, twins
    are revived without a new judgement, as with the vendor.
    """
    if touched is None or any(name not in document for name in touched & _parts(model)):
        details = model.validator.validate_twin(document)
    else:
        details = [
            detail
            for name in document
            if name in touched
            for detail in model.validator.validate_content(name, document[name])
        ]
    if details:
        raise build_refusal(details)


def _parts(model: LoadedModel) -> frozenset[str]:
    return frozenset(model.interface.components)
