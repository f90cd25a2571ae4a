"""The use cases of relationships: read, put, patch, delete, list.

Each write is one command in a transaction of its own. A relationship is validated against the model
of its source: name, target and properties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import orjson

from twinframe.dtdl import Relationship as RelationshipDefinition
from twinframe.errors import (
    InvalidRelationship,
    OperationNotAllowed,
    RelationshipNotFound,
    TargetTwinNotFound,
    TwinNotFound,
)
from twinframe.graph.context.context import GraphContext
from twinframe.graph.context.model_cache import LoadedModel, ModelView
from twinframe.graph.documents.relationships import RelationshipBody, parse_relationship_body
from twinframe.graph.documents.twins import build_refusal
from twinframe.graph.events.changes import build_patch_changes
from twinframe.graph.history.history import History
from twinframe.graph.twins.changes import (
    hold_document,
    is_large,
    remove_relationship,
    write_relationship,
)
from twinframe.graph.twins.commands import run_command, run_patch
from twinframe.graph.twins.twins import require_model
from twinframe.model.etags import (
    UNCONDITIONED,
    Condition,
)
from twinframe.model.ids import build_family, parse_relationship_id, parse_twin_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.patches import PatchOperation, apply_patch, parse_patch
from twinframe.model.values import JsonValue
from twinframe.storage.base import (
    GraphSession,
    GraphTransaction,
    IncomingRelationship,
    Listed,
    StoredDocument,
)


@dataclass(frozen=True, slots=True)
class PutRelationship:
    """Create or replace a relationship."""

    source_id: str
    relationship_id: str
    body: RelationshipBody
    condition: Condition = UNCONDITIONED

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> StoredDocument:
        """Return the stored relationship.

        Errors: `TwinNotFound` (source), `TargetTwinNotFound`, `PreconditionFailed`,
        `OperationNotAllowed` for a relationship of a twin to itself, `InvalidRelationship`,
        `ValidationFailed`, `LimitExceeded`.
        """
        key, body = (self.source_id, self.relationship_id), self.body
        source_model = _require_source(transaction, self.source_id)
        before = transaction.read_relationship(*key)
        if self.condition.is_asked:
            etag = None if before is None else before.etag
            self.condition.check(etag, self._describe())
        target_model = transaction.read_twin_model(body.target_id)
        judge = RelationshipJudge(context, transaction)
        judge.check(self.source_id, source_model, body, target_model)
        return write_relationship(context, transaction, key, body, before)

    def _describe(self) -> str:
        return f"a relationship with the id {self.relationship_id} of twin {self.source_id}"


@dataclass(frozen=True, slots=True)
class PatchRelationship:
    """Apply a JSON Patch to the properties of a relationship."""

    source_id: str
    relationship_id: str
    operations: Sequence[PatchOperation]
    condition: Condition

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> StoredDocument:
        """Return the changed relationship, under a new etag.

        Errors: `JsonPatchInvalid`, `ValidationFailed`, `InvalidRelationship`, `TwinNotFound`,
        `RelationshipNotFound`, `PreconditionFailed`, `LimitExceeded`, `MemoryExhausted`.
        """
        key = (self.source_id, self.relationship_id)
        stored = require_relationship(transaction, *key)
        self.condition.check(stored.etag, f"the relationship {self.relationship_id}")
        if not is_large(stored):
            return self._change(context, transaction, stored)
        with hold_document(context, stored):
            return self._change(context, transaction, stored)

    def _change(
        self, context: GraphContext, transaction: GraphTransaction, stored: StoredDocument
    ) -> StoredDocument:
        key, operations = (self.source_id, self.relationship_id), self.operations
        before = parse_relationship_body(orjson.loads(stored.body))
        changes = build_patch_changes(before.properties, operations)
        properties = apply_patch(before.properties, operations)
        models = context.models.open(transaction)
        model = require_model(models, _require_source(transaction, self.source_id))
        _require_definition(model, before.name)
        touched = {operation.path[0] for operation in operations}
        changed = {name: value for name, value in properties.items() if name in touched}
        _check_properties(model, before.name, changed)
        body = RelationshipBody(before.name, before.target_id, properties)
        return write_relationship(context, transaction, key, body, stored, changes)


@dataclass(frozen=True, slots=True)
class DeleteRelationship:
    """Delete a relationship."""

    source_id: str
    relationship_id: str
    condition: Condition

    def apply(self, context: GraphContext, transaction: GraphTransaction) -> None:
        """Errors: `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`."""
        key = self.source_id, self.relationship_id
        stored = require_relationship(transaction, *key)
        self.condition.check(stored.etag, f"the relationship {self.relationship_id}")
        remove_relationship(context, transaction, key, stored)


class RelationshipJudge:
    """Validates relationships that are put, in the one state of models that a session sees.

    PERF: the rules for a name between two models are found once, for callers that put many.
    """

    def __init__(self, context: GraphContext, session: GraphSession) -> None:
        self._session = session
        self._models = context.models.open(session)
        self._refuses_loops = context.settings.graph.refuse_self_relationships
        self._allowed: dict[tuple[str, str, str], LoadedModel] = {}

    def check(
        self, source_id: str, source_model: str, body: RelationshipBody, target_model: str | None
    ) -> None:
        """Refuse an invalid relationship; the models are those of its ends, None: no target.

        Errors: `TargetTwinNotFound`, `OperationNotAllowed` for a relationship of a twin to itself,
        `InvalidRelationship`, `ValidationFailed`.
        """
        if target_model is None:
            raise TargetTwinNotFound(body.target_id)
        if source_id == body.target_id and self._refuses_loops:
            raise OperationNotAllowed(
                f"The twin {source_id} cannot be related to itself: source and target of a "
                "relationship must differ."
            )
        key = source_model, body.name, target_model
        model = self._allowed.get(key)
        if model is None:
            model = require_model(self._models, source_model)
            definition = _require_definition(model, body.name)
            _check_target(self._session, self._models, definition, target_model)
            self._allowed[key] = model
        if body.properties:
            _check_properties(model, body.name, body.properties)


def parse_put_relationship(
    source_id: str,
    relationship_id: str,
    document: JsonValue,
    condition: Condition = UNCONDITIONED,
) -> PutRelationship:
    """Errors: `InvalidArgument`."""
    parse_relationship_key(source_id, relationship_id)
    body = parse_relationship_body(document)
    return PutRelationship(source_id, relationship_id, body, condition)


def parse_patch_relationship(
    source_id: str,
    relationship_id: str,
    patch: JsonValue,
    condition: Condition,
    *,
    max_operations: int,
) -> PatchRelationship:
    """Errors: `InvalidArgument`, `JsonPatchInvalid`, also for members with a `$`."""
    parse_relationship_key(source_id, relationship_id)
    operations = parse_patch(patch, max_operations=max_operations)
    _check_paths(operations)
    return PatchRelationship(source_id, relationship_id, operations, condition)


def parse_delete_relationship(
    source_id: str, relationship_id: str, condition: Condition
) -> DeleteRelationship:
    """Errors: `InvalidArgument`."""
    parse_relationship_key(source_id, relationship_id)
    return DeleteRelationship(source_id, relationship_id, condition)


def parse_relationship_key(source_id: str, relationship_id: str) -> None:
    """Refuse ids that no relationship can have: `InvalidArgument`."""
    parse_twin_id(source_id)
    parse_relationship_id(relationship_id)


def require_relationship(
    session: GraphSession, source_id: str, relationship_id: str
) -> StoredDocument:
    """Return the stored relationship; `TwinNotFound` (source), `RelationshipNotFound`."""
    stored = session.read_relationship(source_id, relationship_id)
    if stored is None:
        if not session.has_twin(source_id):
            raise TwinNotFound(source_id)
        raise RelationshipNotFound(source_id, relationship_id)
    return stored


def _require_source(session: GraphSession, source_id: str) -> str:
    model_id = session.read_twin_model(source_id)
    if model_id is None:
        raise TwinNotFound(source_id)
    return model_id


def _require_definition(model: LoadedModel, name: str) -> RelationshipDefinition:
    definition = model.interface.relationships.get(name)
    if definition is None:
        details = tuple(model.validator.validate_relationship(name, {}))
        reason = details[0].message if details else f"{name} is not a relationship."
        raise InvalidRelationship(
            f"Twin relationship does not align with the model: {reason}", details=details
        )
    return definition


def _check_target(
    session: GraphSession,
    models: ModelView,
    definition: RelationshipDefinition,
    target_model: str,
) -> None:
    """Refuse a target whose model the definition does not allow.

    SPEC: sources differ on whether subtypes and other versions count; both are accepted. The
    target's model may have been deleted, but the store still knows its ancestors.
    """
    wanted = definition.target
    if wanted is None or build_family(wanted) == build_family(target_model):
        return
    loaded = models.find(target_model)
    if loaded is None:
        allowed = target_model in session.read_descendants(wanted)
    else:
        family = build_family(wanted)
        allowed = any(build_family(base) == family for base in loaded.interface.ancestors)
    if not allowed:
        raise InvalidRelationship(
            f"Twin relationship does not align with the model: the target of {definition.name} "
            f"must be a twin of {wanted} or of a model that extends it, not of {target_model}."
        )


def _check_properties(model: LoadedModel, name: str, properties: dict[str, JsonValue]) -> None:
    details = model.validator.validate_relationship(name, properties)
    if details:
        raise build_refusal(details)


def _check_paths(operations: Sequence[PatchOperation]) -> None:
    for operation in operations:
        if operation.path[0].startswith("$"):
            operation.refuse(
                f"{operation.path[0]} cannot be patched: of a relationship only its properties "
                "change. Put it anew to give it another target."
            )


class Relationships:
    """Reading and writing relationships."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context
        self._history = History(context)

    async def read_relationship(
        self, source_id: str, relationship_id: str, as_of: int | None = None
    ) -> StoredDocument:
        """The relationship's document and etag, at a position of the history if one is given.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`, `HistoryNotKept`.
        """
        parse_relationship_key(source_id, relationship_id)
        return await self._history.run_short(
            as_of, lambda session: require_relationship(session, source_id, relationship_id)
        )

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        condition: Condition = UNCONDITIONED,
    ) -> StoredDocument:
        """Create or replace a relationship; `If-None-Match: *` only creates, `If-Match` replaces.

        Errors: `InvalidArgument`, `TwinNotFound` (source), `TargetTwinNotFound`,
        `PreconditionFailed`, `OperationNotAllowed` for a relationship of a twin to itself,
        `InvalidRelationship`, `ValidationFailed`, `LimitExceeded`.
        """
        command = parse_put_relationship(source_id, relationship_id, document, condition)
        return await run_command(self._context, command)

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: JsonValue,
        condition: Condition = UNCONDITIONED,
    ) -> str:
        """Apply a JSON Patch to the properties of a relationship; return its new etag.

        Errors: `JsonPatchInvalid` (also for members with a `$`: name and ends never change),
        `ValidationFailed`, `InvalidRelationship`, `TwinNotFound`, `RelationshipNotFound`,
        `PreconditionFailed`, `LimitExceeded`.
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_relationship(
            source_id, relationship_id, patch, condition, max_operations=most
        )
        return await run_patch(self._context, command)

    async def delete_relationship(
        self, source_id: str, relationship_id: str, condition: Condition = UNCONDITIONED
    ) -> None:
        """Delete a relationship.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`.
        """
        command = parse_delete_relationship(source_id, relationship_id, condition)
        await run_command(self._context, command)

    async def list_relationships(
        self,
        source_id: str,
        name: str | None = None,
        page: PageRequest = FIRST_PAGE,
        as_of: int | None = None,
    ) -> Page[bytes]:
        """Documents of the twin's outgoing relationships, of one name when it is given.

        Errors: `TwinNotFound`, `InvalidArgument`, `InvalidContinuationToken`, `HistoryNotKept`.
        """
        parse_twin_id(source_id)
        listing = await self._history.open_listing(as_of, "relationships", source_id, name)
        after, size = listing.start(page)

        def read(session: GraphSession) -> Sequence[tuple[str, bytes]]:
            def fetch(after: str | None, limit: int) -> Sequence[tuple[str, bytes]]:
                some = session.read_relationships(source_id, name=name, after=after, limit=limit)
                return [(listed.key, listed.item.body) for listed in some]

            found = listing.gather(fetch, cast("str | None", after), size, len)
            if not found and not session.has_twin(source_id):
                raise TwinNotFound(source_id)
            return found

        found = await self._history.run(as_of, read)
        return listing.page(found, size, len)

    async def list_incoming(
        self, target_id: str, page: PageRequest = FIRST_PAGE, as_of: int | None = None
    ) -> Page[IncomingRelationship]:
        """The twin's incoming relationships.

        Errors: `TwinNotFound`, `InvalidArgument`, `InvalidContinuationToken`, `HistoryNotKept`.
        """
        parse_twin_id(target_id)
        listing = await self._history.open_listing(as_of, "incomingrelationships", target_id)
        after, size = listing.start(page)

        def read(session: GraphSession) -> Sequence[Listed[IncomingRelationship]]:
            found = session.read_incoming(
                target_id, after=cast("str | None", after), limit=size + 1
            )
            if not found and not session.has_twin(target_id):
                raise TwinNotFound(target_id)
            return found

        found = await self._history.run(as_of, read)
        return listing.page([(listed.key, listed.item) for listed in found], size)
