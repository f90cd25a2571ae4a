"""The same shapes on the same graph through ladybug, the fastest embedded Cypher engine we know.

Its graph is typed: one table a label, so that its texts name labels where ours need none; its own
default of threads holds.
"""

from __future__ import annotations

import json
import random
import statistics
import time
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.graph import Shape, build_edges, build_twins
from benchmarks.many.vendors import load_vendor
from benchmarks.queries import QUESTIONS, Question
from benchmarks.report import Figure, Report
from tests.reliability.judging import NotRun

_TABLES = (
    "CREATE NODE TABLE Building(id STRING PRIMARY KEY, name STRING, area DOUBLE)",
    "CREATE NODE TABLE Level(id STRING PRIMARY KEY, name STRING, number INT64)",
    (
        "CREATE NODE TABLE Room(id STRING PRIMARY KEY, name STRING, area DOUBLE, capacity INT64, "
        "occupied BOOLEAN)"
    ),
    (
        "CREATE NODE TABLE Sensor(id STRING PRIMARY KEY, name STRING, value DOUBLE, unit STRING, "
        "maker STRING)"
    ),
    "CREATE REL TABLE contains(FROM Building TO Level, FROM Level TO Room)",
    "CREATE REL TABLE adjacentTo(FROM Room TO Room)",
    "CREATE REL TABLE observes(FROM Sensor TO Room)",
    "CREATE REL TABLE locatedIn(FROM Sensor TO Level)",
)
_COLUMNS = {
    "Building": ("id", "name", "area"),
    "Level": ("id", "name", "number"),
    "Room": ("id", "name", "area", "capacity", "occupied"),
    "Sensor": ("id", "name", "value", "unit", "maker"),
}
_STEMS = {name.lower(): name for name in _COLUMNS}


def measure(report: Report, folder: Path, twins: int, *, quick: bool) -> None:
    """Each shape's median there, set against ours of the same run; aim: ours is not slower."""
    try:
        ladybug = load_vendor("ladybug")
    except NotRun as reason:
        print(f"no comparison with ladybug: {reason}")
        return
    connection = _open(ladybug, folder, twins)
    ours = {figure.name: figure.ours for figure in report.figures}
    for question in QUESTIONS:
        if not question.typed:
            continue
        own = ours.get(f"query: {question.name}")
        there = _measure_one(connection, question, Shape(twins), quick=quick)
        if own is not None:
            ratio = own / there
            name = f"ladybug: {question.name}"
            report.add(Figure(name, own, "ms", there, ratio, "≤ ladybug", own <= there))


def _measure_one(connection: Any, question: Question, shape: Shape, *, quick: bool) -> float:
    dice = random.Random(1)
    with warnings.catch_warnings():
        # NOTE: it advises against preparing; without, it would parse each text anew.
        warnings.simplefilter("ignore", DeprecationWarning)
        prepared = connection.prepare(question.typed)
    times: list[float] = []
    end = time.perf_counter() + (1.0 if quick else 3.0)
    while len(times) < 7 or (time.perf_counter() < end and len(times) < 2000):
        bindings = question.draw(dice, shape)
        start = time.perf_counter()
        connection.execute(prepared, bindings).get_all()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


# --- its graph ----------------------------------------------------------------------------------


def _open(ladybug: Any, folder: Path, twins: int) -> Any:
    path = folder / f"ladybug-{twins}"
    made = path.exists()
    draft = path if made else folder / f"ladybug-draft-{twins}"
    if not made:
        print(f"making a graph of {twins} twins for ladybug ...", flush=True)
        draft.unlink(missing_ok=True)
        _fill(ladybug.Connection(ladybug.Database(str(draft))), folder, Shape(twins))
        draft.rename(path)
    return ladybug.Connection(ladybug.Database(str(path)))


def _fill(connection: Any, folder: Path, shape: Shape) -> None:
    for statement in _TABLES:
        connection.execute(statement)
    kinds: dict[str, list[dict[str, object]]] = {name: [] for name in _COLUMNS}
    for twin in build_twins(shape):
        document = json.loads(twin.body)
        kind = _find_table(twin.twin_id)
        kinds[kind].append(
            {key: document.get(key) for key in _COLUMNS[kind][1:]} | {"id": twin.twin_id}
        )
    for kind, rows in kinds.items():
        columns = _COLUMNS[kind]
        _copy(connection, folder, kind, ([row[name] for name in columns] for row in rows))
    ends: dict[tuple[str, str, str], list[list[str]]] = {}
    for edge in build_edges(shape):
        tables = (edge.name, _find_table(edge.source_id), _find_table(edge.target_id))
        ends.setdefault(tables, []).append([edge.source_id, edge.target_id])
    for (name, source, target), pairs in ends.items():
        _copy(connection, folder, name, pairs, f"from='{source}', to='{target}', ")


def _find_table(twin_id: str) -> str:
    return _STEMS[twin_id.partition("-")[0]]


def _copy(
    connection: Any, folder: Path, table: str, rows: Iterable[list[Any]], options: str = ""
) -> None:
    path = folder / "ladybug-copy.csv"
    with path.open("w", encoding="utf-8") as file:
        for chunk in _chunks(rows):
            file.writelines(",".join(map(str, row)) + "\n" for row in chunk)
    connection.execute(f"COPY {table} FROM '{path}' ({options}header=false)")
    path.unlink()


def _chunks(rows: Iterable[list[Any]]) -> Iterator[list[list[Any]]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, 1000)):
        yield chunk
