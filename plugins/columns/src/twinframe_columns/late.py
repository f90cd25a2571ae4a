"""The engine of columns before it is needed: without numpy, and without a compiler.

PERF: numpy and the compiler take a fifth of the time in which a script opens a graph and asks for
the first time, most often a small one. A service loads the engine when it starts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Final

from twinframe.model.values import Value
from twinframe.query.algebra import Query
from twinframe.query.engine import CompiledQuery, Explanation, JoinEstimate, JsonRow, QueryEngine
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader
from twinframe.runtime.late import Late
from twinframe.storage.base import GraphSession, GraphStore
from twinframe_columns.settings import COLUMNS, ColumnsSettings

_LOOK: Final = 0.5
"""Seconds between two looks for whether the graph is large enough for columns."""


class LateEngine(QueryEngine, Late):
    """Runs queries in the store's engine until the graph may have columns."""

    typed_name = COLUMNS

    def __init__(self, engine: QueryEngine, store: GraphStore, settings: ColumnsSettings) -> None:
        self.name = engine.name
        self.shares_plans = engine.shares_plans
        self.seeks_computed = engine.seeks_computed
        self._stored = engine
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._choosing: QueryEngine | None = None
        self._next = -float("inf")

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        """The plan of both engines, or of the store's, which is compiled again when needed."""
        if self._choosing is not None:
            return self._choosing.compile(query, parameters)
        return LateQuery(self, self._stored.compile(query, parameters), query, parameters)

    def compile_typed(
        self, query: Query, parameters: Mapping[str, Value], typing: MemberTyping
    ) -> CompiledQuery:
        """The plan for columns alone."""
        return self.load().compile_typed(query, parameters, typing)

    @property
    def statements(self) -> QueryEngine:
        """The store's engine."""
        return self._stored.statements

    def close(self) -> None:
        """End what runs in the background."""
        with self._lock:
            (self._choosing or self._stored).close()

    def load(self) -> QueryEngine:
        """Return the engine that answers from columns where it can."""
        with self._lock:
            if self._choosing is None:
                choosing = import_module("twinframe_columns.choosing")
                built: QueryEngine = choosing.build_engine(
                    self._stored, self._store, self._settings
                )
                self._choosing = built
            return self._choosing

    def is_needed(self, session: GraphReader) -> bool:
        """Whether the graph has as many twins as one with columns. It looks now and then."""
        if self._choosing is not None:
            return True
        now = time.monotonic()
        if now < self._next or not isinstance(session, GraphSession):
            return False
        self._next = now + _LOOK
        return session.count_twins() >= self._settings.least_twins


class LateQuery(CompiledQuery):
    """A plan compiled for the store, and for columns at its first run that may use them."""

    def __init__(
        self,
        engine: LateEngine,
        stored: CompiledQuery,
        query: Query,
        parameters: Mapping[str, Value],
    ) -> None:
        self.text = stored.text
        self.resumable = stored.resumable
        self.short_seconds = stored.short_seconds
        self._engine = engine
        self._stored = stored
        self._compiling = query, parameters
        self._chosen: CompiledQuery | None = None

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        """Rows of the one that answers."""
        run = self._choose(session).run_json
        return run(session, parameters, after=after, skip=skip, limit=limit)

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        """Rows of the one that answers."""
        return self._choose(session).run_rows(session, parameters)

    def list_indexes(self, session: GraphReader, parameters: Mapping[str, Value]) -> Sequence[str]:
        """Those of both engines."""
        return self._load().list_indexes(session, parameters)

    def explain(self, session: GraphReader, parameters: Mapping[str, Value]) -> Explanation:
        """How both engines would answer."""
        return self._load().explain(session, parameters)

    def build_measured(self, measures: Measures) -> CompiledQuery:
        """The plan of both engines, measured."""
        return self._load().build_measured(measures)

    def count_joins(
        self, session: GraphReader, parameters: Mapping[str, Value], joins: Sequence[JoinEstimate]
    ) -> Iterator[int | None]:
        """Those of the store."""
        return self._stored.count_joins(session, parameters, joins)

    def _choose(self, session: GraphReader) -> CompiledQuery:
        if self._chosen is None and not self._engine.is_needed(session):
            return self._stored
        return self._load()

    def _load(self) -> CompiledQuery:
        if self._chosen is None:
            self._chosen = self._engine.load().compile(*self._compiling)
        return self._chosen
