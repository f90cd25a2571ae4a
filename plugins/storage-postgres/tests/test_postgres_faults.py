"""Writes and reads while the server, the network or another node fails."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from tests.postgres.cutting import Cut, CuttingProxy
from tests.postgres.server import PostgresServer, build_prefix, serve, share_server
from tests.waiting import PATIENCE, join, start
from twinframe.errors import ConfigurationError, QueryTimeout, StorageBusy, StorageError
from twinframe.storage.base import GraphTransaction, OutboxEvent, WriteFunction
from twinframe.testing.contracts.base import run
from twinframe.testing.contracts.control_base import KINDS
from twinframe.testing.contracts.control_base import run as run_control
from twinframe.testing.contracts.control_writes import increment
from twinframe.testing.factories import build_twin_record
from twinframe_storage_postgres.control_store import PostgresControlStore
from twinframe_storage_postgres.names import build_schema
from twinframe_storage_postgres.opening import load_migrations
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.statements import Row
from twinframe_storage_postgres.store import PostgresGraphStore
from twinframe_storage_postgres.transaction import PostgresTransaction

COUNTING = Path(__file__).with_name("counting.py")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server that tests may stop."""
    with serve() as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    """An open store."""
    store = _build(share_server(), tmp_path, turn_timeout=0.5)
    store.open()
    yield store
    store.close()


def _build(url: str, place: Path, **settings: Any) -> PostgresGraphStore:
    settings = {"directory": str(place), **settings}
    chosen = PostgresSettings(url=url, schema_=build_prefix(place), **settings)
    return PostgresGraphStore(chosen, "graph")


def _counting(name: str = "counter") -> WriteFunction[int]:
    def apply(transaction: GraphTransaction) -> int:
        stored = transaction.read_twin(name)
        number: int = 1 if stored is None else orjson.loads(stored.body)["number"] + 1
        transaction.put_twin(build_twin_record(name, number=number))
        transaction.append_events([OutboxEvent(name, str(number).encode())])
        return number

    return apply


@pytest.mark.parametrize("cut", list(Cut))
def test_a_write_whose_commit_gets_no_answer_takes_effect_once(cut: Cut, tmp_path: Path) -> None:
    server = Path(share_server().split()[0].removeprefix("host=")) / ".s.PGSQL.5432"
    with CuttingProxy(server) as proxy:
        store = _build(f"host=127.0.0.1 port={proxy.port} user=twinframe dbname=postgres", tmp_path)
        store.open()
        rounds = 12

        def apply(transaction: GraphTransaction) -> int:
            # What the client sends next, after this first read, is the commit.
            number = _counting()(transaction)
            if number > proxy.cuts:
                proxy.armed = cut
            return number

        numbers = [run(store, apply) for _ in range(rounds)]
        assert numbers == [*range(1, rounds + 1)]
        assert proxy.cuts == rounds
        events = store.session().read_events(after=0, limit=99)
        assert [event.body for _, event in events] == [str(n).encode() for n in numbers]
        assert store.verify() == []
        store.close()


def test_writes_wait_for_the_lock_of_another_node_no_longer_than_they_may(
    store: PostgresGraphStore,
) -> None:
    with psycopg.connect(share_server()) as other:
        other.execute(f"SELECT 1 FROM {store.schema}.graph FOR UPDATE")
        outcomes = store.write([_counting("a"), _counting("b")])
        assert [type(each.error) for each in outcomes] == [StorageBusy] * 2
        assert "TurnTimeout" in str(outcomes[0].error)
    assert run(store, _counting()) == 1


def test_a_deadline_ends_the_statement_on_the_server(store: PostgresGraphStore) -> None:
    session = store.session()
    with pytest.raises(QueryTimeout), session.snapshot(time.monotonic() + 0.2):
        session.read_one("SELECT pg_sleep(1000)")

    def interrupt() -> None:
        end = time.monotonic() + PATIENCE
        while not _find_sleeping() and time.monotonic() < end:
            time.sleep(0.01)
        session.interrupt()

    thread = start(interrupt)
    with pytest.raises(QueryTimeout), session.snapshot():
        session.read_one("SELECT pg_sleep(1000)")
    join(thread)
    assert not _find_sleeping()
    assert session.read_twin("a") is None


def _find_sleeping() -> bool:
    with psycopg.connect(share_server(), autocommit=True) as other:
        found = other.execute(
            "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sl%'"
        )
        return found.fetchone() is not None


def test_what_the_server_ends_as_a_collision_is_run_again(store: PostgresGraphStore) -> None:
    run(store, _counting())
    with psycopg.connect(share_server(), autocommit=True) as other:
        other.execute(f"""SET search_path = {store.schema}; CREATE SEQUENCE tries;
            CREATE FUNCTION collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
              IF nextval('{store.schema}.tries') <= 3 THEN
                RAISE EXCEPTION 'collision' USING ERRCODE = 'serialization_failure';
              END IF; RETURN NEW; END $$;
            CREATE TRIGGER collide BEFORE UPDATE ON twin FOR EACH ROW EXECUTE FUNCTION collide()""")
        assert run(store, _counting()) == 2
        assert other.execute(f"SELECT last_value FROM {store.schema}.tries").fetchone() == (4,)


def test_a_write_that_the_server_refuses_does_not_fail_its_neighbours(
    store: PostgresGraphStore,
) -> None:
    long_id = "".join(chr(0x4E00 + n * 7919 % 20000) for n in range(1024))
    outcomes = store.write([_counting("a"), _counting(long_id), _counting("b")])
    assert [each.result for each in outcomes] == [1, None, 1]
    assert "longer than PostgreSQL can index" in str(outcomes[1].error)


def test_a_server_that_is_restarted_is_used_again_and_keeps_what_was_acknowledged(
    server: PostgresServer, tmp_path: Path
) -> None:
    store = _build(server.url, tmp_path)
    store.open()
    session = store.session()
    done: list[int] = []
    errors: list[BaseException] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            (outcome,) = store.write([_counting()])
            if outcome.error is not None:
                errors.append(outcome.error)
            else:
                done.append(outcome.result)  # type: ignore[arg-type]

    def read() -> None:
        while not stop.is_set():
            try:
                session.read_twin("counter")
            except StorageError as error:
                errors.append(error)

    threads = [start(write), start(read)]
    for mode in ("fast", "immediate"):
        _wait_for_more(done)
        server.stop(mode)
        with pytest.raises(StorageBusy, match="server is away"):
            store.session().read_twin("counter")
        server.start()
        _wait_for_more(done)
    stop.set()
    join(*threads)
    assert all(isinstance(error, StorageBusy) for error in errors)
    assert done == sorted(set(done))
    stored = session.read_twin("counter")
    assert stored is not None
    assert orjson.loads(stored.body)["number"] == done[-1]
    assert store.verify() == []
    store.close()


def _wait_for_more(done: list[int]) -> None:
    wanted, end = len(done) + 5, time.monotonic() + PATIENCE
    while len(done) < wanted:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_of_processes_that_count_under_an_etag_none_loses_a_number_though_one_is_killed(
    tmp_path: Path,
) -> None:
    store = _build(share_server(), tmp_path)
    store.open()
    run(store, lambda t: t.put_twin(build_twin_record("counter", number=0)))
    command = [sys.executable, str(COUNTING), share_server(), build_prefix(tmp_path)]
    first, second, third = (
        subprocess.Popen([*command, rounds], stdout=subprocess.PIPE, text=True)
        for rounds in ("100000", "60", "60")
    )
    assert first.stdout is not None
    seen = [int(first.stdout.readline()) for _ in range(20)]
    first.kill()
    with first.stdout:
        outputs = [first.stdout.read()]
    outputs += [each.communicate(timeout=PATIENCE)[0] for each in (second, third)]
    first.wait(PATIENCE)
    assert (second.returncode, third.returncode) == (0, 0)
    numbers = seen + [int(line) for output in outputs for line in output.split()]
    assert len(set(numbers)) == len(numbers)  # none was given twice
    stored = store.session().read_twin("counter")
    assert stored is not None
    last = orjson.loads(stored.body)["number"]
    # The last write of the killed process may have been made without its number being told.
    assert len(set(range(1, last + 1)) - set(numbers)) <= 1
    assert store.verify() == []
    store.close()


def test_a_node_that_stops_in_the_middle_of_a_write_does_not_hold_up_others_for_ever(
    tmp_path: Path,
) -> None:
    store = _build(share_server(), tmp_path, idle_timeout=1.0, turn_timeout=60.0)
    store.open()
    stopped, go_on = threading.Event(), threading.Event()

    def hang(transaction: GraphTransaction) -> None:
        if not stopped.is_set():
            transaction.read_twin("counter")
            stopped.set()
            go_on.wait(PATIENCE)
        transaction.put_twin(build_twin_record("late"))

    other = _build(share_server(), tmp_path, turn_timeout=60.0)
    other.open()
    thread = start(lambda: store.write([hang]))
    assert stopped.wait(PATIENCE)
    assert run(other, _counting()) == 1
    go_on.set()
    join(thread)
    assert store.session().has_twin("late")  # it was run again
    for each in (store, other):
        each.close()


def test_a_commit_whose_wait_for_standbys_was_ended_is_not_acknowledged(
    server: PostgresServer, tmp_path: Path
) -> None:
    quiet = f"{server.url} options='-c client_min_messages=error'"  # the warning is heard anyhow
    store = _build(quiet, tmp_path)
    store.open()
    settings = store.settings
    control = PostgresControlStore(settings, "control")
    control.open(KINDS)
    done: list[str] = []

    def write() -> None:
        assert run(store, _counting()) == 1
        done.append("graph")

    def write_record() -> None:
        assert run_control(control, increment) == 1
        done.append("control")

    with psycopg.connect(server.url, autocommit=True) as other:
        other.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        other.execute("SELECT pg_reload_conf()")
        first: set[Row] = set()
        threads = [start(write), start(write_record)]
        try:
            for pid, began in _wait_for_waiting(other, set(), done):
                other.execute("SELECT pg_cancel_backend(%s)", (pid,))
                first.add((pid, began))
            _wait_for_waiting(other, first, done)
            assert done == []
        finally:
            other.execute("ALTER SYSTEM RESET synchronous_standby_names")
            other.execute("SELECT pg_reload_conf()")
            join(*threads)
    assert sorted(done) == ["control", "graph"]
    assert run(store, _counting()) == 2
    assert run_control(control, increment) == 2
    control.close()
    store.close()


def _wait_for_waiting(other: psycopg.Connection[Any], but: set[Row], done: list[str]) -> set[Row]:
    """Wait until two other COMMITs wait for a standby, or a write was acknowledged."""
    found: set[Row] = set()
    end = time.monotonic() + PATIENCE
    while len(found) < 2 and not done:
        assert time.monotonic() < end
        sql = "SELECT pid, xact_start FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        found = {*other.execute(sql)} - but
        time.sleep(0.01)
    return found


def test_a_large_batch_is_committed_in_parts_that_succeed_by_themselves(
    store: PostgresGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, built = store._build_transaction, []

    def build() -> PostgresTransaction:
        built.append(len(built))
        if len(built) == 4:
            raise StorageBusy("no connection is free")
        return real()

    def put(number: int) -> WriteFunction[object]:
        return lambda t: t.put_entry("large", str(number), bytes(3 * 1024 * 1024))

    monkeypatch.setattr(store, "_build_transaction", build)
    outcomes = store.write([put(number) for number in range(8)])
    assert [each.error is None for each in outcomes] == [True] * 6 + [False] * 2
    kept = store.session().read_entries("large", after=None, limit=9)
    assert [each.key for each in kept] == [*"012345"]


def test_a_query_that_is_stopped_costs_no_other_connection(store: PostgresGraphStore) -> None:
    connections = store.connections
    taken = [connections.take()[0] for _ in range(3)]
    pids = {each.info.backend_pid for each in taken}
    for each in taken:
        connections.give(each)
    session = store.session()
    with session.snapshot():
        stopped = session.read_one("SELECT pg_backend_pid()")
        session.interrupt()
    left = [connections.take()[0] for _ in range(2)]
    assert {each.info.backend_pid for each in left} == pids - {stopped}
    for each in left:
        connections.give(each)


def test_functions_of_other_users_are_not_called(tmp_path: Path) -> None:
    """One in `public` that fits a call better than the server's own would run with all rights."""
    address, name = share_server(), build_prefix(tmp_path)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(f"{address} dbname={name}", autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION public.hashtextextended(text, integer) RETURNS bigint LANGUAGE plpgsql"
            " AS $$ BEGIN RAISE EXCEPTION 'taken in'; END $$"
        )
    store = _build(f"{address} dbname={name}", tmp_path)
    store.open()
    assert run(store, _counting()) == 1
    store.close()


def test_a_schema_that_is_anothers_by_a_prefix_is_refused_and_never_removed(tmp_path: Path) -> None:
    prefix = build_prefix(tmp_path)[:20]
    settings = PostgresSettings(
        url=share_server(), directory=str(tmp_path), schema_=f"{prefix}_b", turn_timeout=60
    )
    other_settings = settings.model_copy(update={"schema_": prefix})
    store = PostgresGraphStore(settings, "c")
    store.open()
    run(store, lambda transaction: transaction.put_entry("a", "b", b"{}"))
    other = PostgresGraphStore(other_settings, "b_c")
    for attempt in (other.open, lambda: other.remove(5)):
        with pytest.raises(ConfigurationError, match=f"Storage__Postgres__Schema={prefix}_b"):
            attempt()
    assert store.session().read_entry("a", "b") == b"{}"
    store.close()

    control = PostgresControlStore(settings, "control")
    control.open(KINDS)
    control.close()
    graph = PostgresGraphStore(other_settings, "b_control")
    for attempt in (graph.open, lambda: graph.remove(5)):
        with pytest.raises(ConfigurationError, match="holds records of a control plane"):
            attempt()
    control.open(KINDS)
    control.close()
    third = PostgresGraphStore(other_settings, "d_control")
    third.open()
    third.close()
    with pytest.raises(ConfigurationError, match="holds a graph"):
        PostgresControlStore(
            settings.model_copy(update={"schema_": f"{prefix}_d"}), "control"
        ).open(KINDS)


def test_a_short_name_cannot_be_that_of_a_long_one() -> None:
    long = build_schema("twinframe", "a" * 200)
    assert len(long) <= 63
    with pytest.raises(ConfigurationError):
        build_schema("twinframe", long.removeprefix("twinframe_"))


def test_many_nodes_open_a_new_graph_at_once(tmp_path: Path) -> None:
    stores = [_build(share_server(), tmp_path) for _ in range(6)]
    threads = [start(each.open) for each in stores]
    join(*threads)
    assert len({each.session().read_instance() for each in stores}) == 1
    for each in stores:
        each.close()


def test_tables_of_a_later_release_are_used_if_it_says_so(tmp_path: Path) -> None:
    store = _build(share_server(), tmp_path)
    store.open()
    newest = load_migrations()[-1].version
    with psycopg.connect(share_server(), autocommit=True) as other:
        other.execute(f"UPDATE {store.schema}.graph SET version = 999, least = {newest}")
        again = _build(share_server(), tmp_path)
        again.open()
        again.close()
        other.execute(f"UPDATE {store.schema}.graph SET least = 999")
    with pytest.raises(ConfigurationError, match="later release"):
        _build(share_server(), tmp_path).open()
    store.close()


def test_a_server_that_is_away_is_an_error_that_says_so(tmp_path: Path) -> None:
    store = _build("host=127.0.0.1 port=1 user=twinframe dbname=postgres", tmp_path)
    with pytest.raises(StorageBusy, match="server is away") as raised:
        store.open()
    assert raised.value.public == "The database does not answer; nothing was done, try again."
    with pytest.raises(ConfigurationError, match="Storage__Postgres__Url is not set"):
        _build("", tmp_path).open()


def test_the_directory_for_what_may_be_lost_is_made(tmp_path: Path) -> None:
    store = _build(share_server(), tmp_path, directory=str(tmp_path / "new" / "one"))
    store.open()
    assert store.scratch is not None
    store.scratch.mkdir()
    store.close()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=r"Directory: .* cannot be used"):
        _build(share_server(), tmp_path, directory=str(tmp_path / "file")).open()
