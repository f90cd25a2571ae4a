"""Runs a tool call through its steps: known, enabled, permitted, well formed, run, answered.

Every failure becomes a result that the assistant can act on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final, NoReturn

import orjson
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from twinframe.access.rates import CallerRates, Kind
from twinframe.errors import QueryTimeout, TwinframeError
from twinframe.errors.nearest import render_suggestion
from twinframe.mcp.access import CURRENT_REQUEST_INFO, spend_call
from twinframe.mcp.advice import build_advice
from twinframe.mcp.arguments import parse_arguments, parse_values
from twinframe.mcp.errors import (
    UnknownTool,
    WritingOff,
    build_failed,
    clean_text,
    render_defect,
    render_failure,
)
from twinframe.mcp.tool import Answer, Tool, Toolbox, build_action

logger = logging.getLogger(__name__)

_LONGEST_NAME: Final = 100
_QUERIES: Final = "query/read"
_LONGEST_KEY: Final = 200
_KEYS: Final = ("twin_id", "source_id", "relationship_id", "model_id")


class Calls:
    """Runs tools by name. `tools` are all that exist; the settings may disable the writing ones."""

    def __init__(
        self, tools: Sequence[Tool[Any]], box: Toolbox, rates: CallerRates | None = None
    ) -> None:
        self._box = box
        self._rates = rates
        self._tools = {tool.name: tool for tool in tools}

    @property
    def listed(self) -> list[Tool[Any]]:
        """Return the tools that `tools/list` shows, the same for every caller.

        NOTE: independent of the caller's permissions. Otherwise the list would change while an
        assistant uses it, and a missing tool could not report the missing permission. A caller
        without permission is told so by the result.
        """
        return [tool for tool in self._tools.values() if self._find_off(tool) is None]

    async def run(self, params: CallToolRequestParams) -> CallToolResult:
        """Return the result of a call; raises only when cancelled."""
        start = time.monotonic()
        given = params.arguments or {}
        tool = self._tools.get(params.name)
        try:
            result = _build_result(await self._run(tool or self._refuse(params.name), given))
            outcome = "done"
        except TwinframeError as error:
            advice = await self._advise(error, tool, given)
            result, outcome = build_failed(render_failure(error, advice)), error.code
        except Exception:  # the outermost code of a call
            reference = find_reference()
            logger.exception("Defect in %s (reference %s).", params.name, reference)
            result, outcome = build_failed(render_defect(reference)), "InternalError"
        if tool is not None and tool.writes and not tool.is_rehearsal(given):
            action = _build_action(tool, given)
            self._box.access.note_change(action, done=outcome == "done")
        self._log(params.name, outcome, start)
        return result

    def _refuse(self, name: str) -> NoReturn:
        name = name[:_LONGEST_NAME]
        suggestion = render_suggestion(name, self._tools)
        raise UnknownTool(f"There is no tool {name!r}{suggestion}")

    async def _run(self, tool: Tool[Any], given: Mapping[str, Any]) -> Answer:
        if self._rates is not None:
            spend_call(self._rates, _find_kind(tool))
        # SEC: permission before arguments: a caller without permission learns nothing by trying.
        action = _build_action(tool, given)
        for permission in tool.find_permissions(given):
            await self._box.access.check(permission, action)
        if (off := self._find_off(tool)) is not None:
            raise off
        arguments = parse_arguments(
            tool.arguments, tool.name, parse_values(given, self._box.json_limits)
        )
        if tool.writes:
            # NOTE: a write that has begun is not abandoned halfway: its outcome is returned.
            return await tool.run(self._box, arguments)
        seconds = self._box.limits.query_timeout
        try:
            async with asyncio.timeout(seconds):
                return await tool.run(self._box, arguments)
        except TimeoutError as error:
            raise QueryTimeout(
                f"{tool.name} was stopped after {seconds:g} seconds (MCP__QueryTimeout)."
            ) from error

    async def _advise(
        self, error: TwinframeError, tool: Tool[Any] | None, given: Mapping[str, Any]
    ) -> list[str]:
        if tool is None:
            return []
        try:
            return await build_advice(error, tool, given, self._box)
        except TwinframeError:
            return []  # advice is optional; the error itself is returned all the same

    def _find_off(self, tool: Tool[Any]) -> WritingOff | None:
        """Return the error of a tool that the settings disable."""
        limits = self._box.limits
        if tool.writes and limits.read_only:
            return WritingOff(tool.name)
        if tool.switch and not getattr(limits, tool.switch):
            return WritingOff(tool.name, tool.switch)
        return None

    def _log(self, name: str, outcome: str, start: float) -> None:
        if not logger.isEnabledFor(logging.INFO):
            return
        request_info = CURRENT_REQUEST_INFO.get()
        request_id = "" if request_info is None else request_info.request_id
        milliseconds = (time.monotonic() - start) * 1000
        logger.info(
            "%r: %s in %.1f ms",
            name[:_LONGEST_NAME],
            outcome,
            milliseconds,
            extra={"request_id": request_id},
        )


def _find_kind(tool: Tool[Any]) -> Kind:
    if tool.writes:
        return Kind.WRITE
    return Kind.QUERY if _QUERIES in tool.permissions else Kind.READ


def _build_action(tool: Tool[Any], given: Mapping[str, Any]) -> str:
    """Return the action for the audit log: the tool, its object, and whether it is a rehearsal."""
    keys = (given.get(key) for key in _KEYS)
    about = [clean_text(key[:_LONGEST_KEY]) for key in keys if isinstance(key, str)]
    return build_action(tool.name, *about, rehearses=tool.is_rehearsal(given))


def _build_result(answer: Answer) -> CallToolResult:
    text = answer.text or orjson.dumps(answer.document).decode()
    return CallToolResult(content=[TextContent(text=text)], structured_content=answer.document)


def find_reference() -> str:
    """Return the request's id, if the transport set one, else a new one."""
    request_info = CURRENT_REQUEST_INFO.get()
    return (
        request_info.request_id
        if request_info is not None and request_info.request_id
        else token_hex(8)
    )
