"""Snapshots are read from standbys, and see every write that was acknowledged before they began."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from pydantic import SecretStr, ValidationError

from benchmarks.graph import Shape, build_twin, fill
from tests.reliability.judging import NotRun
from tests.reliability.nodes import Node, make_nodes
from twinframe.storage.base import GraphTransaction, WriteFunction
from twinframe_storage_postgres import standbys
from twinframe_storage_postgres.connections import (
    Connection,
    release_connections,
    share_connections,
)
from twinframe_storage_postgres.findings import list_findings
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.statements import Row
from twinframe_storage_postgres.store import PostgresGraphStore

_WHERE = "SELECT inet_server_port()"


@dataclasses.dataclass(frozen=True)
class Pair:
    """A primary and its standby, and a store that reads from both."""

    primary: Node
    standby: Node
    store: PostgresGraphStore

    def put(self, value: float) -> None:
        """Write the twin, and wait until that is acknowledged."""
        record = build_twin("sensor-1", "TemperatureSensor", name="one", value=value)

        def write(transaction: GraphTransaction) -> None:
            transaction.put_twin(record)

        functions: list[WriteFunction[object]] = [write]
        (outcome,) = self.store.write(functions)
        assert outcome.error is None

    def read(self) -> tuple[int, float]:
        """The port of the server that a snapshot is read from, and the twin's value there."""
        session = self.store.session()
        try:
            with session.snapshot():
                stored = session.read_twin("sensor-1")
                port: int = session.read_one(_WHERE)
        finally:
            session.close()
        assert stored is not None
        return port, orjson.loads(stored.body)["value"]


def _build_url(node: Node) -> str:
    return f"postgresql://twinframe@127.0.0.1:{node.port}/postgres"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    try:
        with make_nodes(2) as (primary, standby):
            primary.make()
            primary.start()
            standby.copy(primary.port)
            standby.start()
            primary.wait_for("SELECT count(*) = 1 FROM pg_stat_replication")
            settings = PostgresSettings(
                url=SecretStr(_build_url(primary)),
                read_urls=SecretStr(_build_url(standby)),
                read_wait=30.0,
                directory=str(tmp_path_factory.mktemp("scratch")),
            )
            store = PostgresGraphStore(settings, "default")
            store.open()
            fill(store, Shape(20))
            yield Pair(primary, standby, store)
            store.close()
    except NotRun as reason:
        pytest.skip(str(reason))


def test_a_snapshot_on_the_standby_has_what_was_acknowledged(pair: Pair) -> None:
    dice = random.Random(1)
    for _ in range(50):
        value = dice.random()
        pair.put(value)
        assert pair.read() == (pair.standby.port, value)


def test_writes_of_others_are_seen_too(pair: Pair) -> None:
    settings = pair.store.settings.model_copy(update={"read_urls": SecretStr("")})
    other = dataclasses.replace(pair, store=PostgresGraphStore(settings, "default"))
    other.store.open()
    seen: list[float] = []
    for value in (1.5, 2.5, 3.5):
        other.put(value)
        seen.append(pair.read()[1])
    other.store.close()
    assert seen == [1.5, 2.5, 3.5]


def test_a_standby_that_is_behind_is_not_read(pair: Pair) -> None:
    settings = pair.store.settings.model_copy(update={"read_wait": 0.05})
    late = dataclasses.replace(pair, store=PostgresGraphStore(settings, "default"))
    late.store.open()
    pair.standby.ask("SELECT pg_wal_replay_pause()")
    pair.standby.wait_for("SELECT pg_get_wal_replay_pause_state() = 'paused'")
    try:
        late.put(7.25)
        assert late.read() == (pair.primary.port, 7.25)
    finally:
        pair.standby.ask("SELECT pg_wal_replay_resume()")
    pair.put(8.25)
    assert pair.read() == (pair.standby.port, 8.25)
    late.store.close()


def test_what_a_relaxed_write_has_not_on_disk_is_not_missed(pair: Pair) -> None:
    settings = pair.store.settings.model_copy(update={"read_wait": 0.05, "durability": "relaxed"})
    relaxed = dataclasses.replace(pair, store=PostgresGraphStore(settings, "default"))
    relaxed.store.open()
    pair.primary.ask("ALTER SYSTEM SET wal_writer_delay = '10s'")
    pair.primary.ask("SELECT pg_reload_conf()")
    try:
        for value in (1.25, 2.25, 3.25, 4.25):
            relaxed.put(value)
            assert relaxed.read()[1] == value
    finally:
        pair.primary.ask("ALTER SYSTEM RESET wal_writer_delay")
        pair.primary.ask("SELECT pg_reload_conf()")
        relaxed.store.close()


def test_the_connection_that_was_asked_is_the_one_that_is_read(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One address may lead to several standbys, to another one with each connection."""
    url = pair.store.settings.read_urls
    server = share_connections(pair.store.settings.model_copy(update={"url": url}))
    asked: list[int] = []
    stolen: list[Connection] = []
    real_read, real_give = standbys._read_row, server.give

    def read(connection: Connection, *given: Any) -> Row:
        asked.append(connection.info.backend_pid)
        is_behind = given[0] == standbys._HAS and len(asked) < 40
        return (False, True) if is_behind else real_read(connection, *given)

    def give(connection: Connection) -> None:
        """Give it, and take it away again, so that the next one to be taken is another."""
        real_give(connection)
        stolen.append(server.take()[0])
        for earlier in stolen[:-1]:  # a standby that is behind is asked again and again
            stolen.remove(earlier)
            real_give(earlier)

    session = pair.store.session()
    try:
        with monkeypatch.context() as patch, session.snapshot():
            patch.setattr(standbys, "_read_row", read)
            patch.setattr(server, "give", give)
            assert session.read_one("SELECT pg_backend_pid()") == asked[-1]
            assert session.read_one(_WHERE) == pair.standby.port
            patch.undo()
    finally:
        for connection in stolen:
            real_give(connection)
        release_connections(server)


def test_the_check_says_which_servers_are_standbys(pair: Pair) -> None:
    urls = f"{pair.store.settings.read_urls.get_secret_value()} {_build_url(pair.primary)}"
    settings = pair.store.settings.model_copy(update={"read_urls": SecretStr(urls)})
    said = [each.message for each in list_findings(settings) if "ReadUrls" in each.message]
    assert [text.partition(" of ")[0] for text in said] == ["Server 1", "Server 2"]
    assert "is a standby" in said[0]
    assert "is no standby" in said[1]


def test_a_standby_that_left_the_timeline_or_is_gone_is_not_read(pair: Pair) -> None:
    pair.put(9.25)
    assert pair.read() == (pair.standby.port, 9.25)
    pair.standby.promote()
    pair.standby.ask("UPDATE twinframe_default.twin SET etag = 'other'")
    assert pair.read() == (pair.primary.port, 9.25)
    pair.standby.kill()
    pair.put(10.25)
    assert pair.read() == (pair.primary.port, 10.25)


@pytest.mark.parametrize("urls", ["host=a", "postgresql://a nonsense", "postgresql://[a/d"])
def test_odd_connection_strings_are_refused(urls: str) -> None:
    with pytest.raises(ValidationError, match=r"number|connection string"):
        PostgresSettings(read_urls=SecretStr(urls))
