"""Generates the reference page of the commands."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from twinframe.cli.main import main


def render_commands_page() -> str:
    """Render the page `docs/reference/commands.md`."""
    parts = [_INTRODUCTION]
    for name, command in _list_commands(main):
        parts += _render_command(name, command)
    return "\n".join(parts)


def _list_commands(group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its name, including those of nested groups."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield name, command
            yield from ((f"{name} {inner}", found) for inner, found in _list_commands(command))
        else:
            yield name, command


def _render_command(name: str, command: click.Command) -> list[str]:
    arguments = [p for p in command.params if isinstance(p, click.Argument)]
    options = [p for p in command.params if isinstance(p, click.Option)]
    usage = " ".join(["twinframe", name, "[OPTIONS]", *((p.name or "").upper() for p in arguments)])
    meaning = inspect.cleandoc(command.help or "")
    lines = [f"## {name}", "", "```text", usage, "```", "", meaning, ""]
    lines += ["| option | meaning |", "| --- | --- |"]
    for option in options:
        value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
        lines.append(f"| `{', '.join(option.opts)}{value}` | {option.help or ''} |")
    return [*lines, ""]


_INTRODUCTION = """# Commands

This page is generated from the commands; do not edit it.

`twinframe COMMAND` and `python -m twinframe COMMAND` are the same. All commands except
`twinframe dtdl` read the [settings](settings.md) from `--config FILE`, from the file that
`TWINFRAME_CONFIG` names, and from the environment.

Errors go to standard error, one per line. The exit code is 1 after an error, and 2 after a wrong
option or argument. A service (`serve`, `mcp`, `control`) with damaged data does not start and exits
with 65: restarting does not help; restore a backup.
"""
