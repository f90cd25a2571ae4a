"""`twinframe export`: writes a whole graph to a file that `twinframe import` reads."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import click
from rich.progress import Progress as Bar

from twinframe.cli.backup import find_store, graph_option
from twinframe.cli.console import config_option
from twinframe.cli.progress import open_bar, progress_option
from twinframe.graph.transfer.exporting import Exported
from twinframe.graph.transfer.sections import Section
from twinframe.graph.transfer.target import open_target, pack
from twinframe.hooks.installation import Installation, load_installation
from twinframe.service.opening import open_graph
from twinframe.storage.triples import GRAPH_SYNTAXES, Content, Syntax

SYNTAXES: Final = {syntax.name: syntax for syntax in GRAPH_SYNTAXES}
"""The formats by their name in the option and in the parameter `format` of GET /export."""


async def export_triples(
    installation: Installation, store: tuple[str, str], syntax: Syntax, out: IO[bytes]
) -> int:
    """Write the stored graph of this name; return the number of bytes.

    Raises the errors of an export: `Unsupported` without a plugin that writes RDF, and the limits
    of `Export__Timeout` and `Export__MaxBytes`.
    """
    size = 0
    async with open_graph(installation, *store) as opened:
        stream = await opened.triples.export_graph(syntax, Content.ALL)
        try:
            while piece := await stream.read():
                size += out.write(piece)
        finally:
            await stream.close()
    return size


STDIO: Final = "-"
NDJSON: Final = "ndjson"


@click.command()
@click.argument("file", default=STDIO, metavar="[FILE]")
@graph_option
@click.option(
    "--format",
    "form",
    type=click.Choice([NDJSON, *SYNTAXES]),
    default=NDJSON,
    help="`ndjson`, which `twinframe import` reads, or a format of RDF, as for GET /export.",
)
@click.option(
    "--gzip",
    "packed",
    is_flag=True,
    help="Compress the output. A FILE that ends in .gz is always compressed.",
)
@click.option(
    "--plain",
    is_flag=True,
    help="Leave out etags and times: write only what the vendor's service imports.",
)
@click.option(
    "--history",
    is_flag=True,
    help="Write every change that is kept, and values over time. Other services cannot read them.",
)
@click.option("--author", default="", help="Author, for the header.")
@click.option("--organization", default="", help="Organization, for the header.")
@progress_option
@config_option
def export(
    file: str,
    graph: str,
    author: str,
    organization: str,
    config: Path | None,
    form: str,
    *,
    packed: bool,
    plain: bool,
    history: bool,
    progress: bool | None,
) -> None:
    """Write the whole graph to FILE, or to standard output without one.

    The service may be running: the export is the graph at one moment. Exports of the same graph are
    equal byte for byte.
    """
    if plain and history:
        raise click.UsageError("--plain is what other services import: leave out --history.")
    installation = load_installation(config)
    store = find_store(installation, graph)
    if form != NDJSON:
        if plain or history or author or organization:
            raise click.UsageError(
                "--plain, --history, --author and --organization are for ndjson alone."
            )
        with _open_target(file, packed=packed) as out:
            size = asyncio.run(export_triples(installation, store, SYNTAXES[form], out))
        click.echo(f"Exported {size:,} bytes.", err=True)
        return

    async def run(out: IO[bytes], bar: Bar) -> Exported:
        task = bar.add_task("export", total=None)

        def report(section: Section, count: int) -> None:
            bar.update(task, description=f"{section.value}: {count:,}")

        async with open_graph(installation, *store) as opened:
            return await opened.portable.export_graph(
                out.write,
                exact=not plain,
                author=author,
                organization=organization,
                history=history,
                report=report,
            )

    with open_bar(progress) as bar, _open_target(file, packed=packed) as out:
        done = asyncio.run(run(out, bar))
    counts = f"{done.models} models, {done.twins} twins, {done.relationships} relationships"
    counts += f", {done.changes} changes" if done.changes is not None else ""
    counts += f", {done.points} points" if done.points else ""
    click.echo(f"Exported {counts}.", err=True)
    if history and done.changes is None:
        click.echo("No history of changes is kept here, so that the file has none.", err=True)


@contextmanager
def _open_target(file: str, *, packed: bool) -> Iterator[IO[bytes]]:
    """Open standard output, or a file that is renamed once it is complete."""
    if file != STDIO:
        with open_target(Path(file), packed=packed) as out:
            yield out
        return
    with pack(sys.stdout.buffer, packed=packed) as out:
        yield out
    sys.stdout.buffer.flush()
