"""The MCP server of one graph for any transport: tools, resources, prompts, completion."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import Any, Final, TypeVar

from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from twinframe import __version__
from twinframe.access.rates import CallerRates, Kind
from twinframe.errors import NotFound, TwinframeError
from twinframe.graph import Graph
from twinframe.mcp import prompts, resources
from twinframe.mcp.access import RESOURCES_SCOPE, ToolAccess, spend_call
from twinframe.mcp.calls import Calls, find_reference
from twinframe.mcp.completion import complete
from twinframe.mcp.errors import build_protocol_error, clean_text, render_defect
from twinframe.mcp.tool import Toolbox
from twinframe.mcp.tools import TOOLS
from twinframe.settings import Settings

logger = logging.getLogger(__name__)

T = TypeVar("T")
_Context = ServerRequestContext[Any, Any]

_MINUTE: Final = 60_000
_INSTRUCTIONS: Final = (
    "A digital twin graph: twins with typed properties and named relationships. Begin with "
    "describe_graph, then query_digital_twins with its labels and names. Answers are cut to whole "
    "rows: if truncated is true, go on with continuation_token. Errors say how to put it right."
)
_READ_ONLY: Final = " This server only reads."


def build_server(
    graph: Graph, settings: Settings, access: ToolAccess, rates: CallerRates | None = None
) -> Server[Any]:
    """Build the server with all its handlers; a transport runs it.

    Transports that authenticate their callers set `CURRENT_CALLER` and `CURRENT_REQUEST_INFO` for
    each message.
    """
    handlers = _Handlers(Toolbox(graph, settings, access), rates)
    read_only = settings.mcp.read_only
    # NOTE: private, though lists are the same for all: a proxy must not cache what needs a token.
    hint = CacheHint(_MINUTE, "private")
    return Server(
        settings.mcp.server_name,
        version=settings.mcp.version or __version__,
        instructions=_INSTRUCTIONS + (_READ_ONLY if read_only else ""),
        cache_hints={
            "tools/list": hint,
            "prompts/list": hint,
            "resources/list": hint,
            "resources/templates/list": hint,
        },
        get_tool_input_schema=handlers.schemas.get,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
        on_completion=handlers.complete,
    )


class _Handlers:
    """The handlers of the protocol's requests, each calling its module."""

    def __init__(self, box: Toolbox, rates: CallerRates | None) -> None:
        self._box = box
        self._rates = rates
        self._calls = Calls(TOOLS, box, rates)
        # PERF: the schemas are built once, not for each list.
        self._documents = [tool.build_document() for tool in self._calls.listed]
        self.schemas = {one.name: one.input_schema for one in self._documents}

    async def list_tools(
        self, _context: _Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=self._documents)

    async def call_tool(self, _context: _Context, params: CallToolRequestParams) -> CallToolResult:
        return await self._calls.run(params)

    async def list_resources(
        self, _context: _Context, _params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        await self._check_scope("resources/list")
        return resources.list_resources()

    async def list_templates(
        self, _context: _Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        await self._check_scope("resources/templates/list")
        return resources.list_templates()

    async def read_resource(
        self, _context: _Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        await self._check_scope("resources/read")
        uri = clean_text(params.uri)
        return await _translate_errors(self._read_resource(uri), {"uri": uri})

    async def _read_resource(self, uri: str) -> ReadResourceResult:
        if self._rates is not None:
            spend_call(self._rates, Kind.READ)
        return await resources.read_resource(self._box, uri)

    async def list_prompts(
        self, _context: _Context, _params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        return prompts.list_prompts()

    async def get_prompt(
        self, _context: _Context, params: GetPromptRequestParams
    ) -> GetPromptResult:
        return await _translate_errors(
            prompts.get_prompt(self._box, params.name, params.arguments or {})
        )

    async def complete(self, _context: _Context, params: CompleteRequestParams) -> CompleteResult:
        if params.ref.type == "ref/resource":
            await self._check_scope("completion/complete")
        return await _translate_errors(complete(self._box, params))

    async def _check_scope(self, action: str) -> None:
        await _translate_errors(self._box.access.check_scope(RESOURCES_SCOPE, action))


async def _translate_errors(awaitable: Awaitable[T], data: dict[str, str] | None = None) -> T:
    """Return the result of `awaitable`, with errors in the protocol's form.

    `data` is added to «not found».
    """
    try:
        return await awaitable
    except NotFound as error:
        # SPEC: MCP 2026-07-28, a resource that is not found is «invalid params» with its URI.
        raise MCPError(INVALID_PARAMS, build_protocol_error(error).message, data) from error
    except TwinframeError as error:
        raise build_protocol_error(error) from error
    except Exception as error:  # the outermost code of a request
        reference = find_reference()
        logger.exception("Defect (reference %s).", reference)
        raise MCPError(INTERNAL_ERROR, render_defect(reference)) from error
