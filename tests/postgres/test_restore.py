"""A backup by pgBackRest, restored to a moment: the graph and its events are as they were then."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import orjson
import psycopg
import pytest
from pydantic import SecretStr

from tests.e2e.server import free_port
from tests.postgres.server import find_user
from tests.waiting import PATIENCE, join, start
from twinframe.storage.base import GraphTransaction, OutboxEvent
from twinframe.testing.contracts.base import run
from twinframe.testing.factories import build_twin_record
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

_BINARIES = Path("/usr/lib/postgresql/15/bin")
_CONFIGURATION = """
[global]
repo1-path={home}/repository
repo1-retention-full=2
log-path={home}
log-level-console=warn
lock-path={home}/lock
spool-path={home}/spool
start-fast=y

[twins]
pg1-path={home}/data
pg1-port={port}
pg1-socket-path={home}
pg1-user=twinframe
pg1-database=postgres
"""
_SERVER = """
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = '{home}'
archive_mode = on
archive_command = '{program} --config={home}/pgbackrest.conf --stanza=twins archive-push %p'
"""

pytestmark = [
    pytest.mark.skipif(
        "postgres" not in os.environ.get("TWINFRAME_STORAGES", ""),
        reason="it takes long; TWINFRAME_STORAGES=postgres runs it, as make test-postgres does",
    ),
    pytest.mark.skipif(
        shutil.which("pgbackrest") is None or not _BINARIES.is_dir(),
        reason="it needs apt-get install pgbackrest postgresql-15",
    ),
]


class Cluster:
    """A server with an archive, and what pgBackRest does with it."""

    def __init__(self, home: Path) -> None:
        self._home, self._port = home, free_port()
        self.url = f"host=127.0.0.1 port={self._port} user=twinframe dbname=postgres"
        program = shutil.which("pgbackrest")
        assert program is not None
        self._program = program
        how = ["--username=twinframe", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        self._run(_BINARIES / "initdb", "--pgdata=data", "--no-sync", "--data-checksums", *how)
        for name, text in (("pgbackrest.conf", _CONFIGURATION), ("data/postgresql.conf", _SERVER)):
            with (home / name).open("a", encoding="utf-8") as file:
                file.write(text.format(home=home, port=self._port, program=program))
        for name in ("repository", "lock", "spool", "pgbackrest.conf"):
            (home / name).exists() or (home / name).mkdir()
            if find_user():
                shutil.chown(home / name, find_user())

    def start(self) -> None:
        """Start the server."""
        self._run(_BINARIES / "pg_ctl", "--pgdata=data", "--wait", "--log=server.log", "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it."""
        self._run(_BINARIES / "pg_ctl", "--pgdata=data", "--wait", f"--mode={mode}", "stop")

    def back_up(self, *arguments: str) -> None:
        """Run pgBackRest."""
        configuration = f"--config={self._home}/pgbackrest.conf"
        self._run(Path(self._program), configuration, "--stanza=twins", *arguments)

    def ask(self, sql: str) -> str:
        """Return the one value of a statement."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            row = connection.execute(sql.encode()).fetchone()
        return "" if row is None else str(row[0])

    def _run(self, program: Path, *arguments: str) -> None:
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(
                [str(program), *arguments],
                user=find_user(),
                cwd=self._home,
                stdout=said,
                stderr=said,
                timeout=PATIENCE,
                check=False,
            )
            said.seek(0)
            assert done.returncode == 0, said.read().decode()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    home, user = Path(tempfile.mkdtemp(prefix="pgr-")), find_user()
    if user is not None:
        shutil.chown(home, user)
    found = Cluster(home)
    found.start()
    try:
        yield found
    finally:
        found.stop("immediate")
        shutil.rmtree(home)


def _open(cluster: Cluster, place: Path) -> PostgresGraphStore:
    settings = PostgresSettings(url=SecretStr(cluster.url), directory=str(place))
    store = PostgresGraphStore(settings, "default")
    store.open()
    return store


def _count(transaction: GraphTransaction) -> int:
    """Add one to the twin, with an event."""
    stored = transaction.read_twin("counter")
    number: int = 1 if stored is None else orjson.loads(stored.body)["number"] + 1
    transaction.put_twin(build_twin_record("counter", number=number))
    transaction.append_events([OutboxEvent("counter", str(number).encode())])
    return number


def test_the_restored_graph_is_that_of_the_moment(cluster: Cluster, tmp_path: Path) -> None:
    store = _open(cluster, tmp_path)
    cluster.back_up("stanza-create")
    cluster.back_up("check")
    stopping, written = threading.Event(), []

    def write() -> None:
        while not stopping.is_set():
            written.append(run(store, _count))

    writer = start(write)
    cluster.back_up("--type=full", "backup")
    stopping.set()
    join(writer)
    assert len(written) > 1, "writes went on during the backup"
    before = run(store, _count)
    moment = cluster.ask("SELECT clock_timestamp()")
    for _ in range(20):
        run(store, _count)
    run(store, lambda transaction: transaction.delete_twin("counter"))
    cluster.ask("SELECT pg_switch_wal()")
    store.close()

    cluster.stop()
    how = ("--delta", "--type=time", f"--target={moment}", "--target-action=promote")
    cluster.back_up(*how, "restore")
    cluster.start()
    while cluster.ask("SELECT pg_is_in_recovery()") == "True":
        pass

    restored = _open(cluster, tmp_path)
    assert restored.verify() == []
    session = restored.session()
    stored = session.read_twin("counter")
    assert stored is not None
    assert orjson.loads(stored.body)["number"] == before
    events = session.read_events(after=0, limit=before + 10)
    assert [at for at, _ in events] == [*range(1, before + 1)]
    assert [event.body for _, event in events] == [b"%d" % at for at in range(1, before + 1)]
    assert run(restored, _count) == before + 1
    session.close()
    restored.close()
    environment = {
        **os.environ,
        "Storage__Provider": "postgres",
        "Storage__Postgres__Url": cluster.url,
        "Storage__Postgres__Directory": str(tmp_path),
    }
    command = [sys.executable, "-m", "twinframe", "verify"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout + done.stderr
