"""`twinframe backup`: makes a backup of a graph, or lists its backups."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import click

from twinframe.cli.console import config_option
from twinframe.cli.tables import write_table
from twinframe.control.hosting.backups import (
    back_up,
    find_points,
    list_backups,
    make_backup,
    require_backups,
)
from twinframe.control.hosting.catalog import Catalog, CatalogEntry
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.errors import InvalidArgument
from twinframe.hooks.installation import Installation, load_installation

graph_argument = click.argument("graph", required=False, default="")


@click.command()
@graph_argument
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write. It must not exist. Required for the service's own graph.",
)
@click.option("--list", "as_list", is_flag=True, help="List the backups of GRAPH, and make none.")
@click.option(
    "--history/--no-history",
    default=True,
    show_default=True,
    help="Whether values over time are part of it, in a second file that ends in .points.",
)
@config_option
def backup(
    graph: str, target: Path | None, config: Path | None, *, as_list: bool, history: bool
) -> None:
    """Back up a graph while it is served.

    GRAPH is the id of a hosted graph; its backups are kept beside it. Without GRAPH, the service's
    own graph is backed up to the file of --to.
    """
    installation = load_installation(config)
    if not graph and (as_list or target is None):
        raise click.UsageError("Name the hosted GRAPH, or say with --to where the backup goes.")
    if as_list:
        with closing(build_catalog(installation)) as catalog:
            _write_list(catalog, find_entry(catalog, graph))
    elif target is not None:
        _write_copy(installation, graph, target, history=history)
        click.echo(f"Backed up in {target}.")
    else:
        with closing(build_catalog(installation)) as catalog:
            made = make_backup(installation, catalog, find_entry(catalog, graph), history=history)
        click.echo(f"Backed up in {made}.")


def find_entry(catalog: Catalog, graph: str) -> CatalogEntry:
    """Return the catalog entry of this id. Raises `InvalidArgument`."""
    entry = catalog.find(graph)
    if entry is None:
        known = ", ".join(one.resource_id for one in catalog.list_served()[:20]) or "none"
        raise InvalidArgument(f"No hosted graph {graph!r} is served here. There are: {known}.")
    return entry


def _write_list(catalog: Catalog, entry: CatalogEntry) -> None:
    directory = catalog.build_directory(entry.resource_id, entry.incarnation)
    rows = []
    for path in list_backups(directory):
        points = find_points(path)
        size = f"{points.stat().st_size:,}" if points.exists() else "none"
        rows.append((path.stem, f"{path.stat().st_size:,}", size))
    write_table(("Backup", "Bytes", "Points"), rows)


def _write_copy(installation: Installation, graph: str, target: Path, *, history: bool) -> None:
    for path in (target, find_points(target)):
        if path.exists():
            raise InvalidArgument(f"{path} is there already; it is not overwritten.")
    store = installation.build_store(*find_store(installation, graph))
    backups = require_backups(store, installation)
    store.open()
    try:
        back_up(installation, store, backups, target, history=history)
    finally:
        store.close()


graph_option = click.option(
    "--graph",
    default="",
    metavar="ID",
    help="Id of a hosted graph. Default: the service's own graph.",
)


def find_store(installation: Installation, graph: str) -> tuple[str, str]:
    """Return the names of the store of a hosted graph and of its database.

    They are empty for the service's own graph.

    Raises `InvalidArgument` for a graph that is not hosted here.
    """
    if not graph:
        return "", ""
    with closing(build_catalog(installation)) as catalog:
        entry = find_entry(catalog, graph)
        return entry.store, entry.database
