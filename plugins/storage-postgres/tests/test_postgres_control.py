"""What is PostgreSQL's own in keeping control records: lost connections, limits, indexes, names."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import monotonic
from typing import Any, Final

import psycopg
import pytest

from tests.postgres.server import share_server
from tests.waiting import PATIENCE, Threads
from twinframe.errors import ConfigurationError, InvalidArgument, StorageBusy, StorageError
from twinframe.storage.control import ControlTransaction, RecordKind
from twinframe.testing.contracts.control_base import (
    KINDS,
    PLAIN,
    THING,
    build_thing,
    insert,
    read_ids,
    reading,
    run,
)
from twinframe.testing.contracts.control_writes import increment
from twinframe_storage_postgres import control_store
from twinframe_storage_postgres.control_store import PostgresControlStore
from twinframe_storage_postgres.control_tables import RecordSchema, render_name
from twinframe_storage_postgres.settings import PostgresSettings

MakeStore = Callable[..., PostgresControlStore]

_NUMBERS: Final = itertools.count(1)


@pytest.fixture
def place() -> PostgresSettings:
    """Settings of a database of the test's own."""
    address, name = share_server(), f"control{next(_NUMBERS)}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return PostgresSettings(url=f"{address} dbname={name}", turn_timeout=60)


@pytest.fixture
def make_control(place: PostgresSettings) -> Iterator[MakeStore]:
    """Makes stores of one schema with other settings; all are closed at the end."""
    made = []

    def make(**settings: Any) -> PostgresControlStore:
        store = PostgresControlStore(place.model_copy(update=settings), "control")
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()


@pytest.fixture
def control(make_control: MakeStore) -> PostgresControlStore:
    store = make_control()
    store.open(KINDS)
    return store


def connect(store: PostgresControlStore) -> psycopg.Connection[Any]:
    return psycopg.connect(store.settings.url.get_secret_value(), autocommit=True)


def end_connections(store: PostgresControlStore) -> int:
    """End all other connections to the database, as a restart does; return their number."""
    with connect(store) as connection:
        found = connection.execute(
            "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = current_database()"
        ).fetchone()
    assert found is not None
    return int(found[0])


# --- lost connections ---------------------------------------------------------------------------


def test_a_restart_of_the_server_is_not_noticed_by_reads_and_writes(
    control: PostgresControlStore,
) -> None:
    insert(control, build_thing("a"))
    with reading(control) as session, reading(control) as second:
        assert session.count("thing") == second.count("thing") == 1
    for name in "bc":
        assert end_connections(control) >= 1
        insert(control, build_thing(name))
    end_connections(control)
    with reading(control) as session, session.snapshot():
        assert session.count("thing") == 3


def test_a_session_in_use_reads_on_after_its_connection_was_lost(
    control: PostgresControlStore,
) -> None:
    insert(control, build_thing("a"))
    with reading(control) as session:
        assert session.count("thing") == 1
        end_connections(control)
        assert session.count("thing") == 1
        with session.snapshot():
            assert session.count("thing") == 1
            end_connections(control)
            with pytest.raises(StorageBusy):
                session.count("thing")  # another connection would show another state


def test_a_batch_whose_connection_is_lost_in_the_middle_runs_again(
    control: PostgresControlStore,
) -> None:
    runs = []

    def cut(transaction: ControlTransaction) -> int:
        count = increment(transaction)
        runs.append(count)
        if len(runs) == 1:
            end_connections(control)
        return count

    outcomes = control.write([increment, cut, increment])
    assert [outcome.result for outcome in outcomes] == [1, 2, 3]
    assert runs == [2, 2]


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_commit_without_an_answer_is_found_out(
    control: PostgresControlStore, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    run(control, increment)
    real, sent = control._send_commit, []

    def send(connection: psycopg.Connection[Any], version: int, batch: int) -> None:
        if is_kept:
            real(connection, version, batch)
        sent.append(batch)
        connection.close()
        raise psycopg.OperationalError("the connection is lost")

    def send_once(connection: psycopg.Connection[Any], version: int, batch: int) -> None:
        (real if sent else send)(connection, version, batch)

    monkeypatch.setattr(control, "_send_commit", send_once)
    assert run(control, increment) == 2
    assert len(sent) == 1
    assert run(control, increment) == 3


def test_a_commit_that_cannot_be_found_out_is_no_success(
    control: PostgresControlStore, make_control: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_control()
    other.open(KINDS)
    run(control, increment)

    def send(connection: psycopg.Connection[Any], _version: int, _batch: int) -> None:
        connection.close()
        for _ in range(70):  # more than are remembered
            run(other, increment)
        raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(control, "_send_commit", send)
    (outcome,) = control.write([increment])
    assert isinstance(outcome.error, StorageError)
    assert "unknown" in str(outcome.error)


def test_a_commit_without_an_answer_is_found_out_though_the_server_is_away_for_a_while(
    control: PostgresControlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(control, increment)
    real, refused = control._send_commit, []

    def send(connection: psycopg.Connection[Any], version: int, batch: int) -> None:
        real(connection, version, batch)
        connection.close()
        monkeypatch.setattr(control, "_send_commit", real)
        monkeypatch.setattr(control_store, "connect", refuse)
        raise psycopg.OperationalError("the connection is lost")

    def refuse(settings: PostgresSettings) -> psycopg.Connection[Any]:
        refused.append(settings)
        if len(refused) == 3:
            monkeypatch.undo()
        raise psycopg.OperationalError("connection refused")

    monkeypatch.setattr(control, "_send_commit", send)
    assert run(control, increment) == 2
    assert len(refused) == 3
    assert run(control, increment) == 3


def test_sessions_keep_no_connections_while_they_do_not_read(make_control: MakeStore) -> None:
    store = make_control(connections=2, connect_timeout=2)
    store.open(KINDS)
    sessions = [store.session() for _ in range(4)]
    assert [session.count("thing") for session in sessions] == [0] * 4
    for session in sessions:
        with session.snapshot():
            assert session.count("thing") == 0
        with pytest.raises(RuntimeError), session.snapshot():
            raise RuntimeError


def test_a_writer_waits_for_another_only_so_long(
    control: PostgresControlStore, make_control: MakeStore
) -> None:
    hasty = make_control(turn_timeout=0.05)
    hasty.open(KINDS)  # all is as it should be, so it does not wait

    def hold(transaction: ControlTransaction) -> None:
        transaction.insert(build_thing("a"))
        with pytest.raises(StorageBusy):
            insert(hasty, build_thing("b"))
        with pytest.raises(StorageBusy):
            make_control(turn_timeout=0.05).open([*KINDS, replace(PLAIN, name="more")])

    run(control, hold)
    assert read_ids(hasty) == ["a"]


def test_a_writer_that_stands_still_is_ended_by_the_server(
    make_control: MakeStore, control: PostgresControlStore
) -> None:
    still = make_control(idle_timeout=0.1)
    still.open(KINDS)
    stood = []

    def stand(transaction: ControlTransaction) -> None:
        if not stood:
            stood.append(insert(control, build_thing("a")))  # waits until the server has ended it
        transaction.insert(build_thing("b"))

    run(still, stand)
    assert read_ids(control) == ["a", "b"]


def test_a_store_that_is_not_open_says_so(make_control: MakeStore) -> None:
    store = make_control()
    (outcome,) = store.write([lambda _: None])
    assert isinstance(outcome.error, StorageError)
    assert "not open" in str(outcome.error)
    with pytest.raises(StorageError):
        store.session()


# --- waking -------------------------------------------------------------------------------------


def test_a_write_wakes_those_who_wait_for_its_topic_in_other_processes(
    place: PostgresSettings, control: PostgresControlStore, make_control: MakeStore
) -> None:
    # NOTE: a process has one connection for notices to a database; these settings make another.
    other = make_control(connections=place.connections + 1)
    other.open(KINDS)
    topics = ("one", "two")
    for topic in topics:
        other.wait_for_wake(topic, PATIENCE)  # it listens from here on

    def wake(transaction: ControlTransaction) -> None:
        for topic in topics:
            transaction.wake(topic)
        transaction.insert(build_thing("b"))

    began = monotonic()
    run(control, wake)
    with Threads(2) as threads:  # neither takes the other's
        for waiting in [threads.submit(other.wait_for_wake, topic, PATIENCE) for topic in topics]:
            waiting.result()
    control.wake("one")
    other.wait_for_wake("one", PATIENCE)
    assert not other.find_woken("two").is_set()
    end_connections(control)
    other.wait_for_wake("one", PATIENCE)  # notices were lost perhaps
    assert monotonic() - began < PATIENCE


# --- tables -------------------------------------------------------------------------------------


def test_names_longer_than_those_of_postgresql_stay_apart(control: PostgresControlStore) -> None:
    long = "a" * 62
    kinds = [RecordKind(f"{long}{end}", (f"{long}{end}", f"{long}z")) for end in "bc"]
    assert len({render_name(f"record_{kind.name}") for kind in kinds}) == 2
    control.close()
    control.open(kinds)
    for kind in kinds:
        record = replace(build_thing("x"), kind=kind.name, keys={kind.keys[0]: 1})
        insert(control, record)
    assert control.verify() == []


def test_keys_too_long_for_an_index_are_refused_and_their_function_goes_on(
    control: PostgresControlStore,
) -> None:
    def apply(transaction: ControlTransaction) -> None:
        transaction.insert(build_thing("a", note="x" * 2000))
        for record in (
            build_thing("b", place="x" * 1400, name="y" * 1400),
            build_thing("c", note="x" * 3000),
            build_thing("d" * 3000),
        ):
            with pytest.raises(InvalidArgument, match="2600 bytes"):
                transaction.insert(record)
        transaction.insert(build_thing("e"))

    run(control, apply)
    assert read_ids(control) == ["a", "e"]


def test_indexes_follow_the_declaration(control: PostgresControlStore) -> None:
    insert(control, build_thing("a", place="p", rank=1))
    control.close()
    control.open([replace(THING, indexes=(("rank", "place"),)), PLAIN])
    assert control.verify() == []
    with connect(control) as connection:
        rows = connection.execute("SELECT indexname FROM pg_indexes").fetchall()
    names = {name for (name,) in rows}
    assert "thing|by|rank|place" in names
    assert "thing|by|place|rank" not in names


def test_verifying_finds_what_was_spoilt(control: PostgresControlStore) -> None:
    insert(control, build_thing("a", note="x"), build_thing("b", note="y"))
    table = RecordSchema("twinframe_control").render_table("thing")
    schema = RecordSchema("twinframe_control").name
    with connect(control) as connection:
        for finding, sql, undo in (
            ("thing 'a' has a damaged body", "body = '{' WHERE id = 'a'", "body = '{}'"),
            ("but the last one is 2", "version = 9 WHERE id = 'a'", "version = 1 WHERE id = 'a'"),
            ("have one version: 2", "version = 2", "version = 1 WHERE id = 'a'"),
        ):
            connection.execute(f"UPDATE {table} SET {sql}")
            assert any(finding in told for told in control.verify()), finding
            connection.execute(f"UPDATE {table} SET {undo}")
        assert control.verify() == []
        connection.execute(f'DROP INDEX {schema}."thing|by|rank"')
        assert any("thing|by|rank" in told for told in control.verify())


def test_records_of_a_newer_release_are_refused(control: PostgresControlStore) -> None:
    control.close()
    with connect(control) as connection:
        connection.execute("UPDATE twinframe_control.control SET format = 2")
    with pytest.raises(ConfigurationError, match="format 2"):
        control.open(KINDS)


def test_a_role_without_the_right_to_create_opens_what_exists(
    control: PostgresControlStore, make_control: MakeStore
) -> None:
    with connect(control) as connection:
        connection.execute(
            "CREATE ROLE lesser LOGIN; GRANT USAGE ON SCHEMA twinframe_control TO lesser;"
            " GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA twinframe_control"
            " TO lesser"
        )
    try:
        url = type(control.settings.url)(f"{control.settings.url.get_secret_value()} user=lesser")
        lesser = make_control(url=url)
        lesser.open(KINDS)
        insert(lesser, build_thing("a"))
        lesser.close()
    finally:
        with connect(control) as connection:
            connection.execute("DROP OWNED BY lesser; DROP ROLE lesser")
    assert read_ids(control) == ["a"]
