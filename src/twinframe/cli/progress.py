"""The progress bar that long commands show on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

progress_option = click.option(
    "--progress/--no-progress",
    default=None,
    help="Show the progress. Default: only on a terminal.",
)


@contextmanager
def open_bar(wanted: bool | None) -> Iterator[Progress]:
    """Open a bar on standard error; with None only if that is a terminal."""
    console = Console(stderr=True)
    shown = console.is_terminal if wanted is None else wanted
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not shown, transient=True) as bar:
        yield bar
