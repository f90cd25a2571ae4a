"""Migrations: ordered, each whole or not at all, and done once."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from twinframe.errors import ConfigurationError
from twinframe.graph.events.outbox import ReadEvent, read_events
from twinframe.storage.base import ChangeKind, ChangePage, EntityChange, OutboxEvent
from twinframe_storage_sqlite.migrations import (
    Migration,
    apply_migrations,
    load_migrations,
    read_version,
)
from twinframe_storage_sqlite.transaction import SqliteTransaction

STEPS = (
    Migration(1, "CREATE TABLE a (x); INSERT INTO a VALUES (1);"),
    Migration(2, "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1;"),
    Migration(3, "CREATE TABLE b AS SELECT y FROM a;"),
)


def read_tables(connection: apsw.Connection) -> list[str]:
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    return [name for (name,) in rows]


def test_the_released_migrations_are_numbered_from_one_without_a_gap() -> None:
    versions = [migration.version for migration in load_migrations()]
    assert versions == list(range(1, len(versions) + 1))
    assert versions


def test_a_file_of_any_older_version_comes_to_the_newest(tmp_path: Path) -> None:
    for start in range(len(STEPS) + 1):
        connection = apsw.Connection(str(tmp_path / f"{start}.db"))
        if start:
            apply_migrations(connection, STEPS[:start])
        assert apply_migrations(connection, STEPS) == len(STEPS) - start
        assert read_version(connection) == 3
        assert connection.execute("SELECT y FROM b").get == 2
        assert apply_migrations(connection, STEPS) == 0
        connection.close()


def test_a_failing_migration_leaves_the_version_before_it_and_nothing_of_itself() -> None:
    broken = (*STEPS[:1], Migration(2, "CREATE TABLE half (x); CREATE TABLE a (again);"), STEPS[2])
    connection = apsw.Connection(":memory:")
    with pytest.raises(apsw.SQLError):
        apply_migrations(connection, broken)
    assert read_version(connection) == 1
    assert read_tables(connection) == ["a"]
    assert not connection.in_transaction
    assert apply_migrations(connection, STEPS) == 2


def test_events_of_an_older_file_are_read_as_they_were_stored() -> None:
    connection = apsw.Connection(":memory:")
    apply_migrations(connection, load_migrations()[:3])
    text = b'{"id":"1"}\n{"old":[]}'
    old = "INSERT INTO event (subject, body, total) VALUES ('a', ?, 50)"
    connection.execute(old, (text,)).fetchall()
    apply_migrations(connection, load_migrations())
    transaction = SqliteTransaction(connection)
    transaction.append_events([OutboxEvent("b", b"1", ChangeKind.TWIN_CREATED)])
    rows = transaction.read_events(after=0, limit=9)
    moment = rows[0][1].moment  # that of the upgrade
    assert rows[0] == (1, OutboxEvent("a", text, None, "", moment))
    assert read_events(transaction, after=0, limit=1) == [(1, ReadEvent("a", text))]
    assert not transaction.read_changes(after=0, limit=9).is_complete
    change = EntityChange(2, ChangeKind.TWIN_CREATED, "b")
    assert transaction.read_changes(after=1, limit=9) == ChangePage([change], 2, True)
    assert transaction.delete_events(up_to=9, limit=9) == 2


def test_a_file_newer_than_the_release_is_refused() -> None:
    connection = apsw.Connection(":memory:")
    apply_migrations(connection, STEPS)
    with pytest.raises(ConfigurationError, match="version 3"):
        apply_migrations(connection, STEPS[:2])
