"""One `tools/call` of `get_digital_twin` by streamable HTTP, against the bare SDK's echo tool.

Both run under the same server with one worker and are asked in turns over one kept connection, in
either era of the protocol. No model and no client library is in the way.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import Figure, Report
from tests.e2e.server import Server, free_port

MODERN = "2026-07-28"
ERAS = {"with metadata in each request": MODERN, "after a handshake": "2025-11-25"}
_RUNS = 15
_AIM = "≤ 1.5 of the bare SDK's echo"


class Caller:
    """One kept connection to a server, and one call it repeats."""

    def __init__(self, port: int, era: str, tool: str, arguments: dict[str, Any]) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        params: dict[str, Any] = {"name": tool, "arguments": arguments}
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": era,
        }
        if era == MODERN:
            self._headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": era,
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            }
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        self._body = json.dumps(call).encode()

    def call(self) -> bytes:
        """The answer. Raises for anything but a result that is no error."""
        try:
            self._connection.request("POST", "/mcp", self._body, self._headers)
            answer = self._connection.getresponse()
            body = answer.read()
        except OSError:
            self._connection.close()
            raise
        if answer.status != 200 or b'"isError":false' not in body:
            raise RuntimeError(f"{answer.status}: {body[:500]!r}")
        return body


@contextmanager
def serve_bare(folder: Path) -> Iterator[int]:
    """The bare SDK under gunicorn with our worker class, one worker: its port."""
    port = free_port()
    with (folder / "bare-mcp.log").open("wb") as log:
        process = subprocess.Popen(
            [
                sys.executable, "-m", "gunicorn", "--worker-class",
                "twinframe.http.worker.Worker", "--workers", "1", "--bind", f"127.0.0.1:{port}",
                "--no-control-socket", "benchmarks.bare_mcp:app",
            ],
            stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": "."}, start_new_session=True,
        )  # fmt: skip
    server = Server(folder, port=port)
    server.process = process
    try:
        yield port
    finally:
        server.kill()


def measure(report: Report, data: Path, *, quick: bool) -> None:
    """Median times of one call on a service with a graph in `data`, one worker each."""
    rounds = 60 if quick else 200
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        environment = {"Storage__Sqlite__Directory": str(data)}
        server = Server(folder, environment=environment, command="mcp")
        with server, serve_bare(folder) as bare:
            for name, era in ERAS.items():
                ours = Caller(server.port, era, "get_digital_twin", {"twin_id": "sensor-1"}).call
                floor = Caller(bare, era, "echo", {"text": "x" * 300}).call
                wait_for(floor)
                # NOTE: runs in turns, and the median of their ratios: others use the machine too.
                # Not call by call: a server cleans up after its answer, while the other is asked.
                taken = [
                    (measure_run(ours, rounds), measure_run(floor, rounds)) for _ in range(_RUNS)
                ]
                own, least = (statistics.median(times) for times in zip(*taken, strict=True))
                ratio = statistics.median(mine / other for mine, other in taken)
                label = f"tools/call get_digital_twin, {name}"
                report.add(Figure(label, own * 1e3, "ms", least * 1e3, ratio, _AIM, ratio <= 1.5))


def measure_run(call: Callable[[], bytes], rounds: int) -> float:
    """Median seconds of one call among so many in a row."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def wait_for(call: Callable[[], bytes]) -> None:
    """Wait until a server that is starting answers."""
    for _ in range(400):
        try:
            call()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the bare SDK did not start")
