"""The executor over columns as an engine of its own, on small graphs in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson
import pytest

from twinframe.errors import QueryInvalid
from twinframe.model.rendering import render_row
from twinframe.model.values import Value
from twinframe.query.algebra import Parameter, Query
from twinframe.query.engine import CannotRun, CompiledQuery, JsonRow, QueryEngine
from twinframe.query.evaluate.engine import run as evaluate
from twinframe.query.measures import Measures
from twinframe.query.reader import GraphReader
from twinframe.query.traversal import walk
from twinframe.storage.base import (
    GraphSession,
    GraphTransaction,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.testing.query_law import (
    EdgeSketch,
    OrderedMemoryStore,
    QueryLaw,
    TwinSketch,
    build_edge_document,
    build_twin_document,
    open_stored,
)
from twinframe_columns.build import build_projection, order_labels
from twinframe_columns.catch_up import Changes, apply_changes
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.layout import read_projection, write_projection
from twinframe_columns.projection import Projection


class ColumnsAlone(CompiledQuery):
    """A plan for columns, of which every session has its own."""

    text = "columns"
    resumable = False

    def __init__(self, query: Query, projections: Mapping[int, Projection]) -> None:
        self._plan = ColumnPlan(query)
        self._projections = projections

    def build_measured(self, measures: Measures) -> CompiledQuery:
        measured = copy(self)
        measured._plan = self._plan.build_measured(measures)
        measures.engine = "columns"
        return measured

    def run_json(
        self,
        session: GraphReader,
        parameters: Mapping[str, Value],
        *,
        after: int | str | None = None,
        skip: int = 0,
        limit: int | None = None,
    ) -> Iterator[JsonRow]:
        projection = self._projections[id(session)]
        bodies = self._plan.run_json(projection, session, parameters, skip, limit)
        return ((body, None) for body in bodies or ())

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        projection = self._projections[id(session)]
        return iter(self._plan.run(projection, session, parameters) or ())


class ColumnsEngine(QueryEngine):
    """The engine without a store's beside it."""

    name = "columns"

    def __init__(self) -> None:
        self.projections: dict[int, Projection] = {}

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        for term in walk(query.root):
            if isinstance(term, Parameter) and term.name not in parameters:
                raise QueryInvalid(f"The request does not give ${term.name}.")
        return ColumnsAlone(query, self.projections)

    @contextmanager
    def open_built(
        self, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
    ) -> Iterator[GraphSession]:
        """A session whose columns were made of its state."""
        with open_stored(OrderedMemoryStore(), twins, edges) as session:
            self.projections[id(session)] = build_columns(session)
            yield session
            del self.projections[id(session)]

    @contextmanager
    def open_worn(
        self, twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
    ) -> Iterator[GraphSession]:
        """A session whose columns were made of another state and brought up to date."""
        store = OrderedMemoryStore()
        with open_stored(store, *age(twins, edges)) as session, TemporaryDirectory() as directory:
            path = Path(directory) / "columns"
            write_projection(build_columns(session), "key", path)
            with path.open("rb") as file:
                projection = read_projection(file, "key")
            changes = rejuvenate(store, session, twins, edges)
            apply_changes(projection, session, changes)
            self.projections[id(session)] = projection
            yield session
            del self.projections[id(session)]


def build_columns(session: GraphSession) -> Projection:
    """The columns of a session's state."""
    return build_projection(
        0, session.iterate_twins(), session.iterate_relationships(), order_labels(session)
    )


def age(
    twins: Sequence[TwinSketch], edges: Sequence[EdgeSketch]
) -> tuple[list[TwinSketch], list[EdgeSketch]]:
    """Another state: some are missing, others differ, and some will have to go."""
    kept = [one for at, one in enumerate(twins) if at % 3]
    old: list[TwinSketch] = [
        (one, "dtmi:ex:Sensor;1" if at % 4 == 1 else model, {"x": at, "s": "old", "gone": [at]})
        for at, (one, model, _) in enumerate(kept)
    ]
    old += [(f"old{at}", "dtmi:ex:Room;1", {"x": 1, "s": "foo"}) for at in range(3)]
    ids = [one for one, _, _ in old]
    between = [edge for at, edge in enumerate(edges) if {edge[0], edge[2]} <= {*ids} and at % 2]
    between = [(s, "has", t, {"w": 1, "old": True}) for s, _, t, _ in between]
    junk = [
        (one, "has", other, {"w": 1}) for one, other in zip(ids, ids[1:] + ids[:1], strict=True)
    ]
    return old, [*between, *junk]


def rejuvenate(
    store: OrderedMemoryStore,
    session: GraphSession,
    twins: Sequence[TwinSketch],
    edges: Sequence[EdgeSketch],
) -> Changes:
    """Bring the store to its last state; return the changes."""
    old_twins = [one.twin_id for one in session.iterate_twins()]
    old_edges = [(one.source_id, one.relationship_id) for one in session.iterate_relationships()]

    def write(transaction: GraphTransaction) -> None:
        for key in old_edges:
            transaction.delete_relationship(*key)
        for twin_id in old_twins:
            if twin_id not in {one for one, _, _ in twins}:
                transaction.delete_twin(twin_id)
        for row, twin in enumerate(twins, 1):
            body = orjson.dumps(build_twin_document(row, twin))
            transaction.put_twin(TwinRecord(twin[0], twin[1], f'W/"{row}"', body))
        for row, (source, name, target, contents) in enumerate(edges, 1):
            document = build_edge_document(row, (source, name, target, contents))
            body = orjson.dumps(document)
            transaction.put_relationship(
                RelationshipRecord(source, f"r{row}", name, target, f'W/"{row}"', body)
            )

    (outcome,) = store.write([write])
    assert outcome.error is None
    keys = dict.fromkeys((*old_edges, *((e[0], f"r{at}") for at, e in enumerate(edges, 1))))
    ids = dict.fromkeys((*old_twins, *(one for one, _, _ in twins)))
    return Changes(1, ids, keys, has_models=False)


class _Beside(CompiledQuery):
    """A plan for columns beside one of the evaluator, which answers what columns decline."""

    text = "columns"
    resumable = False

    def __init__(self, query: Query, projections: Mapping[int, Projection]) -> None:
        self._columns = ColumnsAlone(query, projections)
        self._query = query

    def run_json(
        self, session: GraphReader, parameters: Mapping[str, Value], **page: Any
    ) -> Iterator[JsonRow]:
        try:
            return self._columns.run_json(session, parameters, **page)
        except CannotRun:
            skip, limit = page.get("skip", 0), page.get("limit")
            end = None if limit is None else skip + limit
            rows = islice(self._evaluate(session, parameters), skip, end)
            query = self._query
            return iter(
                [(render_row(query.columns, row, omit_null=query.omit_null), None) for row in rows]
            )

    def run_rows(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        try:
            return self._columns.run_rows(session, parameters)
        except CannotRun:
            return self._evaluate(session, parameters)

    def _evaluate(
        self, session: GraphReader, parameters: Mapping[str, Value]
    ) -> Iterator[tuple[Value, ...]]:
        try:
            yield from evaluate(self._query, session, parameters)
        except QueryInvalid as error:
            raise CannotRun(str(error)) from error


class BesideEngine(ColumnsEngine):
    """The engine as a service uses it: another one answers what it declines while it runs."""

    def compile(self, query: Query, parameters: Mapping[str, Value]) -> CompiledQuery:
        super().compile(query, parameters)
        return _Beside(query, self.projections)


@pytest.fixture(scope="session")
def beside_law() -> Iterator[QueryLaw]:
    """The law of the engine as a service uses it."""
    engine = BesideEngine()
    law = QueryLaw(engine, engine.open_built)
    yield law
    law.close()


@pytest.fixture(scope="session")
def columns_engine() -> ColumnsEngine:
    """The engine, shared by all tests of a process."""
    return ColumnsEngine()


@pytest.fixture(scope="session")
def query_law(columns_engine: ColumnsEngine) -> Iterator[QueryLaw]:
    """The law of columns that were just made."""
    law = QueryLaw(columns_engine, columns_engine.open_built)
    yield law
    law.close()


@pytest.fixture(scope="session")
def worn_law(columns_engine: ColumnsEngine) -> Iterator[QueryLaw]:
    """The law of columns that were brought up to date."""
    law = QueryLaw(columns_engine, columns_engine.open_worn)
    yield law
    law.close()
