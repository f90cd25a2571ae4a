"""`twinframe history`: exports what changed in a graph."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from twinframe.cli.backup import find_store, graph_option
from twinframe.cli.console import CommandGroup, config_option
from twinframe.cli.progress import open_bar, progress_option
from twinframe.graph.transfer.tables import ExportedTables
from twinframe.hooks.installation import load_installation
from twinframe.service.endpoints import build_table_sink
from twinframe.service.opening import open_graph


@click.group(cls=CommandGroup)
def history() -> None:
    """Export what changed in a graph."""


@history.command("export")
@click.option(
    "--to",
    "location",
    required=True,
    metavar="LOCATION",
    help="Directory, or address of an object store such as s3://bucket/folder.",
)
@click.option("--from", "start", metavar="TIME", help="Leave out changes up to TIME.")
@click.option("--until", "end", metavar="TIME", help="Leave out changes after TIME.")
@graph_option
@progress_option
@config_option
def export_history(
    location: str,
    start: str | None,
    end: str | None,
    graph: str,
    config: Path | None,
    *,
    progress: bool | None,
) -> None:
    """Write the kept history to Parquet files, in the tables of the vendor's data history.

    TIME is an ISO 8601 date and time with an offset, such as 2026-03-03T14:00:00Z, or the position
    of an event. The service may be running. The same export again replaces its files.
    """
    installation = load_installation(config)
    store = find_store(installation, graph)
    sink = build_table_sink(installation, location)
    with open_bar(progress) as bar:
        task = bar.add_task("export", total=None)

        async def run() -> ExportedTables:
            async with open_graph(installation, *store) as opened:
                return await opened.tables.export_tables(
                    sink, start, end, lambda rows: bar.update(task, description=f"{rows:,} rows")
                )

        done = asyncio.run(run())
    click.echo(
        f"Exported {done.rows:,} rows of the changes from position {done.within.after + 1} up to "
        f"{done.within.end}.",
        err=True,
    )
