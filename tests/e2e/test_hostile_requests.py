"""Odd requests against a running service of one worker: right answers, no traceback, no end."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hostile_requests import MODELS, TWIN, OddJob, list_jobs, list_requests
from tests.e2e.server import Server
from tests.reliability.traffic import Line
from tests.waiting import PATIENCE

ENDED = ("succeeded", "failed", "cancelled")


def write_files(files: Path) -> None:
    """What the odd imports read."""
    start = '{"Section":"Header"}\n{"fileVersion":"1.0.0"}\n{"Section":"Twins"}\n'
    others = '{"$dtId":"\\ud800"}\n{"$dtId":5}\nnull\n{"$dtId":"a","$metadata":[]}\n'
    (files / "deep").write_text(start + "[" * 100_000 + "\n" + others)
    (files / "long").write_text(start + '{"$dtId":"' + "x" * 9_000_000 + '"}\n')
    (files / "bytes").write_bytes(random.Random(1).randbytes(5000))
    (files / "half.gz").write_bytes(gzip.compress(start.encode() * 100)[:40])
    os.mkfifo(files / "pipe")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service with two twins, a relationship and a route."""
    folder = tmp_path_factory.mktemp("odd")
    (folder / "files").mkdir()
    write_files(folder / "files")
    environment = {
        "Events__Endpoints__lines__Type": "log",
        "Jobs__Directories": json.dumps([str(folder / "files")]),
        "Jobs__LookSeconds": "0.05",
        "Logging__Access": "false",
    }
    with Server(folder, environment=environment) as server:
        line = Line(server.port)
        assert line.call("POST", "/models", MODELS)[0] == 201
        for twin in ("room", "hall"):
            assert line.call("PUT", f"/digitaltwins/{twin}", TWIN)[0] == 200
        edge = {"$relationshipName": "to", "$targetId": "hall"}
        assert line.call("PUT", "/digitaltwins/room/relationships/edge", edge)[0] == 200
        route = {"endpointName": "lines", "filter": "true"}
        assert line.call("PUT", "/eventroutes/route", route)[0] == 204
        line.close()
        yield server
        assert server.process is not None
        assert server.process.poll() is None
    check_log(server)


def check_log(server: Server) -> None:
    """Nothing that nobody foresaw was logged."""
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def test_every_odd_request_has_its_one_answer(served: Server) -> None:
    line = Line(served.port)
    before = line.call("GET", "/digitaltwins/room")[2]
    wrong = []
    for odd in list_requests():
        with contextlib.closing(
            Line(served.port)
        ) as one:  # some answers are their connection's last
            status, head, body = one.call(odd.method, odd.path, odd.body, odd.fields)
        if status != odd.status:
            wrong.append(f"{odd.name}: {status}, not {odd.status}: {body[:200]!r}")
        elif status >= 400 and b"application/" not in head:
            wrong.append(f"{odd.name}: no document of an error")
    assert wrong == []
    assert line.call("GET", "/digitaltwins/room")[2] == before
    line.close()
    check_log(served)


def test_a_range_without_end_that_is_gone_through_ends_at_the_time_of_queries(
    tmp_path: Path,
) -> None:
    numbers = "range(0, 1000000000000)"
    with Server(tmp_path, environment={"Query__Timeout": "0.5"}) as server:
        with contextlib.closing(Line(server.port)) as line:
            for text in (
                f"UNWIND {numbers} AS x RETURN sum(x)",
                f"UNWIND {numbers} AS x WITH x WHERE x < 0 RETURN x",
                f"UNWIND {numbers} AS x RETURN x SKIP 999999999999",
                f"RETURN reduce(s = 0, x IN {numbers} | s + x)",
                f"RETURN all(x IN {numbers} WHERE x >= 0)",
                f"RETURN [x IN {numbers} WHERE x < 0 | x]",
            ):
                status, _, body = line.call("POST", "/query", {"query": text})
                assert (status, json.loads(body)["error"]["code"]) == (400, "TimeoutError"), text
            assert line.call("POST", "/query", {"query": "RETURN 1"})[0] == 200
        server.stop()
        check_log(server)


def test_every_odd_import_is_refused_or_ends_with_a_reason(served: Server) -> None:
    line = Line(served.port)
    wrong = []
    for at, job in enumerate(list_jobs(served.folder / "files")):
        said = run_import(line, f"odd{at}", job)
        if (said == "refused") is not job.refused or said == "succeeded":
            wrong.append(f"{job.name}: {said}")
    assert wrong == []
    assert line.call("GET", "/digitaltwins/room")[0] == 200
    line.close()
    check_log(served)


def run_import(line: Line, job_id: str, job: OddJob) -> str:
    """`refused`, or how it ended and why."""
    body = {"inputBlobUri": job.source, "outputBlobUri": job.log}
    status, _, answer = line.call("PUT", f"/jobs/imports/{job_id}", body)
    if status == 400:
        return "refused"
    assert status == 201, answer
    end = time.monotonic() + 120
    while (found := json.loads(line.call("GET", f"/jobs/imports/{job_id}")[2]))[
        "status"
    ] not in ENDED:
        assert time.monotonic() < end, found
        time.sleep(0.02)
    if found["status"] == "failed" and not (found["error"] or {}).get("message"):
        return "failed without a reason"
    return str(found["status"])


def test_when_the_files_it_may_open_run_out_it_comes_back_by_itself(tmp_path: Path) -> None:
    server = Server(
        tmp_path,
        environment={"Logging__Access": "false"},
        prefix=("sh", "-c", 'ulimit -Sn 96; exec "$@"', "sh"),
    )
    server.start()
    with_many = [
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(300)
    ]
    try:
        assert not is_answered(server.port)  # reset, or told that there are too many
        for connection in with_many:
            connection.close()
        end = time.monotonic() + 120
        while not is_answered(server.port):
            assert time.monotonic() < end, "it does not answer any more"
            time.sleep(0.05)
    finally:
        server.stop()
    check_log(server)


def is_answered(port: int) -> bool:
    """Whether a plain request is answered well on a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("GET", "/models")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
