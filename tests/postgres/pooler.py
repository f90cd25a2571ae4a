"""PgBouncer in transaction mode before a server of the test run's own."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from tests.e2e.server import free_port
from tests.postgres.server import find_user, share_server
from tests.waiting import PATIENCE

HOW_TO_GET_IT = "PgBouncer is missing: apt-get install pgbouncer"
_SETTINGS = """
[databases]
* = host={host} port={port} user=twinframe pool_size={size}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 500
server_idle_timeout = 5
logfile = {home}/log
pidfile = {home}/pid
"""


@contextmanager
def pool(host: str, port: int = 5432, size: int = 3) -> Iterator[str]:
    """Start PgBouncer with `size` connections to a server; yield a connection string of it.

    `host` is a directory of a socket or an address. Skips where PgBouncer is missing.
    """
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
    if program is None:
        pytest.skip(HOW_TO_GET_IT)
    home, user = Path(tempfile.mkdtemp(prefix="pgb-")), find_user()
    if user is not None:
        shutil.chown(home, user)
    listen = free_port()
    file = home / "pgbouncer.ini"
    file.write_text(_SETTINGS.format(host=host, port=port, size=size, listen=listen, home=home))
    file.chmod(0o644)
    process = subprocess.Popen([program, "--quiet", str(file)], user=user, cwd=home)
    url = f"postgresql://twinframe@127.0.0.1:{listen}/postgres"
    try:
        end = time.monotonic() + PATIENCE
        while not _answers(url):
            assert process.poll() is None, (home / "log").read_text(encoding="utf-8")
            assert time.monotonic() < end
            time.sleep(0.02)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)
        shutil.rmtree(home)


@cache
def share_pool() -> str:
    """Return a connection string of the one pool of this process, before its server."""
    host = str(conninfo_to_dict(share_server())["host"])
    with ExitStack() as stack:
        address = stack.enter_context(pool(host, size=20))
        atexit.register(stack.pop_all().close)
    return address


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True
