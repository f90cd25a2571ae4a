"""The hooks as text: the reference page. It calls none of them."""

from __future__ import annotations

import inspect

from twinframe.hooks import specs
from twinframe.hooks.manager import PROJECT, list_hooks
from twinframe.hooks.seams import SEAMS


def render_reference() -> str:
    """The page `docs/reference/hooks.md`."""
    parts = [_INTRODUCTION, "## Seams", "", "| seam | entry-point group | hook | ours |"]
    parts.append("| --- | --- | --- | --- |")
    for seam in SEAMS:
        ours = ", ".join(f"`{name}` ({owner})" for name, owner in seam.distributions.items())
        parts.append(f"| {seam.noun} | `{seam.group}` | `{seam.hook}` | {ours} |")
    parts.append("")
    for name in list_hooks():
        parts += _render_hook(name)
    return "\n".join(parts)


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
        f"def {name}{signature}: ...",
        "```",
        "",
        meaning,
        "",
        first,
        "",
    ]


_INTRODUCTION = """# Hooks

This page is generated from `twinframe.hooks.specs`; do not edit it.

A plugin is a module named by an entry point of its distribution. It holds functions marked with
`@twinframe.hookimpl`; a function may leave out arguments it does not need. Hooks are called at the
start, never for a request. What cannot be used stops the start and names the distribution: a plugin
that is missing, doubled or fails to import, an unknown or unmarked hook, an answer of another class
than the seam's.
"""
