"""`twinframe settings`: prints the settings in force and the source of each value."""

from __future__ import annotations

from pathlib import Path

import click
import orjson

from twinframe.cli.console import config_option, json_option, write_json
from twinframe.cli.tables import write_table
from twinframe.hooks.installation import load_installation
from twinframe.settings.render import list_effective
from twinframe.settings.shape import render_key


@click.command()
@config_option
@json_option
def settings(config: Path | None, *, as_json: bool) -> None:
    """Print all effective settings with the source of each value. Secrets are masked."""
    found = list_effective(load_installation(config).configuration)
    if as_json:
        write_json(
            {render_key(item.path): {"value": item.value, "source": item.origin} for item in found}
        )
        return
    write_table(
        ("setting", "value", "source"),
        [(render_key(item.path), _render_value(item.value), item.origin) for item in found],
    )


def _render_value(value: object) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
