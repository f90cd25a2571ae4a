"""Sessions: they cannot write, stop at deadlines, page by index, and follow other processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
import pytest

from tests.waiting import join
from twinframe.errors import (
    InvalidArgument,
    InvalidContinuationToken,
    LimitExceeded,
    MemoryExhausted,
    QueryTimeout,
    StorageError,
)
from twinframe.query.algebra import Direction, LabelName
from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe.testing.contracts.base import put, run
from twinframe.testing.factories import (
    build_model_record,
    build_relationship_record,
    build_twin_record,
)
from twinframe_storage_sqlite import session as session_module
from twinframe_storage_sqlite.session import SqliteSession
from twinframe_storage_sqlite.store import SqliteGraphStore

if TYPE_CHECKING:
    from conftest import MakeStore

MEBIBYTE = 1024 * 1024
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def crowded(make_store: MakeStore) -> Iterator[SqliteSession]:
    """A session in a process whose SQLite may have 24 MiB."""
    soft, hard = apsw.soft_heap_limit(-1), apsw.hard_heap_limit(-1)
    session = make_store(memory_bytes=8 * MEBIBYTE).session()
    yield session
    session.close()
    apsw.hard_heap_limit(hard)
    apsw.soft_heap_limit(soft)


LISTS = ", ".join(f"length(group_concat(hex(zeroblob(4096)) || {n}))" for n in range(8))
LARGE = (
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 800) "
    f"SELECT {LISTS} FROM n"
)
"""Eight lists of 6.5 MB."""


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO meta VALUES ('a', 1)",
        "DELETE FROM twin",
        "UPDATE meta SET value = 0",
        "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)",
        "DROP TABLE twin",
        "ATTACH ':memory:' AS other",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "SELECT * FROM pragma_database_list",
        "SELECT load_extension('x')",
        "VACUUM INTO 'copy.db'",
    ],
)
def test_a_session_refuses_whatever_is_no_read(session: SqliteSession, statement: str) -> None:
    with pytest.raises((apsw.AuthError, apsw.ReadOnlyError, apsw.SQLError)):
        session.connection.execute(statement).fetchall()


def test_a_double_quoted_word_is_no_string(session: SqliteSession) -> None:
    with pytest.raises(apsw.SQLError, match="no such column"):
        session.connection.execute('SELECT "no_such_column" FROM meta')


def test_a_deadline_stops_a_runaway_statement(session: SqliteSession) -> None:
    with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() + 0.05):
        session.read_all(ENDLESS)
    assert not session.connection.in_transaction
    assert session.read_all("SELECT 1") == [(1,)]


def test_a_deadline_stops_many_short_statements(session: SqliteSession) -> None:
    def read_on() -> None:
        while True:
            session.read_nodes(["none"])

    with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() + 0.05):
        read_on()


def test_no_statement_starts_after_the_deadline(session: SqliteSession) -> None:
    with session.snapshot(time.monotonic() - 1), pytest.raises(QueryTimeout):
        session.read_all("SELECT 1")
    with session.snapshot(time.monotonic() - 1), pytest.raises(QueryTimeout):
        list(session.iterate("SELECT 1"))


def test_an_inner_snapshot_cannot_prolong_the_deadline(session: SqliteSession) -> None:
    with (
        pytest.raises(QueryTimeout),
        session.snapshot(time.monotonic() + 0.05),
        session.snapshot(time.monotonic() + 600),
    ):
        session.read_all(ENDLESS)


def test_another_thread_can_interrupt_a_snapshot(session: SqliteSession) -> None:
    timer = threading.Timer(0.05, session.interrupt)
    timer.start()
    with pytest.raises(QueryTimeout), session.snapshot():
        session.read_all(ENDLESS)
    join(timer)
    with session.snapshot():  # the next one starts afresh
        assert session.read_all("SELECT 1") == [(1,)]


def test_what_is_interrupted_ends_at_its_next_row(session: SqliteSession) -> None:
    rows: list[int] = []

    def meet(row: int) -> int:
        rows.append(row)
        if row == 3:
            session.interrupt()
        return row

    session.connection.create_scalar_function("meet", meet, 1)
    with session.snapshot(time.monotonic() + 600):
        with pytest.raises(QueryTimeout):
            session.read_all(
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40) "
                "SELECT count(meet(i)) FROM n"
            )
        with pytest.raises(QueryTimeout):  # and nothing begins any more
            session.read_all("SELECT 1")
    assert rows == [1, 2, 3]
    assert session.read_one("SELECT 1") == 1


def test_what_is_interrupted_says_so_whatever_its_aggregates_come_to(
    crowded: SqliteSession,
) -> None:
    def meet(row: int) -> int:
        if row == 450:
            crowded.interrupt()
        return row

    crowded.connection.create_scalar_function("meet", meet, 1)
    with pytest.raises(QueryTimeout), crowded.snapshot(time.monotonic() + 600):
        crowded.read_all(f"{LARGE[: -len(' FROM n')]}, count(meet(i)) FROM n")


def test_documents_that_become_values_are_read_until_the_deadline(session: SqliteSession) -> None:
    with session.snapshot(time.monotonic() - 1):
        session.count_read(1024)
        with pytest.raises(QueryTimeout):
            session.count_read(5 * MEBIBYTE)


class Full(Exception):
    """What a look at the memory may raise."""


def test_who_watches_the_memory_ends_a_statement_that_goes_on(session: SqliteSession) -> None:
    def look() -> None:
        raise Full

    session.watch_memory(look)
    with pytest.raises(Full), session.snapshot(time.monotonic() + 600):
        session.read_all(ENDLESS)
    with session.snapshot(time.monotonic() + 600):
        assert session.read_all("SELECT 1") == [(1,)]


def count_looks(session: SqliteSession, monkeypatch: pytest.MonkeyPatch, seconds: float) -> int:
    """How often the clock is looked at by one statement where so long lies between two looks."""
    moments: list[float] = [0.0]

    def look() -> float:
        moments.append(moments[-1] + seconds)
        return moments[-1]

    monkeypatch.setattr("twinframe_storage_sqlite.statements.time.monotonic", look)
    with session.snapshot(1e9):
        session.read_all(ENDLESS.replace("FROM n)", "FROM n WHERE i < 50000)"))
    return len(moments)


def test_steps_that_take_long_are_looked_at_sooner(
    session: SqliteSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = count_looks(session, monkeypatch, 0.0001)
    assert count_looks(session, monkeypatch, 0.1) > 100 * usual


COUNT = ENDLESS.replace("FROM n)", "FROM n WHERE i < ?)")


def test_a_short_snapshot_ends_a_statement_behind_its_steps(session: SqliteSession) -> None:
    with session.short_snapshot(5_000, 600):
        assert session.read_all(COUNT, (50,)) == [(50,)]
        assert 0 < session.read_steps() <= 5_000
    with pytest.raises(QueryTimeout), session.short_snapshot(5_000, 600):
        session.read_all(COUNT, (5_000,))
    assert not session.connection.in_transaction
    with session.snapshot():
        assert session.read_all(COUNT, (5_000,)) == [(5_000,)]


def test_a_short_snapshot_counts_the_steps_of_all_its_statements(session: SqliteSession) -> None:
    done: list[int] = []

    def read_on() -> None:
        while True:
            done.append(len(session.read_all(COUNT, (50,))))

    with pytest.raises(QueryTimeout), session.short_snapshot(5_000, 600):
        read_on()
    assert 0 < len(done) < 100


def test_a_short_snapshot_ends_by_the_clock(session: SqliteSession) -> None:
    with pytest.raises(QueryTimeout), session.short_snapshot(10**12, 0.05):
        session.read_all(ENDLESS)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT replace(hex(zeroblob(100)), '0', hex(zeroblob(100)))",
        "SELECT json(document) FROM twin",
        "SELECT json_group_array(hex(zeroblob(value))) FROM json_each('[4000, 4001, 4002]')",
    ],
)
def test_a_short_snapshot_ends_at_a_large_value_and_later_reads_do_not(
    store: SqliteGraphStore, session: SqliteSession, statement: str
) -> None:
    put(store, build_twin_record("large", text="x" * 20_000))
    with pytest.raises(LimitExceeded), session.short_snapshot(5_000, 600):
        session.read_all(statement)
    assert len(session.read_all(statement)[0][0]) > 16 * 1024
    found = session.read_twin("large")
    assert found is not None
    assert len(found.body) > 20_000


def test_a_short_snapshot_does_not_stand_in_another(session: SqliteSession) -> None:
    with (
        session.snapshot(),
        pytest.raises(StorageError),
        session.short_snapshot(5_000, 600),
    ):
        pass


def test_an_unfinished_scan_does_not_keep_the_snapshot(
    store: SqliteGraphStore, session: SqliteSession
) -> None:
    put(store, *(build_twin_record(f"t{number}") for number in range(10)))
    with session.snapshot():
        next(session.scan_nodes(None))
    put(store, build_twin_record("later"))
    assert session.has_twin("later")


def test_a_half_read_scan_that_is_still_held_does_not_keep_the_snapshot(
    store: SqliteGraphStore, session: SqliteSession
) -> None:
    put(store, *(build_twin_record(f"t{number}") for number in range(10)))
    with session.snapshot():
        held = session.scan_nodes(None)  # as the frames of an error hold it
        next(held)
    put(store, build_twin_record("later"))
    with session.snapshot():
        assert session.has_twin("later")
    with pytest.raises(StorageError):  # never an early end that looks like all of it
        list(held)


@pytest.mark.parametrize(
    ("size", "pieces"), [(100, [2, 64, 64, 20]), (5_000, [2, 4, 8, 16, 32, 64, 24])]
)
def test_many_rows_are_taken_at_once_only_when_they_are_small(
    session: SqliteSession, size: int, pieces: list[int]
) -> None:
    rows = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 150)"
        f" SELECT printf('%.{size}c', 'x') FROM n"
    )
    with session.snapshot():
        assert [len(some) for some in session.iterate_some(rows)] == pieces


def test_only_a_short_snapshot_says_that_it_is_short(session: SqliteSession) -> None:
    with session.short_snapshot(1_000, 60.0):
        assert session.is_short
    assert not session.is_short
    with session.snapshot():
        assert not session.is_short


def test_values_sqlite_cannot_hold_are_invalid_arguments(session: SqliteSession) -> None:
    with pytest.raises(InvalidArgument, match="surrogate"):
        session.read_twin("\ud800")
    with pytest.raises(InvalidArgument, match="64-bit"):
        session.read_all("SELECT ?", (2**63,))


def test_a_value_larger_than_the_limit_is_refused(make_store: MakeStore) -> None:
    store = make_store(max_document_bytes=1_000_000)
    session = store.session()
    with pytest.raises(LimitExceeded):
        session.read_all("SELECT zeroblob(2000000) || 'x'")
    session.close()


@pytest.mark.parametrize(
    "name", ["_OUTGOING_ANY", "_OUTGOING_NAMED", "_INCOMING", "_MODELS_AFTER", "_TWIN"]
)
def test_listings_are_read_in_index_order_without_sorting(
    session: SqliteSession, name: str
) -> None:
    sql = vars(session_module)[name]
    session.connection.authorizer = None
    count = sql.count("?") or sql.count(":")
    bindings = (
        dict.fromkeys(("source", "after", "name", "limit"), "") if ":" in sql else ("",) * count
    )
    plan = [row[3] for row in session.connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]
    assert plan
    assert not [step for step in plan if "TEMP B-TREE" in step or step.startswith("SCAN")]


def test_a_statement_is_planned_once_whatever_values_it_is_run_with(
    session: SqliteSession,
) -> None:
    planned = []

    def note(*action: object) -> int:
        planned.append(action)
        return apsw.SQLITE_OK

    session.connection.authorizer = note  # asked while planning only
    session.read_incoming("a", after=None, limit=1)
    session.read_twin_model("a")
    session.read_relationships("a", name="b", after="c", limit=1)
    session.read_relationships("a", name=None, after="c", limit=1)
    once = len(planned)
    for limit in range(3):
        session.read_incoming("b", after="1.2.x", limit=limit)
        session.read_twin_model("b")
        session.read_relationships("b", name="c", after=None, limit=limit)
        session.read_relationships("b", name=None, after="d", limit=limit)
    assert once > 0
    assert len(planned) == once


def test_hops_of_more_origins_than_one_statement_takes_are_all_found(
    store: SqliteGraphStore, session: SqliteSession
) -> None:
    twins = [build_twin_record(f"t{number}") for number in range(1201)]
    edges = [
        build_relationship_record(f"t{number}", "r", f"t{number + 1}") for number in range(1200)
    ]
    put(store, *twins, *edges)
    origins = [f"t{number}" for number in range(1201)]
    outgoing = list(session.read_hops(iter(origins), Direction.OUTGOING, []))
    assert [(hop.origin, hop.reached) for hop in outgoing] == list(pairwise(origins))
    assert len(list(session.read_hops(origins, Direction.BOTH, ["has"]))) == 2400


def test_labels_follow_models_that_another_store_adds(
    make_store: MakeStore, session: SqliteSession
) -> None:
    other = make_store()
    assert list(session.scan_nodes(LabelName("Space"))) == []
    put(
        other,
        build_model_record("Space"),
        build_model_record("Room", extends=["Space"]),
        build_twin_record("a", model="Room"),
    )
    (node,) = session.scan_nodes(LabelName("Space"))
    assert node.labels == {"Twin", "Space", "Room", "dtmi:test:Space;1", "dtmi:test:Room;1"}


def test_labels_seen_in_a_work_that_failed_are_not_remembered(store: SqliteGraphStore) -> None:
    def look_and_fail(transaction: GraphTransaction) -> None:
        transaction.put_models([build_model_record("Space")])
        list(transaction.scan_nodes(LabelName("Space")))
        raise ZeroDivisionError

    def look(transaction: GraphTransaction) -> list[str]:
        transaction.put_models([build_model_record("Room")])
        transaction.put_twin(build_twin_record("a", model="Room"))
        return [node.id for node in transaction.scan_nodes(LabelName("Room"))]

    with pytest.raises(ZeroDivisionError):
        run(store, look_and_fail)
    assert run(store, look) == ["a"]


@pytest.mark.parametrize("key", ["", "x", "1", "1.x.name", "é.2.name"])
def test_a_foreign_listing_key_is_an_invalid_token(session: SqliteSession, key: str) -> None:
    with pytest.raises(InvalidContinuationToken):
        session.read_incoming("a", after=key, limit=1)


def build_deletion(source_id: str) -> WriteFunction[None]:
    return lambda transaction: transaction.delete_relationship(source_id, "r")


def test_pages_of_incoming_relationships_have_neither_gaps_nor_doubles_while_others_write(
    store: SqliteGraphStore, session: SqliteSession
) -> None:
    sources = [f"s{number:03}" for number in range(100)]
    put(store, *map(build_twin_record, [*sources, "hub"]))
    put(
        store,
        *(
            build_relationship_record(source, "r", "hub", name=f"n{source[-1]}")
            for source in sources
        ),
    )
    seen: list[str] = []
    key = None
    while page := session.read_incoming("hub", after=key, limit=7):
        seen += [listed.item.source_id for listed in page]
        key = page[-1].key
        # The row before the next page goes, and a new one comes; those that stay are seen once.
        gone = seen[-1]
        run(store, build_deletion(gone))
        put(store, build_relationship_record(gone, f"new{len(seen)}", "hub", name="a"))
    assert sorted(seen) == sources


def test_a_statement_that_alone_needs_too_much_memory_is_told_so(crowded: SqliteSession) -> None:
    with pytest.raises(LimitExceeded, match=r"25165824 bytes.*Storage__Sqlite__MemoryBytes"):
        crowded.read_all(LARGE)
    assert crowded.read_one("SELECT 1") == 1


def test_a_statement_that_others_leave_too_little_memory_may_try_again(
    crowded: SqliteSession,
) -> None:
    others = apsw.Connection(":memory:")
    others.execute("CREATE TABLE t (v)").fetchall()
    others.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1750) "
        "INSERT INTO t SELECT zeroblob(8000) FROM n"
    ).fetchall()
    assert apsw.memory_used() > 12 * MEBIBYTE
    with pytest.raises(MemoryExhausted, match="Storage__Sqlite__MemoryBytes"):
        crowded.read_all(LARGE)
    others.close(force=True)
    with pytest.raises(LimitExceeded):
        crowded.read_all(LARGE)


def test_a_small_read_declines_a_large_value_and_reads_what_is_beside_it(
    make_store: MakeStore,
) -> None:
    store = make_store()

    def write(transaction: GraphTransaction) -> None:
        transaction.put_models([build_model_record("Thing")])
        for twin_id, size in (("large", 70_000), ("small", 50_000)):
            transaction.put_twin(build_twin_record(twin_id, text="x" * size))

    run(store, write)
    session = store.session()
    with session.small_reads(64 * 1024):
        with pytest.raises(LimitExceeded):
            session.read_twin("large")
        assert session.read_twin_model("large") == "dtmi:test:Thing;1"
        assert session.has_twin("large")
        assert session.read_twin("small") is not None
    assert session.read_twin("large") is not None
    session.close()
