"""The use cases of twins and their components: read, put, patch, delete.

Each write is one command in a transaction of its own. Precondition, model and document are checked
in that transaction, so of concurrent writers with one etag exactly one succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import orjson

from twinframe.errors import ComponentNotFound, ModelDecommissioned, TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import LoadedModel, ModelView
from twinframe.graph.documents.twins import (
    METADATA,
    MODEL,
    TOUCHED,
    JsonObject,
    build_failure,
    build_refusal,
    build_twin,
    find_touched,
    list_parts,
    parse_twin_body,
)
from twinframe.graph.events.changes import build_patch_changes
from twinframe.graph.history.history import History
from twinframe.graph.twins.changes import hold_document, is_large, remove_twin, write_twin
from twinframe.graph.twins.commands import run_command, run_patch
from twinframe.graph.twins.derived import (
    add_kept,
    check_operations,
    find_kept,
    keep_entries,
)
from twinframe.graph.twins.patches import TwinPatch, find_new_model, find_parts
from twinframe.model.clock import stamp_after
from twinframe.model.etags import (
    UNCONDITIONED,
    Condition,
)
from twinframe.model.ids import parse_component_name, parse_twin_id
from twinframe.model.patches import PatchOperation, parse_patch
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, GraphTransaction, StoredDocument


@dataclass(frozen=True, slots=True)
class PutTwin:
    """Create or replace a twin. `body` is never changed."""

    twin_id: str
    model_id: str
    body: JsonObject
    condition: Condition = UNCONDITIONED

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> StoredDocument:
        """Return the stored twin.

        Errors: `ValidationFailed`, `ModelDecommissioned`, `LimitExceeded`, `PreconditionFailed`,
        `DerivedPropertyReadOnly`.
        """
        before = transaction.read_twin(self.twin_id)
        if self.condition.is_asked:
            etag = None if before is None else before.etag
            self.condition.check(etag, f"a twin with the id {self.twin_id}")
        model = self._find_model(context, transaction)
        # Read here, not before: twins of one batch have times in the order in which they are
        # stored.
        now = stamp_after(
            context.write_clock(), None if before is None else find_touched(before.body)
        )
        body, kept, derived = self.body, None, model.derived
        if derived and (kept := find_kept(derived, self.model_id, body, before)):
            body = add_kept(body, derived, kept)
        details = model.validator.validate_twin(body)
        if details:
            raise build_refusal(details)
        parts = model.interface.components
        twin = build_twin(self.twin_id, self.model_id, body, parts, now)
        if kept:
            keep_entries(twin, derived, kept)
        return write_twin(context, transaction, twin, before)

    def _find_model(self, context: GraphContext, transaction: GraphTransaction) -> LoadedModel:
        model = require_model(context.models.open(transaction), self.model_id)
        # SPEC: only new twins of a decommissioned model are refused; existing ones may be replaced.
        if model.decommissioned:
            require_own(transaction, self.twin_id, self.model_id)
        return model


@dataclass(frozen=True, slots=True)
class PatchTwin:
    """Apply a JSON Patch to a twin; `part` names a component that must exist.

    `new_model_id` is the model to which the operations move the twin. `derivation` is the id of the
    derivation that writes its property; None for a caller.
    """

    twin_id: str
    operations: Sequence[PatchOperation]
    condition: Condition
    new_model_id: str | None = None
    part: str | None = None
    derivation: str | None = None

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> StoredDocument:
        """Return the changed twin, under a new etag even for an empty patch.

        Errors: `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`, `PreconditionFailed`,
        `ModelDecommissioned` for a move to such a model, `LimitExceeded`, `MemoryExhausted`,
        `DerivedPropertyReadOnly`.
        """
        stored = require_twin(transaction, self.twin_id)
        self.condition.check(stored.etag, f"the twin {self.twin_id}")
        if not is_large(stored):
            return self._change(context, transaction, stored)
        with hold_document(context, stored):
            return self._change(context, transaction, stored)

    def _change(
        self, context: GraphContext, transaction: GraphTransaction, stored: StoredDocument
    ) -> StoredDocument:
        document = cast("JsonObject", orjson.loads(stored.body))
        model = self._find_model(context, transaction, document)
        if model.derived:
            check_operations(model.derived, self.operations, self.derivation)
        parts = find_parts(document, model.interface.contents, model.interface.components)
        if self.part is not None and (self.part not in parts or self.part not in document):
            self._refuse_missing_part(self.part)
        changes = build_patch_changes(document, self.operations)
        before = cast("JsonObject", document[METADATA]).get(TOUCHED)
        patch = TwinPatch(document, parts, stamp_after(context.write_clock(), before))
        for operation in self.operations:
            patch.apply(operation)
        _validate(model, document, None if self.new_model_id is not None else patch.touched)
        return write_twin(context, transaction, patch.finish(), stored, changes)

    def _find_model(
        self, context: GraphContext, transaction: GraphTransaction, document: JsonObject
    ) -> LoadedModel:
        current = cast("str", cast("JsonObject", document[METADATA])[MODEL])
        models = context.models.open(transaction)
        if self.new_model_id is None or self.new_model_id == current:
            return require_model(models, current)
        model = require_model(models, self.new_model_id)
        if model.decommissioned:
            raise _build_decommissioned(self.new_model_id)
        return model

    def _refuse_missing_part(self, part: str) -> None:
        for operation in self.operations:
            operation.refuse_missing(part)
        # An empty patch has no operation to name.
        PatchOperation(0, "replace", (part,)).refuse_missing(part)


@dataclass(frozen=True, slots=True)
class DeleteTwin:
    """Delete a twin that has no relationships."""

    twin_id: str
    condition: Condition

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> None:
        """Errors: `TwinNotFound`, `PreconditionFailed`, `RelationshipsNotDeleted`."""
        stored = require_twin(transaction, self.twin_id)
        self.condition.check(stored.etag, f"the twin {self.twin_id}")
        remove_twin(context, transaction, self.twin_id, stored)


def parse_put_twin(
    twin_id: str, document: JsonValue, condition: Condition = UNCONDITIONED
) -> PutTwin:
    """Errors: `InvalidArgument`, `ValidationFailed` for a document that names no model."""
    parse_twin_id(twin_id)
    body, model_id = parse_twin_body(document)
    return PutTwin(twin_id, model_id, body, condition)


def parse_patch_twin(
    twin_id: str, patch: JsonValue, condition: Condition, *, max_operations: int
) -> PatchTwin:
    """Errors: `InvalidArgument`, `JsonPatchInvalid`."""
    operations = parse_patch(patch, max_operations=max_operations)
    parse_twin_id(twin_id)
    return PatchTwin(twin_id, operations, condition, find_new_model(operations))


def parse_patch_component(
    twin_id: str, name: str, patch: JsonValue, condition: Condition, *, max_operations: int
) -> PatchTwin:
    """Parse a patch whose paths start in a component.

    Errors: `InvalidArgument`, `JsonPatchInvalid`.
    """
    parse_component_name(name)
    operations = parse_patch(patch, max_operations=max_operations, under=(name,))
    parse_twin_id(twin_id)
    return PatchTwin(twin_id, operations, condition, part=name)


def parse_delete_twin(twin_id: str, condition: Condition) -> DeleteTwin:
    """Errors: `InvalidArgument`."""
    parse_twin_id(twin_id)
    return DeleteTwin(twin_id, condition)


def require_twin(session: GraphSession, twin_id: str) -> StoredDocument:
    """The stored twin, or `TwinNotFound`."""
    stored = session.read_twin(twin_id)
    if stored is None:
        raise TwinNotFound(twin_id)
    return stored


def require_model(models: ModelView, model_id: str) -> LoadedModel:
    """Return the model of a twin to be written; `ValidationFailed` when it is not stored.

    SPEC: the vendor answers an unknown model with 400, not 404.
    """
    return require_found(models.find(model_id), model_id)


def require_found(model: LoadedModel | None, model_id: str) -> LoadedModel:
    """Return the same for a model that was looked up already."""
    if model is None:
        raise build_failure(
            f"The model {model_id} of the twin, or one of its dependencies, does not exist. "
            "Upload the model first, or move the twin to a stored one."
        )
    return model


def require_own(session: GraphSession, twin_id: str, model_id: str) -> None:
    """Raise `ModelDecommissioned` unless the twin is of that model: it takes no new ones."""
    if session.read_twin_model(twin_id) != model_id:
        raise _build_decommissioned(model_id)


def _build_decommissioned(model_id: str) -> ModelDecommissioned:
    return ModelDecommissioned(
        f"The model {model_id} is decommissioned: new twins of it cannot be created."
    )


def _validate(model: LoadedModel, document: JsonObject, touched: set[str] | None) -> None:
    """Validate a patched twin: as a whole after a move (None), else only what was touched.

    The rest was validated when it was stored, and by the same model, since a stored model never
    changes. If a model was deleted and uploaded again with other contents, its twins are not
    validated again, as with the vendor.
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


class Twins:
    """Reading and writing twins."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)

    async def read_twin(self, twin_id: str, as_of: int | None = None) -> StoredDocument:
        """The twin's document and etag, at a position of the history if one is given.

        Errors: `InvalidArgument`, `TwinNotFound`, `HistoryNotKept`.
        """
        parse_twin_id(twin_id)
        return await self._history.run_short(as_of, lambda session: require_twin(session, twin_id))

    async def put_twin(
        self, twin_id: str, document: JsonValue, condition: Condition = UNCONDITIONED
    ) -> StoredDocument:
        """Create or replace a twin; with `If-None-Match: *` only create, with `If-Match` replace.

        Errors: `InvalidArgument`, `ValidationFailed`, `ModelDecommissioned`, `LimitExceeded`,
        `PreconditionFailed`.
        """
        return await run_command(self._context, parse_put_twin(twin_id, document, condition))

    async def patch_twin(
        self, twin_id: str, patch: JsonValue, condition: Condition = UNCONDITIONED
    ) -> str:
        """Apply a JSON Patch to a twin; return the new etag, new even for an empty patch.

        Errors: `InvalidArgument`, `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`,
        `PreconditionFailed`, `ModelDecommissioned` for a move to such a model, `LimitExceeded`.
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_twin(twin_id, patch, condition, max_operations=most)
        return await run_patch(self._context, command)

    async def delete_twin(self, twin_id: str, condition: Condition = UNCONDITIONED) -> None:
        """Delete a twin that has no relationships.

        Errors: `InvalidArgument`, `TwinNotFound`, `PreconditionFailed`,
        `RelationshipsNotDeleted`.
        """
        await run_command(self._context, parse_delete_twin(twin_id, condition))


class Components:
    """Reading and patching components; their etag is the twin's."""

    def __init__(self, context: GraphContext, twins: Twins) -> None:
        self._context = context
        self._twins = twins

    async def read_component(
        self, twin_id: str, name: str, as_of: int | None = None
    ) -> StoredDocument:
        """The component with its `$metadata` and the twin's etag; see `Twins.read_twin`.

        Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`, `HistoryNotKept`.
        """
        parse_component_name(name)
        stored = await self._twins.read_twin(twin_id, as_of)
        twin = cast("JsonObject", orjson.loads(stored.body))
        if name not in list_parts(twin):
            raise ComponentNotFound(twin_id, name)
        return StoredDocument(stored.etag, orjson.dumps(twin[name]))

    async def patch_component(
        self, twin_id: str, name: str, patch: JsonValue, condition: Condition = UNCONDITIONED
    ) -> str:
        """Apply a JSON Patch whose paths start in the component; return the twin's new etag.

        Errors: as patching a twin; an unknown component is `JsonPatchInvalid` (SPEC: recorded).
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_component(twin_id, name, patch, condition, max_operations=most)
        return await run_patch(self._context, command)
