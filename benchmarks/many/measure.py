"""Many shapes of questions about many twins, each beside ladybug and DuckDB with equal answers."""

from __future__ import annotations

import asyncio
import gc
import math
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import uvloop
from rich.console import Console
from rich.table import Table

from benchmarks.many import joins, scans
from benchmarks.many.answers import Rows, are_equal
from benchmarks.many.campus import Campus
from benchmarks.many.ours import Columns, Service
from benchmarks.many.question import MOST_ROWS, Bindings, Question
from benchmarks.many.vendors import DuckDb, Ladybug, measure_disk
from benchmarks.report import Figure, Report
from tests.reliability.judging import NotRun
from twinframe.errors import TwinframeError
from twinframe.query.engine import CannotRun

QUESTIONS = scans.QUESTIONS + joins.QUESTIONS

Answers: TypeAlias = Literal["service", "columns", "both"]

_MOST_GROWTH = 10.0
_MOST_INDEXED_GROWTH = 1.5
_LEAST_ROUNDS = 4
_MOST_ROUNDS = 300
_REST = 3.0
"""How often the time of an answer to rest after it: no engine's threads run beside the next, and on
a busy machine a process that has rested gets the cores at once.
"""
_LONGEST_REST = 0.1


class Contender(Protocol):
    """What is asked; `name` heads its column."""

    name: str

    async def ask(self, question: Question, bindings: Bindings) -> tuple[float, Rows]:
        """Seconds, and the rows."""


@dataclass(slots=True)
class _Shape:
    """One question at one size: milliseconds by contender, or why there are none.

    They are the lower quartile of the rounds, since other load on the machine only adds.

    `is_by_columns` says whether the service answers it from columns.
    """

    question: Question
    rows: int
    times: dict[str, float | str]
    is_by_columns: bool = False

    def compare(self, name: str) -> float | None:
        """The ratio to ladybug."""
        own, floor = self.times.get(name), self.times.get(Ladybug.name)
        return own / floor if isinstance(own, float) and isinstance(floor, float) else None


def measure(
    report: Report,
    folder: Path,
    sizes: Sequence[int],
    *,
    answers: Answers = "service",
    part: str = "",
    quick: bool = False,
) -> None:
    """Ask everything at each size; aim: no shape slower than ladybug. A difference is an error.

    `part` leaves only shapes whose names have it.
    """
    questions = [each for each in QUESTIONS if part in each.name]
    found: dict[int, list[_Shape]] = {}
    differences: list[str] = []
    # NOTE: the loop of the service, as in the family of queries.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        for twins in sizes:
            place = folder / f"many-{twins}"
            place.mkdir(exist_ok=True)
            bench = _Bench(report, place, Campus(twins), 0.3 if quick else 1.0)
            try:
                found[twins] = runner.run(bench.run(questions, answers))
            except NotRun as reason:
                print(f"many twins: {reason}")
                return
            differences += bench.differences
            _print(found[twins], twins)
    if len(sizes) > 1:
        _compare_sizes(report, found)
    if differences:
        raise RuntimeError("answers differ:\n" + "\n".join(differences))


class _Bench:
    def __init__(self, report: Report, folder: Path, campus: Campus, seconds: float) -> None:
        self._report = report
        self._folder = folder
        self._campus = campus
        self._seconds = seconds
        self.differences: list[str] = []

    async def run(self, questions: Iterable[Question], answers: Answers) -> list[_Shape]:
        campus, folder, disk = self._campus, self._folder, {}
        print(f"many twins: a campus of {campus.twins:,} twins ...", flush=True)
        duckdb, ladybug = DuckDb(folder, campus), Ladybug(folder, campus)
        own: list[Service | Columns] = []
        if answers != "columns":
            service = Service(folder, campus)
            await service.open()
            own.append(service)
            disk["twinframe"] = measure_disk(service.path)
        if answers != "service":
            columns = Columns(folder, campus)
            own.append(columns)
            disk["the columns"] = measure_disk(columns.path)
            self._add("projection's arrays", columns.bytes / 2**20, "MiB")
            self._add("projection, building it", columns.seconds, "s")
        for name, path in (("ladybug", ladybug.path), ("DuckDB", duckdb.path)):
            disk[name] = measure_disk(path)
        for name, size in disk.items():
            self._add(f"on disk, {name}", size / 2**20, "MiB")
        gc.collect()
        contenders: list[Contender] = [*own, ladybug, duckdb]
        shapes = [await self._ask(each, contenders) for each in questions]
        for one in own:
            ratios = [shape.compare(one.name) for shape in shapes]
            slower = sum(ratio is None or ratio > 1 for ratio in ratios)
            name = f"many twins, {campus.twins:,}: shapes slower than ladybug, {one.name}"
            self._report.add(
                Figure(name, slower, "", len(ratios), slower / len(ratios), "0", slower == 0)
            )
            if isinstance(one, Service):
                await one.close()
        ladybug.close()
        duckdb.close()
        return shapes

    def _add(self, name: str, value: float, unit: str) -> None:
        self._report.add(Figure(f"many twins, {self._campus.twins:,}: {name}", value, unit))

    async def _ask(self, question: Question, contenders: Iterable[Contender]) -> _Shape:
        dice = random.Random(1)
        shape = _Shape(question, 0, {})
        able = list(contenders)
        for _ in range(2):
            able = await self._check(shape, able, question.draw(dice, self._campus))
        for one in able:
            if isinstance(one, Service):
                bindings = question.draw(dice, self._campus)
                shape.is_by_columns = await one.is_by_columns(question.cypher, bindings)
        times: dict[str, list[float]] = {one.name: [] for one in able}
        end, rounds = time.perf_counter() + self._seconds * len(able), 0
        while rounds < _LEAST_ROUNDS or (time.perf_counter() < end and rounds < _MOST_ROUNDS):
            bindings = question.draw(dice, self._campus)
            for one in able:
                answer = await _try(one, shape, bindings)
                if answer is not None:
                    times[one.name].append(answer[0])
                    await asyncio.sleep(min(_REST * answer[0], _LONGEST_REST))
            rounds += 1
        for name, taken in times.items():
            if name not in shape.times:
                shape.times[name] = sorted(taken)[len(taken) // 4] * 1000
        print(f"  {question.name}: {_render_all(shape.times)}", flush=True)
        return shape

    async def _check(
        self, shape: _Shape, contenders: Iterable[Contender], bindings: Bindings
    ) -> list[Contender]:
        """Ask each once, compare the answers, and return those that have one."""
        found: dict[str, Rows] = {}
        able: list[Contender] = []
        question = shape.question
        for one in contenders:
            answer = await _try(one, shape, bindings)
            if answer is not None:
                found[one.name] = answer[1]
                able.append(one)
        expected = found[Ladybug.name]
        shape.rows = max(shape.rows, len(expected))
        if shape.rows > MOST_ROWS:
            raise RuntimeError(f"{question.name}: {shape.rows} rows, more than a page")
        for name, rows in found.items():
            if not are_equal(expected, rows, is_ordered=question.is_ordered):
                self.differences.append(
                    f"{self._campus.twins:,} twins, {question.name}, {bindings}: {name} and "
                    f"{Ladybug.name} differ: {_show(rows)} and {_show(expected)}"
                )
        return able


async def _try(
    contender: Contender, shape: _Shape, bindings: Bindings
) -> tuple[float, Rows] | None:
    """Ask, unless it has declined; None if it declines."""
    if isinstance(shape.times.get(contender.name), str):
        return None
    try:
        return await contender.ask(shape.question, bindings)
    except (CannotRun, TwinframeError) as error:
        shape.times[contender.name] = f"declined: {error}"
        return None


def _show(rows: Rows) -> str:
    return f"{len(rows)} rows {rows[:3]}"


# --- tables ---------------------------------------------------------------------------------------


def _render(value: float | str | None) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if value < 1000 else f"{value:.0f}"
    return "" if value is None else "–"


def _render_all(times: Mapping[str, float | str]) -> str:
    return ", ".join(
        f"{name} {value}" if isinstance(value, str) else f"{name} {_render(value)} ms"
        for name, value in times.items()
    )


def _print(shapes: Sequence[_Shape], twins: int) -> None:
    """Print all shapes, the worst first."""
    own = [name for name in (Service.name, Columns.name) if name in shapes[0].times]
    title = f"many twins: {twins:,}, milliseconds; ratio to ladybug; *: by the store alone"
    table = Table(title=title)
    table.add_column("shape")
    for column in ("rows", *own, *(f"{name} ratio" for name in own), "ladybug", "DuckDB"):
        table.add_column(column, justify="right")
    for shape in sorted(shapes, key=_find_worst, reverse=True):
        mark = "" if shape.is_by_columns else "*"
        times = [
            _render(shape.times[name]) + (mark if name == Service.name else "") for name in own
        ]
        ratios = [shape.compare(name) for name in own]
        table.add_row(
            shape.question.name,
            str(shape.rows),
            *times,
            *("" if ratio is None else f"{ratio:.2f}" for ratio in ratios),
            *(_render(shape.times.get(name)) for name in (Ladybug.name, DuckDb.name)),
        )
    Console(width=140).print(table)
    for shape in shapes:
        for name, value in shape.times.items():
            if isinstance(value, str):
                print(f"{shape.question.name}: {name} {value}")


def _find_worst(shape: _Shape) -> float:
    ratios = [shape.compare(name) for name in (Service.name, Columns.name) if name in shape.times]
    return max(math.inf if ratio is None else ratio for ratio in ratios)


def _compare_sizes(report: Report, found: Mapping[int, Sequence[_Shape]]) -> None:
    """How much longer each shape takes on the largest graph than on the smallest."""
    least, most = min(found), max(found)
    table = Table(title=f"many twins: times longer at {most:,} than at {least:,}")
    names = [name for name in (Service.name, Columns.name) if name in found[least][0].times]
    table.add_column("shape")
    for column in (*names, Ladybug.name, DuckDb.name, "aim"):
        table.add_column(column, justify="right")
    missed = dict.fromkeys(names, 0)
    for small, large in zip(found[least], found[most], strict=True):
        aim = (
            _MOST_INDEXED_GROWTH if small.question.is_indexed else _MOST_GROWTH * most / least / 10
        )
        grown = {name: _grow(small, large, name) for name in (*names, Ladybug.name, DuckDb.name)}
        for name in names:
            value = grown[name]
            missed[name] += value is None or value > aim
        cells = ("–" if value is None else f"{value:.1f}" for value in grown.values())
        table.add_row(small.question.name, *cells, f"{aim:.3g}")
    Console(width=140).print(table)
    for name, count in missed.items():
        figure = f"many twins: shapes that grow more than they should, {name}"
        report.add(Figure(figure, count, "", aim="0", kept=count == 0))


def _grow(small: _Shape, large: _Shape, name: str) -> float | None:
    before, after = small.times.get(name), large.times.get(name)
    if not isinstance(before, float) or not isinstance(after, float):
        return None
    return after / before
