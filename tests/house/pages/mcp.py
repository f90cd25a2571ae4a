"""Generates the reference page of the MCP tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from twinframe.mcp.arguments import build_schema
from twinframe.mcp.prompts import list_prompts
from twinframe.mcp.resources import list_resources, list_templates
from twinframe.mcp.tool import Effect, Tool
from twinframe.mcp.tools import TOOLS

_EFFECTS: Final = {
    Effect.READ: "reads",
    Effect.ADD: "adds",
    Effect.CHANGE: "changes",
    Effect.DELETE: "deletes",
}


def render_tools_page() -> str:
    """Render the page `docs/reference/mcp-tools.md`."""
    lines = [_INTRODUCTION]
    for tool in TOOLS:
        lines += _render_tool(tool)
    return "\n".join([*lines, *_render_resources(), *_render_prompts()])


def _render_tool(tool: Tool[Any]) -> Iterator[str]:
    schema = build_schema(tool.arguments)
    permissions = ", ".join(f"`{one}`" for one in tool.permissions)
    yield from (f"### {tool.name}", "", tool.description, "")
    yield from (f"{tool.title}: it {_EFFECTS[tool.effect]}; needs {permissions}.", "")
    yield from ("| argument | type | meaning |", "| --- | --- | --- |")
    for name, field in schema["properties"].items():
        needed = " (required)" if name in schema.get("required", ()) else ""
        meaning = _escape(str(field.get("description", "")))
        yield f"| `{name}`{needed} | {_escape(_render_type(field))} | {meaning or '–'} |"
    answer = ", ".join(f"`{name}`" for name in tool.output["properties"])
    example = orjson.dumps(dict(tool.example)).decode()
    yield from ("", f"It answers {answer}.", "", "```json", example, "```", "")


def _render_type(field: dict[str, Any]) -> str:
    if "enum" in field:
        text = " | ".join(f"`{one}`" for one in field["enum"])
    elif field.get("type") == "array":
        text = f"array of {field.get('items', {}).get('type', 'any')}"
    else:
        text = str(field.get("type", "any"))
    least = field.get("minimum")
    most = field.get("maximum")
    if most is not None:
        text += f", {'above 0' if least is None else least} to {most}"
    return f"{text}, default {field['default']}" if "default" in field else text


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def _render_resources() -> Iterator[str]:
    yield from ("## Resources", "", "They need the scope `mcp:resources`.", "")
    yield from ("| resource | what it is |", "| --- | --- |")
    for one in list_resources().resources:
        yield f"| `{one.uri}` | {one.description} |"
    for template in list_templates().resource_templates:
        yield f"| `{template.uri_template}` | {template.description} Ids are completed. |"
    yield ""


def _render_prompts() -> Iterator[str]:
    yield from ("## Prompts", "", "| prompt | arguments | what it is |", "| --- | --- | --- |")
    for one in list_prompts().prompts:
        names = ", ".join(f"`{a.name}`{'' if a.required else '?'}" for a in one.arguments or ())
        yield f"| `{one.name}` | {names} | {one.description} |"
    yield ""


_INTRODUCTION: Final = """# Tools for assistants

This page is generated from the tools of the MCP server; do not edit it.

Every tool needs the scope `mcp:tools`, the permission `mcp/*` and the permissions that stand with
it: a token without `digitaltwins/write` is an assistant that cannot write. All tools are listed to
everybody, whatever a caller may do, so that an assistant can say which permission is missing. With
`MCP__ReadOnly=true` those that write are neither listed nor run.

- An answer has at most `MCP__MaxRows` rows and about `MCP__MaxBytes` bytes, always whole rows. When
  there is more, `truncated` is true and `continuation_token` goes on behind the last row.
- Number arrays longer than 64 come as `{"$vector": length}`, texts are cut at 1,000 characters, and
  of `$metadata` only `$model` is shown; `shortened` names the paths. `full_values` gives all.
- A failure is a result with `isError`: a code, what was wrong and where, the nearest name, and what
  would be right.
- Each tool that writes takes `dry_run`: the call is done in the store's own transaction, which is
  then taken back, so that it is refused for what the call itself would be refused for. `changes`
  says what would be another, to those who may also read what is written.
- A deletion needs `if_match` with the etag that was read, or `confirm`.
- Every call is in the audit log with the permission that it needed.

## Tools
"""
