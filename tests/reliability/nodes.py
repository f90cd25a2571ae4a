"""PostgreSQL servers that are killed and replaced by their standbys. They judge nothing."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.e2e.server import free_port
from tests.postgres.server import HOW_TO_GET_IT, find_binaries, find_user, run
from tests.reliability.judging import NotRun
from tests.waiting import PATIENCE


class Node:
    """One server on a port that it keeps; its data are below `home`."""

    def __init__(self, home: Path, port: int) -> None:
        self.home = home
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None
        binaries = find_binaries()
        if binaries is None:
            raise NotRun(HOW_TO_GET_IT)
        self._binaries = binaries

    @property
    def url(self) -> str:
        """The connection string of its superuser."""
        return f"host=127.0.0.1 port={self.port} user=twinframe dbname=postgres connect_timeout=5"

    def make(self) -> None:
        """Make an empty database."""
        how = ["--username=twinframe", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        run([str(self._binaries / "initdb"), "--pgdata=data", *how], self.home)

    def copy(self, port: int) -> None:
        """Become a standby of the server behind this port, which it follows from now on."""
        shutil.rmtree(self.home / "data", ignore_errors=True)
        source = ["--host=127.0.0.1", f"--port={port}", "--username=twinframe", "--no-password"]
        how = ["--wal-method=stream", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
        run([str(self._binaries / "pg_basebackup"), "--pgdata=data", *source, *how], self.home)

    def start(self) -> None:
        """Start it and wait until it answers.

        NOTE: nothing is synced. It is killed, but the power stays on.
        """
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.home,
            "fsync": "off",
            "wal_keep_size": "512MB",
            "wal_retrieve_retry_interval": "100ms",
            "max_connections": 60,
        }
        options = [text for key, value in settings.items() for text in ("-c", f"{key}={value}")]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._binaries / "postgres"), "-D", "data", *options],
                cwd=self.home, user=find_user(), stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < end, "the server does not start"
            assert self._process.poll() is None, (self.home / "log").read_text(encoding="utf-8")
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return self.ask("SELECT 1") == [(1,)]
        except psycopg.OperationalError:
            return False

    def ask(self, text: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(text, parameters)
            return cursor.fetchall() if cursor.description else []

    def kill(self) -> None:
        """Kill all its processes at once."""
        if self._process is None:
            return
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        for each in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        self._process.wait(PATIENCE)
        self._process = None
        # What the system keeps of a killed server: its small segment of shared memory.
        lines = (self.home / "data" / "postmaster.pid").read_text(encoding="utf-8").splitlines()
        if len(lines) > 6 and lines[6].split():
            subprocess.run(["ipcrm", "-m", lines[6].split()[1]], capture_output=True, timeout=60)

    def promote(self) -> None:
        """Let a standby take writes."""
        self.ask("SELECT pg_promote(true, 60)")

    def wait_for(self, text: str) -> None:
        """Wait until a query answers true."""
        end = time.monotonic() + PATIENCE
        while not self.ask(text)[0][0]:
            if time.monotonic() > end:
                raise AssertionError(f"never true: {text}")
            time.sleep(0.02)


@contextlib.contextmanager
def make_nodes(count: int) -> Iterator[list[Node]]:
    """Folders and ports for servers, which are killed at the end."""
    # NOTE: the path of a socket has at most 107 bytes, and another user has to get there.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    home.chmod(0o755)
    nodes: list[Node] = []
    try:
        for number in range(count):
            place = home / str(number)
            place.mkdir()
            user = find_user()
            if user is not None:
                shutil.chown(place, user)
            nodes.append(Node(place, free_port()))
        yield nodes
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(home, ignore_errors=True)
