"""Use cases of relationships: read, put, patch, delete, list. They know no HTTP.

A relationship is judged by the model of its source: name, target and properties.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import orjson

from twinframe.dtdl import Relationship as RelationshipDefinition
from twinframe.errors import (
    InvalidRelationship,
    LimitExceeded,
    OperationNotAllowed,
    PreconditionFailed,
    RelationshipNotFound,
    TargetTwinNotFound,
    TwinNotFound,
)
from twinframe.graph.context import GraphContext
from twinframe.graph.model_cache import LoadedModel, ModelView
from twinframe.graph.relationship_documents import (
    RelationshipBody,
    parse_relationship_body,
    render_relationship,
)
from twinframe.graph.twin_documents import build_refusal
from twinframe.graph.twins import require_model
from twinframe.model.etags import build_etag, parse_if_match, parse_if_none_match
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


class Relationships:
    """Reading and writing relationships."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument:
        """The relationship's document and etag.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`.
        """
        _parse_key(source_id, relationship_id)
        return await self._context.runner.read(
            lambda session: _require(session, source_id, relationship_id)
        )

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        if_none_match: str | None = None,
    ) -> StoredDocument:
        """Create or replace a relationship; with `If-None-Match: *` only create.

        Errors: `InvalidArgument`, `TwinNotFound` (source), `TargetTwinNotFound`,
        `PreconditionFailed`, `OperationNotAllowed` for a relationship of a twin to itself,
        `InvalidRelationship`, `ValidationFailed`, `LimitExceeded`.
        """
        must_be_new = parse_if_none_match(if_none_match)
        _parse_key(source_id, relationship_id)
        body = parse_relationship_body(document)

        def work(transaction: GraphTransaction) -> StoredDocument:
            source_model = _require_source(transaction, source_id)
            if must_be_new and transaction.read_relationship(source_id, relationship_id):
                raise PreconditionFailed(
                    "If-None-Match: * header was specified but a relationship with the id "
                    f"{relationship_id} was found on twin {source_id}."
                )
            target_model = transaction.read_twin_model(body.target_id)
            if target_model is None:
                raise TargetTwinNotFound(body.target_id)
            self._check_ends(source_id, body)
            models = self._context.models.open(transaction)
            model = require_model(models, source_model)
            definition = _require_definition(model, body.name)
            _check_target(transaction, models, definition, target_model)
            _check_properties(model, body.name, body.properties)
            return self._write(transaction, source_id, relationship_id, body)

        return await self._context.runner.write(work)

    async def patch_relationship(
        self, source_id: str, relationship_id: str, patch: JsonValue, if_match: str | None = None
    ) -> str:
        """Apply a JSON Patch to the properties of a relationship; its new etag.

        Errors: `JsonPatchInvalid` (also for members with a `$`: name and ends never change),
        `ValidationFailed`, `InvalidRelationship`, `TwinNotFound`, `RelationshipNotFound`,
        `PreconditionFailed`, `LimitExceeded`.
        """
        condition = parse_if_match(if_match)
        _parse_key(source_id, relationship_id)
        operations = parse_patch(
            patch, max_operations=self._context.settings.graph.max_patch_operations
        )
        _check_paths(operations)

        def work(transaction: GraphTransaction) -> str:
            stored = _require(transaction, source_id, relationship_id)
            condition.check(stored.etag)
            before = parse_relationship_body(orjson.loads(stored.body))
            properties = apply_patch(before.properties, operations)
            models = self._context.models.open(transaction)
            model = require_model(models, _require_source(transaction, source_id))
            _require_definition(model, before.name)
            touched = {operation.path[0] for operation in operations}
            _check_properties(
                model, before.name, {k: v for k, v in properties.items() if k in touched}
            )
            body = RelationshipBody(before.name, before.target_id, properties)
            return self._write(transaction, source_id, relationship_id, body).etag

        return await self._context.runner.write(work)

    async def delete_relationship(
        self, source_id: str, relationship_id: str, if_match: str | None = None
    ) -> None:
        """Delete a relationship.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`.
        """
        condition = parse_if_match(if_match)
        _parse_key(source_id, relationship_id)

        def work(transaction: GraphTransaction) -> None:
            condition.check(_require(transaction, source_id, relationship_id).etag)
            transaction.delete_relationship(source_id, relationship_id)

        await self._context.runner.write(work)

    async def list_relationships(
        self, source_id: str, name: str | None = None, page: PageRequest = FIRST_PAGE
    ) -> Page[bytes]:
        """Documents of the twin's outgoing relationships, of one name when it is given.

        Errors: `TwinNotFound`, `InvalidArgument`, `InvalidContinuationToken`.
        """
        parse_twin_id(source_id)
        listing = await self._context.open_listing("relationships", source_id, name)
        after, size = listing.start(page)

        def read(session: GraphSession) -> Sequence[Listed[StoredDocument]]:
            found = session.read_relationships(
                source_id, name=name, after=cast("str | None", after), limit=size + 1
            )
            if not found and not session.has_twin(source_id):
                raise TwinNotFound(source_id)
            return found

        found = await self._context.runner.read(read)
        return listing.page([(listed.key, listed.item.body) for listed in found], size)

    async def list_incoming(
        self, target_id: str, page: PageRequest = FIRST_PAGE
    ) -> Page[IncomingRelationship]:
        """The twin's incoming relationships.

        Errors: `TwinNotFound`, `InvalidArgument`, `InvalidContinuationToken`.
        """
        parse_twin_id(target_id)
        listing = await self._context.open_listing("incomingrelationships", target_id)
        after, size = listing.start(page)

        def read(session: GraphSession) -> Sequence[Listed[IncomingRelationship]]:
            found = session.read_incoming(
                target_id, after=cast("str | None", after), limit=size + 1
            )
            if not found and not session.has_twin(target_id):
                raise TwinNotFound(target_id)
            return found

        found = await self._context.runner.read(read)
        return listing.page([(listed.key, listed.item) for listed in found], size)

    def _check_ends(self, source_id: str, body: RelationshipBody) -> None:
        if source_id == body.target_id and self._context.settings.graph.refuse_self_relationships:
            raise OperationNotAllowed(
                f"The twin {source_id} cannot be related to itself: source and target of a "
                "relationship must differ."
            )

    def _write(
        self,
        transaction: GraphTransaction,
        source_id: str,
        relationship_id: str,
        body: RelationshipBody,
    ) -> StoredDocument:
        record = render_relationship(source_id, relationship_id, body, build_etag())
        most = self._context.settings.graph.max_twin_bytes
        if len(record.body) > most:
            raise LimitExceeded(
                f"The relationship would have {len(record.body)} bytes; at most {most} are stored."
            )
        transaction.put_relationship(record)
        return StoredDocument(record.etag, record.body)


def _parse_key(source_id: str, relationship_id: str) -> None:
    parse_twin_id(source_id)
    parse_relationship_id(relationship_id)


def _require(session: GraphSession, source_id: str, relationship_id: str) -> StoredDocument:
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
    target's model may have been deleted, the store still knows what it extended.
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
