"""The use cases of twins: read, put, patch, delete.

Each write is one command (`twin_commands`) in a transaction of its own.
"""

from __future__ import annotations

from twinframe.graph.context.context import GraphContext
from twinframe.graph.twins.commands import run_command, run_patch
from twinframe.graph.twins.twin_commands import (
    parse_delete_twin,
    parse_patch_twin,
    parse_put_twin,
    require_twin,
)
from twinframe.model.ids import parse_twin_id
from twinframe.model.values import JsonValue
from twinframe.storage.base import StoredDocument


class Twins:
    """Reading and writing twins."""

    def __init__(self, context: GraphContext) -> None:
        self._context = context

    async def read_twin(self, twin_id: str) -> StoredDocument:
        """The twin's document and etag; `InvalidArgument`, `TwinNotFound`."""
        parse_twin_id(twin_id)
        return await self._context.runner.read(lambda session: require_twin(session, twin_id))

    async def put_twin(
        self,
        twin_id: str,
        document: JsonValue,
        if_none_match: str | None = None,
        if_match: str | None = None,
    ) -> StoredDocument:
        """Create or replace a twin; with `If-None-Match: *` only create, with `If-Match` replace.

        Errors: `InvalidArgument`, `ValidationFailed`, `ModelDecommissioned`, `LimitExceeded`,
        `PreconditionFailed`.
        """
        command = parse_put_twin(twin_id, document, if_none_match, if_match)
        return await run_command(self._context, command)

    async def patch_twin(
        self,
        twin_id: str,
        patch: JsonValue,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> str:
        """Apply a JSON Patch to a twin; return the new etag, new even for an empty patch.

        Errors: `InvalidArgument`, `JsonPatchInvalid`, `ValidationFailed`, `TwinNotFound`,
        `PreconditionFailed`, `ModelDecommissioned` for a move to such a model, `LimitExceeded`.
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_twin(twin_id, patch, if_match, if_none_match, max_operations=most)
        return await run_patch(self._context, command)

    async def delete_twin(
        self, twin_id: str, if_match: str | None = None, if_none_match: str | None = None
    ) -> None:
        """Delete a twin that has no relationships.

        Errors: `InvalidArgument`, `TwinNotFound`, `PreconditionFailed`,
        `RelationshipsNotDeleted`.
        """
        await run_command(self._context, parse_delete_twin(twin_id, if_match, if_none_match))
