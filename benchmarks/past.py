"""Questions as of a position behind which twins changed, beside the same questions now.

Milliseconds are of the processor, of all threads: query threads are niced, and wait for their turn
on a busy machine.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import statistics
import time
from pathlib import Path
from typing import Any, Final

import orjson
import uvloop

from benchmarks.graph import Shape
from benchmarks.queries import QUESTIONS, Bindings, Question
from benchmarks.report import Figure, Report
from twinframe.graph import Graph
from twinframe.hooks.installation import load_installation
from twinframe.service.opening import open_graph

_CHOSEN: Final = (
    "point by $dtId",
    "1 hop",
    "3 hops with a filter",
    "label, range, order, limit",
    "aggregate by group",
    "substring scan",
)
_AIM: Final = "≤ 3 × now"
_FIRST: Final = 1
"""The position of the first change: the graph is filled without events."""
_AT_ONCE: Final = 100
_PATIENCE: Final = 120.0


def measure(report: Report, data: Path, twins: int, *, quick: bool) -> None:
    """Points, hops and scans behind 1,000 changes, and behind as many as 100,000.

    First by the evaluator, then by the copy that is made once there were enough questions.
    """
    for changes in (1000,) if quick else (1000, 100_000):
        work = data.with_name(f"{data.name}-changed")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(data, work)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_measure(report, work, Shape(twins), changes, quick=quick))
        shutil.rmtree(work)


async def _measure(report: Report, work: Path, shape: Shape, changes: int, *, quick: bool) -> None:
    chosen = [each for each in QUESTIONS if each.name in _CHOSEN]
    environment = {"Storage__Sqlite__Directory": str(work)}
    without = load_installation(environ={**environment, "History__CopiesBytes": "0"})
    async with open_graph(without) as graph:
        position = await _change(graph, shape, changes)
        now = {each.name: await _time(graph, each, shape, None, quick=quick) for each in chosen}
        slow = {
            each.name: await _time(graph, each, shape, position, quick=quick) for each in chosen
        }
    async with open_graph(load_installation(environ=environment)) as graph:
        started = time.process_time()
        await _await_copy(graph, chosen[-1], shape, position)
        made = time.process_time() - started
        fast = {
            each.name: await _time(graph, each, shape, position, quick=quick) for each in chosen
        }
    behind = f"behind {changes:,} changes"
    for name, floor in now.items():
        for how, found in (("evaluator", slow), ("copy", fast)):
            own = found[name]
            aim, kept = (_AIM, own <= 3 * floor) if how == "copy" else ("", None)
            title = f"as of {behind}, {how}: {name}"
            report.add(Figure(title, own, "ms", floor, own / floor, aim, kept))
    report.add(Figure(f"  making the copy {behind}", made * 1000, "ms"))


async def _change(graph: Graph, shape: Shape, count: int) -> int:
    """Change the values of sensors at random; return the position before."""
    dice = random.Random(5)
    await graph.twins.patch_twin("sensor-0", _build_patch(0.0))
    position = await graph.history.find_position(_FIRST)
    for start in range(0, count, _AT_ONCE):
        await asyncio.gather(
            *(
                graph.twins.patch_twin(
                    f"sensor-{dice.randrange(shape.sensors)}", _build_patch(float(start + number))
                )
                for number in range(min(_AT_ONCE, count - start))
            )
        )
    return position


def _build_patch(value: float) -> Any:
    return [{"op": "replace", "path": "/value", "value": value}]


async def _await_copy(graph: Graph, question: Question, shape: Shape, position: int) -> None:
    """Ask until the store answers."""
    bindings = question.draw(random.Random(1), shape)
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        await graph.queries.run(question.cypher, bindings, as_of=position)
        page = await graph.queries.run(f"EXPLAIN {question.cypher}", bindings, as_of=position)
        if orjson.loads(page.rows[0])["pushed"]:
            return
    raise RuntimeError("No copy was made.")


async def _time(
    graph: Graph, question: Question, shape: Shape, position: int | None, *, quick: bool
) -> float:
    """Return the median in milliseconds."""
    dice = random.Random(1)
    times: list[float] = []
    end = time.perf_counter() + (1.0 if quick else 3.0)
    while len(times) < 5 or (time.perf_counter() < end and len(times) < 1000):
        bindings: Bindings = question.draw(dice, shape)
        start = time.process_time()
        await graph.queries.run(question.cypher, bindings, as_of=position)
        times.append(time.process_time() - start)
    return statistics.median(times) * 1000
