"""Generates the reference page of the settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from inspect import getdoc

from pydantic import SecretStr

from twinframe.settings.section import Section
from twinframe.settings.shape import Key, KeyPath, read_keys, render_key, render_type
from twinframe.settings.tree import Settings


@dataclass(frozen=True, slots=True)
class PluginReference:
    """A plugin's section for the reference page: its path and its distribution."""

    path: KeyPath
    model: type[Section]
    distribution: str


def render_reference(plugins: Iterable[PluginReference]) -> str:
    """Render the page `docs/reference/settings.md`."""
    parts = [_INTRODUCTION]
    for key in read_keys(Settings).values():
        if key.section is not None:
            parts += _render_section(key.section, (key.name,), "")
    for plugin in plugins:
        note = f"Comes with `{plugin.distribution}`."
        parts += _render_section(plugin.model, plugin.path, note)
    return "\n".join(parts) + "\n"


def _render_section(model: type[Section], path: KeyPath, note: str) -> list[str]:
    title = ".".join(path).replace("<", "\\<")  # else it is read as an HTML tag
    lines = [f"## {title}", "", (getdoc(model) or "").partition("\n\n")[0]]
    if note:
        lines += ["", note]
    keys = read_keys(model).values()
    nested = [key for key in keys if key.section is not None]
    if len(nested) < len(keys):
        lines += [
            "",
            "| key in the environment | type | default | meaning |",
            "| --- | --- | --- | --- |",
        ]
        lines += [_render_row(path, key) for key in keys if key.section is None]
    lines.append("")
    for key in nested:
        if key.section is not None:
            lines += _render_section(key.section, (*path, key.name), "")
    return lines


def _render_row(path: KeyPath, key: Key) -> str:
    meaning = " ".join((key.info.description or "").split())
    cells = (
        f"`{render_key((*path, key.name))}`",
        render_type(key.info),
        _render_default(key),
        meaning,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _render_default(key: Key) -> str:
    if key.info.is_required():
        return "required"
    default: object = key.info.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, SecretStr) or default in ("", (), {}):
        return "empty"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"


_INTRODUCTION = """# Settings

This page is generated from the classes; do not edit it.

Settings come from a JSON file (`--config FILE`, or the environment variable `TWINFRAME_CONFIG`)
and from the environment. The environment takes precedence. In the file, sections are objects:
`{"Server": {"Workers": 2}}`. In the environment, `__` separates the parts of a key:
`Server__Workers=2`. Upper and lower case are equal.

* Set an element of a list by its index: `Authorization__RequiredScopes__0=access:platform`. A
  whole list, or a section inside another, can be one JSON value:
  `Cors__Origins=["https://app.example"]`. A list or an object of an event endpoint or a source
  always is: `Ingestion__Sources__building__Servers=["nats://broker.example"]`.
* An unknown key in a known section stops the start. The error names the nearest known key.
  Environment variables whose first part is no section belong to other programs and are ignored.
* `twinframe settings` prints the effective settings and the source of each value.
  `twinframe check` reports what is wrong.
"""
