"""Query shapes and writes on a remote SPARQL server, and how they grow with the graph.

`python -m benchmarks.sparql QUERY_URL [UPDATE_URL] [--twins 10000 100000] [--seconds S]`. Each size
is a graph of its own there, written by the first run and taken away with `--remove`. Times are
wall-clock medians, since the work is the server's; requests are those of one run of a query.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from benchmarks.graph import Shape, build_twin, fill
from benchmarks.queries import QUESTIONS, Question
from twinframe.query.engine import QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import Execution, WholeExecution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.plugin import twinframe_query_engine
from twinframe_storage_rdf.session import RdfSession
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_rdf.terms import Row

_PAGE = 1000
_LEAST = 3
_WRITES = 20


class Counter:
    """Counts what an engine is asked."""

    def __init__(self, engine: Engine) -> None:
        self.requests = 0
        self._select = engine.select
        engine.select = self._count  # type: ignore[method-assign]  # the measured object alone

    def _count(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        self.requests += 1
        return self._select(text, deadline)


def open_graph(settings: RdfSettings, twins: int) -> RdfStore:
    """The store with a graph of this size, written if it is not there yet."""
    store = build_store(settings, f"bench-{twins}")
    store.open()
    if store.session().read_schema_version() == 0:
        start = time.perf_counter()
        fill(store, Shape(twins))
        print(f"wrote a graph of {twins} twins in {time.perf_counter() - start:.0f} s", flush=True)
    return store


def measure_shapes(store: RdfStore, twins: int, seconds: float) -> dict[str, tuple[float, str]]:
    """Milliseconds of each shape, and how it was run: by whom, in how many requests."""
    engine = twinframe_query_engine(store=store)
    assert engine is not None
    counter, shape = Counter(store.engine), Shape(twins)
    figures = {}
    for question in QUESTIONS:
        median, how = _measure(question, engine, store.session(), shape, seconds, counter)
        print(f"{twins}: {question.name}: {median:.1f} ms, {how}", flush=True)
        figures[question.name] = (median, how)
    return figures


def measure_writes(store: RdfStore) -> dict[str, tuple[float, str]]:
    """Milliseconds of a commit of one twin, and of one that has a hundred."""
    figures = {}
    for name, size in (("write of a twin", 1), ("write of 100 twins", 100)):
        times = []
        for attempt in range(_WRITES):
            start = time.perf_counter()
            for outcome in store.write([_put(size, attempt)]):
                if outcome.error is not None:
                    raise outcome.error
            times.append(time.perf_counter() - start)
        median = statistics.median(times) * 1000
        print(f"{name}: {median:.1f} ms", flush=True)
        figures[name] = (median, "")
    return figures


def main() -> None:
    """Measure the server at each size and print one table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparql")
    parser.add_argument("query_url")
    parser.add_argument("update_url", nargs="?", default="")
    parser.add_argument("--twins", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--seconds", type=float, default=3.0, help="for each shape")
    parser.add_argument("--remove", action="store_true", help="take the graphs away, measure none")
    asked = parser.parse_args()
    settings = RdfSettings(
        engine="sparql", query_url=asked.query_url, update_url=asked.update_url, timeout=120
    )
    found = []
    for twins in asked.twins:
        if asked.remove:
            build_store(settings, f"bench-{twins}").remove(10)
            continue
        store = open_graph(settings, twins)
        figures = measure_shapes(store, twins, asked.seconds)
        found.append(figures | measure_writes(store))
        store.close()
    if found:
        _print(asked.twins, found)


def _measure(
    question: Question,
    engine: QueryEngine,
    session: RdfSession,
    shape: Shape,
    seconds: float,
    counter: Counter,
) -> tuple[float, str]:
    dice = random.Random(2)
    bindings = question.draw(dice, shape)
    query = optimize(parse_query(question.cypher, parameters=tuple(bindings)).query)
    execution = split(query, engine, bindings)
    times: list[float] = []
    end = time.perf_counter() + seconds
    requests = 0
    while len(times) < _LEAST or (time.perf_counter() < end and len(times) < 200):
        drawn = question.draw(dice, shape)
        requests = counter.requests
        start = time.perf_counter()
        with session.snapshot(time.monotonic() + 110):
            list(execution.run_json(session, drawn, Limits(), limit=_PAGE))
        times.append(time.perf_counter() - start)
        requests = counter.requests - requests
    return statistics.median(times) * 1000, f"{_name(execution)}, {requests} requests"


def _name(execution: Execution) -> str:
    if isinstance(execution, WholeExecution):
        return "server"
    return "server and evaluator" if execution.parts else "evaluator"


def _put(size: int, attempt: int) -> WriteFunction[object]:
    records = [
        build_twin(f"written-{number}", "Room", name=f"{attempt}", area=1.5)
        for number in range(size)
    ]

    def apply(transaction: GraphTransaction) -> None:
        for record in records:
            transaction.put_twin(record)

    return apply


def _print(sizes: list[int], found: list[dict[str, tuple[float, str]]]) -> None:
    table = Table(title="a SPARQL server, milliseconds")
    table.add_column("shape")
    for size in sizes:
        table.add_column(f"{size:,} twins", justify="right")
    table.add_column("run by")
    for name, (_, how) in found[-1].items():
        table.add_row(name, *(f"{figures[name][0]:.1f}" for figures in found), how)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
