"""What is noticed of one page of a query on its way, for the instruments. It runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from time import perf_counter, time

from twinframe.cypher.language import detect_language
from twinframe.instruments.base import QueryRun
from twinframe.instruments.slow_queries import mask_literals
from twinframe.planner.execution import Execution

_EVALUATOR = "evaluator"


class QueryWatch:
    """The moments of one page; made when it is asked for.

    NOTE: the thread that compiles and runs writes, the event loop reads when that has answered.
    A query that goes on in its thread behind its answer has no say any more.
    """

    __slots__ = ("_compiling", "_engine", "_fingerprint", "_running", "_started", "_ticks", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._started = time()
        self._ticks = perf_counter()
        self._compiling: float | None = None
        self._running: float | None = None
        self._engine = ""
        self._fingerprint: Callable[[], str] | None = None

    def begin_compile(self) -> None:
        """A plan is looked for, or made."""
        self._compiling = perf_counter()

    def begin_run(self, execution: Execution, fingerprint: Callable[[], str]) -> None:
        """The plan is there. Called again when another has to take its place."""
        self._running = perf_counter()
        self._fingerprint = fingerprint
        names = sorted({part.engine for part in execution.parts})
        self._engine = "+".join(names if execution.is_whole else [*names, _EVALUATOR])

    def build_run(self, rows: int = 0, charge: float = 0.0, error: str = "") -> QueryRun:
        """What came of it, up to now."""
        end = perf_counter()
        compiled = self._running if self._running is not None else end
        return QueryRun(
            text=self.text,
            language=detect_language(self.text).value,
            engine=self._engine,
            started=self._started,
            seconds=end - self._ticks,
            compiling=self._build_span(self._compiling, compiled),
            running=self._build_span(self._running, end),
            rows=rows,
            charge=charge,
            error=error,
            fingerprint=self._fingerprint or str,
        )

    def _build_span(self, start: float | None, end: float) -> tuple[float, float] | None:
        if start is None:
            return None
        epoch = self._started - self._ticks
        return start + epoch, max(start, end) + epoch


def build_digest(plan: str) -> str:
    """Sixteen hexadecimal digits that stand for the text of a plan.

    SEC: without its literals, which could be found by trying: one of few values, such as a PIN.
    """
    shape = mask_literals(plan).encode("utf-8", "replace")
    return blake2b(shape, digest_size=8).hexdigest()
