"""The one mapping of errors to MCP results that an assistant can act on.

SEC: an error outside of the error tree is only reported by an id that is in the log too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent
from pydantic.alias_generators import to_pascal

from twinframe.errors import (
    AccessError,
    ConfigurationError,
    InputError,
    InvalidArgument,
    NotFound,
    PermissionMissing,
    ScopeMissing,
    StorageBusy,
    StorageError,
    StorageUnanswered,
    TwinframeError,
)

_MOST_DETAILS: Final = 20
_LONGEST: Final = 4000
FORBIDDEN: Final = -32003
"""JSON-RPC's code for a refusal, from the range for servers."""


class UnknownTool(InvalidArgument):
    """No tool has this name."""

    code = "UnknownTool"


class BadArguments(InvalidArgument):
    """The arguments of a call do not match its tool."""


class UnknownResource(NotFound):
    """No resource has this URI."""

    code = "ResourceNotFound"


class WritingOff(AccessError):
    """The tool writes to the graph, and writing is disabled in this server.

    `switch` is the setting of the tool itself, if that is the reason.
    """

    code = "ReadOnly"

    def __init__(self, tool: str, switch: str = "") -> None:
        reason = (
            f"{tool} is not turned on in this server: its operator sets "
            f"MCP__{to_pascal(switch)}=true."
            if switch
            else f"{tool} changes the graph, and this server only reads it (MCP__ReadOnly=true)."
        )
        super().__init__(reason)


class NotConfirmed(InputError):
    """A deletion without the etag of what is deleted and without a confirmation."""

    code = "ConfirmationRequired"


def render_failure(error: TwinframeError, advice: Iterable[str] = ()) -> str:
    """Render the text of a failed call: code and message, each finding, then the advice.

    It has at most 4,000 characters.
    """
    if isinstance(error, ConfigurationError):
        return "InternalError: the service is not set up for this."
    if isinstance(error, StorageUnanswered):
        return (
            f"{error.code}: the store gave no answer. What this call changes may have been made: "
            "read it before you try again."
        )
    if isinstance(error, StorageError) and not isinstance(error, StorageBusy):
        # SEC: messages of the store name files and statements.
        return f"{error.code}: the store could not do this; nothing was changed by this call."
    lines = [f"{error.code}: {error.public}"]
    lines += [
        f"- {detail.message}"
        for detail in error.details[:_MOST_DETAILS]
        if detail.message not in error.message
    ]
    if len(error.details) > _MOST_DETAILS:
        lines.append(f"- … {len(error.details) - _MOST_DETAILS} more")
    text = "\n".join([*lines, *advice])
    return clean_text(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def clean_text(text: str) -> str:
    """Return the text in valid UTF-8: lone surrogates, which clients may send, are escaped."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def render_defect(reference: str) -> str:
    """Render the message for a defect, with its id in the log."""
    return (
        f"InternalError: a defect of the service (reference {reference}). Nothing of your call is "
        "wrong; tell the operator, and try another way."
    )


def build_protocol_error(error: TwinframeError) -> MCPError:
    """Build the error for messages without a result: resources, prompts, completion."""
    text = render_failure(error)
    if isinstance(error, ScopeMissing):
        scope = " ".join(error.scopes)
        return MCPError(FORBIDDEN, text, {"error": "insufficient_scope", "scope": scope})
    if isinstance(error, PermissionMissing):
        return MCPError(FORBIDDEN, text, {"error": "forbidden", "permission": error.permission})
    if isinstance(error, AccessError):
        return MCPError(FORBIDDEN, text)
    if isinstance(error, InputError | NotFound):
        return MCPError(INVALID_PARAMS, text)
    return MCPError(INTERNAL_ERROR, text)


def build_failed(text: str) -> CallToolResult:
    """Build the result of a failed call with this text."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
