"""Generates the reference page of the MCP tools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
from pydantic.alias_generators import to_pascal

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
    Effect.ANY: "adds, changes and deletes",
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
    switch = f" It is off unless `MCP__{to_pascal(tool.switch)}=true`." if tool.switch else ""
    yield from (f"{tool.title}: it {_EFFECTS[tool.effect]}; needs {permissions}.{switch}", "")
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

Every tool requires the scope `mcp:tools`, the permission `mcp/*`, and the permissions named with
it: with a token without `digitaltwins/write`, an assistant cannot write twins. All tools are
listed to every caller, so that an assistant can say which permission is missing. With
`MCP__ReadOnly=true` the tools that write are not listed and do not run.

- A result has at most `MCP__MaxRows` rows and about `MCP__MaxBytes` bytes, always whole rows. If
  there are more, `truncated` is true, and `continuation_token` continues after the last row.
- Arrays of more than 64 numbers are returned as `{"$vector": length}`, texts are cut at 1,000
  characters, and of `$metadata` only `$model` is returned. `shortened` lists the paths of such
  values. `full_values` returns everything.
- A failure is a result with `isError`. It has a code and says what was wrong, where, what would
  be right, and the nearest known name.
- Each tool that writes accepts `dry_run`. The call then runs in a transaction of the store that
  is rolled back, so it is refused for the same reasons as the real call. `changes` says what
  would change, if the caller may read it.
- A deletion requires `if_match` with the etag that was read, or `confirm`.
- The audit log has every call with the permission that it required.

## Tools
"""
