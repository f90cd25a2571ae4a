"""`twinframe graphs`: shows which database has which hosted graph, and moves graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import click

from twinframe.cli.backup import find_entry
from twinframe.cli.console import CommandGroup, config_option
from twinframe.cli.tables import write_table
from twinframe.control.hosting.catalog import Catalog, CatalogEntry
from twinframe.control.hosting.catalogs import build_catalog
from twinframe.control.hosting.databases import GraphDatabases
from twinframe.hooks.installation import load_installation


@click.group(cls=CommandGroup)
def graphs() -> None:
    """Hosted graphs over several databases."""


@graphs.command("list")
@config_option
def list_graphs(config: Path | None) -> None:
    """List the databases and the hosted graphs, with their bytes."""
    with _opened(config) as (_, databases):
        write_table(
            ("Database", "Bytes"),
            [(name, _render(size)) for name, size in databases.measure().items()],
        )
        click.echo()
        rows = [
            (one.entry.resource_id, one.database, _render(one.size))
            for one in databases.list_graphs()
        ]
        write_table(("Graph", "Database", "Bytes"), rows)


@graphs.command()
@click.argument("graph")
@click.option("--to", "target", required=True, metavar="DATABASE", help="Where it is to go.")
@config_option
def move(graph: str, target: str, config: Path | None) -> None:
    """Move the hosted GRAPH to another database while it is served.

    Requests do not notice it; writers wait for less than a second at the end. If it fails, or this
    command is killed, the graph is whole in one of the two databases, and a node of the service
    removes what is left in the other.
    """
    with _opened(config) as (catalog, databases):
        _move(databases, find_entry(catalog, graph), target)


@graphs.command()
@click.option("--dry-run", is_flag=True, help="Show the moves, and make none.")
@config_option
def balance(config: Path | None, *, dry_run: bool) -> None:
    """Move graphs until the databases have about the same bytes of them."""
    with _opened(config) as (_, databases):
        moves = databases.balance()
        if not moves:
            click.echo("The databases are in balance.")
        for entry, target in moves:
            if dry_run:
                click.echo(f"{entry.resource_id}: {entry.database or 'main'} -> {target}")
            else:
                _move(databases, entry, target)


@contextmanager
def _opened(config: Path | None) -> Iterator[tuple[Catalog, GraphDatabases]]:
    installation = load_installation(config)
    with closing(build_catalog(installation)) as catalog:
        yield catalog, GraphDatabases(installation, catalog)


def _move(databases: GraphDatabases, entry: CatalogEntry, target: str) -> None:
    pause = databases.move(entry, target, lambda line: click.echo(line, err=True))
    click.echo(
        f"The graph {entry.resource_id!r} is in {target!r}. Writers waited for {pause:.2f} s."
    )


def _render(size: int | None) -> str:
    return "does not answer" if size is None else f"{size:,}"
