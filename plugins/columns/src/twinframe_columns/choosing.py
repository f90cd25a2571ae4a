"""The query engine that answers from columns what it can, and leaves the rest to the store's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from twinframe.errors import LimitExceeded, QueryTimeout
from twinframe.model.values import Value
from twinframe.query.algebra import Parameter, Query
from twinframe.query.engine import (
    CannotRun,
    CompiledQuery,
    Explanation,
    JoinEstimate,
    JsonRow,
    QueryEngine,
)
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader
from twinframe.query.traversal import walk
from twinframe.storage.base import GraphSession
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.holder import ProjectionHolder
from twinframe_columns.projection import Projection

T = TypeVar("T")

COLUMNS: Final = "columns"
_NOT_THERE: Final = (
    "The graph has no columns now: it has too few twins, they are being made, or many changes came "
    "at once."
)
_LONGEST_PAUSE: Final = 1_024


class Declines:
    """Bounds what a query costs that is begun and then declined, mostly for a value in some row.

    After each decline more runs pass before the next try.

    NOTE: threads report runs without a lock: a lost count costs one try more or less.
    """

    __slots__ = ("_awaited", "_pause")

    def __init__(self) -> None:
        self._pause = self._awaited = 0

    @property
    def has_some(self) -> bool:
        """Whether the last try was declined."""
        return self._pause > 0

    def is_likely(self) -> bool:
        """Whether this run is one to pass."""
        if not self._awaited:
            return False
        self._awaited -= 1
        return True

    def add(self) -> None:
        """Record a decline."""
        self._awaited = self._pause = min(max(1, self._pause * 4), _LONGEST_PAUSE)

    def clear(self) -> None:
        """Record an answer."""
        self._pause = self._awaited = 0


class ChosenQuery(CompiledQuery):
    """A plan compiled for the store and for columns; each run chooses.

    With a reader that is short, columns answer what needs no preparation and no documents. Where
    few rows are looked up the store tries first, unless a run of it was ended.
    """

    short_seconds = 0.002

    def __init__(self, stored: CompiledQuery, plan: ColumnPlan, holder: ProjectionHolder) -> None:
        self.text = stored.text
        self.resumable = stored.resumable
        self._stored = stored
        self._plan = plan
        self._holder = holder
        self._declines, self._short_declines = Declines(), Declines()
        self._stored_declines = Declines()
        self._measures: Measures | None = None

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Rows as JSON.

        NOTE: those of columns have no key, so a page that goes on has the store's.
        """
        if session.is_short and (after is not None or self._plan.gives_documents):
            return self._stored.run_json(session, parameters, after=after, skip=skip, limit=limit)

        def run(projection: Projection) -> list[bytes] | None:
            most = limit if self.resumable else None
            return self._plan.run_json(projection, session, parameters, skip, limit, most)

        def run_stored() -> Iterator[JsonRow]:
            return self._stored.run_json(session, parameters, after=after, skip=skip, limit=limit)

        if session.is_short:
            return self._run_short(session, run_stored, run)
        bodies = self._run(session, run) if after is None else None
        return run_stored() if bodies is None else ((body, None) for body in bodies)

    def _run_short(
        self,
        session: GraphReader,
        run_stored: Callable[[], Iterator[JsonRow]],
        run: Callable[[Projection], list[bytes] | None],
    ) -> Iterator[JsonRow]:
        is_small = self.resumable or self._plan.is_looked_up
        is_long = self._stored_declines.is_likely()
        if is_long or not is_small:
            bodies = self._run(session, run, is_short=True)
            if bodies is not None:
                return ((body, None) for body in bodies)
            if is_long and self._is_ready():
                raise CannotRun("Columns that have to be prepared.")
        try:
            found = run_stored()
        except (QueryTimeout, LimitExceeded) as error:
            self._stored_declines.add()
            if self._is_ready():
                raise CannotRun("A statement that is not short.") from error
            raise
        self._stored_declines.clear()
        return found

    def _is_ready(self) -> bool:
        """Whether columns are likely to answer another run."""
        return self._holder.has_projection and not self._short_declines.has_some

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Rows as values."""
        run = self._plan.run
        rows = self._run(session, lambda p: run(p, session, parameters))
        return self._stored.run_rows(session, parameters) if rows is None else iter(rows)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """The indexes of the store, after `columns` where these would answer now."""
        return self.explain(session, parameters).indexes

    def explain(self, session: GraphReader, parameters: Mapping[str, Value]) -> Explanation:
        """Whether columns would answer now, or why not."""
        stored = self._stored.explain(session, parameters)
        reason = self._find_reason(session, parameters)
        if reason is not None:
            return replace(stored, declined={COLUMNS: reason})
        return Explanation((COLUMNS, *stored.indexes), COLUMNS)

    def build_measured(self, measures: Measures) -> CompiledQuery:
        """The same choice; columns note what their operators did where they answer."""
        plan = self._plan.build_measured(measures)
        measured = ChosenQuery(self._stored, plan, self._holder)
        measured._measures = measures
        return measured

    def count_joins(
        self, session: GraphReader, parameters: Mapping[str, Value], joins: Sequence[JoinEstimate]
    ) -> Iterator[int | None]:
        """Those of the store."""
        return self._stored.count_joins(session, parameters, joins)

    def _find_reason(self, session: GraphReader, parameters: Mapping[str, Value]) -> str | None:
        """Return why columns would not answer now; None if they would."""
        if not isinstance(session, GraphSession):
            return "The session is not one of the store."
        with self._holder.open(session) as projection:
            if projection is None:
                return _NOT_THERE
            try:
                self._plan.run(projection, session, parameters, 0, 1)
            except CannotRun as error:
                return error.message
        return None

    def _run(
        self,
        session: GraphReader,
        run: Callable[[Projection], list[T] | None],
        *,
        is_short: bool = False,
    ) -> list[T] | None:
        declines = self._short_declines if is_short else self._declines
        if not isinstance(session, GraphSession) or declines.is_likely():
            return None
        open_projection = self._holder.open_at_once if is_short else self._holder.open
        with open_projection(session) as projection:
            if projection is None:
                return None
            try:
                found = run(projection)
            except CannotRun:
                declines.add()
                return None
        declines.clear()
        if found is not None:
            self._stored.count_answered(session)
            if self._measures is not None:
                self._measures.engine = COLUMNS
        return found


class DeclinedQuery(CompiledQuery):
    """A plan that columns declined, compiled for the store."""

    def __init__(self, stored: CompiledQuery, reason: str) -> None:
        self.text = stored.text
        self.resumable = stored.resumable
        self.short_seconds = stored.short_seconds
        self._stored = stored
        self._reason = reason

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Rows of the store."""
        return self._stored.run_json(session, parameters, after=after, skip=skip, limit=limit)

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Rows of the store."""
        return self._stored.run_rows(session, parameters)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """Those of the store."""
        return self._stored.list_indexes(session, parameters)

    def explain(self, session: GraphReader, parameters: Mapping[str, Value]) -> Explanation:
        """How the store would answer, and why columns would not."""
        stored = self._stored.explain(session, parameters)
        return replace(stored, declined={COLUMNS: self._reason})

    def count_joins(
        self, session: GraphReader, parameters: Mapping[str, Value], joins: Sequence[JoinEstimate]
    ) -> Iterator[int | None]:
        """Those of the store."""
        return self._stored.count_joins(session, parameters, joins)


class ChoosingEngine(QueryEngine):
    """Compiles a plan for both. What the store's engine declines is declined."""

    typed_name = COLUMNS

    def __init__(self, engine: QueryEngine, holder: ProjectionHolder) -> None:
        self.name = engine.name
        self.shares_plans = engine.shares_plans
        self._engine = engine
        self._holder = holder

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan of both engines, or of the store's alone."""
        stored = self._engine.compile(query, parameters)
        try:
            plan = ColumnPlan(query)
        except CannotRun as declined:
            return DeclinedQuery(stored, declined.message)
        return ChosenQuery(stored, plan, self._holder)

    def compile_typed(
        self, query: Query, parameters: Mapping[str, Value], typing: MemberTyping
    ) -> CompiledQuery:
        """The plan for columns alone."""
        _check_given(query, parameters)
        return ChosenQuery(_NoQuery(), ColumnPlan(query, typing), self._holder)

    @property
    def statements(self) -> QueryEngine:
        """The store's engine."""
        return self._engine.statements

    def close(self) -> None:
        """End what runs in the background."""
        self._holder.close()
        self._engine.close()


class _NoQuery(CompiledQuery):
    """What the store has where it compiled nothing."""

    text = COLUMNS
    resumable = False

    def run_json(
        self, session: GraphReader, parameters: Mapping[str, Value], **page: object
    ) -> Iterator[JsonRow]:
        """Raise `CannotRun`."""
        raise CannotRun("Columns decline, and the store compiled nothing.")

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Raise `CannotRun`."""
        raise CannotRun("Columns decline, and the store compiled nothing.")


def _check_given(query: Query, parameters: Mapping[str, Value]) -> None:
    """NOTE: an error belongs to the run of those that would read it."""
    for term in walk(query.root):
        if isinstance(term, Parameter) and term.name not in parameters:
            raise CannotRun(f"The parameter {term.name}, which is not given.")
