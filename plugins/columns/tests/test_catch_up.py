"""A projection that followed the changes is the one that is built from the whole graph."""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.storage.base import (
    ChangeKind,
    GraphSession,
    GraphStore,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.storage.memory import MemoryStore
from twinframe.testing.query_law import MODELS, build_edge_document, build_twin_document
from twinframe_columns import kinds as k
from twinframe_columns.build import build_projection, order_labels
from twinframe_columns.catch_up import apply_changes, read_changes
from twinframe_columns.column import Column
from twinframe_columns.engine import ColumnPlan
from twinframe_columns.layout import read_projection, write_projection
from twinframe_columns.projection import ID, RELATIONSHIP_ID, Projection

IDS = ("a", "b", "ab", "é", "zz", "0")
NAMES = ("has", "feeds")

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from((2**53, 2**53 - 1, -(2**60)))
    | st.floats(allow_nan=False, allow_infinity=False, width=16)
    | st.sampled_from(("", "a", "ab", "b", "é", "\x00", "😀", "\uffff")),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=2)
    ),
    max_leaves=4,
)
contents = st.dictionaries(st.sampled_from(("x", "y", "s")), values, max_size=3)
twin_ids = st.sampled_from(IDS)
writes = st.one_of(
    st.tuples(st.just("put"), twin_ids, st.sampled_from(list(MODELS)), contents),
    st.tuples(st.just("delete"), twin_ids),
    st.tuples(
        st.just("link"), twin_ids, st.sampled_from(NAMES), twin_ids, st.sampled_from("12"), contents
    ),
    st.tuples(st.just("unlink"), twin_ids, st.sampled_from("12")),
)


class Writer:
    """Writes to a store as the service does: each change with its row in the outbox."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self.edges: dict[tuple[str, str], tuple[str, str]] = {}
        self.twins: set[str] = set()

    def write(self, write: Any) -> None:
        (outcome,) = self._store.write([lambda transaction: self._apply(transaction, *write)])
        if outcome.error is not None:
            raise outcome.error

    def _apply(self, transaction: GraphTransaction, verb: str, *rest: Any) -> None:
        match verb, *rest:
            case "put", twin, model, held:
                body = orjson.dumps(build_twin_document(1, (twin, model, held)))
                transaction.put_twin(TwinRecord(twin, model, 'W/"1"', body))
                self.twins.add(twin)
                note(transaction, ChangeKind.TWIN_UPDATED, twin)
            case "delete", twin:
                for source, edge in [key for key, ends in self.edges.items() if twin in ends]:
                    self._apply(transaction, "unlink", source, edge)
                if twin in self.twins:
                    transaction.delete_twin(twin)
                    self.twins.remove(twin)
                    note(transaction, ChangeKind.TWIN_DELETED, twin)
            case "link", source, name, target, edge, held if {source, target} <= self.twins:
                document = build_edge_document(1, (source, name, target, held))
                body = orjson.dumps({**document, "$relationshipId": edge})
                record = RelationshipRecord(source, edge, name, target, 'W/"1"', body)
                transaction.put_relationship(record)
                self.edges[source, edge] = source, target
                note(transaction, ChangeKind.RELATIONSHIP_UPDATED, source, edge)
            case "unlink", source, edge if (source, edge) in self.edges:
                transaction.delete_relationship(source, edge)
                del self.edges[source, edge]
                note(transaction, ChangeKind.RELATIONSHIP_DELETED, source, edge)
            case _:
                pass


def note(transaction: GraphTransaction, kind: ChangeKind, subject: str, edge: str = "") -> None:
    transaction.append_events([OutboxEvent(subject, b"{}", kind, edge)])


def open_store() -> GraphStore:
    store = MemoryStore()
    store.open()

    def put(transaction: GraphTransaction) -> None:
        transaction.put_models(
            [ModelRecord(m, b"{}", b"{}", b"{}", up, (), "2026") for m, up in MODELS.items()]
        )

    (outcome,) = store.write([put])
    assert outcome.error is None
    return store


def build(session: GraphSession) -> Projection:
    return build_projection(
        session.read_event_bounds()[1],
        session.iterate_twins(),
        session.iterate_relationships(),
        order_labels(session),
    )


def read_value(column: Column, row: int) -> Any:
    kind = int(column.kinds[row])
    if kind in (k.INTEGER, k.FLOAT):
        assert column.numbers is not None
        return kind, float(column.numbers[row])
    if kind == k.STRING:
        assert column.codes is not None
        assert column.strings is not None
        return kind, column.strings.read(int(column.codes[row]))
    return kind, None


def describe(projection: Projection) -> tuple[Any, Any]:
    """What a projection says, in whatever order it has it."""
    names = {
        row: read_value(projection.columns[ID], row)[1]
        for row in range(projection.count)
        if projection.numbers[row] >= 0
    }
    twins = {
        name: (
            projection.models[projection.numbers[row]],
            {
                path: read_value(column, row)
                for path, column in projection.columns.items()
                if column.kinds[row] != k.NULL
            },
        )
        for row, name in names.items()
    }
    edges = set()
    for name, one in projection.edges.items():
        for number in range(one.count):
            if one.is_alive is None or one.is_alive[number]:
                held = {
                    path: read_value(column, number)
                    for path, column in one.columns.items()
                    if column.kinds[number] != k.NULL
                }
                ends = names[int(one.sources[number])], names[int(one.targets[number])]
                edges.add((name, ends, held.pop((RELATIONSHIP_ID,)), tuple(sorted(held.items()))))
    return twins, edges


@given(st.lists(writes, max_size=12), st.lists(st.lists(writes, max_size=5), max_size=4))
def test_following_the_changes_gives_what_building_anew_gives(
    tmp_path_factory: Any, before: list[Any], after: list[list[Any]]
) -> None:
    file: Path = tmp_path_factory.mktemp("columns") / "columns"
    store = open_store()
    writer = Writer(store)
    for write in before:
        writer.write(write)
    with closing(store.session()) as session:
        write_projection(build(session), "this graph", file)
        with file.open("rb") as opened:
            projection = read_projection(opened, "this graph")
        assert describe(projection) == describe(build(session))
        for some in after:
            for write in some:
                writer.write(write)
            changes = read_changes(session, projection.position, 100)
            assert changes is not None
            apply_changes(projection, session, changes)
            fresh = build(session)
            assert describe(projection) == describe(fresh)
            for text in QUERIES:
                plan = ColumnPlan(parse_query(text, parameters=()).query)
                with suppress(CannotRun):
                    found = [plan.run(each, session, {}) for each in (projection, fresh)]
                    assert sorted(map(repr, found[0] or ())) == sorted(map(repr, found[1] or ())), (
                        text
                    )


QUERIES = (
    "MATCH (t:Room) RETURN t.$dtId AS i",
    "MATCH (t) WHERE t.$dtId STARTS WITH 'a' RETURN t.$dtId AS i",
    "MATCH (t)-[:has]->(u) RETURN t.$dtId AS t, u.$dtId AS u",
    "MATCH (t)<-[:has]-(u)-[:feeds]->(v) RETURN t.$dtId AS t, count(*) AS n",
)
