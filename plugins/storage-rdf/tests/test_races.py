"""Of racing writers in several processes with one etag exactly one wins, on real servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import PATIENCE
from twinframe.errors import StorageBusy
from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_rdf.building import build_store

ROUNDS = int(os.environ.get("TWINFRAME_ROUNDS", "8"))
PROCESSES = 3
SCRIPT = Path(__file__).with_name("racing.py")


@pytest.mark.parametrize("name", ["virtuoso", "oxigraph_server"])
def test_of_racing_processes_exactly_one_wins_each_etag(
    name: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(name)
    addresses = json.dumps(
        {"engine": "sparql", "query_url": server.query_url, "update_url": server.update_url}
    )
    command = [sys.executable, str(SCRIPT), addresses, "race", str(ROUNDS)]
    processes = [
        subprocess.Popen([*command, f"p{at}"], stdout=subprocess.PIPE) for at in range(PROCESSES)
    ]
    told: list[dict[str, Any]] = []
    for process in processes:
        output, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        told.append(json.loads(output))
    won = sorted(number for one in told for number in one["won"])
    assert won == list(range(1, len(won) + 1))  # nobody shares a number, none is lost
    # Who loses lost to somebody: all rounds of one process are at most the wins of all.
    assert len(won) >= ROUNDS - min(one["busy"] for one in told)
    assert len({one["instance"] for one in told}) == 1  # they raced to make the graph, too
    assert sum(one["torn"] for one in told) == 0
    store = build_store(server.build_settings(), "race")
    store.open()
    with reading(store) as session:
        stored = session.read_twin("left")
        assert stored is not None
        assert json.loads(stored.body)["n"] == len(won)
        events = session.read_events(after=0, limit=len(won) + 1)
        assert [event.subject for _, event in events] == [str(number) for number in won]
    assert list(store.verify()) == []
    store.close()
    print({"won": len(won), "lost": [x["lost"] for x in told], "busy": [x["busy"] for x in told]})


def put_patiently(store: GraphStore, twin_id: str, seconds: float) -> None:
    """Store a twin, trying again while the turn is another's."""
    end = time.monotonic() + seconds
    while True:
        try:
            put(store, build_twin_record(twin_id))
        except StorageBusy:
            assert time.monotonic() < end
        else:
            return


@pytest.mark.parametrize("name", ["virtuoso", "oxigraph_server"])
def test_a_writer_that_is_killed_leaves_whole_writes_and_the_turn_to_others(
    name: str, request: pytest.FixtureRequest
) -> None:
    server = request.getfixturevalue(name)
    settings = server.build_settings(timeout=1.5)
    store = build_store(settings, "killed")
    store.open()
    chosen = {"engine", "query_url", "update_url", "timeout"}
    addresses = settings.model_dump_json(include=chosen)
    for at in range(max(2, ROUNDS // 10)):
        command = [sys.executable, str(SCRIPT), addresses, "killed", "100000", f"p{at}"]
        process = subprocess.Popen(command)
        try:
            before = count_events(store)
            while count_events(store) < before + 3 + at % 5:
                assert process.poll() is None
                time.sleep(0.01)
        finally:
            process.kill()
            process.wait(PATIENCE)
        put_patiently(store, f"after{at}", 20.0)
        assert list(store.verify()) == []
        with reading(store) as session, session.snapshot():
            pair = [session.read_twin(twin_id) for twin_id in ("left", "right")]
            numbers = {json.loads(twin.body)["n"] for twin in pair if twin is not None}
            assert len(numbers) == 1
    store.close()


def count_events(store: GraphStore) -> int:
    """How many events the graph has had: one a write of the race."""
    with reading(store) as session:
        return session.read_event_bounds()[1]
