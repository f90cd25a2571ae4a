"""The query engine that answers from columns what it can, and leaves the rest to the store's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.reader import GraphReader
from twinframe.storage.base import GraphSession
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.holder import ProjectionHolder
from twinframe_columns.projection import Projection

T = TypeVar("T")

COLUMNS = "columns"


class ChosenQuery(CompiledQuery):
    """A plan compiled for the store and for columns; each run chooses."""

    def __init__(self, stored: CompiledQuery, plan: ColumnPlan, holder: ProjectionHolder) -> None:
        self.text = stored.text
        self.resumable = stored.resumable
        self._stored = stored
        self._plan = plan
        self._holder = holder

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
        if after is None and not session.is_short:
            most = limit if self.resumable else None
            run_json = self._plan.run_json
            bodies = self._run(
                session, lambda p: run_json(p, session, parameters, skip, limit, most)
            )
            if bodies is not None:
                return ((body, None) for body in bodies)
        return self._stored.run_json(session, parameters, after=after, skip=skip, limit=limit)

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Rows as values."""
        rows = self._find_rows(session, parameters, None)
        return self._stored.run_rows(session, parameters) if rows is None else iter(rows)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """The indexes of the store, after `columns` where these would answer now."""
        stored = self._stored.list_indexes(session, parameters)
        found = self._find_rows(session, parameters, 1)
        return stored if found is None else (COLUMNS, *stored)

    def _find_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limit: int | None
    ) -> list[tuple[Value, ...]] | None:
        run = self._plan.run
        return self._run(session, lambda p: run(p, session, parameters, 0, limit))

    def _run(
        self, session: GraphReader, run: Callable[[Projection], list[T] | None]
    ) -> list[T] | None:
        if not isinstance(session, GraphSession):
            return None
        with self._holder.open(session) as projection:
            if projection is None:
                return None
            try:
                return run(projection)
            except CannotRun:
                return None


class ChoosingEngine(QueryEngine):
    """Compiles a plan for both. What the store's engine declines is declined."""

    def __init__(self, engine: QueryEngine, holder: ProjectionHolder) -> None:
        self.name = engine.name
        self._engine = engine
        self._holder = holder

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The compiled plan of both engines, or of the store's alone."""
        stored = self._engine.compile(query, parameters)
        try:
            plan = ColumnPlan(query)
        except CannotRun:
            return stored
        return ChosenQuery(stored, plan, self._holder)
