"""Prints tables for people on standard output; `console` prints JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNBOUNDED = 100_000


def write_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; on a terminal it is fitted to its width, otherwise nothing is cut off."""
    table = Table(*columns, header_style="bold", box=SIMPLE_HEAD)
    lines = [[Text(cell) for cell in row] for row in rows]
    for line in lines:
        table.add_row(*line)
    console = Console(file=sys.stdout)
    if not console.is_terminal:
        # NOTE: a measure is never wider than its console.
        console = Console(file=sys.stdout, width=_UNBOUNDED)
        console.width = console.measure(table).maximum
    console.print(table)
