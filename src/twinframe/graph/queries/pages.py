"""A page of the rows of a query: its request, how a run fills it, and what it costs."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import Final, Protocol, TypeAlias

from twinframe.errors import InvalidContinuationToken
from twinframe.graph.queries.names import QueryWarning
from twinframe.graph.queries.plans import Plan, QueryPlans
from twinframe.graph.queries.positions import Position
from twinframe.graph.queries.watch import QueryWatch
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun, JsonRow
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Row
from twinframe.storage.base import GraphSession

_ROWS_A_UNIT: Final = 100
_BYTES_A_UNIT: Final = 64 * 1024
_STORE_STEPS_A_UNIT: Final = 50_000
_EVALUATOR_STEPS_A_UNIT: Final = 500
_FIRST_ROWS: Final = 2
_MOST_ROWS: Final = 256


class RowForm(Protocol):
    """A form of rows other than JSON, for a transport that has one with temporal values.

    `page_bytes` is the most bytes of a page, which is in memory while the client takes it.
    """

    page_bytes: int

    def render_rows(self, rows: Iterator[Row]) -> Iterator[bytes]:
        """Yield each row as bytes without a line break, of which the first is none of `.!`.

        Nodes and relationships have temporal members where their models declare them.
        """


class OneState(enum.Enum):
    """Rows are JSON as without a form, but all pages show the state of the first one."""

    JSON = "json"


PageForm: TypeAlias = RowForm | OneState


# PERF: the following two are not frozen, since each query makes one of each and setting a field
# of a frozen object takes 50 ns more. They are never changed.
@dataclass(slots=True)
class Answer:
    """Rows of a page, where the next one starts (None: nowhere), and the cost in units."""

    rows: tuple[bytes, ...]
    following: Position | None
    cost: float
    warnings: tuple[QueryWarning, ...] = ()
    columns: tuple[str, ...] = ()


LATER: Final = Answer((), None, 0.0)
"""Stands for a run that cannot be short now, and says nothing about the next one."""


@dataclass(slots=True)
class PageRequest:
    """The request for a page of `size` rows, of at most `bytes` but for the first one.

    `values` are those with which one of the `plans` runs. `watch` is None where there are no
    instruments, `form` where rows are JSON.
    """

    position: Position
    values: Mapping[str, Value]
    size: int
    bytes: int
    limits: Limits
    plans: QueryPlans
    watch: QueryWatch | None = None
    form: PageForm | None = None


class RowDigest:
    """A digest of the rows of a result that were given so far, to go on behind them."""

    def __init__(self, rows: Sequence[bytes]) -> None:
        self._count = 0
        self._digest = 0
        for body in rows:
            self._note(body)

    def _note(self, body: bytes) -> None:
        self._count += 1
        self._digest = hash((self._digest, body))

    def add(self, rows: Iterator[JsonRow]) -> Iterator[bytes]:
        """Yield further rows, and note them."""
        for body, _ in rows:
            self._note(body)
            yield body

    def skip(self, rows: Iterator[JsonRow]) -> Iterator[bytes]:
        """Yield the rows of another run of the same query that follow those given so far.

        Raises `InvalidContinuationToken` if it begins with other rows: engines may differ in the
        order of rows. An error of any of its rows comes first: the whole query has it.
        """
        other = RowDigest([])
        for _ in other.add(islice(rows, self._count)):
            pass
        if (other._count, other._digest) != (self._count, self._digest):
            for _ in rows:
                pass
            raise InvalidContinuationToken(
                "The rows of this query came in another order when it was run again. Run it once "
                "more, or sort them."
            )
        for body, _ in rows:
            yield body


def take_short(session: GraphSession, request: PageRequest, plan: Plan) -> Answer | None:
    """Return the page, unless the models changed or its further rows must be written to a file."""
    # PERF: all at once, since nothing in a short snapshot is large.
    try:
        rows = list(run_plan(session, request, plan, request.size + 1))
    except CannotRun:
        return LATER
    if not session.has_schema(plan.key.schema_version):
        return None
    # PERF: most have one row, which fits.
    count = len(rows) if len(rows) <= 1 else _count_fitting(rows, request)
    if len(rows) > count and not is_keyed(request, plan):
        return None
    return build_answer(session, request, plan, rows, count)


def take_rows(found: Iterator[JsonRow], request: PageRequest) -> tuple[list[JsonRow], int]:
    """Return the rows of a page, perhaps some more, and how many belong to the page.

    SEC: each may have a mebibyte: no more are fetched at once than fit if they are like those
    before.
    """
    rows: list[JsonRow] = []
    most, room, asked = request.size + 1, request.bytes, _FIRST_ROWS
    while some := list(islice(found, min(asked, most - len(rows)))):
        rows += some
        room -= sum([len(body) for body, _ in some])
        if room < 0 or len(some) < asked:
            break
        asked = min(_MOST_ROWS, 1 + room * len(rows) // (request.bytes - room))
    return rows, _count_fitting(rows, request) if room < 0 else min(len(rows), request.size)


def _count_fitting(rows: Sequence[JsonRow], request: PageRequest) -> int:
    """Return how many of the rows fit on a page."""
    room, count = request.bytes, min(len(rows), request.size)
    # PERF: the rows of most pages are counted at once.
    if sum([len(body) for body, _ in rows]) <= room:
        return count
    for at, (body, _) in enumerate(rows[: request.size]):
        room -= len(body)
        if room < 0:
            return max(at, 1)
    return count


def run_plan(
    session: GraphSession, request: PageRequest, plan: Plan, limit: int | None
) -> Iterator[JsonRow]:
    position, execution = request.position, plan.execution
    if position.after is not None and not execution.resumable:
        raise InvalidContinuationToken(
            "The rows of this query have no key to go on behind. Run the query again."
        )
    if request.form is not None and request.form is not OneState.JSON:
        found = islice(execution.run_rows(session, request.values, request.limits), limit)
        typed = found if plan.typing is None else plan.typing.type_rows(session, found)
        return zip(request.form.render_rows(typed), repeat(None))
    return execution.run_json(
        session, request.values, request.limits, after=position.after, limit=limit
    )


def is_keyed(request: PageRequest, plan: Plan) -> bool:
    """Return whether the next page continues behind a key: not that of a state that may pass."""
    return plan.execution.resumable and request.position.state is None and request.form is None


def build_answer(
    session: GraphSession, request: PageRequest, plan: Plan, rows: Sequence[JsonRow], count: int
) -> Answer:
    """Build the page of the first `count` rows, and where a resumable scan continues.

    NOTE: rows without a key are all there are: the ones after the page can be kept.
    """
    position = request.position
    following = None
    # PERF: a list first; a generator here takes twice as long for a page.
    bodies = [body for body, _ in rows]
    if len(rows) > count:
        del bodies[count:]
        key = rows[count - 1][1]
        if is_keyed(request, plan) and key is not None:
            following = replace(position, after=key)
    given = tuple(bodies)
    warnings = plan.warnings if position.after is None else ()
    # PERF: all of the cost is computed here, while the rows are in the processor's cache.
    cost = measure_rows(given) + _measure_steps(session, request.limits)
    query = plan.execution.query
    columns = query.members if request.form is None else query.columns
    return Answer(given, following, cost, warnings, columns)


def measure_rows(rows: Sequence[bytes]) -> float:
    size = len(rows[0]) if len(rows) == 1 else sum(map(len, rows))
    return len(rows) / _ROWS_A_UNIT + size / _BYTES_A_UNIT


def _measure_steps(session: GraphSession, limits: Limits) -> float:
    evaluated = 0 if limits.meter is None else limits.meter.steps
    return session.read_steps() / _STORE_STEPS_A_UNIT + evaluated / _EVALUATOR_STEPS_A_UNIT
