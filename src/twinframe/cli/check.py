"""`twinframe check`: everything wrong with an installation, at once. It repairs nothing."""

from __future__ import annotations

from os import environ
from pathlib import Path

import click

from twinframe.app.installation import load_installation
from twinframe.app.preflight import find_problems, list_warnings
from twinframe.cli.console import config_option, write_problems
from twinframe.settings.sources import find_near_misses


@click.command()
@config_option
def check(config: Path | None) -> None:
    """Check settings, plugins and the store, and say what is wrong.

    It opens the store, which creates or migrates it. Exit code 1 when something is wrong.
    """
    installation = load_installation(config)
    problems = list(find_problems(installation, everything=True))
    for warning in (*list_warnings(installation.settings), *find_near_misses(environ)):
        click.echo(f"warning: {warning}", err=True)
    if problems:
        write_problems(problems)
        raise SystemExit(1)
    storage = installation.load_storage().info
    click.echo(f"Everything is in order: settings, plugins, storage {storage.owner}.")
