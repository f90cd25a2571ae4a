"""Measures what a request costs a node of the service over PostgreSQL, in processor time."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Final

from tests.e2e.server import Server
from tests.reliability.load import Wrk, fill
from tests.reliability.traffic import list_workers

_SECONDS: Final = 15


def measure_node(url: str) -> dict[str, float]:
    """Microseconds of a worker's processor time of one read and one durable write over HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "Storage__Provider": "postgres",
            "Storage__Postgres__Url": url,
            "Storage__Postgres__Schema": "scale_node",
            "Storage__Postgres__Directory": folder,
            "Logging__Access": "false",
        }
        with Server(Path(folder), workers=1, environment=environment) as server:
            fill(server.port)
            (worker,) = list_workers(server)
            found = {}
            for name, writes in (("read", 0), ("write", 100)):
                before = _read_time(worker)
                load = Wrk(server.port).run(_SECONDS, writes=writes)
                assert not load.errors
                found[f"{name}_us"] = round((_read_time(worker) - before) / load.requests * 1e6, 1)
                found[f"{name}s_a_second"] = round(load.rate)
    return found


def _read_time(pid: int) -> float:
    """Seconds that all threads of a process have computed."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
