"""The use cases of components, which are stored as parts of their twins."""

from __future__ import annotations

from typing import cast

import orjson

from twinframe.errors import ComponentNotFound
from twinframe.graph.context.context import GraphContext
from twinframe.graph.documents.twins import JsonObject, list_parts
from twinframe.graph.twins.commands import run_patch
from twinframe.graph.twins.twin_commands import parse_patch_component
from twinframe.graph.twins.twins import Twins
from twinframe.model.ids import parse_component_name
from twinframe.model.values import JsonValue
from twinframe.storage.base import StoredDocument


class Components:
    """Reading and patching components; their etag is the twin's."""

    def __init__(self, context: GraphContext, twins: Twins) -> None:
        self._context = context
        self._twins = twins

    async def read_component(self, twin_id: str, name: str) -> StoredDocument:
        """The component with its `$metadata` and the twin's etag.

        Errors: `InvalidArgument`, `TwinNotFound`, `ComponentNotFound`.
        """
        parse_component_name(name)
        stored = await self._twins.read_twin(twin_id)
        twin = cast("JsonObject", orjson.loads(stored.body))
        if name not in list_parts(twin):
            raise ComponentNotFound(twin_id, name)
        return StoredDocument(stored.etag, orjson.dumps(twin[name]))

    async def patch_component(
        self,
        twin_id: str,
        name: str,
        patch: JsonValue,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> str:
        """Apply a JSON Patch whose paths start in the component; return the twin's new etag.

        Errors: as patching a twin; an unknown component is `JsonPatchInvalid` (SPEC: recorded).
        """
        most = self._context.settings.graph.max_patch_operations
        command = parse_patch_component(
            twin_id, name, patch, if_match, if_none_match, max_operations=most
        )
        return await run_patch(self._context, command)
