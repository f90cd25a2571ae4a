"""Columns beside full disks, copied databases, jobs, changing models, stops and hosted graphs."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import orjson
import pytest

from tests.e2e.columns_world import (
    MODELS,
    QUESTIONS,
    Contents,
    Writer,
    ask,
    build_body,
    build_interface,
    build_property,
    check,
    find_dtmi,
    has_columns,
)
from tests.e2e.hosted import Provisioner, build_environment, build_hosted
from tests.e2e.server import Server
from tests.e2e.test_columns import (
    COLUMNS,
    fill,
    find_makers,
    list_children,
    put_models,
    serve,
    wait_for_columns,
    wait_until,
)
from tests.e2e.wire import Wire
from tests.waiting import PATIENCE, join, run_program, start

LIMIT = 4_000_000
"""Bytes: more than any file of a small graph has, less than that of the columns of `WIDE`."""
WIDE = build_interface(
    "Wide",
    build_property(
        "readings",
        {
            "@type": "Map",
            "mapKey": {"name": "at", "schema": "string"},
            "mapValue": {"name": "value", "schema": "double"},
        },
    ),
)
"""A model whose twins have as many columns as they have readings."""


def find_results(folder: Path) -> list[str]:
    """What lies beside the graph that may be lost."""
    return sorted(one.name for one in (folder / "data").glob("*.results/*"))


# --- the disk -----------------------------------------------------------------------------------


def test_a_disk_that_is_full_while_the_file_is_made_leaves_queries_to_the_store(
    tmp_path: Path,
) -> None:
    """NOTE: the limit of the worker on the size of files is that of the process that makes them."""
    with serve(tmp_path, workers=1) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 1, connections=1)
        wire = writer.wire
        assert wire.call("POST", "/models", [WIDE])[0] == 201
        readings = {f"at{at}": at / 2 for at in range(600)}
        body = {"$metadata": {"$model": WIDE["@id"]}, "readings": readings}
        assert wire.call("PUT", "/digitaltwins/wide", body)[0] == 200
        fill(writer, range(100), 0)
        resource.prlimit(find_worker(server), resource.RLIMIT_FSIZE, (LIMIT, LIMIT))
        said = "The columns of the graph could not be made: [Errno 27]"
        wait_until(lambda: not has_columns(wire) and said in server.log.read_text())
        assert server.log.read_text().count(said) == 1
        wait_until(lambda: not find_makers(tmp_path))
        assert find_results(tmp_path) == ["columns.lock"]
        check(wire, writer.prefix, writer.held)
        writer.run(5)
        server.stop()  # without the limit
        server.start()
        writer.close()
        writer.connect(server.port)
        wait_for_columns(*writer.wires)
        check(writer.wire, writer.prefix, writer.held)
        text = "MATCH (t:Wide) RETURN t.readings.at7 AS r"
        assert has_columns(writer.wire, text)
        assert ask(writer.wire, text) == [[3.5]]
        writer.close()


def find_worker(server: Server) -> int:
    """The one process that answers."""
    assert server.process is not None
    (worker,) = list_children(server.process.pid)
    return worker


def test_columns_that_are_turned_off_leave_no_file(tmp_path: Path) -> None:
    with serve(tmp_path, workers=1, Query__Columns__Enabled="false") as server:
        put_models(server)
        writer = Writer(server.port, "w-", 2, connections=1)
        fill(writer, range(500), 0)
        writer.run(20)
        assert not has_columns(writer.wire)
        assert find_results(tmp_path) == []
        assert find_makers(tmp_path) == []
        writer.close()


def test_graphs_in_triples_have_no_columns(tmp_path: Path) -> None:
    more = {"Storage__Provider": "rdf", "Storage__Rdf__Directory": str(tmp_path / "data")}
    with serve(tmp_path, workers=1, **more) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 2, connections=1)
        fill(writer, range(100), 0)
        check(writer.wire, writer.prefix, writer.held)
        assert not has_columns(writer.wire)
        assert list(tmp_path.rglob("columns*")) == []
        assert find_makers(tmp_path) == []
        writer.close()


# --- copies of the database -----------------------------------------------------------------------


def copy_data(folder: Path, name: str) -> Path:
    """A cold copy of all files, as an operator makes it."""
    target = folder / name
    shutil.copytree(folder / "data", target)
    return target


def put_back(folder: Path, source: Path) -> None:
    shutil.rmtree(folder / "data")
    shutil.copytree(source, folder / "data")


def use_file(folder: Path, source: Path) -> None:
    """Lay the columns of another copy beside the database."""
    shutil.copytree(source / "default.results", folder / "data/default.results", dirs_exist_ok=True)


def begin(server: Server, seed: int) -> Writer:
    put_models(server)
    writer = Writer(server.port, "w-", seed, connections=2)
    fill(writer, range(50), 0)
    wait_for_columns(*writer.wires)
    return writer


def go_on(server: Server, writer: Writer, held: Contents) -> None:
    server.start()
    writer.close()
    writer.connect(server.port)
    writer.held = Contents(dict(held.twins), dict(held.edges))


def make_again(folder: Path, writer: Writer) -> None:
    """Have a file of the present state."""
    for one in (folder / "data").glob("*.results/columns"):
        one.unlink()
    wait_for_columns(*writer.wires)
    wait_until(lambda: any((folder / "data").glob("*.results/columns")))


@pytest.mark.parametrize("more", [3, 60])
def test_the_columns_of_a_copy_that_went_another_way_do_not_answer(
    tmp_path: Path, more: int
) -> None:
    """NOTE: the copy has identity and epoch of its source, and gives positions of its own."""
    with serve(tmp_path, workers=2) as server:
        writer = begin(server, 3)
        server.stop()
        shared = writer.held
        before = copy_data(tmp_path, "before")
        (tmp_path / "data/default.results/columns").unlink()
        go_on(server, writer, shared)
        writer.run(30)
        wait_for_columns(*writer.wires)
        server.stop()
        other = copy_data(tmp_path, "other")
        put_back(tmp_path, before)
        go_on(server, writer, shared)
        writer.run(more)  # fewer changes than the other, or more
        server.stop()
        use_file(tmp_path, other)
        held = writer.held
        go_on(server, writer, held)
        for wire in writer.wires:
            check(wire, writer.prefix, writer.held)
        for _ in range(60):  # across the position of that file
            writer.step()
        wait_for_columns(*writer.wires)
        check(writer.wire, writer.prefix, writer.held)
        writer.close()


def test_a_backup_that_is_restored_has_columns_of_its_own(tmp_path: Path) -> None:
    with serve(tmp_path, workers=2) as server:
        writer = begin(server, 4)
        held = Contents(dict(writer.held.twins), dict(writer.held.edges))
        run_command(tmp_path, "backup", "--to", str(tmp_path / "backup"))
        writer.run(30)
        wait_for_columns(*writer.wires)
        server.stop()
        later = copy_data(tmp_path, "later")
        run_command(tmp_path, "restore", "-", str(tmp_path / "backup"))
        assert find_results(tmp_path) == []
        use_file(tmp_path, later)
        go_on(server, writer, held)
        for wire in writer.wires:
            check(wire, writer.prefix, writer.held)
        writer.run(60)
        wait_for_columns(*writer.wires)
        check(writer.wire, writer.prefix, writer.held)
        writer.close()


def run_command(folder: Path, *arguments: str) -> None:
    """Run a command of the program on the data of a service."""
    environment = {**os.environ, "Storage__Sqlite__Directory": str(folder / "data")}
    command = [sys.executable, "-m", "twinframe", *arguments]
    done = run_program(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- load -----------------------------------------------------------------------------------------


def test_writes_that_never_pause_do_not_keep_columns_away(tmp_path: Path) -> None:
    with serve(tmp_path, workers=2) as server:
        put_models(server)
        busy = [Writer(server.port, "w-", 5 + at, connections=1) for at in range(2)]
        calm = Writer(server.port, "calm-", 7)
        calm.run(10)
        has_ended = Event()
        threads = [start(write_always, one, has_ended) for one in busy]
        wait_until(lambda: min(one.rounds for one in busy) > 2)
        answered = 0
        end = time.monotonic() + PATIENCE
        while answered < 10 and time.monotonic() < end:
            answered += has_columns(calm.wire)
            check(calm.wire, calm.prefix, calm.held)
        has_ended.set()
        join(*threads)
        assert answered == 10
        assert min(one.rounds for one in busy) > 2, "no load, no test"
        for one in (*busy, calm):
            one.close()


def write_always(writer: Writer, has_ended: Event) -> None:
    """Change 2,500 twins again and again: more at once than a query applies."""
    turn = 0
    while not has_ended.is_set():
        turn += 1
        for step in range(5):
            fill(writer, range(step * 500, step * 500 + 500), turn)
        writer.rounds += 1


def test_models_that_come_change_and_go_do_so_in_columns(tmp_path: Path) -> None:
    with serve(tmp_path, workers=3) as server:
        put_models(server)
        writers = [Writer(server.port, f"w{at}-", 8 + at) for at in range(2)]
        for one in writers:
            one.run(10)
            wait_for_columns(*one.wires)
        has_ended = Event()
        threads = [start(one.run_until, has_ended) for one in writers]
        wire, others = Wire(server.port), [Wire(server.port) for _ in range(4)]
        for turn in range(12):
            change_models(wire, others, turn)
        has_ended.set()
        join(*threads)
        for one in writers:
            wait_for_columns(one.wire)
            check(one.wire, one.prefix, one.held)
            one.close()
        for one in (wire, *others):
            one.close()


def change_models(wire: Wire, others: list[Wire], turn: int) -> None:
    """A model below one of two ancestors, with the same name each time; then it goes again."""
    above = ("Meter", "Sign")[turn % 2]
    late = build_interface("Late", build_property("own", "integer"), extends=above)
    assert wire.call("POST", "/models", [late])[0] == 201
    body = {"$metadata": {"$model": late["@id"]}, "own": turn}
    assert wire.call("PUT", "/digitaltwins/late", body)[0] == 200
    for other in others:
        for label, count in (
            (above, 1),
            ("Late", 1),
            ("Thing", 1),
            (("Sign", "Meter")[turn % 2], 0),
        ):
            text = f"MATCH (t:{label}) WHERE t.own = {turn} RETURN count(*) AS n"
            assert ask(other, text) == [[count]], (turn, label)
    status, _, _ = wire.call("PATCH", f"/models/{late['@id']}", DECOMMISSION)
    assert status == 204
    assert wire.call("PUT", "/digitaltwins/never", body)[0] == 400
    moved = {"$metadata": {"$model": find_dtmi("Switch")}, "value": True}
    if turn % 3:
        assert wire.call("PUT", "/digitaltwins/late", moved)[0] == 200
    else:
        assert wire.call("DELETE", "/digitaltwins/late")[0] == 204
    assert wire.call("DELETE", f"/models/{late['@id']}")[0] == 204
    for other in others:
        text = "MATCH (t:Thing) WHERE t.own IS NOT NULL RETURN count(*) AS n"
        assert ask(other, text) == [[0]], turn


DECOMMISSION = [{"op": "replace", "path": "/decommissioned", "value": True}]


def test_transactions_and_jobs_are_seen_in_columns(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    more = {"Jobs__Directories": f'["{files}"]', "Jobs__LookSeconds": "0.05"}
    with serve(tmp_path, workers=2, **more) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 11)
        wire = writer.wire
        for turn in range(3):
            writer.held = Contents()
            import_twins(wire, files, writer, turn)
            for one in writer.wires:
                check(one, writer.prefix, writer.held)
            wait_for_columns(*writer.wires)
            transact(wire, writer)
            for one in writer.wires:
                check(one, writer.prefix, writer.held)
            status, _, _ = wire.call("POST", "/jobs/deletions", operation_id=f"all-{turn}")
            assert status == 202
            wait_for_job(writer, f"/jobs/deletions/all-{turn}")
            put_models(server)
            for one in writer.wires:
                check(one, writer.prefix, Contents())
        writer.close()


def import_twins(wire: Wire, files: Path, writer: Writer, turn: int) -> None:
    """Import some thousand twins, some with relationships."""
    held, count = writer.held, 2600
    lines: list[Any] = [{"Section": "Header"}, {"fileVersion": "1.0.0"}, {"Section": "Twins"}]
    for at in range(count):
        key = f"{writer.prefix}{at}"
        twin = {"model": "Meter", "value": at / 4 + turn, "place": {"floor": at % 3}}
        held.twins[key] = twin
        lines.append({"$dtId": key, **build_body(twin)})
    lines.append({"Section": "Relationships"})
    for at in range(0, count, 10):
        source = f"{writer.prefix}{at}"
        for edge, name, other in (("r0", "feeds", at + 1), ("r1", "has", (at + 10) % count)):
            target = f"{writer.prefix}{other}"
            held.edges[source, edge] = source, name, target, at
            ends = {"$dtId": source, "$relationshipId": edge, "$targetId": target}
            lines.append({**ends, "$relationshipName": name, "weight": at})
    (files / f"in-{turn}").write_bytes(b"\n".join(map(orjson.dumps, lines)))
    body = {name: f"file://{files}/{way}-{turn}" for name, way in PLACES.items()}
    assert wire.call("PUT", f"/jobs/imports/in-{turn}", body)[0] == 201
    wait_for_job(writer, f"/jobs/imports/in-{turn}")


PLACES = {"inputBlobUri": "in", "outputBlobUri": "out"}


def wait_for_job(writer: Writer, path: str) -> None:
    """Ask for columns meanwhile, and wait until the job has succeeded."""
    end = time.monotonic() + PATIENCE
    while True:
        status, _, job = writer.wire.call("GET", path)
        assert status == 200
        if job["status"] == "succeeded":
            return
        assert job["status"] in ("notstarted", "running"), job
        assert time.monotonic() < end
        for text in QUESTIONS:
            ask(writer.wire, text, p=writer.prefix)


def transact(wire: Wire, writer: Writer) -> None:
    """All or nothing: one transaction that succeeds, then one whose last operation fails."""
    held = writer.held
    gone, kept, other = (f"{writer.prefix}{at}" for at in (2, 3, 4))
    twin = {"model": "Sign", "value": "moved", "kind": "new"}
    operations: list[Any] = [
        {"op": "deleteTwin", "twinId": gone},
        {"op": "putTwin", "twinId": kept, "document": build_body(twin)},
        {
            "op": "putRelationship",
            "sourceId": kept,
            "relationshipId": "r9",
            "document": {"$relationshipName": "feeds", "$targetId": other, "weight": 9},
        },
    ]
    assert wire.call("POST", "/$transaction", {"operations": operations})[0] == 200
    del held.twins[gone]
    held.twins[kept] = twin
    held.edges[kept, "r9"] = kept, "feeds", other, 9
    operations = [
        {"op": "putTwin", "twinId": gone, "document": build_body(twin)},
        {"op": "deleteTwin", "twinId": f"{writer.prefix}0"},  # it has relationships
    ]
    assert wire.call("POST", "/$transaction", {"operations": operations})[0] == 400


# --- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", ["as it begins", "while it is written"])
def test_a_service_that_is_stopped_while_the_file_is_made_ends(tmp_path: Path, moment: str) -> None:
    with serve(tmp_path, workers=2) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 12)
        for step in range(10):
            fill(writer, range(step * 900, step * 900 + 900), 0)
        assert not has_columns(writer.wire)
        if moment == "as it begins":
            wait_until(lambda: bool(find_makers(tmp_path)))
        else:
            wait_until(lambda: any((tmp_path / "data").glob("*.results/columns.*.part")), 20)
        assert server.process is not None
        process = server.process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        wait_until(lambda: not find_makers(tmp_path))
        assert list((tmp_path / "data").glob("*.results/*.part")) == []
        server.process = None
        server.start()
        writer.close()
        writer.connect(server.port)
        check(writer.wire, writer.prefix, writer.held)
        wait_for_columns(*writer.wires)
        check(writer.wire, writer.prefix, writer.held)
        writer.close()


def test_hosted_graphs_that_come_and_go_while_files_are_made_leave_nothing(tmp_path: Path) -> None:
    environment = build_environment(tmp_path, Storage__Provider="sqlite", **COLUMNS)
    provisioner = Provisioner(environment)
    with Server(tmp_path, workers=2, environment=environment) as server:
        assert server.process is not None
        workers = list_children(server.process.pid)
        before = sum(map(count_threads, workers))
        for turn in range(4):
            graphs = [build_hosted(f"graph{turn}x{at}") for at in range(3)]
            for graph in graphs:
                provisioner.bring_up(graph)
            for at, graph in enumerate(graphs):
                fill_hosted(server, graph.name.resource_id, at)
            if turn % 2:
                wait_until(lambda: bool(find_makers(tmp_path)), 2)
            for graph in graphs:
                provisioner.take_down(graph)
        wait_until(lambda: not find_makers(tmp_path))
        assert find_makers(tmp_path) == []
        wait_until(lambda: sum(map(count_threads, workers)) <= before)
        assert sum(map(count_threads, workers)) <= before
        assert [one for one in tmp_path.rglob("columns*") if "graph" in str(one.parent)] == []
        assert sum(map(count_maps, workers)) == 0
    log = server.log.read_text()
    assert "Traceback" not in log, log[-4000:]
    assert "columns of the graph" not in log, log[-4000:]


def fill_hosted(server: Server, graph: str, at: int) -> None:
    """Fill a graph, and ask, so that its file begins to be made."""
    wire = Wire(server.port)
    base = f"/graphs/{graph}"
    assert wire.call("POST", f"{base}/models", MODELS)[0] == 201
    twins = [
        {"$dtId": f"w-{one}", **build_body({"model": "Sign", "value": str(one)})}
        for one in range(500 * (at + 1))
    ]
    for step in range(0, len(twins), 500):
        status, _, answer = wire.call("POST", f"{base}/digitaltwins", twins[step : step + 500])
        assert (status, answer["failureCount"]) == (200, 0)
    body = {"query": "EXPLAIN MATCH (t:Sign) RETURN max(t.value) AS m"}
    assert wire.call("POST", f"{base}/query", body)[0] == 200
    wire.close()


def count_threads(process: int) -> int:
    """The threads of columns in a process."""
    found = 0
    for path in Path(f"/proc/{process}/task").glob("*/comm"):
        with suppress(OSError):
            found += path.read_text().startswith("columns")
    return found


def count_maps(process: int) -> int:
    """The files of columns that a process has mapped."""
    lines = Path(f"/proc/{process}/maps").read_text().splitlines()
    return sum("/columns" in line and "hosting" in line for line in lines)
