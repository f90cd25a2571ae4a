"""Generates the reference pages that need the plugins: hooks and settings."""

from __future__ import annotations

import inspect

from tests.house.pages.settings import PluginReference, render_reference
from twinframe.hooks import specs
from twinframe.hooks.drivers import SEAMS, load_plugin
from twinframe.hooks.manager import PROJECT, build_manager, list_hooks
from twinframe.hooks.sections import build_section_path, read_section_class

_WIDTH = 100  # columns of a line, the formatter's


def render_hooks_page() -> str:
    """Render the page `docs/reference/hooks.md`."""
    parts = [_INTRODUCTION, "## Seams", "", "| seam | entry-point group | hook | ours |"]
    parts.append("| --- | --- | --- | --- |")
    for seam in SEAMS:
        ours = ", ".join(f"`{name}` ({owner})" for name, owner in seam.distributions.items())
        parts.append(f"| {seam.noun} | `{seam.group}` | `{seam.hook}` | {ours} |")
    parts.append("")
    for name in list_hooks():
        parts += _render_hook(name)
    return "\n".join(parts)


def render_settings_page() -> str:
    """Render the page `docs/reference/settings.md`: the core and this project's plugins, all
    installed.

    Raises `PluginError` when one of them is missing.
    """
    manager = build_manager()
    found: list[PluginReference] = []
    for seam in SEAMS:
        for name, distribution in seam.distributions.items():
            plugin = load_plugin(manager, seam, name)
            model = read_section_class(plugin)
            if model is not None:
                path = build_section_path(plugin)
                found.append(PluginReference(path, model, distribution))
    return render_reference(found)


def _render_hook(name: str) -> list[str]:
    hook = getattr(specs, name)
    options: dict[str, object] = getattr(hook, f"{PROJECT}_spec")
    signature = str(inspect.signature(hook)).replace("'", "")
    first = "The plugin of the seam answers." if options["firstresult"] else "Every plugin answers."
    meaning = inspect.getdoc(hook) or ""
    return [
        f"## {name}",
        "",
        "```python",
        *_render_signature(name, signature),
        "```",
        "",
        meaning,
        "",
        first,
        "",
    ]


_INTRODUCTION = """# Hooks

This page is generated from `twinframe.hooks.specs`; do not edit it.

A plugin is a module that an entry point of its distribution names. It contains functions marked
with `@twinframe.hookimpl`. A function may leave out arguments that it does not need. Hooks are
called at the start, never for a request.

A plugin that cannot be used stops the start, and the error names its distribution. This is so
for a plugin that is missing, exists twice or fails to import, for a hook that is unknown or not
marked, and for a result of a class that the seam does not allow.
"""


def _render_signature(name: str, signature: str) -> list[str]:
    """Render the definition on one line, or in the formatter's three if it is too long for one."""
    line = f"def {name}{signature}: ..."
    if len(line) <= _WIDTH:
        return [line]
    parameters, _, answer = signature[1:].rpartition(") -> ")
    return [f"def {name}(", f"    {parameters}", f") -> {answer}: ..."]
