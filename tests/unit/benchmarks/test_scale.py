"""The model behind `docs/scale.md`: its queues, its simulation of shards, the figures it cites."""

from __future__ import annotations

import json
import math
import random
import re
from pathlib import Path

import pytest

from benchmarks.scale.measure import MEASURED
from benchmarks.scale.paper import SPARQL, Paper, fit
from benchmarks.scale.queueing import Writer, find_response, find_waiting_probability
from benchmarks.scale.shards import Campus, Cluster, Costs, walk

DOCS = Path(__file__).resolve().parents[3] / "docs"
CAMPUS = Campus(sites=8, twins=40, degree=5, apart=0.1, seed=2)
GRAPH = CAMPUS.build()
WALKS = [walk(GRAPH, start, 3) for start in range(0, len(GRAPH), 4)]
COSTS = Costs(request=0.0005, twin=0.00005, trip=0.001)
PLACES = {"site": CAMPUS.place_by_site, "id": CAMPUS.place_by_id}


def test_one_server_is_the_queue_of_the_textbook() -> None:
    assert find_waiting_probability(1, 0.7) == pytest.approx(0.7)
    # SPEC: M/M/1, the time in the system is exponential with the rate 1 / service - rate.
    assert find_response(1, 700, 0.001) == pytest.approx(math.log(100) / 300)
    assert find_response(1, 1000, 0.001) == math.inf


def test_the_queue_of_many_servers_is_what_a_simulation_of_it_sees() -> None:
    dice = random.Random(1)
    servers, rate, service = 4, 2800.0, 0.001
    free = [0.0] * servers
    now, taken = 0.0, []
    for _ in range(60_000):
        now += dice.expovariate(rate)
        first = min(range(servers), key=free.__getitem__)
        free[first] = max(now, free[first]) + dice.expovariate(1 / service)
        taken.append(free[first] - now)
    taken.sort()
    seen = taken[int(len(taken) * 0.99)]
    assert find_response(servers, rate, service) == pytest.approx(seen, rel=0.1)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_the_writer_takes_as_long_as_its_simulation(share: float) -> None:
    writer = Writer(fixed=0.002, each=0.0002, largest=200)
    rate = writer.capacity * share
    seen = writer.simulate(rate, 40_000, 1)
    assert len(seen) == 40_000
    assert seen[0] >= (writer.fixed + writer.each) * (1 - 1e-9)
    late = seen[int(len(seen) * 0.99)]
    assert writer.find_response(rate) == pytest.approx(late, rel=0.15)


def test_a_writer_that_is_asked_too_much_never_gets_done() -> None:
    writer = Writer(fixed=0.002, each=0.0002, largest=200)
    assert writer.find_response(writer.capacity) == math.inf
    assert writer.simulate(writer.capacity * 2, 40_000, 1)[-1] > 100 * writer.fixed


def test_a_walk_sees_each_twin_once_and_all_that_is_in_reach() -> None:
    for steps in WALKS:
        seen = [twin for step in steps for twin in step]
        assert len(seen) == len(set(seen))
        reached = {target for step in steps[:-1] for twin in step for target in GRAPH[twin]}
        assert set(seen) == reached | set(steps[0])


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("shards", [1, 3, 8])
def test_every_twin_of_a_frontier_is_asked_for_once_at_its_shard(name: str, shards: int) -> None:
    place = PLACES[name]
    asked = Cluster(shards, 2, COSTS).split(WALKS, place)
    for steps, requests in zip(WALKS, asked, strict=True):
        for step, request in zip(steps, requests, strict=True):
            assert sum(request.values()) == len(step)
            assert set(request) == {place(twin, shards) for twin in step}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("shards", [1, 8])
def test_no_time_is_lost_or_won_in_the_simulation(name: str, shards: int) -> None:
    cluster = Cluster(shards, 2, COSTS)
    asked = cluster.split(WALKS, PLACES[name])
    most = cluster.find_capacity(asked)
    outcome = cluster.run(asked, most * 0.6, seed=4)
    requests = [request for steps in asked for step in steps for request in step.values()]
    assert len(outcome.taken) == len(WALKS)
    assert outcome.requests == len(requests)
    spent = len(requests) * COSTS.request + sum(requests) * COSTS.twin
    assert sum(outcome.busy.values()) == pytest.approx(spent)
    # A walk takes at least its steps one after another, each as long as its slowest request.
    least = min(
        sum(COSTS.trip + COSTS.request + COSTS.twin * max(step.values()) for step in steps)
        for steps in asked
    )
    assert outcome.taken[0] >= least * (1 - 1e-9)
    assert cluster.run(asked, most * 0.6, seed=4).taken == outcome.taken
    assert cluster.run(asked, most * 0.95, seed=4).find(0.99) > outcome.find(0.99)


def test_placing_by_site_asks_fewer_shards_and_one_shard_is_asked_once_a_step() -> None:
    def count(name: str, shards: int) -> int:
        asked = Cluster(shards, 2, COSTS).split(WALKS, PLACES[name])
        return sum(len(step) for steps in asked for step in steps)

    assert count("site", 1) == count("id", 1) == sum(len(steps) for steps in WALKS)
    assert count("site", 8) < count("id", 8)


def test_the_fitted_line_goes_through_points_of_a_line() -> None:
    line = fit({size: 0.5 + 0.25 * size for size in (1.0, 10.0, 100.0, 1000.0)})
    assert line.fixed == pytest.approx(0.5)
    assert line.each == pytest.approx(0.25)


def test_figures_of_other_pages_are_still_there() -> None:
    cluster = (DOCS / "how-to" / "run-on-a-sparql-cluster.md").read_text(encoding="utf-8")
    for label, place in (("read of a twin", 0), ("each overwrite in a batch of 50", 1)):
        oxigraph, virtuoso = (row[place] for row in SPARQL.values())
        assert f"| {label} | {oxigraph} ms | {virtuoso} ms |" in cluster


def test_the_tables_follow_from_the_measured_figures() -> None:
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    before = Paper(measured).render("writer")
    measured["disk"]["sync_us"] *= 10
    assert Paper(measured).render("writer") != before
    names = re.findall(r"<!-- table: (\w+) -->", (DOCS / "scale.md").read_text(encoding="utf-8"))
    assert len(names) == len(set(names)) == 9
