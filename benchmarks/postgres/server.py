"""The servers of the comparisons on PostgreSQL: the database, and the service over it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from tests.postgres.server import PostgresServer, serve

SETTINGS: Final = (
    "fsync=on",
    "synchronous_commit=on",
    "shared_buffers=1GB",
    "max_wal_size=4GB",
    "checkpoint_timeout=15min",
    "wal_compression=on",
    "random_page_cost=1.1",
    "jit=off",
    "max_connections=300",
)
"""Those that `docs/how-to/run-on-postgresql.md` recommends, for a small machine."""
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@contextmanager
def serve_durably() -> Iterator[PostgresServer]:
    """Start a server whose commits are on the disk when they are answered."""
    with serve(*SETTINGS) as server:
        yield server


def build_settings(url: str, schema: str, folder: Path) -> dict[str, str]:
    """The environment of a service, or of a command, with its graphs in this database."""
    return {
        "Storage__Provider": "postgres",
        "Storage__Postgres__Url": url,
        "Storage__Postgres__Schema": schema,
        "Storage__Postgres__Directory": str(folder / "pages"),
        "Logging__Access": "false",
    }


def read_group_time(leader: int) -> float:
    """Seconds of processor time of a process and its children, those that have ended included."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            fields = path.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            if path.parent.name == str(leader):
                total += sum(map(int, fields[11:15]))
            elif fields[1] == str(leader):
                total += sum(map(int, fields[11:13]))
    return total / _TICKS


def read_leader(server: PostgresServer) -> int:
    """The first process of a server of PostgreSQL."""
    text = (server.socket.parent / "data" / "postmaster.pid").read_text(encoding="ascii")
    return int(text.split()[0])
