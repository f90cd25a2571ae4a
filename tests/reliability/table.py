"""The table of goals: as text, as Markdown and as JSON. It measures nothing."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from tests.reliability.judging import Figure, Goal, Twin

Verdict: TypeAlias = Literal["held", "FAILED", "NOT RUN", "CANNOT FAIL"]


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a goal: its figures and those of each twin that was run.

    `seconds` are those of the goal, `twin_seconds` those of all its twins. `load` is the machine's
    load average before it began.
    """

    goal: Goal
    verdict: Verdict
    figures: Sequence[Figure]
    twins: Sequence[tuple[Twin, Sequence[Figure]]]
    seconds: float
    twin_seconds: float
    load: float
    note: str


def render_row(row: Row) -> str:
    """A row as lines of text."""
    measured = "; ".join(figure.render() for figure in row.figures) or "nothing"
    seconds = f"{row.seconds:6.1f} s + {row.twin_seconds:.1f} s"
    lines = [
        f"{row.goal.id:<4}{row.verdict:<12}{seconds}, load {row.load:.1f}",
        f"    measured: {measured}",
    ]
    if row.note:
        lines.append(f"    {row.note}")
    return "\n".join(lines)


def write_report(rows: Sequence[Row], folder: Path, stem: str) -> str:
    """Write `STEM.md` and `STEM.json`; the verdicts in a few lines."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{stem}.md").write_text(render_markdown(rows), encoding="utf-8")
    (folder / f"{stem}.json").write_text(
        json.dumps(_build_document(rows), indent=1), encoding="utf-8"
    )
    counts = dict.fromkeys(("held", "FAILED", "NOT RUN", "CANNOT FAIL"), 0)
    for row in rows:
        counts[row.verdict] += 1
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    seconds = sum(row.seconds + row.twin_seconds for row in rows)
    return f"{said or 'nothing'} in {seconds:.0f} s; the table is {folder / stem}.md\n"


def render_markdown(rows: Sequence[Row]) -> str:
    """The table, one row a goal."""
    lines = [
        (
            f"Machine: {os.cpu_count()} cores, {platform.system()} {platform.release()}, "
            f"Python {platform.python_version()}. Seconds are those of the goal and of its twins; "
            "load is the load average before it began."
        ),
        "",
        "| goal | asked | measured | verdict | the twins | seconds | load |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        measured = "; ".join(figure.render() for figure in row.figures)
        asked = row.goal.asked + (f" (scaled: {row.goal.scaled})" if row.goal.scaled else "")
        cells = [
            f"{row.goal.id} {row.goal.title}", asked, measured, row.verdict, row.note,
            f"{row.seconds:.0f} + {row.twin_seconds:.0f}", f"{row.load:.1f}",
        ]  # fmt: skip
        lines.append("| " + " | ".join(_escape(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _escape(cell: str) -> str:
    return " ".join(cell.replace("|", "\\|").split())


def _build_document(rows: Sequence[Row]) -> list[dict[str, object]]:
    return [
        {
            "goal": row.goal.id, "title": row.goal.title, "asked": row.goal.asked,
            "scaled": row.goal.scaled, "verdict": row.verdict, "seconds": round(row.seconds, 1),
            "twin_seconds": round(row.twin_seconds, 1), "load": row.load, "note": row.note,
            "figures": _build_figures(row.figures),
            "twins": [
                {"fault": twin.fault, "seeds": twin.seeds, "figures": _build_figures(figures)}
                for twin, figures in row.twins
            ],
        }
        for row in rows
    ]  # fmt: skip


def _build_figures(figures: Sequence[Figure]) -> list[dict[str, object]]:
    return [asdict(figure) | {"holds": figure.holds} for figure in figures]
