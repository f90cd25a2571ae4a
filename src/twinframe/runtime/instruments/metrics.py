"""Prometheus metrics of a worker, in files that all workers of a service share.

SEC: labels have few values by construction: templates of routes, statuses, languages, engines,
configured sources, and a bounded number of hosted graphs. No value chosen by a client becomes one.

PERF: an observation is written to mapped memory, 1 to 2 us for each of its numbers; a request costs
7 us in all, and nothing where metrics are off.
"""

from __future__ import annotations

import collections
import contextlib
import os
import resource
import sys
import threading
import weakref
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client import multiprocess as untyped_multiprocess
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from twinframe.errors import ConfigurationError
from twinframe.runtime.instruments.base import (
    Commit,
    Gauged,
    Ingested,
    Instruments,
    Level,
    QueryRun,
    RoutesGauged,
    RouteStanding,
    Write,
)
from twinframe.runtime.locks import hold_abandoned, try_acquire_lock

_MOST: Final = 1024
_NAME: Final = "slot-{}.lock"


class Slot:
    """A number that no other live process has in this directory; freed when the process ends.

    A worker that starts continues with the numbers of one that has ended: counters never go back,
    and a service that is reloaded a thousand times has no more files than one that never was.
    """

    def __init__(self, directory: Path) -> None:
        """Take the lowest free one. Raises `ConfigurationError` when the directory is missing."""
        self._directory = directory
        self._handle = -1
        for number in range(_MOST):
            if self._take(number):
                self.number = number
                return
        raise ConfigurationError(f"{directory} has no free place for the metrics of a worker.")

    def close(self) -> None:
        """Release it for another process."""
        os.close(self._handle)

    def clear_dead(self, clear: Callable[[int], object]) -> None:
        """Call `clear` with each number that a process once had and none has now.

        NOTE: the number is held meanwhile: no process that starts may take it half cleared.
        """
        for path in self._directory.glob(_NAME.format("*")):
            number = int(path.stem.removeprefix("slot-"))
            if number == self.number:
                continue
            with hold_abandoned(path) as is_abandoned:
                if is_abandoned:
                    clear(number)

    def _take(self, number: int) -> bool:
        path = self._directory / _NAME.format(number)
        try:
            handle = try_acquire_lock(path)
        except OSError as error:
            raise ConfigurationError(
                f"The metrics of this worker have no place: {path}: {error.strerror}."
            ) from error
        if handle is not None:
            self._handle = handle
        return handle is not None


_MOST_NAMED: Final = 1000
_OTHER: Final = "(other)"

_GAUGES: Final = {
    "event_route_behind": "Events that a route has not come to yet",
    "event_route_dead_letters": "Dead letters that are kept of a route",
    "event_route_failing": "1 for a route whose endpoint does not take events now",
}

_Pair: TypeAlias = tuple[str, str]


class _RouteGauges:
    """Sets the gauges of each route.

    SEC: ids of routes are chosen by their writers: only a limited number is named in labels.
    `build_gauge` makes a gauge of a name, a help text, a mode for several workers and its labels.
    `name_graph` returns the label of a hosted graph: its id, or `_OTHER`.
    """

    def __init__(
        self,
        build_gauge: Callable[[str, str, str, list[str]], Any],
        name_graph: Callable[[str], str],
    ) -> None:
        self._name_graph = name_graph
        # NOTE: each worker reads for itself; the latest reading is right.
        self._gauges = [
            build_gauge(name, text, "livemostrecent", ["graph", "route"])
            for name, text in _GAUGES.items()
        ]
        self._named: set[_Pair] = set()

    def set(self, standings: Iterable[RouteStanding], graphs: Iterable[str]) -> None:
        """Set the state of the routes; missing routes of these graphs were deleted."""
        seen = {*graphs, _OTHER}
        totals = [
            collections.Counter({pair: 0 for pair in self._named if pair[0] in seen})
            for _ in _GAUGES
        ]
        for standing in standings:
            pair = self._name(standing)
            for total, value in zip(totals, standing[2:], strict=True):
                total[pair] += int(value)
        for gauge, total in zip(self._gauges, totals, strict=True):
            for pair, value in total.items():
                gauge.labels(*pair).set(value)

    def _name(self, standing: RouteStanding) -> _Pair:
        pair = (standing.graph, standing.route)
        if pair in self._named:
            return pair
        if len(self._named) >= _MOST_NAMED or self._name_graph(standing.graph) == _OTHER:
            pair = (_OTHER, _OTHER)
        self._named.add(pair)
        return pair


DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"

_METHODS: Final = frozenset(("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"))
_SECONDS: Final = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0
)  # fmt: skip
_WORKS: Final = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
_ROWS: Final = (0, 1, 10, 100, 1000, 10_000, 100_000)
# Results and points are in files that all workers see: their levels are one number, not a sum.
_SHARED: Final = frozenset(
    (
        *(Level.RESULTS_BYTES, Level.RESULTS_FILES),
        *(Level.POINTS_BYTES, Level.POINTS_BLOCKS, Level.POINTS_FRESH, Level.POINTS_LAG),
    )
)
_LEVELS: Final = {
    Level.WRITES_WAITING: "Writes that wait to be committed, or are being so",
    Level.READS_WAITING: "Reads that wait for a thread",
    Level.QUERIES_RUNNING: "Queries that run in a thread",
    Level.RESULTS_BYTES: "Bytes of results that are kept for their next pages",
    Level.RESULTS_FILES: "Results that are kept for their next pages",
    Level.MCP_SESSIONS: "Open streams of MCP clients",
    Level.EVENTS_UNSETTLED: "Events of routes that are on their way to an endpoint",
    Level.EVENT_ROUTES_FAILING: "Event routes whose endpoint does not take events now",
    Level.EVENT_STREAMS: "Clients that follow events",
    Level.DERIVED_WAITING: "Twins whose derived values are to be computed",
    Level.DERIVED_BEHIND: "Seconds since the oldest change that derived values do not have yet",
    Level.DERIVED_ERRORS: "Derived values that could not be computed, ever",
    Level.DERIVATIONS_HALTED: "Derivations that are not followed, such as those of a cycle",
    Level.SOURCES_RUNNING: "Sources of messages that run",
    Level.SOURCES_FAILING: "Sources of messages that have no connection now",
    Level.GRAPHS_OPEN: "Hosted graphs that are open",
    Level.POINTS_STORED: "Points that were stored, by the workers that run",
    Level.POINTS_REFUSED: "Points, or lines of points, that were refused, by the workers that run",
    Level.POINTS_BYTES: "Bytes of points on disk, with their log",
    Level.POINTS_BLOCKS: "Blocks of points",
    Level.POINTS_FRESH: "Points that wait to become blocks",
    Level.POINTS_LAG: "Seconds that the oldest of them has waited",
    Level.MEMORY_REQUESTS: "Bytes held for bodies of requests",
    Level.MEMORY_WRITES: "Bytes held for documents and patches that are worked on",
    Level.MEMORY_QUERIES: "Bytes held for values and rows of queries",
    Level.MEMORY_ANSWERS: "Bytes held for answers that clients have not taken",
    Level.MEMORY_IMPORTS: "Bytes held for imports and exports",
    Level.MEMORY_REFUSALS: "Requests that found the memory used up, of the workers that run",
}

multiprocess: Final[Any] = untyped_multiprocess

Child: TypeAlias = Any
"""A metric with its labels set. The library types it as the metric itself."""


class _Gathered(Collector):
    """The metrics of all workers.

    NOTE: a file is empty for a moment after a worker has created it, and for good if the worker was
    killed then. The library's own `collect` fails for all workers when it meets one.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def collect(self) -> Iterable[Metric]:
        """Return the sums over the non-empty files."""
        begun = [str(path) for path in self._directory.glob("*.db") if _has_bytes(path)]
        merged: Iterable[Metric] = multiprocess.MultiProcessCollector.merge(begun)
        return merged


def _has_bytes(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:  # files of an ended worker are removed by any other
        return False


class Metrics(Instruments):
    """All metrics of this process. Make it in the process that serves, once.

    `directory` is where the workers of the service have their files; each has a slot in it.
    `max_graphs` bounds the hosted graphs that are named in labels.
    """

    content_type: Final = prometheus_client.CONTENT_TYPE_LATEST

    def __init__(self, directory: Path, max_graphs: int, version: str) -> None:
        self._slot = Slot(directory)
        self._directory = directory
        self._max_graphs = max_graphs
        os.environ[DIRECTORY_VARIABLE] = str(directory)
        # NOTE: the library's way for servers whose workers have numbers of their own.
        number = self._slot.number
        self._clear(number)
        build: Any = values.MultiProcessValue
        values.ValueClass = build(process_identifier=lambda: number)
        self._registry = CollectorRegistry()
        self._gauged: list[weakref.ref[Gauged]] = []
        self._routes: list[weakref.ref[RoutesGauged]] = []
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, str, int], tuple[Child, Child]] = {}
        self._queries: dict[tuple[str, str, str], tuple[Child, Child]] = {}
        self._graphs: dict[tuple[str, int], Child] = {}
        self._graph_names: set[str] = set()
        self._writes: dict[str, Child] = {}
        self._make_counters()
        self._make_gauges()
        self._gauge("info", "1 for the version that runs", "livemax", ["version"]).labels(
            version
        ).set(1)

    def _make_counters(self) -> None:
        self._request_count = self._counter(
            "requests", "Requests that were answered", ["route", "method", "status"]
        )
        self._request_seconds = self._histogram(
            "request_seconds", "Seconds from a request's head to its answer", _SECONDS,
            ["route", "method"],
        )  # fmt: skip
        self._graph_count = self._counter(
            "graph_requests", "Requests at hosted graphs", ["graph", "class"]
        )
        self._query_count = self._counter(
            "queries", "Pages of queries", ["language", "engine", "outcome"]
        )
        self._query_seconds = self._histogram(
            "query_seconds", "Seconds a page of a query took", _SECONDS, ["language", "engine"]
        )
        self._query_rows = self._histogram("query_rows", "Rows of a page", _ROWS).labels()
        self._query_charge = self._counter("query_charge", "Query units that were charged").labels()
        self._write_count = self._counter("writes", "Works that write", ["outcome"])
        self._write_seconds = self._histogram(
            "write_seconds", "Seconds from a write's arrival to its commit", _SECONDS
        ).labels()
        self._commit_seconds = self._histogram(
            "commit_seconds", "Seconds a store took for a batch of writes", _SECONDS
        ).labels()
        self._commit_works = self._histogram(
            "commit_works", "Works that were committed together", _WORKS
        ).labels()
        self._source_messages = self._counter(
            "source_messages", "Messages of sources that were taken in", ["source", "outcome"]
        )
        self._source_values = self._counter(
            "source_values", "Values that messages of sources wrote", ["source", "kind"]
        )
        self._source_seconds = self._histogram(
            "source_batch_seconds", "Seconds from a batch of messages to its acknowledgement",
            _SECONDS, ["source"],
        )  # fmt: skip
        self._source_failures = self._counter(
            "source_failures", "Connections to sources that failed", ["source"]
        )
        self._refusals = self._counter(
            "rate_limited", "Requests refused because their caller was too fast", ["kind"]
        )

    def _make_gauges(self) -> None:
        self._levels = {
            level: self._gauge(
                level.value, text, "livemax" if level in _SHARED else "livesum"
            ).labels()
            for level, text in _LEVELS.items()
        }
        self._route_gauges = _RouteGauges(self._gauge, self._name_graph)
        names = {
            "cpu_seconds": "Processor seconds that the worker has used",
            "resident_bytes": "Memory of the worker",
            "open_fds": "Open files and connections of the worker",
            "max_fds": "Most open files the worker may have",
            "threads": "Threads of the worker",
        }
        # NOTE: the library's label `pid` is the slot here: few values, also after many restarts.
        self._process = {
            name: self._gauge(f"worker_{name}", text, "liveall").labels()
            for name, text in names.items()
        }

    # --- recording --------------------------------------------------------------------------------

    def note_request(
        self, route: str, method: str, status: int, seconds: float, graph: str
    ) -> None:
        """Record an answered request; `route` is its template, empty if none matched."""
        key = (route, method, status)
        found = self._requests.get(key)
        if found is None:
            shown = method if method in _METHODS else _OTHER
            labels = (route or _OTHER, shown)
            found = self._requests[key if shown != _OTHER else (route, _OTHER, status)] = (
                self._request_count.labels(*labels, str(status)),
                self._request_seconds.labels(*labels),
            )
        found[0].inc()
        found[1].observe(seconds)
        if graph:
            self._note_graph(graph, status)

    def note_query(self, run: QueryRun) -> None:
        """Count and measure the page."""
        key = (run.language, run.engine, run.error or "done")
        found = self._queries.get(key)
        if found is None:
            engine = run.engine or "none"
            found = self._queries[key] = (
                self._query_count.labels(run.language, engine, key[2]),
                self._query_seconds.labels(run.language, engine),
            )
        found[0].inc()
        found[1].observe(run.seconds)
        if not run.error:
            self._query_rows.observe(run.rows)
            self._query_charge.inc(run.charge)

    def note_write(self, write: Write) -> None:
        """Count and measure the write."""
        outcome = write.error or "done"
        found = self._writes.get(outcome)
        if found is None:
            found = self._writes[outcome] = self._write_count.labels(outcome)
        found.inc()
        self._write_seconds.observe(write.seconds)

    def note_commit(self, commit: Commit) -> None:
        """Measure the batch."""
        self._commit_works.observe(commit.writes)
        self._commit_seconds.observe(commit.seconds)

    def note_ingested(self, ingested: Ingested) -> None:
        """Count the messages by outcome, and the values by kind."""
        source = ingested.source
        for outcome, count in ingested.outcomes.items():
            if count:
                self._source_messages.labels(source, outcome).inc(count)
        for kind, count in (("point", ingested.points), ("property", ingested.properties)):
            if count:
                self._source_values.labels(source, kind).inc(count)
        self._source_seconds.labels(source).observe(ingested.seconds)

    def note_source_failure(self, source: str) -> None:
        """Count it."""
        self._source_failures.labels(source).inc()

    def note_refusal(self, kind: str) -> None:
        """Record that a caller exceeded its rate for this kind of operation."""
        self._refusals.labels(kind).inc()

    def watch(self, gauged: Gauged) -> None:
        """Read its levels as long as it exists."""
        with self._lock:
            self._gauged = [one for one in self._gauged if one() is not None]
            self._gauged.append(weakref.ref(gauged))

    def watch_routes(self, routes: RoutesGauged) -> None:
        """Read the state of its routes as long as it exists."""
        with self._lock:
            self._routes = [one for one in self._routes if one() is not None]
            self._routes.append(weakref.ref(routes))

    # --- reading ----------------------------------------------------------------------------------

    def sample(self) -> None:
        """Store the present levels. Call it on the event loop, every few seconds."""
        with self._lock:
            alive = [found for one in self._gauged if (found := one()) is not None]
            routes = [kept for held in self._routes if (kept := held()) is not None]
        total: Any = Tally()
        for gauged in alive:
            total.update(gauged.read_levels())
        for level, child in self._levels.items():
            child.set(total[level])
        standings = [standing for kept in routes for standing in kept.read_standings()]
        self._route_gauges.set(standings, {kept.graph for kept in routes})
        for name, value in _read_process().items():
            self._process[name].set(value)

    def render(self) -> bytes:
        """The metrics of all workers as text. Reads files: call it in a thread."""
        self._slot.clear_dead(self._clear)
        registry = CollectorRegistry()
        registry.register(_Gathered(self._directory))
        return generate_latest(registry)

    def close(self) -> None:
        """Release the slot for another worker."""
        self._slot.close()

    def _clear(self, number: int) -> None:
        """Remove the levels of a slot; its counts are kept."""
        multiprocess.mark_process_dead(number, str(self._directory))

    # --- making -----------------------------------------------------------------------------------

    def _note_graph(self, graph: str, status: int) -> None:
        key = (graph, status // 100)
        found = self._graphs.get(key)
        if found is None:
            key = (self._name_graph(graph), key[1])
            found = self._graph_count.labels(key[0], f"{key[1]}xx")
            self._graphs[key] = found
        found.inc()

    def _name_graph(self, graph: str) -> str:
        names = self._graph_names
        if graph and graph not in names and len(names) < self._max_graphs:
            names.add(graph)
        return graph if not graph or graph in names else _OTHER

    def _counter(self, name: str, text: str, labels: Any = ()) -> _Family:
        return _Family(Counter(f"twinframe_{name}", text, labels, registry=self._registry))

    def _gauge(self, name: str, text: str, mode: Any, labels: Any = ()) -> _Family:
        gauge = Gauge(
            f"twinframe_{name}", text, labels, registry=self._registry, multiprocess_mode=mode
        )
        return _Family(gauge)

    def _histogram(self, name: str, text: str, buckets: Any, labels: Any = ()) -> _Family:
        return _Family(
            Histogram(f"twinframe_{name}", text, labels, buckets=buckets, registry=self._registry)
        )


class _Family:
    """A metric, with labels or without: `labels` gives the child either way."""

    def __init__(self, metric: Any) -> None:
        self._metric = metric

    def labels(self, *labels: str) -> Child:
        return self._metric.labels(*labels) if labels else self._metric


_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_STATM: Final = Path("/proc/self/statm")
_FILES: Final = Path("/proc/self/fd")


def _read_process() -> Mapping[str, float]:
    """Return what this process uses now, without what the system does not report."""
    used = os.times()
    found: dict[str, float] = {
        "cpu_seconds": used.user + used.system,
        "threads": threading.active_count(),
        "max_fds": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
    }
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            found["resident_bytes"] = int(_STATM.read_text().split()[1]) * _PAGE
        with contextlib.suppress(OSError):
            found["open_fds"] = sum(1 for _ in _FILES.iterdir())
    return found
