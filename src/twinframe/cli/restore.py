"""`twinframe restore`: replaces a graph's data by a backup."""

from __future__ import annotations

from pathlib import Path

import click

from twinframe.cli.backup import find_entry
from twinframe.cli.console import config_option
from twinframe.control.hosting.backups import require_backups, restore_backup
from twinframe.control.hosting.service import build_catalog
from twinframe.hooks.installation import load_installation

_WAIT_SECONDS = 5.0


@click.command()
@click.argument("graph")
@click.argument("backup")
@config_option
def restore(graph: str, backup: str, config: Path | None) -> None:
    """Put BACKUP in the place of the data of GRAPH.

    GRAPH is the id of a hosted graph, and BACKUP the name of one of its backups or a file. The
    service may run: meanwhile requests for that graph are answered 503, and what was there is
    backed up first. A GRAPH of `-` is the service's own graph; then the service must be stopped.
    """
    installation = load_installation(config)
    if graph == "-":
        store = installation.build_store()
        require_backups(store, installation).restore(Path(backup), _WAIT_SECONDS)
        click.echo(f"The graph {installation.settings.storage.graph!r} is restored.")
        return
    catalog = build_catalog(installation.settings)
    find_entry(catalog, graph)
    before = restore_backup(installation, catalog, graph, backup)
    click.echo(f"The graph {graph!r} is restored from {backup}.")
    if before is None:
        click.echo("What was there before could not be read, so there is no backup of it.")
    else:
        click.echo(f"What was there before is backed up in {before}.")
