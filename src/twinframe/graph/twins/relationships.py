"""The use cases of relationships: read, put, patch, delete, list.

Each write is one command (`relationship_commands`) in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from twinframe.errors import TwinNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.twins.commands import run_command, run_patch
from twinframe.graph.twins.relationship_commands import (
    parse_delete_relationship,
    parse_patch_relationship,
    parse_put_relationship,
    parse_relationship_key,
    require_relationship,
)
from twinframe.model.ids import parse_twin_id
from twinframe.model.pages import FIRST_PAGE, Page, PageRequest
from twinframe.model.values import JsonValue
from twinframe.storage.base import GraphSession, IncomingRelationship, Listed, StoredDocument


class Relationships:
    """Reading and writing relationships."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def read_relationship(self, source_id: str, relationship_id: str) -> StoredDocument:
        """The relationship's document and etag.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`.
        """
        parse_relationship_key(source_id, relationship_id)
        return await self._context.runner.read(
            lambda session: require_relationship(session, source_id, relationship_id)
        )

    async def put_relationship(
        self,
        source_id: str,
        relationship_id: str,
        document: JsonValue,
        if_none_match: str | None = None,
        if_match: str | None = None,
    ) -> StoredDocument:
        """Create or replace a relationship; `If-None-Match: *` only creates, `If-Match` replaces.

        Errors: `InvalidArgument`, `TwinNotFound` (source), `TargetTwinNotFound`,
        `PreconditionFailed`, `OperationNotAllowed` for a relationship of a twin to itself,
        `InvalidRelationship`, `ValidationFailed`, `LimitExceeded`.
        """
        command = parse_put_relationship(
            source_id, relationship_id, document, if_none_match, if_match
        )
        return await run_command(self._context, command)

    async def patch_relationship(
        self,
        source_id: str,
        relationship_id: str,
        patch: JsonValue,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> str:
        """Apply a JSON Patch to the properties of a relationship; return its new etag.

        Errors: `JsonPatchInvalid` (also for members with a `$`: name and ends never change),
        `ValidationFailed`, `InvalidRelationship`, `TwinNotFound`, `RelationshipNotFound`,
        `PreconditionFailed`, `LimitExceeded`.
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_relationship(
            source_id, relationship_id, patch, if_match, if_none_match, max_operations=most
        )
        return await run_patch(self._context, command)

    async def delete_relationship(
        self,
        source_id: str,
        relationship_id: str,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> None:
        """Delete a relationship.

        Errors: `InvalidArgument`, `TwinNotFound`, `RelationshipNotFound`, `PreconditionFailed`.
        """
        command = parse_delete_relationship(source_id, relationship_id, if_match, if_none_match)
        await run_command(self._context, command)

    async def list_relationships(
        self, source_id: str, name: str | None = None, page: PageRequest = FIRST_PAGE
    ) -> Page[bytes]:
        """Documents of the twin's outgoing relationships, of one name when it is given.

        Errors: `TwinNotFound`, `InvalidArgument`, `InvalidContinuationToken`.
        """
        parse_twin_id(source_id)
        listing = await self._context.open_listing("relationships", source_id, name)
        after, size = listing.start(page)

        def read(session: GraphSession) -> Sequence[tuple[str, bytes]]:
            def fetch(after: str | None, limit: int) -> Sequence[tuple[str, bytes]]:
                some = session.read_relationships(source_id, name=name, after=after, limit=limit)
                return [(listed.key, listed.item.body) for listed in some]

            found = listing.gather(fetch, cast("str | None", after), size, len)
            if not found and not session.has_twin(source_id):
                raise TwinNotFound(source_id)
            return found

        found = await self._context.runner.read(read)
        return listing.page(found, size, len)

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
