"""The port by which layers report their work to instruments, as records.

Without instruments no records are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

CURRENT_REQUEST: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""The id of the present request, where there is one."""

CURRENT_TRACE: Final[ContextVar[str]] = ContextVar("traceparent", default="")
"""The valid `traceparent` of the present request; empty without one."""

CURRENT_SUBJECT: Final[ContextVar[str]] = ContextVar("subject", default="")
"""The subject of the caller of the present request; empty where nobody is asked."""


class Level(StrEnum):
    """Levels of a worker that can be read at any moment; the values are names of metrics."""

    WRITES_WAITING = "writes_waiting"
    READS_WAITING = "reads_waiting"
    QUERIES_RUNNING = "queries_running"
    RESULTS_BYTES = "results_bytes"
    RESULTS_FILES = "results_files"
    MCP_SESSIONS = "mcp_sessions"
    GRAPHS_OPEN = "graphs_open"
    EVENTS_UNSETTLED = "events_unsettled"
    EVENT_ROUTES_FAILING = "event_routes_failing"
    EVENT_STREAMS = "event_streams"
    DERIVED_WAITING = "derived_waiting"
    DERIVED_BEHIND = "derived_behind_seconds"
    DERIVED_ERRORS = "derived_errors"
    DERIVATIONS_HALTED = "derivations_halted"
    SOURCES_RUNNING = "sources_running"
    SOURCES_FAILING = "sources_failing"
    POINTS_STORED = "points_stored"
    POINTS_REFUSED = "points_refused"
    POINTS_BYTES = "points_bytes"
    POINTS_BLOCKS = "points_blocks"
    POINTS_FRESH = "points_fresh"
    POINTS_LAG = "points_lag_seconds"
    MEMORY_REQUESTS = "memory_requests_bytes"
    MEMORY_WRITES = "memory_writes_bytes"
    MEMORY_QUERIES = "memory_queries_bytes"
    MEMORY_ANSWERS = "memory_answers_bytes"
    MEMORY_IMPORTS = "memory_imports_bytes"
    MEMORY_REFUSALS = "memory_refusals"


class Gauged(Protocol):
    """A source of levels. It is called on the event loop, periodically."""

    def read_levels(self) -> Mapping[Level, float]:
        """Return its present levels. Fast, and without waiting."""


class RouteStanding(NamedTuple):
    """The state of an event route: events still before it, dead letters that are kept, whether its
    endpoint accepts none now. `graph` is the id of a hosted graph, empty for the service's own.
    """

    graph: str
    route: str
    behind: int
    dead_letters: int
    failing: bool


class RoutesGauged(Protocol):
    """The event routes of a graph. It is called on the event loop, periodically."""

    graph: str

    def read_standings(self) -> Sequence[RouteStanding]:
        """Return their state when it was last read. Fast, and without waiting."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A page of a query that was answered, or failed.

    `engine` is `evaluator`, a store's engine, or both joined by `+`; empty if there was no plan.
    `started` is in seconds since the epoch, the others are durations; `compiling` and `running` are
    their begin and end (None: not reached). `error` is the error's code, empty for none.
    `fingerprint` identifies equal plans of different texts; it takes a moment to compute.
    """

    text: str
    language: str
    engine: str
    started: float
    seconds: float
    compiling: tuple[float, float] | None
    running: tuple[float, float] | None
    rows: int
    charge: float
    error: str
    fingerprint: Callable[[], str]


class Commit(NamedTuple):
    """A batch of writes that a store received at once: its size, and the number of failures.

    `started` is in seconds since the epoch.
    """

    writes: int
    failed: int
    started: float
    seconds: float


class Write(NamedTuple):
    """One write: waiting for its batch, then the batch. `error` as in `QueryRun`."""

    started: float
    seconds: float
    commit: Commit | None
    error: str


class Ingested(NamedTuple):
    """A batch of messages of a source that was taken in: messages by outcome, and what was written.

    An outcome is `Stored`, `Stale` or the reason of a refusal.
    """

    source: str
    outcomes: Mapping[str, int]
    points: int
    properties: int
    seconds: float


class Instruments:
    """Receives records; each method does nothing unless it is overridden.

    All but `note_commit` and `watch` are called on the event loop, in the caller's context, which
    is that of its request. None may raise or wait.

    `least_query` is the least duration in seconds of the queries it wants. `takes_writes` is False
    for instruments that want no writes and no levels. PERF: a record of a query costs 6 us, which
    the log of slow ones must not cost the quick ones.
    """

    least_query: float = 0.0
    takes_writes: bool = True

    def note_query(self, run: QueryRun) -> None:
        """Record an answered or failed page of a query."""

    def note_write(self, write: Write) -> None:
        """Record an answered or failed write."""

    def note_commit(self, commit: Commit) -> None:
        """Record a committed batch. Called in the writing thread."""

    def note_ingested(self, ingested: Ingested) -> None:
        """Record a batch of messages that was stored and acknowledged."""

    def note_source_failure(self, source: str) -> None:
        """Record that a source could not connect, or lost its connection."""

    def watch(self, gauged: Gauged) -> None:
        """Read its levels as long as another object holds it. Called in any thread."""

    def watch_routes(self, routes: RoutesGauged) -> None:
        """Read the state of its routes as long as another object holds it. Called in any thread."""


class InstrumentGroup(Instruments):
    """Passes records to several instruments."""

    def __init__(self, members: Sequence[Instruments]) -> None:
        self._members = tuple(members)
        self.least_query = min(member.least_query for member in members)
        self.takes_writes = any(member.takes_writes for member in members)

    def note_query(self, run: QueryRun) -> None:
        for member in self._members:
            member.note_query(run)

    def note_write(self, write: Write) -> None:
        for member in self._members:
            member.note_write(write)

    def note_commit(self, commit: Commit) -> None:
        for member in self._members:
            member.note_commit(commit)

    def note_ingested(self, ingested: Ingested) -> None:
        for member in self._members:
            member.note_ingested(ingested)

    def note_source_failure(self, source: str) -> None:
        for member in self._members:
            member.note_source_failure(source)

    def watch(self, gauged: Gauged) -> None:
        for member in self._members:
            member.watch(gauged)

    def watch_routes(self, routes: RoutesGauged) -> None:
        for member in self._members:
            member.watch_routes(routes)


def build_group(members: Sequence[Instruments]) -> Instruments | None:
    """Combine them to one; None for none, so that no records are made."""
    if len(members) <= 1:
        return members[0] if members else None
    return InstrumentGroup(members)
