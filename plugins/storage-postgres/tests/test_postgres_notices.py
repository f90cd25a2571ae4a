"""Notices between stores of one graph, as between processes: who is woken, and what if not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgres.server import build_prefix, share_server
from tests.waiting import PATIENCE, wait_until
from twinframe.storage.base import GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import run
from twinframe_storage_postgres.connections import connect
from twinframe_storage_postgres.notices import Notices
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore


def append(transaction: GraphTransaction) -> None:
    transaction.append_events([OutboxEvent("a", b"{}")])


def make_store(place: Path, process: int, **settings: Any) -> PostgresGraphStore:
    """An open store of the graph. Each `process` has connections of its own."""
    chosen = {"directory": str(place), "connections": 4 + process, **settings}
    url = share_server()
    store = PostgresGraphStore(
        PostgresSettings(url=url, schema_=build_prefix(place), **chosen), "g"
    )
    store.open()
    return store


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[PostgresGraphStore, PostgresGraphStore]]:
    """Stores of one graph in what counts as two processes."""
    with closing(make_store(tmp_path, 1)) as one, closing(make_store(tmp_path, 2)) as other:
        yield one, other


def listen(store: PostgresGraphStore) -> threading.Event:
    """Listen, and return what is set at notices from now on."""
    woken = threading.Event()
    wake = woken.set
    wait_until(lambda: store.listen(wake))
    assert woken.wait(PATIENCE)  # for what was written before
    woken.clear()
    return woken


def end_listeners(store: PostgresGraphStore) -> None:
    """End the connections that listen for this graph, as a restart of the server does."""
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE query LIKE 'LISTEN%' OR query LIKE '%pg_notify%' AND pid <> pg_backend_pid()"
        )


def test_events_wake_those_who_follow_in_other_processes_and_not_their_writer(
    stores: tuple[PostgresGraphStore, PostgresGraphStore],
) -> None:
    one, other = stores
    own, others = listen(one), listen(other)
    for _ in range(3):
        run(one, append)
        assert others.wait(PATIENCE)
        others.clear()
    run(other, append)
    assert own.wait(PATIENCE)  # so all that was for the other one has arrived, too
    assert not others.is_set()


def test_stores_of_one_process_wake_each_other(tmp_path: Path) -> None:
    with closing(make_store(tmp_path, 1)) as one, closing(make_store(tmp_path, 1)) as other:
        woken = listen(other)
        run(one, append)
        assert woken.is_set()


def test_writes_without_events_wake_nobody(
    stores: tuple[PostgresGraphStore, PostgresGraphStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = stores
    told: list[object] = []
    monkeypatch.setattr(Notices, "notify", lambda _, teller: told.append(teller))
    run(one, lambda transaction: transaction.put_entry("lease", "a", b"{}"))
    assert told == []
    run(one, append)
    assert len(told) == 1


def test_a_follower_whose_connection_is_lost_is_woken_and_hears_again(
    stores: tuple[PostgresGraphStore, PostgresGraphStore],
) -> None:
    one, other = stores
    woken = listen(other)
    end_listeners(other)
    assert woken.wait(PATIENCE)  # it looks for itself
    wait_until(lambda: other.listen(woken.set))
    assert woken.wait(PATIENCE)
    woken.clear()
    run(one, append)
    assert woken.wait(PATIENCE)


def test_behind_a_pooler_and_where_listen_is_ignored_followers_know_that_they_hear_nothing(
    tmp_path: Path,
) -> None:
    with closing(make_store(tmp_path, 1, pooler=True)) as store:
        run(store, append)
        assert not store.listen(print)
    asked = threading.Event()

    class Deaf(psycopg.Connection[Any]):
        def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
            if "LISTEN" in str(query):
                asked.set()
                query = "SELECT 1"
            return super().execute(query, *arguments, **options)

    settings = PostgresSettings(url=share_server())
    notices = Notices(settings, lambda _: Deaf.connect(share_server(), autocommit=True))
    try:
        watch = notices.watch("channel")
        assert not watch.listen(print)
        assert asked.wait(PATIENCE)
        watch.notify()
        assert not watch.listen(print)
    finally:
        notices.close()


def test_what_was_told_last_is_sent_before_the_end(tmp_path: Path) -> None:
    with closing(make_store(tmp_path, 2)) as other:
        woken = listen(other)
        with closing(make_store(tmp_path, 1)) as one:
            run(one, append)
        assert woken.wait(PATIENCE)


def test_a_server_that_is_away_delays_nobody() -> None:
    refused = threading.Event()

    def refuse(settings: PostgresSettings) -> psycopg.Connection[Any]:
        refused.set()
        return connect(settings)

    notices = Notices(PostgresSettings(url="host=/nonexistent"), refuse)
    watch = notices.watch("channel")
    watch.notify()
    assert refused.wait(PATIENCE)
    assert not watch.listen(print)
    notices.close()
