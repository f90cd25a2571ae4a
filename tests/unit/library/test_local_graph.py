"""A graph opened in a script: what it answers, and how it is opened and closed."""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import math
import os
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import twinframe
from tests.unit.library.worlds import DRIVER, LAMP, MODELS, ROOM, lamp, room
from tests.waiting import PATIENCE, Threads, join, run_program, start
from twinframe.errors import (
    InvalidArgument,
    ModelNotFound,
    ModelReferenced,
    PreconditionFailed,
    QueryInvalid,
    RelationshipNotFound,
    RelationshipsNotDeleted,
    SettingsError,
    TwinNotFound,
    ValidationFailed,
)
from twinframe.runtime import heap

# --- both forms, in memory and in a file --------------------------------------------------------


def test_models_are_stored_listed_and_removed(graph: Any) -> None:
    assert [one["id"] for one in graph.list_models()] == [ROOM, LAMP, DRIVER]
    assert "model" not in graph.list_models()[0]
    assert graph.list_models(dependencies_for=[DRIVER], definition=True)[0]["model"] == MODELS[2]
    assert graph.read_model(LAMP)["model"]["@id"] == LAMP
    graph.decommission_model(ROOM)
    assert graph.read_model(ROOM)["decommissioned"] is True
    with pytest.raises(ModelReferenced):
        graph.delete_model(DRIVER)
    graph.delete_model(ROOM)
    with pytest.raises(ModelNotFound):
        graph.read_model(ROOM)


def test_twins_are_written_read_and_deleted(graph: Any) -> None:
    stored = graph.put_twin("r", room(name="Blue", seats=2), if_none_match="*")
    assert graph.read_twin("r") == stored
    with pytest.raises(PreconditionFailed):
        graph.put_twin("r", room(), if_none_match="*")
    etag = graph.patch_twin(
        "r", [{"op": "replace", "path": "/seats", "value": 3}], if_match=stored["$etag"]
    )
    assert (graph.read_twin("r")["seats"], graph.read_twin("r")["$etag"]) == (3, etag)
    with pytest.raises(PreconditionFailed):
        graph.delete_twin("r", if_match=stored["$etag"])
    graph.delete_twin("r", if_match=etag)
    with pytest.raises(TwinNotFound) as refused:
        graph.read_twin("r")
    assert refused.value.code == "DigitalTwinNotFound"


def test_components_are_read_and_patched(graph: Any) -> None:
    graph.put_twin("l", lamp(level=1))
    etag = graph.patch_component(
        "l", "driver", [{"op": "replace", "path": "/firmware", "value": "2"}]
    )
    assert graph.read_component("l", "driver")["firmware"] == "2"
    assert graph.read_twin("l")["$etag"] == etag


def test_relationships_are_written_listed_and_deleted(graph: Any) -> None:
    graph.put_twin("r", room())
    graph.put_twin("l", lamp())
    made = graph.put_relationship("r", "x", {"$relationshipName": "has", "$targetId": "l"})
    assert graph.read_relationship("r", "x") == made
    assert graph.list_relationships("r") == graph.list_relationships("r", "has") == [made]
    assert graph.list_relationships("r", "next") == []
    incoming = {"$relationshipId": "x", "$sourceId": "r", "$relationshipName": "has"}
    assert graph.list_incoming_relationships("l") == [incoming]
    assert graph.patch_relationship("r", "x", []) != made["$etag"]
    with pytest.raises(RelationshipsNotDeleted):
        graph.delete_twin("l")
    graph.delete_relationship("r", "x")
    with pytest.raises(RelationshipNotFound):
        graph.read_relationship("r", "x")


def test_many_are_put_at_once_and_each_says_what_became_of_it(graph: Any) -> None:
    twins = [{"$dtId": f"r{n}", **room(seats=n)} for n in range(5)]
    results = graph.put_twins([*twins, {"$dtId": "bad", **room(seats="many")}])
    assert [one.key for one in results] == [(f"r{n}",) for n in range(5)] + [("bad",)]
    assert [type(one.error) for one in results] == [type(None)] * 5 + [ValidationFailed]
    ends = ((f"r{n}", f"r{n + 1}") for n in range(5))
    results = graph.put_relationships(
        {"$sourceId": a, "$relationshipId": "n", "$relationshipName": "next", "$targetId": b}
        for a, b in ends
    )
    assert [one.error is None for one in results] == [True] * 4 + [False]
    assert sorted(twin["$dtId"] for twin in graph.list_twins()) == [f"r{n}" for n in range(5)]
    assert [graph.list_twins(LAMP), len(graph.list_twins(ROOM))] == [[], 5]


def test_both_query_languages_answer_with_dictionaries(graph: Any) -> None:
    graph.put_twins({"$dtId": f"r{n}", **room(seats=n)} for n in range(2500))
    found = graph.query(
        "MATCH (r:Room) WHERE r.seats < $most RETURN r.seats AS seats, r.`$dtId` AS id "
        "ORDER BY seats",
        {"most": 2400},
    )
    assert (found.columns, len(found)) == (("seats", "id"), 2400)
    assert found[-1] == {"seats": 2399, "id": "r2399"}
    assert found.read_column("seats") == list(range(2400))
    select = "SELECT T.seats FROM DIGITALTWINS T WHERE T.seats > 2497"
    assert sorted(row["seats"] for row in graph.query(select)) == [2498, 2499]
    assert len(list(graph.iterate("MATCH (r:Room) RETURN r"))) == 2500
    with pytest.raises(QueryInvalid):
        graph.query("MATCH (r:Room RETURN r")


def test_statements_write_and_say_what_they_changed(graph: Any) -> None:
    text = "UNWIND $seats AS n CREATE (r:Room {seats: n}) RETURN r.seats AS seats"
    rehearsed = graph.execute(text, {"seats": [1, 2]}, rehearse=True)
    assert (rehearsed.counters.nodes_created, graph.list_twins()) == (2, [])
    assert list(graph.execute(text, {"seats": [1, 2]})) == [{"seats": 1}, {"seats": 2}]
    with pytest.raises(ValidationFailed):
        graph.execute("MATCH (r:Room) SET r.seats = 'many'")
    assert sorted(twin["seats"] for twin in graph.list_twins()) == [1, 2]


def test_earlier_states_are_read(graph: Any) -> None:
    graph.put_twin("r", room(seats=1))
    before = dt.datetime.now(dt.UTC)
    graph.patch_twin("r", [{"op": "replace", "path": "/seats", "value": 2}])
    assert graph.read_twin("r", as_of=before)["seats"] == 1
    assert graph.list_twins(as_of=before.isoformat())[0]["seats"] == 1
    text = "MATCH (r:Room) RETURN r.seats AS seats"
    assert [row["seats"] for row in graph.query(text, as_of=before)] == [1]
    with pytest.raises(InvalidArgument, match="no offset"):
        graph.read_twin("r", as_of=before.replace(tzinfo=None))


def test_changes_since_a_moment_are_yielded_as_over_http(graph: Any) -> None:
    graph.put_twin("r", room(seats=1))
    before = dt.datetime.now(dt.UTC)
    graph.patch_twin("r", [{"op": "replace", "path": "/seats", "value": 2}])
    graph.put_twins({"$dtId": f"l{n}", **lamp()} for n in range(30))
    graph.put_relationship("r", "x", {"$relationshipName": "has", "$targetId": "l1"})
    found = list(graph.changes(before))
    assert [one["action"] for one in found if one.get("id") == "r"] == ["updated"]
    assert sum(one["kind"] == "twin" for one in found) == 31
    (change,) = list(graph.changes(before, include=["relationships"]))
    assert (change["sourceId"], change["action"]) == ("r", "created")
    assert list(graph.changes(before, before)) == []
    with pytest.raises(InvalidArgument, match="twins"):
        list(graph.changes(before, include=["twin"]))
    with pytest.raises(InvalidArgument, match="no offset"):
        list(graph.changes(before.replace(tzinfo=None)))


def test_values_over_time_are_rows(graph: Any) -> None:
    before = dt.datetime.now(dt.UTC)
    for seats in (1, 2, 4):
        graph.put_twin("r", room(seats=seats))
    found = graph.series("r", "seats", before)
    assert (found.columns, found.read_column("value")) == (("time", "value"), [1, 2, 4])
    steps = graph.series("r", "seats", before, every="1h", aggregates=["last", "count"])
    assert (steps.columns, steps[-1]["last"]) == (("time", "last", "count"), 4)
    with pytest.raises(TwinNotFound):
        graph.series("nobody", "seats", before)


def test_a_graph_is_written_to_a_file_and_read_back(graph: Any, tmp_path: Path) -> None:
    graph.put_twin("r", room(name="Blue"))
    graph.put_twin("l", lamp())
    graph.put_relationship("r", "x", {"$relationshipName": "has", "$targetId": "l"})
    done = graph.export_file(tmp_path / "all.ndjson.gz")
    assert (done.models, done.twins, done.relationships) == (3, 2, 1)
    with twinframe.open() as copy:
        progress = copy.import_file(tmp_path / "all.ndjson.gz").progress
        assert (progress.models, progress.twins, progress.relationships) == (3, 2, 1)
        assert copy.read_twin("r") == graph.read_twin("r")
        again = copy.import_file(tmp_path / "all.ndjson.gz").progress
        assert (again.skipped, again.errors) == (3, 0)


def test_telemetry_is_accepted_and_checked(graph: Any) -> None:
    graph.put_twin("r", room())
    graph.publish_telemetry("r", {"temperature": 21.5})
    with pytest.raises(TwinNotFound):
        graph.publish_telemetry("nobody", {"temperature": 21.5})


def test_python_values_become_json_as_a_request_body_would(graph: Any) -> None:
    built = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)
    stored = graph.put_twin("r", room(area=np.float64(12.5), seats=np.int64(3), built=built))
    assert (stored["area"], stored["seats"], stored["built"]) == (12.5, 3, built.isoformat())
    body = room(name="mine")
    graph.put_twin("r", body)
    assert body == room(name="mine")


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, object(), {1: 2}, b"x", "\ud800", {1, 2}, np.array([math.nan])]
)
def test_a_value_that_json_cannot_hold_is_refused(graph: Any, value: object) -> None:
    with pytest.raises(InvalidArgument):
        graph.put_twin("r", room(area=value))
    with pytest.raises(InvalidArgument):
        graph.query("RETURN $x AS x", {"x": value})
    assert graph.list_twins() == []


def test_nothing_is_nested_more_deeply_than_in_a_request(graph: Any) -> None:
    deep: Any = 1
    for _ in range(70):
        deep = [deep]
    with pytest.raises(InvalidArgument):
        graph.put_twin("r", room(area=deep))


# --- opening and closing ------------------------------------------------------------------------


def test_a_file_keeps_the_graph(tmp_path: Path) -> None:
    with twinframe.open(tmp_path / "new" / "campus.db") as graph:
        graph.create_models(MODELS)
        graph.put_twin("r", room())
    with twinframe.open(str(tmp_path / "new" / "campus.db")) as graph:
        assert graph.read_twin("r")["$metadata"]["$model"] == ROOM


def test_graphs_in_memory_are_apart() -> None:
    with twinframe.open() as one, twinframe.open(":memory:") as other:
        one.create_models(MODELS)
        assert other.list_models() == []


def test_settings_are_those_of_the_service(tmp_path: Path) -> None:
    settings = {"Storage__Sqlite__Directory": str(tmp_path), "Graph__MaxTwinBytes": 200}
    with twinframe.open(settings=settings) as graph:
        assert (tmp_path / "default.db").exists()
        graph.create_models(MODELS)
        graph.put_twin("r", room())
        with pytest.raises(twinframe.errors.LimitExceeded):
            graph.publish_telemetry("r", {"text": "x" * 200})


def test_the_environment_counts_when_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("Storage__Provider", "memory")
    monkeypatch.setenv("Graph__MaxTwinBytes", "200")
    with twinframe.open(tmp_path / "a.db") as graph:
        graph.create_models(MODELS)
        graph.put_twin("r", room(name="x" * 200))
    with twinframe.open(settings=os.environ) as graph:
        assert graph.list_models() == []
        graph.create_models(MODELS)
        with pytest.raises(twinframe.errors.LimitExceeded):
            graph.put_twin("r", room(name="x" * 200))
    with twinframe.open(tmp_path / "a.db", settings=os.environ) as graph:
        assert [twin["$dtId"] for twin in graph.list_twins()] == ["r"]


@pytest.mark.parametrize(
    ("given", "named", "what"),
    [
        (["campus.sqlite"], {}, "ends in .db"),
        (["campus.db"], {"settings": {"storage__provider": "memory"}}, "storage__provider"),
        ([], {"settings": {"Storge__Provider": "memory"}}, "Did you mean Storage"),
        ([], {"settings": {"Storage__Provder": "memory"}}, "Did you mean Storage__Provider"),
        ([], {"settings": {"Storage__Provider": "memory", "Query__Timeout": "soon"}}, "number"),
    ],
)
def test_what_cannot_be_opened_says_why(
    given: list[str], named: dict[str, Any], what: str, tmp_path: Path
) -> None:
    with pytest.raises((InvalidArgument, SettingsError), match=what):
        twinframe.open(*[tmp_path / name for name in given], **named)
    assert not [thread for thread in threading.enumerate() if thread.name == "twinframe-graph"]
    assert list(tmp_path.iterdir()) == []


def test_a_closed_graph_says_so_and_may_be_closed_again() -> None:
    graph = twinframe.open()
    pages = graph.iterate("UNWIND range(1, 9) AS n RETURN n")
    graph.close()
    graph.close()
    assert graph.is_closed
    assert repr(graph) == "<LocalGraph :memory:, closed>"
    for call in (graph.list_models, lambda: graph.read_twin("r"), lambda: next(pages)):
        with pytest.raises(ValueError, match="closed"):
            call()


def test_a_graph_that_nobody_closes_is_released_with_a_warning(tmp_path: Path) -> None:
    graph: Any = twinframe.open(tmp_path / "a.db")
    (thread,) = [each for each in threading.enumerate() if each.name == "twinframe-graph"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        del graph
        gc.collect()
    assert [each.category for each in caught] == [ResourceWarning]
    join(thread)


def test_a_fork_is_told_to_open_the_graph_itself(tmp_path: Path) -> None:
    code = """
import os, sys, warnings, twinframe
warnings.simplefilter("ignore")
graph = twinframe.open(sys.argv[1])
child = os.fork()
if child == 0:
    try:
        graph.list_models()
    except RuntimeError as error:
        told = "Open it here again" in str(error)
    graph.close()
    with twinframe.open(sys.argv[1]) as own:
        told = told and own.list_models() == []
    os._exit(0 if told else 1)
status = os.waitpid(child, 0)[1]
assert graph.list_models() == []
graph.close()
sys.exit(os.waitstatus_to_exitcode(status))
"""
    command = [sys.executable, "-c", code, str(tmp_path / "a.db")]
    done = run_program(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_process_holds_beside_its_graph_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(heap.Footprint, "is_over", lambda _: True)
    with twinframe.open() as graph:
        graph.create_models(MODELS)
        done = graph.execute("UNWIND range(1, 20) AS n CREATE (:Room {seats: n})")
        assert done.counters.nodes_created == 20
        assert len(graph.query("MATCH (t) RETURN t ORDER BY t.seats")) == 20


def test_threads_share_a_graph_and_no_update_is_lost(tmp_path: Path) -> None:
    with twinframe.open(tmp_path / "a.db") as graph:
        graph.create_models(MODELS)
        graph.put_twin("r", room(seats=0))

        def count(_: int) -> None:
            for _ in range(25):
                graph.execute("MATCH (r:Room) SET r.seats = r.seats + 1")

        with Threads(4) as threads:
            list(threads.map(count, range(4)))
        assert graph.read_twin("r")["seats"] == 100


def test_closing_waits_for_what_other_threads_have_begun() -> None:
    graph = twinframe.open()
    graph.create_models(MODELS)
    going, outcomes = threading.Event(), []

    def write() -> None:
        for number in range(1_000_000):
            try:
                graph.put_twin("r", room(seats=number))
            except ValueError:
                outcomes.append(number)
                return
            going.set()

    writers = [start(write) for _ in range(3)]
    assert going.wait(PATIENCE)
    graph.close()
    join(*writers)
    assert len(outcomes) == 3


def test_it_works_where_an_event_loop_runs_already() -> None:
    async def cell() -> list[Any]:
        with twinframe.open() as graph:
            return list(graph.query("RETURN 1 AS one"))

    assert asyncio.run(cell()) == [{"one": 1}]


def test_importing_the_package_does_not_import_the_library() -> None:
    code = (
        "import sys, twinframe; assert 'open' in dir(twinframe); "
        "sys.exit(any(name in sys.modules for name in ('twinframe.library', 'pydantic', 'orjson')))"
    )
    assert run_program([sys.executable, "-c", code]).returncode == 0


def test_what_opens_a_graph_does_not_import_falcon() -> None:
    code = (
        "import sys, twinframe; twinframe.open().close(); "
        "sys.exit(any(name in sys.modules for name in ('falcon', 'uvicorn', 'mcp')))"
    )
    assert run_program([sys.executable, "-c", code]).returncode == 0
