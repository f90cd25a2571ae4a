"""Real SPARQL servers, started by a test run on free ports and stopped by it. No tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import free_port
from tests.waiting import PATIENCE, run_program
from twinframe_storage_rdf.settings import RdfSettings

INI = """
[Database]
DatabaseFile = {place}/v.db
ErrorLogFile = {place}/v.log
LockFile = {place}/v.lck
TransactionFile = {place}/v.trx
xa_persistent_file = {place}/v.pxa
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = {place}/t.db
TransactionFile = {place}/t.trx
[Parameters]
ServerPort = 127.0.0.1:{sql}
ServerThreads = 40
NumberOfBuffers = 10000
MaxDirtyBuffers = 6000
DefaultIsolation = {isolation}
[HTTPServer]
ServerPort = 127.0.0.1:{http}
ServerThreads = 20
[SPARQL]
ResultSetMaxRows = 10000000
"""


@dataclass(frozen=True, slots=True)
class RealServer:
    """Where a running server is, and how it can be stopped and gone on with."""

    query_url: str
    update_url: str
    process: subprocess.Popen[bytes]

    def build_settings(self, **others: Any) -> RdfSettings:
        """Settings of a store there."""
        return RdfSettings(
            engine="sparql", **{"query_url": self.query_url, "update_url": self.update_url} | others
        )


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def _running(
    command: list[str], place: Path, ports: list[int]
) -> Iterator[subprocess.Popen[bytes]]:
    with (place / "output").open("wb") as output:
        server = subprocess.Popen(
            command, cwd=place, stdout=output, stderr=output, start_new_session=True
        )
    try:
        while not all(map(_is_open, ports)):
            assert server.poll() is None, (place / "output").read_text()
            time.sleep(0.05)
        yield server
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait(PATIENCE)


@contextmanager
def run_virtuoso(place: Path, isolation: int = 4) -> Iterator[RealServer]:
    """An empty Virtuoso whose SPARQL user may write."""
    program, tool = shutil.which("virtuoso-t"), shutil.which("isql-vt")
    if program is None or tool is None:
        pytest.skip("needs Virtuoso: apt-get install virtuoso-opensource-7-bin")
    sql, http = free_port(), free_port()
    ini = place / "v.ini"
    ini.write_text(INI.format(place=place, sql=sql, http=http, isolation=isolation))
    with _running([program, "-f", "-c", str(ini)], place, [sql, http]) as server:
        grant = 'exec=GRANT SPARQL_UPDATE TO "SPARQL";'
        run_program(
            [tool, f"127.0.0.1:{sql}", "dba", "dba", grant], check=True, capture_output=True
        )
        url = f"http://127.0.0.1:{http}/sparql"
        yield RealServer(url, url, server)


@contextmanager
def run_oxigraph(place: Path) -> Iterator[RealServer]:
    """An empty Oxigraph server with its data on disk."""
    program = shutil.which("oxigraph", path=sysconfig.get_path("scripts"))
    if program is None:
        pytest.skip("needs the Oxigraph server: pip install oxigraph")
    port = free_port()
    command = [program, "serve", "--location", str(place / "data"), "--bind", f"127.0.0.1:{port}"]
    with _running(command, place, [port]) as server:
        url = f"http://127.0.0.1:{port}"
        yield RealServer(f"{url}/query", f"{url}/update", server)


RUNNERS: dict[str, Callable[[Path], Any]] = {
    "virtuoso": run_virtuoso,
    "oxigraph": run_oxigraph,
}
