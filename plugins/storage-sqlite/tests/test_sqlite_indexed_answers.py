"""With an automatic index, answers stay exact while properties change, appear and vanish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.storage.base import GraphTransaction, ModelRecord, TwinRecord
from twinframe.testing.contracts.base import run_all
from twinframe.testing.query_law import ask_evaluator, freeze
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.indexing import upkeep
from twinframe_storage_sqlite.indexing.statistics import load_statistics, put_statistics
from twinframe_storage_sqlite.indexing.targets import Target
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore
from twinframe_storage_sqlite.transaction import SqliteTransaction

MODEL: Final = "dtmi:ex:Device;1"
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from((1.0, -0.0, 0.5, 1e300, 2.0**53, 2**53 + 1, 2**63 - 1)),
    st.sampled_from(("", "1", "a", "ab", "true", "null", "a\0", "é😀", "\uffff")),
    st.lists(st.integers(0, 1), max_size=2),
    st.sampled_from(({}, {"k": 1})),
)
TESTS: Final = (
    *("t.x = {}", "t.x < {}", "t.x >= {}", "t.x IN [{}, 1, 'a', true]", "t.x STARTS WITH {}"),
    *("NOT t.x = {}", "t.x IS NOT NULL AND t.x <= {}", "t.x = {} OR t.x > 'a'", "t.x <> {}"),
)
END: Final = "ORDER BY size(t.$dtId)"
"""NOTE: in the order of pages SQLite would read ranges of unknown size row by row."""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteGraphStore]:
    """A store with an index on `x`, of which SQLite believes that it is selective."""
    folder = str(tmp_path_factory.mktemp("indexed"))
    store = SqliteGraphStore(SqliteSettings(directory=folder, durability="relaxed"), "graph")
    store.open()

    def begin(transaction: GraphTransaction) -> None:
        transaction.put_models([ModelRecord(MODEL, b"{}", b"{}", b"{}", (), (), "2026")])
        upkeep.make_index(Target("twin", "x"), "1000000 1", 0.0, transaction)
        assert isinstance(transaction, SqliteTransaction)
        put_statistics(transaction.connection, "twin", "twin_model", "1000000 500000")
        load_statistics(transaction.connection)

    (outcome,) = run_all(store, begin)
    assert outcome.error is None
    yield store
    store.close()


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.lists(st.tuples(st.integers(0, 5), st.one_of(st.just("gone"), VALUES)), max_size=8),
    removed=st.lists(st.integers(0, 5), max_size=2),
    sought=VALUES,
    test=st.sampled_from(TESTS),
)
def test_answers_are_exact_while_properties_change_their_type(
    indexed: SqliteGraphStore,
    changes: list[tuple[int, Any]],
    removed: list[int],
    sought: Any,
    test: str,
) -> None:
    """Whatever was there before: the graph goes from one example to the next."""

    def apply(transaction: GraphTransaction) -> None:
        for number in set(removed):
            if transaction.has_twin(f"t{number}"):
                transaction.delete_twin(f"t{number}")
        for number, value in changes:
            body = {"$dtId": f"t{number}", "$metadata": {"$model": MODEL}}
            document = orjson.dumps(body if value == "gone" else {**body, "x": value})
            transaction.put_twin(TwinRecord(f"t{number}", MODEL, "1", document))

    (outcome,) = run_all(indexed, apply)
    assert outcome.error is None
    text = f"MATCH (t:Device) WHERE {test.format('$v')} RETURN t.$dtId AS i, t.x AS x {END}"
    query = parse_query(text, parameters=("v",)).query
    session = indexed.session()
    with session.snapshot():
        expected = ask_evaluator(query, session, {"v": sought})
        try:
            compiled = SqliteQueryEngine().compile(query, {"v": sought})
            assert isinstance(compiled, SqliteQuery)
            found = [freeze(row) for row in compiled.run_rows(session, {"v": sought})]
        except CannotRun:
            found = None
    session.close()
    if found is not None:
        assert expected.error is None
        assert sorted(map(repr, found)) == sorted(map(repr, expected.rows))


def test_the_index_is_used_by_these_tests(indexed: SqliteGraphStore) -> None:
    session = indexed.session()
    used = []
    for test in TESTS:
        text = f"MATCH (t:Device) WHERE {test.format('$v')} RETURN t.x AS x {END}"
        compiled = SqliteQueryEngine().compile(parse_query(text, parameters=("v",)).query, {"v": 1})
        used.append("x" in compiled.list_indexes(session, {"v": 1}))
    session.close()
    assert sum(used) >= 5
