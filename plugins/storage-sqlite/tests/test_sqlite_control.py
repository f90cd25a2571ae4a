"""What is SQLite's own in keeping control records: indexes, identity, damage, open files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.forks import CODE
from tests.waiting import run_program
from twinframe.errors import (
    ConfigurationError,
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
)
from twinframe.storage.base import Placement
from twinframe.storage.control import Comparison, Condition, Order, RecordKind, equal, one_of
from twinframe.storage.writer_lock import WriterLock
from twinframe.testing.contracts.base import put as put_twins
from twinframe.testing.contracts.control_base import (
    KINDS,
    PLAIN,
    THING,
    build_thing,
    insert,
    read_ids,
    run,
)
from twinframe.testing.factories import build_twin_record
from twinframe_storage_sqlite.control_session import SqliteControlTransaction
from twinframe_storage_sqlite.control_store import CONTROL_ID, SqliteControlStore
from twinframe_storage_sqlite.control_tables import list_indexes
from twinframe_storage_sqlite.files import build_files
from twinframe_storage_sqlite.migrations import load_migrations
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MakeStore = Callable[..., SqliteControlStore]


@pytest.fixture
def make_control(tmp_path: Path) -> Iterator[MakeStore]:
    """Opens stores in the test's directory with these settings; all are closed at the end."""
    opened = []

    def make(**settings: Any) -> SqliteControlStore:
        store = build_store(tmp_path, **settings)
        store.open(KINDS)
        opened.append(store)
        return store

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def control(make_control: MakeStore) -> SqliteControlStore:
    """An open store with default settings."""
    return make_control()


def build_store(place: Path, **settings: Any) -> SqliteControlStore:
    return SqliteControlStore(SqliteSettings(directory=str(place), **settings), "control")


def connect(place: Path) -> apsw.Connection:
    return apsw.Connection(str(place / "control.db"))


def explain(store: SqliteControlStore, *conditions: Condition, order: Order) -> list[str]:
    """The plan of a listing of things, as SQLite tells it."""
    session = store.session()
    told: list[str] = []

    def trace(_cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        cursor = connect(Path(store.files.database).parent).cursor()
        told.extend(row[3] for row in cursor.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))  # type: ignore[arg-type]  # as they were bound
        return True

    session._cursor.exec_trace = trace
    session.find("thing", conditions, order=order, limit=50)
    session.close()
    return told


# --- indexes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["id", "version", *THING.keys])
@pytest.mark.parametrize("key", THING.keys)
@pytest.mark.parametrize("test", list(Comparison))
def test_every_key_is_found_by_an_index_in_whatever_order(
    control: SqliteControlStore, key: str, test: Comparison, order: str
) -> None:
    value = ("a", "b") if test is Comparison.IN else "a"
    told = explain(control, Condition(key, test, value), order=Order(order))
    assert f"SEARCH record_thing USING INDEX thing|by|{key}" in told[0] or (
        "SEARCH record_thing USING INDEX thing|" in told[0] and f"(key_{key}" in told[0]
    ), told


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key", [*THING.keys, "id", "version"])
def test_every_order_is_read_from_an_index(
    control: SqliteControlStore, key: str, descending: bool
) -> None:
    (told,) = explain(control, order=Order(key, descending))
    assert told.startswith("SCAN record_thing USING INDEX "), told  # a page of it, no sorting


@pytest.mark.parametrize("descending", [False, True])
def test_a_declared_index_finds_and_orders(control: SqliteControlStore, descending: bool) -> None:
    (told,) = explain(control, equal("place", "p"), order=Order("rank", descending))
    assert told == "SEARCH record_thing USING INDEX thing|by|place|rank (key_place=?)"


@pytest.mark.parametrize("test", [Comparison.BELOW, Comparison.AT_LEAST])
def test_a_range_in_its_own_order_is_not_sorted(
    control: SqliteControlStore, test: Comparison
) -> None:
    (told,) = explain(control, Condition("rank", test, 5), order=Order("rank"))
    assert told.startswith("SEARCH record_thing USING INDEX thing|by|rank (key_rank"), told


def test_a_key_that_is_none_is_found_by_its_index_too(control: SqliteControlStore) -> None:
    (told,) = explain(control, equal("rank", None), order=Order())
    assert told == "SEARCH record_thing USING INDEX thing|by|rank (key_rank=?)"


def test_no_index_is_there_twice() -> None:
    kind = RecordKind("a", ("x", "y"), indexes=(("x", "id"), ("x", "y", "id"), ("id",), ("y",)))
    rendered = [index.render("t").partition(" ON ")[2] for index in list_indexes(kind)]
    assert rendered == [
        "t (version)",
        't ("key_x", id)',
        't ("key_y", id)',
        't ("key_x", "key_y", id)',
    ]


def test_indexes_that_are_declared_no_more_are_dropped_and_new_ones_made(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    store.open(KINDS)
    insert(store, build_thing("a", place="p", rank=1))
    store.close()
    changed = replace(THING, indexes=(("rank", "place"),))
    store.open([changed, PLAIN])
    assert store.verify() == []
    assert read_ids(store, equal("rank", 1), equal("place", "p")) == ["a"]
    store.close()
    rows = connect(tmp_path).execute("SELECT name FROM pragma_index_list('record_thing')")
    names = {name for (name,) in rows}
    assert "thing|by|rank|place" in names
    assert "thing|by|place|rank" not in names


# --- identity -----------------------------------------------------------------------------------


def test_the_migrations_of_control_records_are_numbered_from_one_without_a_gap() -> None:
    versions = [migration.version for migration in load_migrations("control")]
    assert versions == list(range(1, len(versions) + 1))
    assert versions


def test_the_file_says_what_it_is(control: SqliteControlStore, tmp_path: Path) -> None:
    assert control.traits.point_reads is Placement.INLINE
    connection = connect(tmp_path)
    assert connection.pragma("application_id") == CONTROL_ID == int.from_bytes(b"TWCL", "big")
    assert connection.pragma("journal_mode") == "wal"


def test_a_graph_must_not_have_the_name_of_the_control_records(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="control plane"):
        SqliteGraphStore(SqliteSettings(directory=str(tmp_path)), "control")


def test_a_graph_is_not_taken_for_control_records(tmp_path: Path) -> None:
    graph = SqliteGraphStore(SqliteSettings(directory=str(tmp_path)), "other")
    graph.open()
    put_twins(graph, build_twin_record("a"))
    graph.close()
    for end in (".db", ".initialised"):
        (tmp_path / f"other{end}").rename(tmp_path / f"control{end}")
    before = (tmp_path / "control.db").read_bytes()
    with pytest.raises(StorageDamaged, match="another application"):
        build_store(tmp_path).open(KINDS)
    assert (tmp_path / "control.db").read_bytes() == before


def test_a_lost_file_is_not_made_anew(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    store.open(KINDS)
    store.close()
    (tmp_path / "control.db").unlink()
    with pytest.raises(StorageDamaged, match="missing or empty"):
        build_store(tmp_path).open(KINDS)


def test_a_file_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    store.open(KINDS)
    store.close()
    connect(tmp_path).pragma("user_version", 99)
    with pytest.raises(ConfigurationError, match="version 99"):
        build_store(tmp_path).open(KINDS)


def test_records_are_opened_while_another_process_has_the_turn(
    control: SqliteControlStore, tmp_path: Path
) -> None:
    files = build_files(str(tmp_path), "control")
    writer_lock = WriterLock(files.writer_lock, files.queue)
    store = build_store(tmp_path, turn_timeout=0.05)
    with writer_lock.hold(1):
        store.open(KINDS)  # all is as it should be
        with pytest.raises(StorageBusy):
            insert(store, build_thing("a"))
        more = replace(PLAIN, name="more")
        with pytest.raises(StorageBusy):
            build_store(tmp_path, turn_timeout=0.05).open([*KINDS, more])
    insert(store, build_thing("a"))
    assert read_ids(control) == ["a"]
    store.close()
    writer_lock.close()


# --- failures -----------------------------------------------------------------------------------


def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    (outcome,) = store.write([lambda _: None])
    assert isinstance(outcome.error, StorageError)
    assert "not open" in str(outcome.error)
    with pytest.raises(StorageError):
        store.session()


def test_a_session_cannot_write(control: SqliteControlStore) -> None:
    session = control.session()
    for sql in ("DELETE FROM record_thing", "PRAGMA user_version = 2", "ATTACH ':memory:' AS x"):
        with pytest.raises((apsw.AuthError, apsw.ReadOnlyError)):
            session.connection.execute(sql)
    session.close()


def test_a_full_disk_loses_nothing_and_is_named(control: SqliteControlStore) -> None:
    insert(control, build_thing("a"))

    def limit(transaction: SqliteControlTransaction) -> None:
        pages = transaction.connection.pragma("page_count")
        transaction.connection.pragma("max_page_count", pages)

    run(control, limit)  # type: ignore[arg-type]  # what this store hands to works
    (outcome,) = control.write([lambda t: t.insert(build_thing("b", b'"' + b"x" * 500_000 + b'"'))])
    assert isinstance(outcome.error, StorageFull)
    assert read_ids(control) == ["a"]


def test_verifying_finds_what_was_spoilt(control: SqliteControlStore, tmp_path: Path) -> None:
    insert(control, build_thing("a", note="x"), build_thing("b", note="y"))
    connection = connect(tmp_path)
    spoil = {
        "thing 'a' has a damaged body": "UPDATE record_thing SET body = x'7b' WHERE id = 'a'",
        "but the last one given is 2": "UPDATE record_thing SET version = 9 WHERE id = 'a'",
        "have one version: 2": "UPDATE record_thing SET version = 2",
        "not as the kinds of record declare": 'DROP INDEX "thing|by|rank"',
    }
    for finding, sql in spoil.items():
        connection.execute("BEGIN")
        connection.execute(sql)
        connection.execute("COMMIT")
        assert any(finding in told for told in control.verify()), finding
        if "DROP" not in sql:
            connection.execute(
                "UPDATE record_thing SET body = CAST('{}' AS BLOB), version = 1 + (id = 'b')"
            )
    connection.close()


def test_damage_that_was_met_stops_all_writing(control: SqliteControlStore) -> None:
    def meet_damage(_: object) -> None:
        raise apsw.CorruptError("database disk image is malformed")

    (outcome,) = control.write([meet_damage])
    assert isinstance(outcome.error, StorageDamaged)
    (outcome,) = control.write([lambda t: t.insert(build_thing("a"))])
    assert isinstance(outcome.error, StorageDamaged)
    assert read_ids(control) == []


def test_ten_thousand_values_fit_into_one_statement(control: SqliteControlStore) -> None:
    insert(control, build_thing("a", rank=5, note="x"))
    many = one_of("rank", *range(10_000))
    assert read_ids(control, many, one_of("id", "a", *map(str, range(9_999)))) == ["a"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to list open files (Linux)")
def test_a_closed_store_leaves_no_file_open(tmp_path: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path\n"
        "from twinframe.testing.contracts.control_base import KINDS, build_thing, insert\n"
        "from twinframe_storage_sqlite.control_store import SqliteControlStore\n"
        "from twinframe_storage_sqlite.settings import SqliteSettings\n"
        "store = SqliteControlStore(SqliteSettings(directory=sys.argv[1]), 'control')\n"
        "store.open(KINDS); insert(store, build_thing('a')); store.session().close()\n"
        "store.close()\n"
        "names = [os.path.realpath(f'/proc/self/fd/{fd}') for fd in os.listdir('/proc/self/fd')]\n"
        "print([name for name in names if name.startswith(sys.argv[1])])\n"
    )
    command = [*CODE, script, str(tmp_path)]
    done = run_program(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert done.stdout == "[]\n"
