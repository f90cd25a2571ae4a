"""What the official suite asks a server to have: contents, resources, prompts. For its run only."""

from __future__ import annotations

import asyncio
import base64
import json
import warnings
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import Prompt, UserMessage
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp_types import (
    AudioContent,
    CallToolResult,
    Completion,
    EmbeddedResource,
    ImageContent,
    TextContent,
    TextResourceContents,
)

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAA"
    "AABJRU5ErkJggg=="
)
SILENCE = base64.b64encode(
    b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
).decode()

SCHEMA_TOOL: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def text_resource(uri: str, text: str, kind: str = "text/plain") -> EmbeddedResource:
    """A resource inside a content."""
    found = TextResourceContents(uri=uri, mime_type=kind, text=text)
    return EmbeddedResource(type="resource", resource=found)


def image() -> ImageContent:
    """One red pixel."""
    return ImageContent(type="image", data=PIXEL, mime_type="image/png")


def text(value: str) -> TextContent:
    """A text as content."""
    return TextContent(type="text", text=value)


def add_contents(server: MCPServer) -> None:
    """Tools that return each kind of content, say what they do, or fail."""

    @server.tool(structured_output=False)
    async def test_simple_text() -> str:
        """Text."""
        return "This is a simple text response for testing."

    @server.tool(structured_output=False)
    async def test_image_content() -> CallToolResult:
        """An image."""
        return CallToolResult(content=[image()])

    @server.tool(structured_output=False)
    async def test_audio_content() -> CallToolResult:
        """A sound."""
        sound = AudioContent(type="audio", data=SILENCE, mime_type="audio/wav")
        return CallToolResult(content=[sound])

    @server.tool(structured_output=False)
    async def test_embedded_resource() -> CallToolResult:
        """A resource."""
        uri = "test://embedded-resource"
        return CallToolResult(content=[text_resource(uri, "This is an embedded resource content.")])

    @server.tool(structured_output=False)
    async def test_multiple_content_types() -> CallToolResult:
        """A text, an image and a resource."""
        document = json.dumps({"test": "data", "value": 123})
        uri = "test://mixed-content-resource"
        return CallToolResult(
            content=[
                text("Multiple content types test:"),
                image(),
                text_resource(uri, document, "application/json"),
            ]
        )

    @server.tool(structured_output=False)
    async def test_error_handling() -> str:
        """Always fails."""
        raise ToolError("This tool intentionally returns an error for testing")


def add_notifications(server: MCPServer) -> None:
    """Tools that send something before they answer."""

    @server.tool(structured_output=False)
    async def test_tool_with_progress(context: Context) -> str:
        """Says how far it is."""
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return "done"

    @server.tool(structured_output=False)
    async def test_tool_with_logging(context: Context) -> str:
        """Logs three lines."""
        for line in ("started", "processing data", "completed"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                await context.info(f"Tool {line}")
            await asyncio.sleep(0.05)
        return "done"

    @server.tool(structured_output=False)
    async def test_logging_tool(context: Context) -> str:
        """Logs a line, which is not sent to whoever did not ask for lines."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            await context.info("a line")
        return "done"

    @server.tool(structured_output=False)
    async def test_reconnection(context: Context) -> str:
        """Gives its stream up, where there is one to come back to."""
        await context.close_sse_stream()
        return "Reconnection test completed successfully"

    @server.tool(structured_output=False)
    async def test_trigger_tool_change(context: Context) -> str:
        """Says that the tools have changed."""
        await context.notify_tools_changed()
        return "done"

    @server.tool(structured_output=False)
    async def test_trigger_prompt_change(context: Context) -> str:
        """Says that the prompts have changed."""
        await context.notify_prompts_changed()
        return "done"


def add_schemas(server: MCPServer) -> None:
    """Tools whose schemas are what matters."""

    async def json_schema_2020_12_tool() -> str:
        return "done"

    made = Tool.from_function(
        json_schema_2020_12_tool,
        description="Tool with JSON Schema 2020-12 features",
        structured_output=False,
    )
    server._tool_manager._tools[made.name] = made.model_copy(update={"parameters": SCHEMA_TOOL})

    async def test_headers(region: str, query: str) -> str:
        return f"{region} {query}"

    made = Tool.from_function(
        test_headers, description="Mirrors an argument in a header", structured_output=False
    )
    region = {"type": "string", "x-mcp-header": "Region"}
    properties = made.parameters["properties"] | {"region": region}
    parameters = made.parameters | {"properties": properties}
    server._tool_manager._tools[made.name] = made.model_copy(update={"parameters": parameters})


def add_resources(server: MCPServer) -> None:
    """Resources and completion."""

    @server.resource("test://static-text", mime_type="text/plain", description="Text.")
    def static_text() -> str:
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png", description="Bytes.")
    def static_binary() -> bytes:
        return base64.b64decode(PIXEL)

    @server.resource("test://watched-resource", mime_type="text/plain", description="Watched.")
    def watched() -> str:
        return "watched"

    @server.resource(
        "test://template/{id}/data", mime_type="application/json", description="By id."
    )
    def template(id: str) -> str:  # noqa: A002  (the template's name for it)
        return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # ships none
    async def complete(reference: Any, argument: Any, context: Any) -> Completion:
        del reference, argument, context
        return Completion(values=["test-a", "test-b"], total=2, has_more=False)


def add_prompts(server: MCPServer) -> None:
    """Prompts."""

    @server.prompt(description="No arguments.")
    def test_simple_prompt() -> str:
        return "This is a simple prompt for testing."

    @server.prompt(description="Two arguments.")
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    def with_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  (the suite's name)
        return [
            UserMessage(text_resource(resourceUri, "Embedded resource content for testing.")),
            UserMessage("Please process the embedded resource above."),
        ]

    def with_image() -> list[UserMessage]:
        return [UserMessage(image()), UserMessage("Please analyze the image above.")]

    for function, name in (
        (with_resource, "test_prompt_with_embedded_resource"),
        (with_image, "test_prompt_with_image"),
    ):
        server.add_prompt(Prompt.from_function(function, name=name, description="Contents."))


def refuse_missing(name: str) -> MCPError:
    """The error for a capability that the client did not declare."""
    data: dict[str, Any] = {"requiredCapabilities": {name: {}}}
    return MCPError(code=-32021, message=f"The client did not declare {name}", data=data)
