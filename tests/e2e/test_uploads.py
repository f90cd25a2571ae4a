"""A browser's way to import and export: pieces over HTTP, a worker killed in between, the log."""

from __future__ import annotations

import gzip
import http.client
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server import Server
from tests.e2e.test_jobs import FINAL, write_file
from tests.storages import SERVED, choose, require
from tests.waiting import PATIENCE

BYTES = "application/octet-stream"
TWINS = 20_000


class Refused(Exception):
    """An answer that is an error."""


def call(server: Server, method: str, path: str, body: bytes | None = None, kind: str = "") -> Any:
    """Return the answer's bytes; raise `Refused`."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, {"Content-Type": kind or "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            raise Refused(answer.status, text.decode())
        return text
    finally:
        connection.close()


def read(server: Server, path: str) -> Any:
    return json.loads(call(server, "GET", path))


def upload(server: Server, name: str, text: bytes) -> None:
    """Send what the service does not have yet."""
    begin = json.dumps({"name": name, "bytes": len(text)}).encode()
    state = json.loads(call(server, "PUT", f"/jobs/uploads/{name}", begin))
    while state["receivedBytes"] < len(text):
        number, size = state["receivedPieces"], state["pieceBytes"]
        piece = text[number * size : (number + 1) * size]
        path = f"/jobs/uploads/{name}/pieces/{number}"
        state = json.loads(call(server, "PUT", path, piece, BYTES))


def wait(server: Server, job_id: str) -> Any:
    end = time.monotonic() + PATIENCE
    while (job := read(server, f"/jobs/imports/{job_id}"))["status"] not in FINAL:
        assert time.monotonic() < end, job
        time.sleep(0.05)
    return job


@pytest.mark.parametrize("storage", choose("sqlite", "oxigraph", "postgres"))
def test_a_graph_goes_in_and_out_through_a_service_that_is_killed(
    tmp_path: Path, storage: str
) -> None:
    require(storage)
    write_file(tmp_path / "in.ndjson", TWINS // 10 if storage != "sqlite" else TWINS)
    text = (tmp_path / "in.ndjson").read_bytes()
    packed = gzip.compress(text) if storage != "sqlite" else text
    environment = {
        **SERVED[storage](tmp_path),
        "Jobs__LookSeconds": "0.05",
        "Jobs__LeaseSeconds": "1",
        "Server__MaxBodyBytes": "300000",
        "Export__MaxBytes": "100000000",
    }
    server = Server(tmp_path, environment=environment)
    try:
        server.start()
        begin = json.dumps({"name": "graph", "bytes": len(packed)}).encode()
        state = json.loads(call(server, "PUT", "/jobs/uploads/graph", begin))
        size = state["pieceBytes"]
        assert size == 300_000
        call(server, "PUT", "/jobs/uploads/graph/pieces/0", packed[:size], BYTES)
        server.kill()
        server.start()
        upload(server, "graph", packed)
        call(server, "PUT", "/jobs/imports/j", b'{"inputBlobUri": "upload:graph"}')
        if storage == "sqlite":  # the job is long enough to be killed in
            while not read(server, "/jobs/imports/j")["twinsCreated"]:
                time.sleep(0.01)
            server.kill()
            server.start()
        job = wait(server, "j")
        count = text.count(b'"value":')
        assert (job["status"], job["twinsCreated"]) == ("succeeded", count)
        assert job["bytesRead"] == job["totalBytes"] == len(packed)
        log = [json.loads(line) for line in call(server, "GET", "/jobs/imports/j/log").splitlines()]
        assert log[-1]["details"]["status"] == "Succeeded"
        end = time.monotonic() + PATIENCE
        while read(server, "/jobs/uploads")["value"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        first = call(server, "GET", "/export/graph")
        assert first == call(server, "GET", "/export/graph")
        assert first.count(b'"$dtId":') == 3 * count
        with pytest.raises(Refused, match="409"):
            call(server, "PUT", "/jobs/imports/j", b'{"inputBlobUri": "upload:graph"}')
    finally:
        server.stop()
    log_text = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log_text, log_text[-4000:]


def test_an_export_that_is_too_large_breaks_off(tmp_path: Path) -> None:
    """The client must not take a part for the whole: the answer has no proper end."""
    write_file(tmp_path / "in.ndjson", 2000)
    environment = {"Jobs__LookSeconds": "0.05", "Export__MaxBytes": "300000"}
    with Server(tmp_path, environment=environment) as server:
        upload(server, "graph", (tmp_path / "in.ndjson").read_bytes())
        call(server, "PUT", "/jobs/imports/j", b'{"inputBlobUri": "upload:graph"}')
        assert wait(server, "j")["status"] == "succeeded"
        with pytest.raises(http.client.IncompleteRead):
            call(server, "GET", "/export/graph")


def test_the_history_tells_what_is_kept(tmp_path: Path) -> None:
    write_file(tmp_path / "in.ndjson", 50)
    environment = {"Jobs__LookSeconds": "0.05", "History__Telemetry": "all"}
    with Server(tmp_path, environment=environment) as server:
        upload(server, "graph", (tmp_path / "in.ndjson").read_bytes())
        call(server, "PUT", "/jobs/imports/j", b'{"inputBlobUri": "upload:graph"}')
        wait(server, "j")
        kept = read(server, "/history")
        assert kept["changes"]["kept"] is True
        assert kept["changes"]["lastPosition"] == 151  # the model, 50 twins, 100 relationships
        assert kept["changes"]["since"].endswith("Z")
        assert kept["points"]["kept"] is True
        keys = {one["key"]: one["value"] for one in kept["settings"]}
        assert keys["History__Telemetry"] == ["all"]
