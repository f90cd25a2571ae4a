"""A server whose transactions are not those of PostgreSQL is refused before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from tests.postgres.server import build_prefix, share_server
from twinframe.errors import ConfigurationError
from twinframe_storage_postgres import opening, proving
from twinframe_storage_postgres.proving import check_transactions, prove_server
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.statements import qualify
from twinframe_storage_postgres.store import PostgresGraphStore

_LOCK = "FOR UPDATE"
_SNAPSHOT = "REPEATABLE READ"


@dataclass
class Connection:
    """A connection on whose way statements are changed."""

    real: Any
    change: Callable[[str], str]

    def execute(self, sql: str | bytes, values: Any = ()) -> Any:
        text = sql.decode() if isinstance(sql, bytes) else sql
        return self.real.execute(self.change(text), values)


@dataclass
class Connections:
    """Connections to a server that understands statements as `change` does."""

    real: Any
    change: Callable[[str], str]

    def take(self) -> tuple[Any, bool]:
        connection, is_new = self.real.take()
        return Connection(connection, self.change), is_new

    def end(self, connection: Connection) -> None:
        self.real.end(connection.real)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    settings = PostgresSettings(
        url=SecretStr(share_server()), schema_=build_prefix(tmp_path), directory=str(tmp_path)
    )
    found = PostgresGraphStore(settings, "graph")
    found.open()
    yield found
    found.close()


def _count_writers(store: PostgresGraphStore) -> int:
    count: int = store.session().read_one("SELECT count(*) FROM @writer")
    return count


def test_postgresql_keeps_all_promises_and_nothing_is_left(store: PostgresGraphStore) -> None:
    for _ in range(3):
        check_transactions(store.connections, store.schema)
    assert _count_writers(store) == 0


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        (lambda sql: sql.replace(_LOCK, "").replace("NOWAIT", ""), "keeps others out"),
        (lambda sql: sql.replace(_SNAPSHOT, "READ COMMITTED"), "sees one state throughout"),
        (
            lambda sql: (
                sql.replace(_LOCK, "").replace("NOWAIT", "")
                if sql.endswith(_LOCK)
                else sql.replace("READ COMMITTED", _SNAPSHOT)
            ),
            "what its last holder committed",
        ),
        (lambda sql: sql.replace("SELECT batch FROM put", "SELECT 0"), "RETURNING of a change"),
        (lambda sql: sql.replace("SELECT batch FROM gone", "SELECT 0"), "RETURNING of a change"),
        (lambda sql: "ROLLBACK" if sql == "COMMIT" else sql, "all that was committed"),
    ],
    ids=["locks", "snapshots", "stale", "returning", "deleting", "losing"],
)
def test_a_server_without_one_of_them_is_refused(
    change: Callable[[str], str], missing: str, store: PostgresGraphStore
) -> None:
    connections: Any = Connections(store.connections, change)
    with pytest.raises(ConfigurationError, match=missing):
        check_transactions(connections, store.schema)


def test_a_graph_that_somebody_writes_for_long_is_opened_unproven(
    store: PostgresGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proving, "_PATIENCE", "SELECT set_config('lock_timeout', '20ms', true)")
    with psycopg.connect(share_server()) as other:
        other.execute(qualify("SELECT 1 FROM @graph FOR UPDATE", store.schema))
        check_transactions(store.connections, store.schema)
        other.rollback()


def test_a_kind_of_server_is_proven_once(
    store: PostgresGraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("it was proven before")

    monkeypatch.setattr(proving, "check_transactions", fail)
    assert prove_server(store._home).proven is None
    monkeypatch.setattr(proving, "_found", {})
    with suppress(AssertionError):
        prove_server(store._home)
        pytest.fail("it was not proven")


def test_a_server_without_the_functions_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [opening.Migration(1, 1, "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS $$ boo $$")]
    monkeypatch.setattr(opening, "load_migrations", lambda: tuple(broken))
    settings = PostgresSettings(
        url=SecretStr(share_server()), schema_=build_prefix(tmp_path), directory=str(tmp_path)
    )
    with pytest.raises(ConfigurationError, match="does not take the tables and functions"):
        PostgresGraphStore(settings, "graph").open()
