"""Measures one page of a query while it runs, for the instruments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from time import perf_counter, time
from typing import Protocol

from twinframe.errors import TwinframeError
from twinframe.query.language import detect_language
from twinframe.query.plan.execution import Execution
from twinframe.runtime.instruments.base import Instruments, QueryRun
from twinframe.runtime.instruments.slow_queries import mask_literals

_EVALUATOR = "evaluator"


class WatchedPlan(Protocol):
    """The facts about a plan that instruments use."""

    @property
    def engine(self) -> str:
        """Which engine runs it: the store's, the evaluator, or both joined by `+`."""

    def fingerprint(self) -> str:
        """Return a digest that identifies it."""


class QueryWatch:
    """The times of one page; made when it is requested.

    NOTE: the thread that compiles and runs writes, the event loop reads after its answer. Later
    work of the thread behind its answer is not recorded. PERF: it only stores times, 0.5 us in all;
    everything derived from them is computed later.
    """

    __slots__ = ("_compiling", "_plan", "_running", "_started", "text")

    def __init__(self, text: str, started: float | None = None) -> None:
        """`started` is when it was requested, by `perf_counter`; None is now."""
        self.text = text
        self._started = perf_counter() if started is None else started
        self._compiling: float | None = None
        self._running: float | None = None
        self._plan: WatchedPlan | None = None

    def begin_compile(self, moment: float | None = None) -> None:
        """Record that the search for a plan, or its building, begins, or began at `moment`."""
        self._compiling = perf_counter() if moment is None else moment

    def begin_run(self, plan: WatchedPlan, moment: float | None = None) -> None:
        """Record that the plan is there, now or at `moment`. Called again when another replaces
        it.
        """
        self._running = perf_counter() if moment is None else moment
        self._plan = plan

    def read_seconds(self) -> float:
        """Return the seconds until now."""
        return perf_counter() - self._started

    def build_run(self, rows: int = 0, charge: float = 0.0, error: str = "") -> QueryRun:
        """Return the result until now."""
        end = perf_counter()
        epoch = time() - end
        compiled = self._running if self._running is not None else end
        return QueryRun(
            text=self.text,
            language=detect_language(self.text).value,
            engine="" if self._plan is None else self._plan.engine,
            started=self._started + epoch,
            seconds=end - self._started,
            compiling=_build_span(self._compiling, compiled, epoch),
            running=_build_span(self._running, end, epoch),
            rows=rows,
            charge=charge,
            error=error,
            fingerprint=str if self._plan is None else self._plan.fingerprint,
        )


@contextmanager
def note_run(
    instruments: Instruments | None, watch: QueryWatch
) -> Iterator[Callable[[int, float], None]]:
    """Tell instruments of the run in the body; that calls the function with rows and cost."""
    done = 0, 0.0

    def note(rows: int, charge: float) -> None:
        nonlocal done
        done = rows, charge

    def tell(error: str) -> None:
        if instruments is not None and watch.read_seconds() >= instruments.least_query:
            instruments.note_query(watch.build_run(*done, error))

    try:
        yield note
    except TwinframeError as failure:
        tell(failure.code)
        raise
    tell("")


def render_engine(execution: Execution) -> str:
    """Render which engine runs a query: the store's, the evaluator, or both joined by `+`."""
    if execution.is_whole:
        return execution.parts[0].engine
    return "+".join([*sorted({part.engine for part in execution.parts}), _EVALUATOR])


def build_digest(plan: str) -> str:
    """Return sixteen hexadecimal digits that identify the text of a plan.

    SEC: without its literals, which could be found by trying: one of few values, such as a PIN.
    """
    shape = mask_literals(plan).encode("utf-8", "replace")
    return blake2b(shape, digest_size=8).hexdigest()


def _build_span(start: float | None, end: float, epoch: float) -> tuple[float, float] | None:
    return None if start is None else (start + epoch, max(start, end) + epoch)
