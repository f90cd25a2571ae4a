"""A file of an earlier release gets its history from the upgrade on."""

from __future__ import annotations

import time
from pathlib import Path

import apsw

from twinframe.storage.base import ChangeKind, OutboxEvent
from twinframe.testing.contracts.base import reading, run
from twinframe_storage_sqlite.migrations import apply_migrations, load_migrations
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore


def test_the_history_of_an_upgraded_graph_begins_behind_its_events(tmp_path: Path) -> None:
    store = SqliteGraphStore(SqliteSettings(directory=str(tmp_path)), "graph")
    store.open()
    with reading(store) as session:
        assert session.read_entry("history", "start") is None
    store.close()
    connection = apsw.Connection(":memory:")
    migrations = load_migrations()
    apply_migrations(connection, tuple(one for one in migrations if one.version <= 5))
    connection.execute(
        "INSERT INTO event (subject, body, kind, relationship, total) "
        "VALUES ('a', '1', 2, '', 9), ('a', '2', 6, 'r', 18)"
    )
    apply_migrations(connection, migrations)
    assert connection.execute("SELECT body FROM entry WHERE kind = 'history'").get == b"2"
    (early, late) = connection.execute("SELECT moment, target FROM event").fetchall()
    assert early == (0, None)
    assert 0 <= time.time_ns() - late[0] < 600 * 1_000_000_000


def test_new_entities_are_in_no_index_but_that_of_entities(tmp_path: Path) -> None:
    store = SqliteGraphStore(SqliteSettings(directory=str(tmp_path)), "graph")
    store.open()
    created = [OutboxEvent(str(at), b"x", ChangeKind.TWIN_CREATED) for at in range(50)]
    run(store, lambda t: t.append_events(created))
    store.close()
    connection = apsw.Connection(str(tmp_path / "graph.db"))
    for index, condition in connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'event'"
    ):
        where = condition.partition("WHERE")[2]
        sql = f"SELECT count(*) FROM event INDEXED BY {index} WHERE {where}"
        assert connection.execute(sql).get == (50 if index == "event_entity" else 0)
    connection.close()
