"""Collects figures with their floors and prints them as one table."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Figure:
    """One comparison: `ours` against `floor` in `unit`; `aim` says in words what was wanted."""

    name: str
    ours: float
    unit: str
    floor: float | None = None
    ratio: float | None = None
    aim: str = ""
    kept: bool | None = None


@dataclass(slots=True)
class Report:
    """All figures of a run."""

    figures: list[Figure] = field(default_factory=list)

    def add(self, figure: Figure) -> None:
        """Keep a figure and say it at once."""
        self.figures.append(figure)
        ratio = "" if figure.ratio is None else f"  ratio {figure.ratio:.2f}"
        print(f"{figure.name}: {figure.ours:.4g} {figure.unit}{ratio}", flush=True)

    def render(self) -> None:
        """Print the table."""
        table = Table(title="twinframe benchmarks")
        for column in ("figure", "ours", "floor", "ratio", "aim", ""):
            table.add_column(column, justify="left" if column in {"figure", "aim"} else "right")
        for figure in self.figures:
            table.add_row(
                figure.name,
                f"{figure.ours:.4g} {figure.unit}",
                "" if figure.floor is None else f"{figure.floor:.4g} {figure.unit}",
                "" if figure.ratio is None else f"{figure.ratio:.2f}",
                figure.aim,
                {None: "", True: "kept", False: "missed"}[figure.kept],
            )
        Console(width=140).print(table)


def measure_pair(
    ours: Callable[[], object], floor: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Median seconds of each of two calls, taken in turns so that noise meets both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    ours(), floor()
    for _ in range(rounds):
        for call, kept in zip((ours, floor), times, strict=True):
            start = time.perf_counter()
            call()
            kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])
