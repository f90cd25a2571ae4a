"""Runs a split query on a session and returns its rows.

The caller holds the session's snapshot, with the same deadline, while it reads rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Final

from twinframe.errors import InvalidContinuationToken, LimitExceeded
from twinframe.model.rendering import render_json, render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Operator, Query, ResultShape
from twinframe.query.engine import CannotRun, CompiledQuery, Explanation, JsonRow
from twinframe.query.evaluate.engine import EvaluatorPlan
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.run import Row
from twinframe.query.evaluate.sizes import measure
from twinframe.query.reader import GraphReader

_LARGEST_ROW: Final = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PushedPart:
    """A part of a plan that the store runs: `operator` and everything below it.

    `columns` are the variables of its rows; `compiled.text` is the statement for the store.
    """

    operator: Operator
    columns: tuple[str, ...]
    engine: str
    compiled: CompiledQuery


class Execution(ABC):
    """A query ready to run: immutable, shared by threads, run again with other parameter values.

    `parts` are those that the store runs, for EXPLAIN; none when the evaluator runs all. `is_whole`
    says that the store runs everything, so that the bounds of its session hold for all of the work.
    """

    query: Query
    parts: tuple[PushedPart, ...]
    is_whole: bool = False
    points_into_text: bool = True
    """Whether errors of a run name places in the text of the query."""
    declined_by: Mapping[str, str] = MappingProxyType({})
    """The engines that declined the whole query before it was split, each with the reason."""
    short_seconds: float = CompiledQuery.short_seconds
    """See `CompiledQuery`."""

    @property
    @abstractmethod
    def resumable(self) -> bool:
        """Whether a page can start after the `key` of a row."""

    @abstractmethod
    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Yield result rows as JSON, leaving out those up to the key `after`, then the first
        `skip`.
        """

    @abstractmethod
    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        """Yield result rows as values in the order of the query's columns."""

    def choose(self, session: GraphReader, parameters: Mapping[str, Value]) -> Execution:
        """Return what would run now, where there are several."""
        del session, parameters
        return self

    def explain_parts(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> list[Explanation]:
        """Return how each of the parts would be answered now."""
        found = [part.compiled.explain(session, parameters) for part in self.parts]
        return [replace(one, declined={**self.declined_by, **one.declined}) for one in found]


class WholeExecution(Execution):
    """The store runs the whole query."""

    is_whole = True
    points_into_text = False

    def __init__(self, query: Query, engine: str, compiled: CompiledQuery) -> None:
        self.query = query
        self.parts = (PushedPart(query.root, query.columns, engine, compiled),)
        self.short_seconds = compiled.short_seconds
        self._compiled = compiled

    @property
    def resumable(self) -> bool:
        return self._compiled.resumable

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        return self._compiled.run_json(session, parameters, after=after, skip=skip, limit=limit)

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        return self._compiled.run_rows(session, parameters)


class PreferredExecution(Execution):
    """An engine runs the whole query when it can, else `fallback` does.

    NOTE: on the event loop only the engine does, which is bounded there.
    """

    is_whole = True

    def __init__(self, preferred: WholeExecution, fallback: Execution) -> None:
        self.query = fallback.query
        self.parts = fallback.parts
        self.points_into_text = fallback.points_into_text
        self.short_seconds = preferred.short_seconds
        self.preferred = preferred
        self.fallback = fallback

    @property
    def resumable(self) -> bool:
        return self.fallback.resumable

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        if after is None:
            try:
                return self.preferred.run_json(session, parameters, limits, skip=skip, limit=limit)
            except CannotRun:
                if session.is_short and not self.fallback.is_whole:
                    raise
        return self.fallback.run_json(
            session, parameters, limits, after=after, skip=skip, limit=limit
        )

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        try:
            return self.preferred.run_rows(session, parameters, limits)
        except CannotRun:
            return self.fallback.run_rows(session, parameters, limits)

    def choose(self, session: GraphReader, parameters: Mapping[str, Value]) -> Execution:
        """The engine's, if it names what it would use."""
        (found,) = self.preferred.explain_parts(session, parameters)
        if found.engine is not None:
            return self.preferred
        fallback = copy(self.fallback)
        fallback.declined_by = found.declined
        return fallback


class RenderedExecution(Execution):
    """One whose rows are values, which are rendered one by one."""

    resumable = False

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        limits: Limits,
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        if after is not None:
            raise InvalidContinuationToken("The rows of this query have no key to go on behind.")
        rows = self.run_rows(session, parameters, limits)
        for row in islice(rows, skip, None if limit is None else skip + limit):
            yield self._render(row), None

    def _render(self, row: Row) -> bytes:
        # SEC: rendering one piece holds the interpreter lock, and keeps several copies in memory.
        size = 0
        for value in row:
            size += measure(value, _LARGEST_ROW)
            if size > _LARGEST_ROW:
                raise LimitExceeded(
                    f"A row of the result takes more than {_LARGEST_ROW} bytes. Return fewer "
                    "columns, collect less, or ask for properties instead of whole documents."
                )
        match self.query.shape:
            case ResultShape.DOCUMENT:
                return render_json(row[0])
            case ResultShape.OBJECT:
                return render_row(self.query.columns, row, omit_null=self.query.omit_null)


class EvaluatedExecution(RenderedExecution):
    """The evaluator runs the query, above rows of the store where `parts` says so.

    `declined` is why the store did not accept the whole query; empty when it has no engine.
    """

    def __init__(
        self,
        query: Query,
        plan: EvaluatorPlan,
        parts: tuple[PushedPart, ...] = (),
        declined: str = "",
    ) -> None:
        self.query = query
        self.parts = parts
        self.declined = declined
        self._plan = plan

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value], limits: Limits
    ) -> Iterator[Row]:
        return self._plan.run(session, parameters, limits)
