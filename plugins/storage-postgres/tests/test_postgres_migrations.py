"""Tables that a later release migrates while nodes of this one read and write them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from tests.postgres.server import build_prefix, share_server
from tests.waiting import PATIENCE, join, start
from twinframe.errors import StorageBusy, StorageError
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.base import run
from twinframe.testing.contracts.control_base import KINDS
from twinframe.testing.contracts.control_base import run as run_control
from twinframe.testing.contracts.control_writes import increment
from twinframe.testing.factories import build_twin_record
from twinframe_storage_postgres import findings, opening
from twinframe_storage_postgres.connections import Connection
from twinframe_storage_postgres.control_store import PostgresControlStore
from twinframe_storage_postgres.errors import ReleaseTooOld
from twinframe_storage_postgres.opening import Migration, load_migrations
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

NEWEST = load_migrations()[-1].version
COLUMN = Migration(
    NEWEST + 1, NEWEST, "ALTER TABLE twin ADD COLUMN note text NOT NULL DEFAULT 'none'"
)
INDEX = Migration(NEWEST + 2, NEWEST, "CREATE INDEX CONCURRENTLY twin_note ON @twin (note);\n")


def _build(place: Path) -> PostgresGraphStore:
    return PostgresGraphStore(_build_settings(place), "graph")


def _build_settings(place: Path) -> PostgresSettings:
    url, schema = SecretStr(share_server()), build_prefix(place)
    return PostgresSettings(url=url, schema_=schema, directory=str(place))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    """An open store of this release."""
    store = _build(tmp_path)
    store.open()
    yield store
    store.close()


@pytest.fixture
def ask() -> Iterator[Callable[[str], Sequence[tuple[object, ...]]]]:
    """Run a statement on the server, as its superuser."""
    with psycopg.connect(share_server(), autocommit=True) as connection:

        def ask(sql: str) -> Sequence[tuple[object, ...]]:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description else []

        yield ask


Ask = Callable[[str], Sequence[tuple[object, ...]]]


def _put(name: str) -> Callable[[GraphTransaction], None]:
    return lambda transaction: transaction.put_twin(build_twin_record(name))


@contextmanager
def _later_release(monkeypatch: pytest.MonkeyPatch, *more: Migration) -> Iterator[None]:
    """Let this process be of a release with more migrations."""
    all_of_them = (*load_migrations(), *more)
    with monkeypatch.context() as patch:
        patch.setattr(opening, "load_migrations", lambda: all_of_them)
        yield


def _read_version(ask: Ask, store: PostgresGraphStore) -> object:
    return ask(f"SELECT version FROM {store.schema}.graph")[0][0]


def _is_valid(ask: Ask, store: PostgresGraphStore) -> bool:
    index = f"to_regclass('{store.schema}.twin_note')"
    return ask(f"SELECT indisvalid FROM pg_index WHERE indexrelid = {index}") == [(True,)]


def test_nodes_of_a_later_release_migrate_at_once_while_others_read_and_write(
    store: PostgresGraphStore, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, errors, counts = threading.Event(), [], [0, 0]

    def write() -> None:
        while not stop.is_set():
            (outcome,) = store.write([_put(f"t{counts[0]}")])
            errors.extend([outcome.error] if outcome.error else [])
            counts[0] += 1

    def read() -> None:
        session = store.session()
        while not stop.is_set():
            try:
                with session.snapshot():
                    session.read_schema_version()
                    session.read_twin("t0")
            except StorageError as error:
                errors.append(error)
            counts[1] += 1

    def wait_for_more() -> None:
        before, end = list(counts), time.monotonic() + PATIENCE
        while not (counts[0] > before[0] + 3 and counts[1] > before[1] + 3):
            assert time.monotonic() < end
            time.sleep(0.01)

    threads = [start(write), start(read)]
    # A long report has the table in use, so that whoever wants it alone has to wait.
    with psycopg.connect(share_server()) as report:
        report.execute(f"SELECT count(*) FROM {store.schema}.twin")
        with _later_release(monkeypatch, COLUMN, INDEX):
            later = [_build(tmp_path) for _ in range(3)]
            opens = [start(each.open) for each in later]
            wait_for_more()
            wait_for_more()
            assert _read_version(ask, store) == NEWEST
            report.rollback()
            join(*opens)
            for each in later:
                run(each, _put("later"))
                each.close()
    wait_for_more()
    stop.set()
    join(*threads)
    assert errors == []
    assert _read_version(ask, store) == NEWEST + 2
    assert _is_valid(ask, store)
    assert ask(f"SELECT DISTINCT note FROM {store.schema}.twin") == [("none",)]
    assert store.verify() == []


def test_a_new_graph_has_all_versions_at_once(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _later_release(monkeypatch, COLUMN, INDEX):
        store = _build(tmp_path)
        store.open()
    assert _read_version(ask, store) == NEWEST + 2
    assert _is_valid(ask, store)
    run(store, _put("a"))
    store.close()


def test_an_index_that_a_process_left_half_built_is_built_anew(
    store: PostgresGraphStore, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _later_release(monkeypatch, COLUMN, INDEX):
        ask(f"ALTER TABLE {store.schema}.twin ADD COLUMN note text")
        ask(f"UPDATE {store.schema}.graph SET version = {NEWEST + 1}")
        ask(f"CREATE INDEX twin_note ON {store.schema}.twin (note)")
        ask(
            "UPDATE pg_index SET indisvalid = false "
            f"WHERE indexrelid = '{store.schema}.twin_note'::regclass"
        )
        later = _build(tmp_path)
        later.open()
        later.close()
    assert _is_valid(ask, store)
    assert _read_version(ask, store) == NEWEST + 2


def test_a_migration_that_never_gets_its_table_says_who_has_it(
    store: PostgresGraphStore, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "_PATIENCE", 0.0)
    with psycopg.connect(share_server()) as report:
        report.execute(f"SELECT count(*) FROM {store.schema}.twin")
        with (
            _later_release(monkeypatch, COLUMN),
            pytest.raises(StorageError, match="have them in use without a pause"),
        ):
            _build(tmp_path).open()
    assert _read_version(ask, store) == NEWEST


def test_a_node_refuses_clearly_what_was_migrated_beyond_it(
    store: PostgresGraphStore, ask: Ask
) -> None:
    run(store, _put("a"))
    store.session().read_twin("a")
    ask(f"UPDATE {store.schema}.graph SET version = 998, least = 997")
    (outcome,) = store.write([_put("b")])
    refused = outcome.error
    assert isinstance(refused, ReleaseTooOld)
    assert "version 997" in str(refused)
    assert f"knows version {NEWEST}" in str(refused)
    assert refused.public.startswith("This node runs a release that is too old")
    with pytest.raises(ReleaseTooOld), store.session().snapshot():
        store.session().read_schema_version()  # what /health/ready asks
    assert store.session().read_twin("a") is not None  # what it can still read is there
    ask(f"ALTER TABLE {store.schema}.twin RENAME COLUMN etag TO tag")
    with pytest.raises(ReleaseTooOld, match="version 997"):
        store.session().read_twin("a")
    ask(f"ALTER TABLE {store.schema}.twin RENAME COLUMN tag TO etag")
    ask(f"UPDATE {store.schema}.graph SET version = {NEWEST}, least = 1")
    run(store, _put("b"))


def test_statements_that_were_prepared_on_former_tables_are_prepared_anew(
    store: PostgresGraphStore, ask: Ask
) -> None:
    session = store.session()
    run(store, _put("a"))
    for _ in range(10):
        session.read_twin("a")
    for kind in ("varchar", "text"):
        ask(f"ALTER TABLE {store.schema}.twin ALTER COLUMN etag TYPE {kind}")
        assert session.read_twin("a") is not None
        run(store, _put("a"))


def test_connections_whose_prepared_statements_are_gone_are_replaced(
    store: PostgresGraphStore,
) -> None:
    session = store.session()
    held: list[Connection] = []
    for _ in range(10):
        run(store, _put("a"))
        session.read_twin("a")
    for _ in range(2):
        taken = [store.connections.take()[0] for _ in range(3)]
        for each in taken:
            each.pgconn.exec_(b"DEALLOCATE ALL")
            store.connections.give(each)
        held += taken
        assert session.read_twin("a") is not None
        with session.snapshot():
            assert session.read_twin("a") is not None
        run(store, _put("a"))


def test_a_control_store_goes_on_when_its_prepared_statements_are_gone(tmp_path: Path) -> None:
    # A size of its own: the process shares its connections among stores of the same settings.
    settings = _build_settings(tmp_path).model_copy(update={"connections": 3})
    with closing(PostgresControlStore(settings, "control")) as control:
        control.open(KINDS)
        session = control.session()
        for _ in range(10):
            run_control(control, increment)
            session.count(KINDS[0].name)
        assert control._writer is not None
        control._writer.pgconn.exec_(b"DEALLOCATE ALL")
        shared = control._get_connections()
        connection, _ = shared.take()
        connection.pgconn.exec_(b"DEALLOCATE ALL")
        shared.give(connection)
        with session.snapshot(), pytest.raises(StorageBusy, match="try again"):
            session.count(KINDS[0].name)  # its state began on the connection
        with session.snapshot():
            session.count(KINDS[0].name)
        assert run_control(control, increment) == 11


def test_writers_that_were_not_heard_of_for_a_week_are_forgotten(
    store: PostgresGraphStore, tmp_path: Path, ask: Ask
) -> None:
    run(store, _put("a"))
    ask(f"INSERT INTO {store.schema}.writer VALUES ('gone', 7, now() - interval '8 days')")
    ask(f"INSERT INTO {store.schema}.writer VALUES ('away', 7, now() - interval '6 days')")
    other = _build(tmp_path)
    other.open()
    run(other, _put("b"))
    other.close()
    found = {row[0] for row in ask(f"SELECT id FROM {store.schema}.writer")}
    assert found == {"away", store._writer, other._writer}


class Fast:
    """A clock that is ahead."""

    @staticmethod
    def time() -> float:
        return time.time() + 100


def test_check_tells_of_tables_of_other_releases_and_of_clocks_that_differ(
    store: PostgresGraphStore, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def list_said(check: str) -> list[str]:
        found = findings.list_findings(store.settings)
        return [each.message for each in found if each.check == check]

    assert list_said("clock") == []
    monkeypatch.setattr("twinframe_storage_postgres.findings.time", Fast)
    (said,) = list_said("clock")
    assert "100 s ahead of that of the PostgreSQL server" in said
    ask(f"UPDATE {store.schema}.graph SET version = {NEWEST + 1}, least = {NEWEST + 1}")
    said = " ".join(list_said("versions"))
    assert f"version {NEWEST + 1}; this one knows version {NEWEST}." in said
    assert "A later release has migrated 1 graphs already." in said
    ask(f"UPDATE {store.schema}.graph SET version = {NEWEST - 1}, least = 1")
    assert "1 graphs are migrated when they are opened." in list_said("versions")
