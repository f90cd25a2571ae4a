"""What a worker weighs and how long the service takes to its first answer."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.report import Figure, Report
from tests.e2e.server import Server
from tests.e2e.wire import Wire


def measure(report: Report, data: Path, *, quick: bool) -> None:
    """Start-up time and memory of a worker that serves the graph in `data`, after some work."""
    starts = []
    with tempfile.TemporaryDirectory() as temporary:
        server = Server(
            Path(temporary), environment={"Storage__Sqlite__Directory": str(data)}, workers=2
        )
        for _ in range(2 if quick else 5):
            begin = time.perf_counter()
            server.start()
            starts.append(time.perf_counter() - begin)
            server.stop()
        with server:
            wire = Wire(server.port)
            for number in range(2000):
                wire.call("GET", f"/digitaltwins/sensor-{number}")
            for text in (
                "MATCH (s:Sensor) RETURN s.maker AS maker, count(*) AS n",
                "SELECT * FROM DIGITALTWINS",
            ):
                wire.call("POST", "/query", {"query": text})
            wire.close()
            assert server.process is not None
            heaviest = max(_read_resident(child) for child in _list_children(server.process.pid))
    start = statistics.median(starts)
    report.add(
        Figure("start to first answer", start, "s", aim="≤ 1.5 s", kept=start <= 1.5),
    )
    report.add(
        Figure("memory of a worker", heaviest, "MiB", aim="≤ 120 MiB", kept=heaviest <= 120),
    )


def _list_children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in text.split()]


def _read_resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
