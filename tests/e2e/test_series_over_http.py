"""Points and series against a running service of two workers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from tests.e2e.hosted import Provisioner, build_environment, build_hosted
from tests.e2e.server import Server
from tests.e2e.wire import Json, Wire
from tests.e2e.wire_world import must
from tests.postgres.server import build_prefix, share_server
from tests.storages import SERVED, choose, require
from tests.waiting import PATIENCE, Threads
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

FROM = "2026-03-01T14:00:00Z"
LINES = {"Content_Type": "application/x-ndjson"}
IN_DATABASE = choose("sqlite")[0] == "postgres"


@pytest.fixture(scope="module", params=choose("sqlite"))
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    require(request.param)
    folder = tmp_path_factory.mktemp("series")
    environment = {**SERVED[request.param](folder), "History__Telemetry": "all"}
    running = Server(folder, workers=2, environment=environment)
    with running:
        wire = Wire(running.port)
        must(wire.call("POST", "/models", build_building_interfaces()), 201)
        for twin_id in ("a", "b/c"):
            must(wire.call("PUT", f"/digitaltwins/{quote(twin_id, safe='')}", document()))
        wire.close()
        yield running


@pytest.fixture
def wire(server: Server) -> Iterator[Wire]:
    connection = Wire(server.port)
    yield connection
    connection.close()


def document() -> Json:
    return build_twin_document(ROOM)


def send(wire: Wire, *lines: Json) -> Json:
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    return must(wire.call("POST", "/telemetry", body, **LINES))


def read(wire: Wire, twin_id: str, path: str, question: str = "") -> Json:
    place = f"/digitaltwins/{quote(twin_id, safe='')}/series/{quote(path, safe='')}"
    return must(wire.call("GET", f"{place}?from={FROM}{question}"))


def test_points_of_two_writers_are_read_by_every_worker(server: Server) -> None:
    def write(worker: int) -> None:
        connection, path = Wire(server.port), f"p{worker}"
        for request in range(10):
            moments = range(request, request + 20)
            lines = [
                {"twinId": "a", "path": path, "value": at, "time": f"2026-03-01T14:00:{at:02}Z"}
                for at in moments
            ]
            assert send(connection, *lines)["pointCount"] == 20
            found = read(connection, "a", path)["value"]
            assert [point["value"] for point in found] == list(range(request + 20))
        connection.close()

    with Threads(4) as threads:
        list(threads.map(write, range(4)))


def test_a_component_and_an_id_with_a_slash_have_their_series(wire: Wire) -> None:
    line = {"twinId": "b/c", "component": "thermostat", "path": "heat", "value": 2, "time": FROM}
    assert send(wire, line)["failureCount"] == 0
    found = read(wire, "b/c", "thermostat/heat")
    assert found == {"value": [{"time": FROM, "value": 2}], "nextLink": None}


def test_pages_and_buckets_have_what_was_sent(wire: Wire) -> None:
    lines = [
        {"twinId": "a", "payload": {"motion": at % 2 == 0}, "time": f"2026-03-01T14:{at:02}:00Z"}
        for at in range(30)
    ]
    send(wire, *lines)
    path = f"/digitaltwins/a/series/motion?from={FROM}"
    values: list[bool] = []
    while path:
        page = must(wire.call("GET", path, max_items_per_page="7"))
        values += [point["value"] for point in page["value"]]
        path = (page["nextLink"] or "").removeprefix(f"http://127.0.0.1:{wire._connection.port}")
    assert values == [at % 2 == 0 for at in range(30)]
    question = "&to=2026-03-01T14:20:00Z&every=10m&aggregate=count,first,avg"
    assert read(wire, "a", "motion", question)["value"] == [
        {"time": FROM, "count": 10, "first": True, "avg": None},
        {"time": "2026-03-01T14:10:00Z", "count": 10, "first": True, "avg": None},
    ]


def test_a_line_that_is_refused_has_the_error_of_its_message(wire: Wire) -> None:
    answer = send(wire, {"twinId": "none", "path": "x", "value": 1}, {"twinId": "a", "path": "x"})
    assert (answer["successCount"], answer["failureCount"]) == (0, 2)
    assert [(one["line"], one["status"]) for one in answer["results"]] == [(1, 404), (2, 400)]
    assert answer["results"][0]["error"]["code"] == "DigitalTwinNotFound"


def test_every_line_of_many_bad_ones_is_reported(wire: Wire) -> None:
    answer = send(wire, *({"twinId": f"none-{at}", "path": "x", "value": at} for at in range(3000)))
    assert [one["line"] for one in answer["results"]] == list(range(1, 3001))
    assert {one["status"] for one in answer["results"]} == {404}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("?to=2026-03-01T14:00:00Z", "from"),
        (f"?from={FROM}&till=x", "till"),
        (f"?from={FROM}&every=1ms&to=2026-03-02T00:00:00Z", "Graph__MaxPageSize"),
        (f"?from={FROM}&every=1m&aggregate=mx", "Did you mean max"),
    ],
)
def test_a_wrong_question_is_refused_with_what_is_right(
    wire: Wire, question: str, text: str
) -> None:
    status, _, answer = wire.call("GET", f"/digitaltwins/a/series/motion{question}")
    assert status == 400
    assert text in answer["error"]["message"]


def test_acknowledged_points_survive_the_death_of_all_processes(server: Server) -> None:
    wire = Wire(server.port)
    lines = [{"twinId": "a", "path": "kept", "value": "on", "time": FROM}]
    assert send(wire, *lines)["pointCount"] == 1
    wire.close()
    server.kill()
    server.start()
    wire = Wire(server.port)
    assert read(wire, "a", "kept")["value"] == [{"time": FROM, "value": "on"}]
    wire.close()


def run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "twinframe", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_restore(server: Server, environment: dict[str, str]) -> None:
    """A graph that is restored while it is served has the series of its backup."""
    made = Path(run(environment, "backup", "right").split(" in ")[1].strip().rstrip("."))
    wire, place = Wire(server.port), "/graphs/right"
    body = json.dumps({"twinId": "a", "path": "motion", "value": "later", "time": FROM}).encode()
    assert must(wire.call("POST", f"{place}/telemetry", body, **LINES))["pointCount"] == 1
    told = run(environment, "restore", "right", made.stem)
    path = f"{place}/digitaltwins/a/series/motion?from={FROM}"
    assert must(wire.call("GET", path))["value"] == [{"time": FROM, "value": "right"}]
    before = Path(told.split(" backed up in ")[1].strip().rstrip("."))
    run(environment, "restore", "right", before.stem)
    assert must(wire.call("GET", path))["value"] == [{"time": FROM, "value": "later"}]
    made.with_name(f"{made.name}.points").unlink()
    assert "those of the graph stay" in run(environment, "restore", "right", made.stem)
    assert must(wire.call("GET", path))["value"] == [{"time": FROM, "value": "later"}]
    body = json.dumps({"twinId": "a", "path": "motion", "value": "right", "time": FROM}).encode()
    assert must(wire.call("POST", f"{place}/telemetry", body, **LINES))["pointCount"] == 1
    wire.close()


def wait_until_served(wire: Wire, place: str) -> None:
    """Wait until the worker has seen the graph in the catalog: over a database, for its notice."""
    end = time.monotonic() + PATIENCE
    while wire.call("GET", f"{place}/models")[0] == 404:
        assert time.monotonic() < end
        time.sleep(0.01)


def count_stores(folder: Path) -> int:
    """Count the graphs that have points."""
    if not IN_DATABASE:
        return len(list(folder.rglob("points.db")))
    asked = "SELECT FROM pg_tables WHERE tablename = 'point_block' AND starts_with(schemaname, %s)"
    with psycopg.connect(share_server()) as connection:
        return connection.execute(asked, (build_prefix(folder),)).rowcount


def test_points_of_a_hosted_graph_are_its_own_and_go_with_it(tmp_path: Path) -> None:
    provisioner = Provisioner(build_environment(tmp_path, History__Telemetry="all"))
    with Server(tmp_path, workers=2, environment=provisioner.environment) as server:
        for name in ("left", "right"):
            provisioner.bring_up(build_hosted(name))
            wire = Wire(server.port)
            place = f"/graphs/{name}"
            wait_until_served(wire, place)
            models = build_building_interfaces()
            must(wire.call("POST", f"{place}/models", models), 201)
            must(wire.call("PUT", f"{place}/digitaltwins/a", build_twin_document(ROOM)))
            line = {"twinId": "a", "path": "motion", "value": name, "time": FROM}
            body = json.dumps(line).encode()
            assert must(wire.call("POST", f"{place}/telemetry", body, **LINES))["pointCount"] == 1
            wire.close()
        wire = Wire(server.port)
        for name in ("left", "right"):
            wait_until_served(wire, f"/graphs/{name}")
            path = f"/graphs/{name}/digitaltwins/a/series/motion?from={FROM}"
            assert must(wire.call("GET", path))["value"] == [{"time": FROM, "value": name}]
        wire.close()
        assert count_stores(tmp_path) == 2
        if not IN_DATABASE:  # which has backups of its own
            check_restore(server, provisioner.environment)
        provisioner.take_down(build_hosted("left"))
        assert count_stores(tmp_path) == 1
