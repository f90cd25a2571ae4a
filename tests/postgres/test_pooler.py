"""All that the store does goes through PgBouncer in transaction mode, on fewer connections."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from pydantic import SecretStr

from tests.postgres.pooler import pool, share_pool
from tests.postgres.server import build_prefix, share_server
from tests.reliability.judging import NotRun
from tests.reliability.nodes import make_nodes
from tests.waiting import join, start
from twinframe.errors import PreconditionFailed, QueryTimeout
from twinframe.query.language import parse_query
from twinframe.runtime.diagnosis.findings import Severity
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_twin_record
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_postgres.compiler.abilities import EVERYTHING
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine
from twinframe_storage_postgres.findings import list_findings
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

_ALL = "pgbouncer" in os.environ.get("TWINFRAME_STORAGES", "")
_SIZE = 3


def _build(url: str, place: Path, **settings: Any) -> PostgresGraphStore:
    chosen = {"directory": str(place), "schema_": build_prefix(place), "pooler": True, **settings}
    return PostgresGraphStore(PostgresSettings(url=SecretStr(url), **chosen), "graph")


@pytest.fixture(scope="module")
def pooled() -> Iterator[str]:
    """A pool of three connections."""
    with pool(str(conninfo_to_dict(share_server())["host"]), size=_SIZE) as url:
        yield url


@pytest.fixture
def store(pooled: str, tmp_path: Path) -> Iterator[PostgresGraphStore]:
    found = _build(pooled, tmp_path, connections=30)
    found.open()
    yield found
    found.close()


@pytest.mark.skipif(not _ALL, reason="it takes long; TWINFRAME_STORAGES=pgbouncer runs it")
class TestPooledStore(GraphStoreContract):
    """Every store of one place opens the same schema."""

    def make_store(self, place: Path) -> PostgresGraphStore:
        """A store of a schema named after `place`."""
        return _build(share_pool(), place)


def _count(store: PostgresGraphStore) -> None:
    """Add one to the twin, if it still has the etag that was read before."""
    while True:
        read = store.session().read_twin("counter")
        assert read is not None
        number: int = orjson.loads(read.body)["number"] + 1

        def replace(
            transaction: GraphTransaction, etag: str = read.etag, number: int = number
        ) -> None:
            stored = transaction.read_twin("counter")
            if stored is None or stored.etag != etag:
                raise PreconditionFailed("another etag")
            transaction.put_twin(build_twin_record("counter", number=number))

        try:
            run(store, replace)
        except PreconditionFailed:
            continue
        return


def test_writers_of_many_connections_lose_nothing_on_few(
    pooled: str, store: PostgresGraphStore, tmp_path: Path
) -> None:
    run(store, lambda transaction: transaction.put_twin(build_twin_record("counter", number=0)))
    others = [_build(pooled, tmp_path, connections=30) for _ in range(4)]
    for each in others:
        each.open()

    def work(mine: PostgresGraphStore) -> None:
        for _ in range(10):
            _count(mine)

    threads = [start(work, each) for each in others for _ in range(3)]
    join(*threads)
    stored = store.session().read_twin("counter")
    assert stored is not None
    assert orjson.loads(stored.body)["number"] == 120
    assert store.verify() == []
    for each in others:
        each.close()


def test_snapshots_keep_their_state_while_others_write_on_the_same_connections(
    store: PostgresGraphStore,
) -> None:
    run(store, lambda transaction: transaction.put_twin(build_twin_record("a", number=0)))
    session = store.session()
    query = parse_query("MATCH (n) RETURN n.number AS number").query
    compiled = PostgresQueryEngine(lambda: store.abilities).compile(query, {})
    with session.snapshot():
        before = [*compiled.run_rows(session, {})]
        for number in range(1, 6):
            run(
                store,
                lambda transaction, number=number: transaction.put_twin(
                    build_twin_record("a", number=number)
                ),
            )
        assert [*compiled.run_rows(session, {})] == before == [(0,)]
        assert [twin.twin_id for twin in session.iterate_twins()] == ["a"]
    with session.snapshot():
        assert [*compiled.run_rows(session, {})] == [(5,)]
    session.close()


def test_a_pooled_server_is_proven_and_checked(store: PostgresGraphStore) -> None:
    assert store.abilities == EVERYTHING
    wrong = [each for each in list_findings(store.settings) if each.severity is Severity.ERROR]
    assert [each.check for each in wrong] == ["durability"]  # the test's server does not sync


def test_what_is_set_for_a_query_ends_with_it(store: PostgresGraphStore) -> None:
    session = store.session()
    with session.snapshot(time.monotonic() + 60):
        session.read_all("SELECT 1")
    with psycopg.connect(store.settings.url.get_secret_value(), autocommit=True) as other:
        for _ in range(2 * _SIZE):
            names = ("statement_timeout", "lock_timeout", "search_path", "enable_seqscan")
            found = [other.execute(f"SHOW {name}").fetchone() for name in names]
            assert found == [("0",), ("0",), ('"$user", public',), ("on",)]
    session.close()


def test_a_deadline_ends_the_statement_behind_the_pool(store: PostgresGraphStore) -> None:
    session = store.session()
    with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() + 0.2):
        session.read_all("SELECT pg_sleep(60)")
    timer = threading.Timer(0.3, session.interrupt)
    with session.snapshot():
        timer.start()
        with pytest.raises(QueryTimeout):
            session.read_all("SELECT pg_sleep(60)")
    join(timer)
    with session.snapshot():
        assert session.read_one("SELECT 1") == 1
    session.close()


def test_standbys_are_read_through_a_pool(tmp_path: Path) -> None:
    try:
        with make_nodes(2) as (primary, standby):
            primary.make()
            primary.start()
            standby.copy(primary.port)
            standby.start()
            primary.wait_for("SELECT count(*) = 1 FROM pg_stat_replication")
            with (
                pool("127.0.0.1", primary.port) as first,
                pool("127.0.0.1", standby.port) as second,
            ):
                store = _build(first, tmp_path, read_urls=SecretStr(second), read_wait=30.0)
                store.open()
                session = store.session()
                for number in range(20):
                    record = build_twin_record("a", number=number)
                    run(store, lambda transaction, one=record: transaction.put_twin(one))
                    with session.snapshot():
                        stored = session.read_twin("a")
                        assert stored is not None
                        assert orjson.loads(stored.body)["number"] == number
                        assert session.read_one("SELECT inet_server_port()") == standby.port
                session.close()
                store.close()
    except NotRun as reason:
        pytest.skip(str(reason))
