"""Group commit: what is written together, what fails alone, and what engine errors become."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest

from twinframe.errors import (
    StorageBusy,
    StorageDamaged,
    StorageError,
    StorageFull,
    TwinNotFound,
)
from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe.testing.contracts.base import put, reading, run, run_all
from twinframe.testing.factories import build_model_record, build_twin_record
from twinframe_storage_sqlite.errors import build_error
from twinframe_storage_sqlite.store import SqliteGraphStore
from twinframe_storage_sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from conftest import MakeStore


def put_twin(twin_id: str, **members: str) -> WriteFunction[None]:
    return lambda transaction: transaction.put_twin(build_twin_record(twin_id, **members))


def read_connection(store: SqliteGraphStore) -> apsw.Connection:
    """The store's writing connection."""
    found = run(store, lambda transaction: transaction)
    assert isinstance(found, SqliteTransaction)
    return found.connection


def count_twins(store: SqliteGraphStore) -> int:
    with reading(store) as session:
        return sum(1 for _ in session.scan_nodes(None))


def test_many_works_are_one_commit(store: SqliteGraphStore) -> None:
    commits = []

    def note() -> bool:
        commits.append(1)
        return False

    read_connection(store).set_commit_hook(note)
    outcomes = run_all(store, *(put_twin(f"t{number}") for number in range(100)))
    assert [outcome.error for outcome in outcomes] == [None] * 100
    assert len(commits) == 1
    assert count_twins(store) == 100


def test_failing_works_leave_nothing_and_cost_no_second_commit(store: SqliteGraphStore) -> None:
    commits = []

    def note() -> bool:
        commits.append(1)
        return False

    def fail_late(transaction: GraphTransaction) -> None:
        transaction.put_twin(build_twin_record("half"))
        transaction.put_models([build_model_record("Half")])
        raise ZeroDivisionError

    read_connection(store).set_commit_hook(note)
    outcomes = run_all(store, put_twin("a"), fail_late, put_twin("b"))
    assert [type(outcome.error) for outcome in outcomes] == [
        type(None),
        ZeroDivisionError,
        type(None),
    ]
    assert len(commits) == 1
    with reading(store) as session:
        assert not session.has_twin("half")
        assert session.read_model("dtmi:test:Half;1") is None
        assert session.has_twin("a")
        assert session.has_twin("b")


@pytest.mark.parametrize("is_late", [False, True])
def test_only_a_write_that_fails_after_a_change_needs_savepoints(
    store: SqliteGraphStore, is_late: bool
) -> None:
    run(store, put_twin("there"))
    seen: list[str] = []

    def refuse(transaction: GraphTransaction) -> None:
        if is_late:
            transaction.put_twin(build_twin_record("half"))
        assert transaction.has_twin("there")
        raise TwinNotFound("half")

    def trace(_cursor: apsw.Cursor, statement: str, _bindings: object) -> bool:
        seen.append(statement.split()[0])
        return True

    connection = read_connection(store)
    connection.exec_trace = trace
    outcomes = run_all(store, put_twin("a"), refuse, put_twin("b"), put_twin("c"))
    connection.exec_trace = None
    assert [type(each.error) for each in outcomes] == [type(None), TwinNotFound, *[type(None)] * 2]
    assert seen.count("SAVEPOINT") == (4 if is_late else 0)
    assert seen.count("BEGIN") == 1 + is_late
    assert seen.count("COMMIT") == 1
    with reading(store) as session:
        assert [session.has_twin(each) for each in ("a", "half", "b", "c")] == [1, 0, 1, 1]


def test_a_failed_commit_is_the_error_of_every_work(store: SqliteGraphStore) -> None:
    connection = read_connection(store)
    connection.set_commit_hook(lambda: True)  # SQLite turns the commit into a rollback
    outcomes = run_all(store, put_twin("a"), put_twin("b"))
    assert all(isinstance(outcome.error, StorageError) for outcome in outcomes)
    connection.set_commit_hook(None)
    assert count_twins(store) == 0
    put(store, build_twin_record("c"))
    assert count_twins(store) == 1


@pytest.mark.parametrize("durability", ["full", "relaxed"])
def test_durability_is_the_synchronous_setting_of_the_writer(
    make_store: MakeStore, durability: str
) -> None:
    connection = read_connection(make_store(durability=durability))
    assert connection.pragma("synchronous") == {"full": 2, "relaxed": 1}[durability]


def fill_disk(connection: apsw.Connection) -> None:
    pages = connection.pragma("page_count")
    connection.execute(f"PRAGMA max_page_count = {pages + 2}").fetchall()


def free_disk(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()


def test_a_full_disk_is_storage_full_and_writing_goes_on_when_there_is_room(
    store: SqliteGraphStore,
) -> None:
    put(store, build_twin_record("before"))
    connection = read_connection(store)
    fill_disk(connection)
    (outcome,) = run_all(store, put_twin("large", text="x" * 100_000))
    assert isinstance(outcome.error, StorageFull)
    with reading(store) as session:
        assert session.has_twin("before")
        assert not session.has_twin("large")
    free_disk(connection)
    put(store, build_twin_record("large", text="x" * 100_000))
    assert store.verify() == []


def test_a_work_that_fills_the_disk_takes_no_neighbour_with_it(store: SqliteGraphStore) -> None:
    fill_disk(read_connection(store))
    outcomes = run_all(
        store, put_twin("small1"), put_twin("large", text="x" * 100_000), put_twin("small2")
    )
    assert [type(outcome.error) for outcome in outcomes] == [type(None), StorageFull, type(None)]
    assert count_twins(store) == 2


def test_a_transaction_lost_under_one_work_is_tried_again_work_by_work(
    store: SqliteGraphStore,
) -> None:
    def lose(transaction: GraphTransaction) -> None:
        assert isinstance(transaction, SqliteTransaction)
        transaction.connection.execute("ROLLBACK")  # as SQLite does after an I/O error
        raise StorageError("lost")

    outcomes = run_all(store, put_twin("a"), lose, put_twin("b"))
    assert [type(outcome.error) for outcome in outcomes] == [type(None), StorageError, type(None)]
    assert count_twins(store) == 2


def test_a_foreign_lock_is_storage_busy_after_the_bounded_wait(make_store: MakeStore) -> None:
    store = make_store(busy_timeout=0.05)
    foreign = apsw.Connection(str(store.files.database))
    foreign.execute("BEGIN IMMEDIATE")
    (outcome,) = run_all(store, put_twin("a"))
    assert isinstance(outcome.error, StorageBusy)
    foreign.execute("ROLLBACK")
    foreign.close()
    put(store, build_twin_record("a"))


def test_a_work_has_the_write_lock_before_its_first_read(store: SqliteGraphStore) -> None:
    # Else a foreign commit between its read and its write would make the write impossible.
    foreign = apsw.Connection(str(store.files.database))

    def look(transaction: GraphTransaction) -> None:
        transaction.has_twin("a")
        foreign.execute("BEGIN IMMEDIATE")

    (outcome,) = run_all(store, look)
    assert isinstance(outcome.error, StorageBusy)
    assert not foreign.in_transaction
    foreign.close()


def test_another_store_in_its_turn_is_storage_busy_after_the_bounded_wait(
    make_store: MakeStore,
) -> None:
    first, second = make_store(), make_store(turn_timeout=0.05)
    outcomes = run(first, lambda _: run_all(second, put_twin("a")))
    assert isinstance(outcomes[0].error, StorageBusy)
    put(second, build_twin_record("b"))
    assert count_twins(first) == 1


def test_no_write_is_taken_after_damage_was_seen(store: SqliteGraphStore) -> None:
    def meet_damage(_: GraphTransaction) -> None:
        raise apsw.CorruptError("database disk image is malformed")

    (outcome,) = run_all(store, meet_damage)
    assert isinstance(outcome.error, StorageDamaged)
    (after,) = run_all(store, put_twin("a"))
    assert isinstance(after.error, StorageDamaged)
    assert count_twins(store) == 0


def test_a_writer_that_met_an_io_error_is_replaced(store: SqliteGraphStore) -> None:
    before = read_connection(store)

    def meet_io_error(_: GraphTransaction) -> None:
        raise apsw.IOError("disk I/O error")

    (outcome,) = run_all(store, meet_io_error)
    assert isinstance(outcome.error, StorageError)
    put(store, build_twin_record("a"))
    assert read_connection(store) is not before


def test_a_closed_store_refuses_to_write(store: SqliteGraphStore) -> None:
    store.close()
    (outcome,) = run_all(store, put_twin("a"))
    assert isinstance(outcome.error, StorageError)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (apsw.FullError("x"), "InsufficientStorage"),
        (apsw.BusyError("x"), "StorageBusy"),
        (apsw.LockedError("x"), "StorageBusy"),
        (apsw.CorruptError("x"), "StorageDamaged"),
        (apsw.NotADBError("x"), "StorageDamaged"),
        (apsw.InterruptError("x"), "TimeoutError"),
        (apsw.IOError("x"), "StorageError"),
        (apsw.SQLError("x"), "StorageError"),
        (apsw.TooBigError("x"), "LimitExceeded"),
        (OverflowError("x"), "InvalidArgument"),
    ],
)
def test_each_engine_error_has_its_code(error: Exception, code: str) -> None:
    assert build_error(error, "graph.db").code == code


def test_the_log_is_cut_when_it_is_too_large(make_store: MakeStore) -> None:
    store = make_store(wal_limit_bytes=100_000, checkpoint_pages=100_000)

    def write_rounds() -> int:
        largest = 0
        for number in range(64):
            put(store, build_twin_record(f"t{number}", text="x" * 10_000))
            largest = max(largest, store.files.wal.stat().st_size)
        return largest

    assert write_rounds() < 1_000_000
    assert store.files.wal.stat().st_size < 400_000


def test_a_reader_in_the_way_of_the_janitor_fails_no_write(make_store: MakeStore) -> None:
    store = make_store(wal_limit_bytes=50_000)
    put(store, build_twin_record("first"))
    session = store.session()
    with session.snapshot():
        session.read_twin("first")
        for number in range(40):
            put(store, build_twin_record(f"t{number}", text="x" * 10_000))
        assert not session.has_twin("t39")
        assert store.files.wal.stat().st_size > 400_000
    session.close()
    assert count_twins(store) == 41


def test_a_document_that_looks_like_binary_json_stays_what_it_is(store: SqliteGraphStore) -> None:
    # `{` read as the head of the binary form is an array of 7 bytes: the rest of the first text.
    for body in (b'{"a":12}', b'{"a":"bcdef"}', b"{}"):
        record = replace(build_twin_record("a"), body=body)
        put(store, record)
        with reading(store) as session:
            found = session.read_twin("a")
        assert found is not None
        assert found.body == body


def test_numbers_and_escapes_come_back_as_they_were_written(store: SqliteGraphStore) -> None:
    body = '{"a":1.0,"b":9223372036854775807,"c":1e-7,"d":"é\\u0000\\n\\"","e":[null,true],"a":2}'
    put(store, replace(build_twin_record("a"), body=body.encode()))
    with reading(store) as session:
        found = session.read_twin("a")
    assert found is not None
    assert found.body == body.encode()


def test_files_of_the_graph_are_named_by_it(store: SqliteGraphStore, tmp_path: Path) -> None:
    names = {path.name for path in tmp_path.iterdir()}
    assert {"graph.db", "graph.turn.lock", "graph.queue.lock", "graph.initialised"} <= names
