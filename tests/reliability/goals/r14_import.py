"""R14: an import of many thousand items beside clients that read and write."""

from __future__ import annotations

import http.client
import json
import signal
import time
from collections.abc import Sequence

from tests.e2e.server import Server
from tests.e2e.test_jobs import write_file
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly, told
from tests.reliability.load import Wrk, fill, finish
from tests.reliability.traffic import Line, wait_for_workers

LONGEST = 240.0


def judge(trial: Trial) -> Sequence[Figure]:
    """The same load alone and beside the import job, which is told how fast it was."""
    files = trial.folder / "files"
    files.mkdir()
    twins = trial.pick(150_000, 4_000)
    write_file(files / "in.ndjson", twins)
    environment = {"Jobs__Directories": json.dumps([str(files)]), "Logging__Access": "false"}
    with Server(trial.folder, workers=2, environment=environment) as server:
        wait_for_workers(server)
        fill(server.port)
        wrk = Wrk(server.port)
        alone = wrk.run(trial.pick(20.0, 3.0), writes=20, clients=8)
        start = time.monotonic()
        _start_import(server.port, files.as_uri())
        # It ends with the import: what comes after it would make the percentile look better.
        load = wrk.start(LONGEST, writes=20, clients=8)
        status = _wait_for_end(server.port)
        seconds = time.monotonic() - start
        load.send_signal(signal.SIGINT)
        beside = finish(load)
        count = {"query": "SELECT COUNT() FROM RELATIONSHIPS"}
        line = Line(server.port)
        _, _, answer = line.call("POST", "/query", count)
        line.close()
    found = json.loads(answer)["value"][0]["COUNT"]
    return [
        exactly("relationships missing", 2 * twins - found),
        exactly("import jobs that failed", 0 if status == "succeeded" else 1),
        trial.at_least_when_full("items a second beside clients", 3 * twins / seconds, 20_000),
        trial.at_most_when_full("p99 ms beside the import", beside.p99, min(2 * alone.p99, 50.0)),
        exactly("errors", alone.errors + beside.errors),
        at_least("requests beside it", beside.requests, 100),
        told("undisturbed p99 ms", alone.p99),
        told("worst ms beside it", beside.worst),
        told("items", 3 * twins),
    ]


def _start_import(port: int, place: str) -> None:
    body = {"inputBlobUri": f"{place}/in.ndjson", "outputBlobUri": f"{place}/out.ndjson"}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(
        "PUT", "/jobs/imports/one", json.dumps(body), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    assert answer.status == 201, answer.read()
    connection.close()


def _wait_for_end(port: int) -> str:
    line = Line(port)
    while True:
        status, _, body = line.call("GET", "/jobs/imports/one")
        assert status == 200, body
        state = str(json.loads(body)["status"])
        if state in ("succeeded", "failed", "cancelled"):
            line.close()
            return state
        time.sleep(0.1)


GOAL = Goal(
    id="R14",
    title="import beside clients",
    asked="an import of 450,000 items: ≥ 20,000 a second beside 8 clients, whose p99 stays ≤ 2 "
    "times the undisturbed one and ≤ 50 ms; nothing is missing",
    judge=judge,
    twins=(
        Twin(
            fault="import-forgets",
            seeds="of each group of imported relationships one is dropped",
            breaks=("relationships missing",),
        ),
    ),
)
