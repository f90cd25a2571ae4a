"""Compiled queries inside write functions: over what is put, within a time, and without traces."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pytest

from tests.postgres.server import build_prefix, share_server
from twinframe.errors import QueryTimeout
from twinframe.query.engine import CannotRun
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.storage.base import GraphTransaction
from twinframe.testing.factories import build_twin_record
from twinframe_storage_postgres.compiler.engine import PostgresQuery, PostgresQueryEngine
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore
from twinframe_storage_postgres.transaction import PostgresTransaction

T = TypeVar("T")
SETTINGS = (
    "SELECT current_setting('search_path'), current_setting('enable_seqscan'), "
    "current_setting('enable_hashjoin'), current_setting('enable_mergejoin'), "
    "current_setting('statement_timeout')"
)
WRITING = [("pg_catalog", "off", "off", "off", "0")]
COUNT = "MATCH (n) RETURN count(n) AS n"
MANY = "MATCH (n), (m), (o), (p) RETURN n.`$dtId` AS i"
SLOW = "MATCH (a), (b), (c), (d), (e), (f), (g), (h), (i) RETURN count(*) AS n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    settings = PostgresSettings(url=share_server(), schema_=build_prefix(tmp_path))
    store = PostgresGraphStore(settings, "graph")
    store.open()
    write(store, lambda transaction: put(transaction, *"abcdefgh"))
    yield store
    store.close()


def put(transaction: GraphTransaction, *twin_ids: str) -> None:
    for twin_id in twin_ids:
        transaction.put_twin(build_twin_record(twin_id, x=1))


def write(store: PostgresGraphStore, function: Callable[[PostgresTransaction], T]) -> T:
    def apply(transaction: GraphTransaction) -> T:
        assert isinstance(transaction, PostgresTransaction)
        return function(transaction)

    (outcome,) = store.write([apply])
    if outcome.error is not None:
        raise outcome.error
    return outcome.result  # type: ignore[return-value]  # it is that of the function


def prepare(text: str) -> PostgresQuery:
    compiled = PostgresQueryEngine().compile(optimize(parse_query(text).query), {})
    assert isinstance(compiled, PostgresQuery)
    return compiled


def test_a_compiled_query_sees_what_the_function_has_put(store: PostgresGraphStore) -> None:
    def work(transaction: PostgresTransaction) -> tuple[object, object]:
        put(transaction, "i", "j")
        first = [*prepare(COUNT).run_rows(transaction, {})]
        transaction.delete_twin("a")
        return first, [*prepare(COUNT).run_rows(transaction, {})]

    assert write(store, work) == ([(10,)], [(9,)])


def test_the_functions_of_a_batch_read_what_those_before_wrote(store: PostgresGraphStore) -> None:
    def count(transaction: GraphTransaction) -> object:
        found = [*prepare(COUNT).run_rows(transaction, {})]
        put(transaction, "k")
        return found

    outcomes = store.write([lambda transaction: put(transaction, "i"), count, count])
    assert [one.error for one in outcomes] == [None] * 3
    assert [one.result for one in outcomes][1:] == [[(9,)], [(10,)]]


def test_settings_of_queries_end_with_the_query(store: PostgresGraphStore) -> None:
    def work(transaction: PostgresTransaction) -> None:
        assert transaction.read_all(SETTINGS) == WRITING
        with transaction.snapshot(time.monotonic() + 60):
            [*prepare(COUNT).run_rows(transaction, {})]
            assert transaction.read_all(SETTINGS) == WRITING
            rows = prepare(MANY).run_rows(transaction, {})
            assert len([*islice(rows, 3000)]) == 3000  # of 4,096, by a cursor
            assert transaction.read_all(SETTINGS) == WRITING
            put(transaction, "i")
            assert len([*rows]) == 1096  # the cursor shows the state that it began with
        assert transaction.read_all(SETTINGS) == WRITING

    write(store, work)


def test_the_transaction_goes_on_after_an_error_of_a_query(store: PostgresGraphStore) -> None:
    def work(transaction: PostgresTransaction) -> object:
        put(transaction, "i")
        with pytest.raises(CannotRun):
            [*prepare("MATCH (n) RETURN 1 / (n.x - 1) AS x").run_rows(transaction, {})]
        assert transaction.read_all(SETTINGS) == WRITING
        put(transaction, "j")
        return [*prepare(COUNT).run_rows(transaction, {})]

    assert write(store, work) == [(10,)]


def test_a_query_ends_at_the_deadline_and_the_transaction_goes_on(
    store: PostgresGraphStore,
) -> None:
    def work(transaction: PostgresTransaction) -> object:
        put(transaction, "i")
        with transaction.snapshot(time.monotonic() + 0.3), pytest.raises(QueryTimeout):
            [*prepare(SLOW).run_rows(transaction, {})]
        with transaction.snapshot(time.monotonic() - 1), pytest.raises(QueryTimeout):
            [*prepare(COUNT).run_rows(transaction, {})]
        return [*prepare(COUNT).run_rows(transaction, {})]

    assert write(store, work) == [(9,)]
