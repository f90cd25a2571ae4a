"""The engines that scenarios run on: stores with or without an engine of their own.

It plans and runs as the service does with its default settings, without its cache; it judges no
result.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.postgres.server import build_prefix, share_server
from tests.tck.graph import TckGraph
from twinframe.errors import QueryInvalid
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.history.past import PastSession
from twinframe.graph.queries.temporal_members import TypingCache
from twinframe.graph.statements.statements import Prepared
from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.engine import CannotRun, QueryEngine
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import EvaluatedExecution, Execution, WholeExecution
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.settings import QuerySettings
from twinframe.storage.base import GraphSession, GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.storage.states import StateCopies
from twinframe_columns.build import build_projection, order_labels
from twinframe_columns.choosing import ChoosingEngine
from twinframe_columns.holder import ProjectionHolder
from twinframe_columns.projection import Projection
from twinframe_columns.settings import ColumnsSettings
from twinframe_storage_postgres.compiler.abilities import Abilities
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine
from twinframe_storage_postgres.plugin import twinframe_query_engine as build_postgres_engine
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.plugin import twinframe_query_engine as build_rdf_engine
from twinframe_storage_rdf.store import RdfStore
from twinframe_storage_sqlite.plugin import twinframe_query_engine
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

ENGINES = ("evaluator", "sqlite", "columns", "rdf")
POSTGRES = "postgres"
"""The engine of a server, which is beside the others where one can be started."""
SPREAD = "postgres-spread"
"""The same, given neither walks, groups nor what is absent, as one that distributes tables."""
PAST = "past"
"""SQLite over a copy of an earlier state of a graph."""
PAST_EVALUATOR = "past-evaluator"
"""The evaluator over an earlier state of a graph in SQLite."""
_SPREAD = Abilities(refused=frozenset({"RECURSIVE", "NOT EXISTS", "EXISTS", "LEFT", "GROUP"}))
_SECONDS = 30.0
_TMPFS = Path("/dev/shm")  # noqa: S108  -- PERF: the files of a test run need no disk
_PLACE = _TMPFS if _TMPFS.is_dir() else None
_MOST_BYTES = 2**26


class _FreshColumns(ProjectionHolder):
    """Columns made of each state in this process: the graphs are small, and have no events."""

    @contextmanager
    def open(self, session: GraphSession) -> Iterator[Projection | None]:
        yield build_projection(
            0, session.iterate_twins(), session.iterate_relationships(), order_labels(session)
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a query gave.

    `columns` and `rows`, as values and as the JSON texts of the wire; or the `error`, and in
    `phase` when it was really raised. `whole`: the store's engine ran it alone; else `declined` is
    why it did not.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Value, ...], ...] = ()
    texts: tuple[bytes, ...] = ()
    error: QueryInvalid | None = None
    phase: str = ""
    whole: bool = False
    declined: str = ""


class Engine:
    """A store with the graph of the present scenario, and a way to query it."""

    def __init__(
        self, name: str, store: GraphStore, engine: QueryEngine | None, *, optimized: bool = True
    ) -> None:
        settings = QuerySettings()
        self.name = name
        self.graph = TckGraph(store, engine)
        self._session = store.session()
        self._engine = engine
        self._optimized = optimized
        self._typings = TypingCache(ModelCache()) if settings.temporal_properties else None
        self._max_rows, self._max_hops = settings.max_rows, settings.max_hops

    def close(self) -> None:
        """Give the session back."""
        self._session.close()

    def run(self, text: str, parameters: Mapping[str, Value]) -> Answer:
        """Run a query. An error that the query itself does not account for is raised."""
        try:
            prepared = self.graph.prepare(text, parameters)
        except QueryInvalid as error:
            return Answer(error=error, phase="compile time")
        if not prepared.statement.is_query:
            return self._run_statement(prepared)
        try:
            query = parse_query(text, parameters=parameters.keys()).query
        except QueryInvalid as error:
            return Answer(error=error, phase="compile time")
        typing = self._open_typing()
        try:
            execution = split(
                optimize(query) if self._optimized else query, self._engine, parameters, typing
            )
            try:
                return self._take(execution, parameters)
            except CannotRun:
                return self._take(split(query, None, parameters, typing), parameters)
        except QueryInvalid as error:
            return Answer(error=error, phase="runtime")

    def _run_statement(self, prepared: Prepared) -> Answer:
        try:
            result = self.graph.run(prepared)
        except QueryInvalid as error:
            return Answer(error=error, phase="runtime")
        rows = tuple(result.rows)
        texts = tuple(render_row(result.columns, row) for row in rows)
        return Answer(result.columns, rows, texts, declined="it writes or calls a procedure")

    def _open_typing(self) -> MemberTyping | None:
        if self._typings is None:
            return None
        with self._read() as session:
            return self._typings.open(session, session.read_schema_version())

    @contextmanager
    def _read(self, deadline: float | None = None) -> Iterator[GraphSession]:
        """Open what a query reads, in a snapshot."""
        with self._session.snapshot(deadline):
            yield self._session

    def _take(self, execution: Execution, parameters: Mapping[str, Value]) -> Answer:
        limits = Limits(self._max_rows, time.monotonic() + _SECONDS, self._max_hops)
        whole = isinstance(execution, WholeExecution)
        columns = execution.query.columns
        with self._read(limits.deadline) as session:
            rows = tuple(execution.run_rows(session, parameters, limits))
            if whole:
                texts = tuple(body for body, _ in execution.run_json(session, parameters, limits))
            else:
                texts = tuple(render_row(columns, row) for row in rows)
        declined = execution.declined if isinstance(execution, EvaluatedExecution) else ""
        return Answer(columns, rows, texts, whole=whole, declined=declined)


class PastEngine(Engine):
    """Runs each query as of a moment after which all of the graph, models too, was deleted.

    What writes or calls a procedure runs on the present state, which alone has them.
    """

    _position = 0

    def run(self, text: str, parameters: Mapping[str, Value]) -> Answer:
        try:
            if not self.graph.prepare(text, parameters).statement.is_query:
                return super().run(text, parameters)
        except QueryInvalid:
            return super().run(text, parameters)
        self._position = self._session.read_event_bounds()[1]
        deleted = self.graph.hide()
        try:
            return super().run(text, parameters)
        finally:
            self.graph.bring_back(deleted)

    @contextmanager
    def _read(self, deadline: float | None = None) -> Iterator[GraphSession]:
        with super()._read(deadline) as session:
            yield PastSession(session, self._position)


class CopyEngine(PastEngine):
    """Runs each query on a copy of the state that `PastEngine` shows."""

    @contextmanager
    def _read(self, deadline: float | None = None) -> Iterator[GraphSession]:
        with super()._read(deadline) as past, tempfile.NamedTemporaryFile(dir=_PLACE) as file:
            assert isinstance(past, PastSession)
            assert isinstance(past.present, StateCopies)
            past.present.write_state(Path(file.name), past, _MOST_BYTES)
            with past.present.open_state(Path(file.name)) as copy:
                assert copy is not None
                with copy.snapshot(deadline):
                    yield copy


@contextmanager
def open_engine(name: str, *, optimized: bool = True) -> Iterator[Engine]:
    """One engine over one new store, for any number of scenarios; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="twinframe-tck-", dir=_PLACE) as folder:
        store, query_engine = _build_store(name, folder)
        store.open()
        kinds = {PAST: CopyEngine, PAST_EVALUATOR: PastEngine}
        engine = kinds.get(name, Engine)(name, store, query_engine, optimized=optimized)
        try:
            yield engine
        finally:
            engine.close()
            store.close()


def _build_store(name: str, folder: str) -> tuple[GraphStore, QueryEngine | None]:
    match name:
        case "evaluator":
            return MemoryStore(), None
        case "sqlite" | "columns" | "past":
            settings = SqliteSettings(directory=folder, durability="relaxed")
            store = SqliteGraphStore(settings, "tck")
            engine: QueryEngine | None = twinframe_query_engine(store)
            if name == "columns" and engine is not None:
                engine = ChoosingEngine(engine, _FreshColumns(store, ColumnsSettings()))
            return store, engine
        case _ if name == PAST_EVALUATOR:
            return SqliteGraphStore(
                SqliteSettings(directory=folder, durability="relaxed"), name
            ), None
        case "rdf":
            rdf = RdfStore(OxigraphEngine(), GraphNames("tck"), shared=False)
            return rdf, build_rdf_engine(rdf)
        case _ if name in (POSTGRES, SPREAD):
            place = PostgresSettings(url=share_server(), schema_=build_prefix(Path(folder)))
            postgres = PostgresGraphStore(place, "tck")
            if name == SPREAD:
                return postgres, PostgresQueryEngine(lambda: _SPREAD)
            return postgres, build_postgres_engine(postgres)
        case _:
            raise ValueError(f"There is no engine {name}; there are {', '.join(ENGINES)}.")
