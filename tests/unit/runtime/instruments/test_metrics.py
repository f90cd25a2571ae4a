"""Metrics of several workers, each a process of its own: sums, slots, bounded labels."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from twinframe.runtime.instruments.metrics import Slot

WORKER = """
import json, sys
from pathlib import Path
from twinframe.runtime.instruments.base import (
    Commit, Ingested, Level, QueryRun, RouteStanding, Write
)
from twinframe.runtime.instruments.metrics import Metrics

metrics = Metrics(Path(sys.argv[1]), 2, "1.2.3")

class Depths:
    def read_levels(self):
        return {Level.WRITES_WAITING: 3, Level.RESULTS_BYTES: 100}

depths = Depths()

class Routes:
    def __init__(self, graph):
        self.graph, self.standings = graph, []
    def read_standings(self):
        return [RouteStanding(self.graph, *one) for one in self.standings]

routes = {name: Routes(name) for name in ("", "g", "h", "i")}
for one in routes.values():
    metrics.watch_routes(one)

def query(error="", rows=2):
    return QueryRun("MATCH (n) RETURN n", "cypher", "sqlite", 1.0, 0.002, None, None, rows, 1.5,
                    error, str)

for line in sys.stdin:
    order = json.loads(line)
    match order[0]:
        case "request":
            metrics.note_request(*order[1:])
        case "query":
            metrics.note_query(query(*order[1:]))
        case "commit":
            metrics.note_commit(Commit(*order[1:]))
            metrics.note_write(Write(1.0, order[4], None, ""))
        case "ingested":
            metrics.note_ingested(Ingested("s", {"Stored": order[1], "Stale": 0}, 3, 0, 0.02))
            metrics.note_source_failure("s")
        case "refused":
            metrics.note_refusal(order[1])
        case "watch":
            metrics.watch(depths)
        case "forget":
            depths = None
        case "routes":
            routes[order[1]].standings = order[2:]
            metrics.sample()
        case "close":
            del routes[order[1]], one
        case "sample":
            metrics.sample()
        case "render":
            print(json.dumps(metrics.render().decode()), flush=True)
            continue
    print("null", flush=True)
"""


class Worker:
    """A process that takes orders, one line each."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, *order: object) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return str(json.loads(self.process.stdout.readline()))

    def read(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        families = text_string_to_metric_families(self.tell("render"))
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }

    def end(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(120)

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.end()


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[tuple[Worker, Worker]]:
    made = Worker(tmp_path), Worker(tmp_path)
    yield made
    for worker in made:
        worker.end()


def at(name: str, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return f"twinframe_{name}", frozenset(labels.items())


def test_counts_of_all_workers_are_one_number(workers: tuple[Worker, Worker]) -> None:
    first, second = workers
    for worker, times in ((first, 2), (second, 3)):
        for _ in range(times):
            worker.tell("request", "/digitaltwins/{twin_id}", "GET", 200, 0.004, "")
            worker.tell("query")
        worker.tell("query", "SqlQueryError")
        worker.tell("commit", 8, 1, 1.0, 0.02)
        worker.tell("refused", "query")
        worker.tell("ingested", times)
    for found in (first.read(), second.read()):
        route = {"route": "/digitaltwins/{twin_id}", "method": "GET"}
        assert found[at("requests_total", **route, status="200")] == 5
        assert found[at("request_seconds_bucket", **route, le="0.005")] == 5
        assert found[at("request_seconds_bucket", **route, le="0.0025")] == 0
        engine = {"language": "cypher", "engine": "sqlite"}
        assert found[at("queries_total", **engine, outcome="done")] == 5
        assert found[at("queries_total", **engine, outcome="SqlQueryError")] == 2
        assert found[at("query_charge_total")] == 7.5
        assert found[at("query_rows_sum")] == 10
        assert found[at("commit_works_sum")] == 16
        assert found[at("commit_seconds_count")] == 2
        assert found[at("writes_total", outcome="done")] == 2
        assert found[at("rate_limited_total", kind="query")] == 2
        assert found[at("source_messages_total", source="s", outcome="Stored")] == 5
        assert at("source_messages_total", source="s", outcome="Stale") not in found
        assert found[at("source_values_total", source="s", kind="point")] == 6
        assert found[at("source_batch_seconds_count", source="s")] == 2
        assert found[at("source_failures_total", source="s")] == 2
        assert found[at("info", version="1.2.3")] == 1


def test_levels_are_summed_but_for_those_of_one_place(workers: tuple[Worker, Worker]) -> None:
    for worker in workers:
        worker.tell("watch")
        worker.tell("sample")
    found = workers[0].read()
    assert found[at("writes_waiting")] == 6
    assert found[at("results_bytes")] == 100
    assert found[at("queries_running")] == 0


def test_what_is_gone_has_no_level(workers: tuple[Worker, Worker]) -> None:
    worker = workers[0]
    for order in ("watch", "sample", "forget", "sample"):
        worker.tell(order)
    assert worker.read()[at("writes_waiting")] == 0


def test_a_worker_that_has_just_made_its_files_hides_no_other(
    workers: tuple[Worker, Worker], tmp_path: Path
) -> None:
    worker = workers[0]
    worker.tell("request", "/query", "POST", 200, 0.004, "")
    # What one that was killed between the file and its first bytes leaves.
    for name in ("counter_7.db", "gauge_livesum_7.db", "histogram_7.db"):
        (tmp_path / name).touch()
    for told in (worker, workers[1]):
        assert told.read()[at("requests_total", route="/query", method="POST", status="200")] == 1


def test_the_process_is_measured_in_each_worker(workers: tuple[Worker, Worker]) -> None:
    for worker in workers:
        worker.tell("sample")
    found = workers[0].read()
    for slot in ("0", "1"):
        assert found[at("worker_resident_bytes", pid=slot)] > 1_000_000
        assert found[at("worker_cpu_seconds", pid=slot)] > 0
        assert found[at("worker_open_fds", pid=slot)] >= 3


def test_a_killed_worker_leaves_its_counts_and_takes_its_levels_along(tmp_path: Path) -> None:
    first, second = Worker(tmp_path), Worker(tmp_path)
    for worker in (first, second):
        worker.tell("request", "/query", "POST", 200, 0.1, "")
        worker.tell("watch")
        worker.tell("sample")
    second.kill()
    count = at("requests_total", route="/query", method="POST", status="200")
    found = first.read()
    assert (found[count], found[at("writes_waiting")]) == (2, 3)
    successor = Worker(tmp_path)
    successor.tell("request", "/query", "POST", 200, 0.1, "")
    found = first.read()
    assert (found[count], found[at("writes_waiting")]) == (3, 3)
    for worker in (first, successor):
        worker.end()


def test_no_number_of_restarts_makes_more_files(tmp_path: Path) -> None:
    keeper = Worker(tmp_path)
    keeper.read()  # it has its place before the others come
    seen = set()
    for _ in range(4):
        worker = Worker(tmp_path)
        worker.tell("request", "/query", "POST", 200, 0.1, "")
        worker.tell("sample")
        worker.kill()
        keeper.read()
        seen.add(frozenset(path.name for path in tmp_path.glob("counter_*.db")))
    assert len(seen) == 1
    assert keeper.read()[at("requests_total", route="/query", method="POST", status="200")] == 4
    keeper.end()


def test_labels_have_few_values_whatever_clients_send(workers: tuple[Worker, Worker]) -> None:
    worker = workers[0]
    for number in range(5):
        worker.tell("request", "", f"BREW{number}", 404, 0.1, "")
        worker.tell("request", "/query", "POST", 200, 0.1, f"graph{number}")
        worker.tell("request", "/query", "POST", 500, 0.1, f"graph{number}")
    found = worker.read()
    assert found[at("requests_total", route="(other)", method="(other)", status="404")] == 5
    graphs = {
        dict(labels)["graph"] for name, labels in found if name.endswith("graph_requests_total")
    }
    assert graphs == {"graph0", "graph1", "(other)"}
    key = {"graph": "(other)", "class": "5xx"}
    assert found[at("graph_requests_total", **key)] == 3


def test_where_a_route_stands_is_what_any_worker_saw_last(workers: tuple[Worker, Worker]) -> None:
    first, second = workers
    first.tell("routes", "", ["r", 50, 0, False], ["s", 1, 2, True])
    second.tell("routes", "", ["r", 7, 3, True], ["s", 1, 2, True])
    second.tell("routes", "g", ["r", 4, 9, False])
    found = first.read()
    assert found[at("event_route_behind", graph="", route="r")] == 7
    assert found[at("event_route_dead_letters", graph="", route="r")] == 3
    assert found[at("event_route_dead_letters", graph="", route="s")] == 2
    assert found[at("event_route_behind", graph="g", route="r")] == 4
    assert found[at("event_route_failing", graph="g", route="r")] == 0
    assert found[at("event_route_failing", graph="", route="r")] == 1
    second.tell("close", "g")  # a graph that nobody has open stays as it was
    second.tell("routes", "", ["s", 0, 0, False])  # the other route was deleted
    found = first.read()
    assert found[at("event_route_dead_letters", graph="g", route="r")] == 9
    assert found[at("event_route_behind", graph="", route="r")] == 0
    assert found[at("event_route_dead_letters", graph="", route="r")] == 0


def test_only_so_many_routes_get_a_name(workers: tuple[Worker, Worker]) -> None:
    worker = workers[0]
    worker.tell("routes", "", *([f"r{number}", 1, 2, False] for number in range(1003)))
    found = worker.read()
    other = {"graph": "(other)", "route": "(other)"}
    assert found[at("event_route_behind", **other)] == 3
    assert found[at("event_route_dead_letters", **other)] == 6
    assert sum(name == "twinframe_event_route_behind" for name, _ in found) == 1001


def test_routes_of_no_more_graphs_get_a_name_than_others_do(workers: tuple[Worker, Worker]) -> None:
    worker = workers[0]
    for graph in ("g", "h", "i"):
        worker.tell("routes", graph, ["r", 1, 2, False])
    found = worker.read()
    graphs = {dict(labels)["graph"] for name, labels in found if name.endswith("route_behind")}
    assert graphs == {"g", "h", "(other)"}


def test_a_slot_is_free_when_its_process_has_ended(tmp_path: Path) -> None:
    first = Slot(tmp_path)
    second = Slot(tmp_path)
    assert (first.number, second.number) == (0, 1)
    cleared: list[int] = []
    second.clear_dead(cleared.append)
    assert cleared == []
    first.close()
    second.clear_dead(cleared.append)
    assert cleared == [0]
    again = Slot(tmp_path)
    assert again.number == 0
    for slot in (again, second):
        slot.close()
