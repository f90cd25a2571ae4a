"""The port by which layers tell of their work: records, and who takes them. It measures nothing.

Nothing is told where nobody listens: whoever has no instruments makes no record either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

CURRENT_REQUEST: Final[ContextVar[str]] = ContextVar("request_id", default="")
"""The id of the request that is being answered, where it is for somebody to know."""

CURRENT_TRACE: Final[ContextVar[str]] = ContextVar("traceparent", default="")
"""The `traceparent` that the request came with, well formed; empty without one."""


class Level(StrEnum):
    """What has a height at any moment, in a worker; the values are names of metrics."""

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
    MEMORY_REQUESTS = "memory_requests_bytes"
    MEMORY_WRITES = "memory_writes_bytes"
    MEMORY_QUERIES = "memory_queries_bytes"
    MEMORY_ANSWERS = "memory_answers_bytes"
    MEMORY_IMPORTS = "memory_imports_bytes"
    MEMORY_REFUSALS = "memory_refusals"


class Gauged(Protocol):
    """Something with levels. It is asked on the event loop, now and then."""

    def read_levels(self) -> Mapping[Level, float]:
        """Its levels now. Quick, and without waiting."""


class RouteStanding(NamedTuple):
    """How an event route stands: events it has not come to, dead letters that are kept, whether its
    endpoint takes none now. `graph` is the id of a hosted graph, empty for the service's own.
    """

    graph: str
    route: str
    behind: int
    dead_letters: int
    failing: bool


class RoutesGauged(Protocol):
    """The event routes of a graph. It is asked on the event loop, now and then."""

    graph: str

    def read_standings(self) -> Sequence[RouteStanding]:
        """How they stood when that was last looked up. Quick, and without waiting."""


@dataclass(frozen=True, slots=True)
class QueryRun:
    """A page of a query that was answered, or failed.

    `engine` is `evaluator`, a store's engine, or both joined by `+`; empty where it never came to
    a plan. `started` is in seconds since the epoch, the others are durations; `compiling` and
    `running` are their moments (None: it did not come so far). `error` is the error's code, empty
    for none. `fingerprint` tells equal plans of other texts; it takes a moment to find.
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
    """A batch of works that a store was given at once: how many, how many of them failed.

    `started` is in seconds since the epoch.
    """

    works: int
    failed: int
    started: float
    seconds: float


class Write(NamedTuple):
    """One work on its way: waiting for its batch, then the batch. `error` as in `QueryRun`."""

    started: float
    seconds: float
    commit: Commit | None
    error: str


class Instruments:
    """Takes what is told; each method does nothing unless it is overridden.

    All but `note_commit` and `watch` are called on the event loop, where the caller's context is
    that of its request. None may raise or wait.

    `least_query` says which queries it wants to hear of: those that took so many seconds.
    `takes_writes` is False for those that hear of no writes and no levels.
    PERF: a record of a query costs 6 us, which the log of slow ones must not cost the quick ones.
    """

    least_query: float = 0.0
    takes_writes: bool = True

    def note_query(self, run: QueryRun) -> None:
        """A page of a query was answered, or failed."""

    def note_write(self, write: Write) -> None:
        """A write was answered, or failed."""

    def note_commit(self, commit: Commit) -> None:
        """A batch was committed. Called in the writing thread."""

    def watch(self, gauged: Gauged) -> None:
        """Ask for its levels as long as somebody else holds it. Called in any thread."""

    def watch_routes(self, routes: RoutesGauged) -> None:
        """Ask how its routes stand as long as somebody else holds it. Called in any thread."""


class InstrumentGroup(Instruments):
    """Tells several instruments."""

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

    def watch(self, gauged: Gauged) -> None:
        for member in self._members:
            member.watch(gauged)

    def watch_routes(self, routes: RoutesGauged) -> None:
        for member in self._members:
            member.watch_routes(routes)


def build_group(members: Sequence[Instruments]) -> Instruments | None:
    """One that stands for all of them; None for none, so that nobody makes records."""
    if len(members) <= 1:
        return members[0] if members else None
    return InstrumentGroup(members)
