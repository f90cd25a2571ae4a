"""`twinframe restore`: replaces a graph's data by a backup."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from twinframe.cli.backup import find_entry
from twinframe.cli.console import config_option
from twinframe.control.hosting import backups
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.hooks.installation import load_installation

_WAIT_SECONDS = 5.0


@click.command()
@click.argument("graph")
@click.argument("backup")
@config_option
def restore(graph: str, backup: str, config: Path | None) -> None:
    """Replace the data of GRAPH by BACKUP.

    GRAPH is the id of a hosted graph, and BACKUP the name of one of its backups or a file. The
    service may be running: it answers 503 for that graph meanwhile. The present data is backed up
    first. A backup with values over time replaces those of the graph, too. If GRAPH is `-`, the
    service's own graph is restored; stop the service before.
    """
    installation = load_installation(config)
    if graph == "-":
        store = installation.build_store()
        able = backups.require_backups(store, installation)
        note = backups.restore(installation, store, able, Path(backup), _WAIT_SECONDS)
        click.echo(f"The graph {installation.settings.storage.graph!r} is restored.")
        _write_note(note)
        return
    with closing(build_catalog(installation)) as catalog:
        find_entry(catalog, graph)
        before, note = backups.restore_backup(installation, catalog, graph, backup)
    click.echo(f"The graph {graph!r} is restored from {backup}.")
    _write_note(note)
    if before is None:
        click.echo("What was there before could not be read, so there is no backup of it.")
    else:
        click.echo(f"What was there before is backed up in {before}.")


def _write_note(note: str) -> None:
    if note:
        click.echo(note)
