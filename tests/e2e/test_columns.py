"""Columns from outside: whatever is written and whatever dies, answers are those of a model."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from tests.e2e.columns_world import MODELS, QUESTIONS, Writer, build_body, check, has_columns
from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.waiting import PATIENCE, Threads, join, start

ALWAYS = [text for text in QUESTIONS if "sum(t.value)" not in text]
"""NOTE: the sum of integers beside floats is left to the store."""
COLUMNS = {"Query__Columns__LeastTwins": "0"}


@contextmanager
def serve(folder: Path, workers: int = 4, **more: str) -> Iterator[Server]:
    """A service with columns from the first twin on; its log must hold no unhandled exception."""
    folder.mkdir(exist_ok=True)
    with Server(folder, workers=workers, environment={**COLUMNS, **more}) as running:
        yield running
    wait_until(lambda: not find_makers(folder))
    assert find_makers(folder) == []
    assert list(folder.glob("data/*/columns.*.part")) == []
    log = running.log.read_text(encoding="utf-8")
    assert "Traceback" not in log, log[-4000:]


def put_models(server: Server) -> None:
    wire = Wire(server.port)
    assert wire.call("POST", "/models", MODELS)[0] == 201
    wire.close()


def wait_for_columns(*wires: Wire) -> None:
    """Wait until columns answer all questions on these connections."""
    end = time.monotonic() + PATIENCE
    for wire in wires:
        for text in ALWAYS:
            while not has_columns(wire, text):
                assert time.monotonic() < end, f"no columns came for {text}"
                time.sleep(0.02)


def test_every_worker_answers_what_was_acknowledged_before(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        put_models(server)
        writers = [Writer(server.port, f"w{at}-", at) for at in range(4)]
        for writer in writers:
            writer.run(2)
        wait_for_columns(*(wire for writer in writers for wire in writer.wires))
        with Threads() as pool:
            list(pool.map(lambda one: one.run(60), writers))
        wait_for_columns(*(wire for writer in writers for wire in writer.wires))
        for writer in writers:
            for other in writers:
                check(other.wire, writer.prefix, writer.held)
        for writer in writers:
            writer.close()


def load(server: Server, seeds: int = 3) -> list[Writer]:
    return [Writer(server.port, f"w{at}-", at + 100) for at in range(seeds)]


def learn_all(writers: list[Writer]) -> None:
    for writer in writers:
        writer.learn()
        check(writer.wire, writer.prefix, writer.held)


def test_nothing_is_lost_or_wrong_when_the_service_is_killed(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        put_models(server)
        writers = load(server)
        for turn in range(5):
            threads = [start(one.run_until_broken) for one in writers]
            wait_until(partial(has_written, writers, 0))
            if turn % 2:
                wire = Wire(server.port)
                wait_for_columns(wire)
                wire.close()
            else:  # perhaps while the file is made
                wait_until(lambda: any((tmp_path / "data").glob("*.results/columns.*.part")), 2)
            server.kill()
            join(*threads)
            assert all(one.rounds for one in writers), "no load, no test"
            server.start()
            for one in writers:
                one.connect(server.port)
            learn_all(writers)
        for one in writers:
            one.close()


def test_nothing_is_lost_or_wrong_when_workers_are_killed(tmp_path: Path) -> None:
    with serve(tmp_path) as server:
        put_models(server)
        assert server.process is not None
        writers = load(server)
        has_ended = Event()
        with Threads() as pool:
            running = [pool.submit(one.run_until, has_ended) for one in writers]
            for turn in range(6):
                most = max(one.rounds for one in writers) + 5
                wait_until(partial(has_written, writers, most))
                for child in list_children(server.process.pid)[: 1 + turn % 4]:
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
            has_ended.set()
            for each in running:
                each.result(PATIENCE)
        for one in writers:
            one.close()
            one.connect(server.port)  # some of its connections were to workers that are dead
            wait_for_columns(one.wire)
            check(one.wire, one.prefix, one.held)
            one.close()


def has_written(writers: list[Writer], rounds: int) -> bool:
    """Whether each wrote so often."""
    return all(one.rounds > rounds for one in writers)


def wait_until(holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until it holds, at most so long."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.002)


def list_children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(one) for one in path.read_text().split()]


def find_makers(folder: Path) -> list[int]:
    """Return the processes that make a file below a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            line = path.read_bytes()
            if b"twinframe_columns.making" in line and bytes(folder) in line:
                found.append(int(path.parent.name))
    return found


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped", "header", "another", "gone"])
def test_a_damaged_file_is_not_used_and_comes_anew(tmp_path: Path, damage: str) -> None:
    with serve(tmp_path, workers=1) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 7, connections=1)
        fill(writer, range(30), 0)  # before the first question, so that the file has twins
        writer.run(20)
        wait_for_columns(writer.wire)
        server.kill()
        (file,) = (tmp_path / "data").glob("*.results/columns")
        damage_file(file, damage)
        server.start()
        writer.close()
        writer.connect(server.port)
        check(writer.wire, writer.prefix, writer.held)
        wait_for_columns(writer.wire)
        check(writer.wire, writer.prefix, writer.held)
        writer.run(10)
        writer.close()


def damage_file(file: Path, damage: str) -> None:
    """Make a file unusable. NOTE: `flipped` is a bit of a twin's id, `header` one of a model's."""
    whole = file.read_bytes()
    file.chmod(0o600)
    match damage:
        case "cut":
            file.write_bytes(whole[: len(whole) // 2])
        case "emptied":
            file.write_bytes(b"")
        case "flipped":
            at = whole.index(b"w-", 1)
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        case "header":
            file.write_bytes(whole.replace(b"columns:Meter", b"columns:Metep"))
        case "another":
            at = whole.index(b'"instance":"') + len(b'"instance":"')
            other = b"0" if whole[at : at + 1] != b"0" else b"1"
            file.write_bytes(whole[:at] + other + whole[at + 1 :])
        case "gone":
            shutil.rmtree(file.parent)


def test_without_a_place_for_columns_the_store_answers(tmp_path: Path) -> None:
    with serve(tmp_path, workers=2) as server:
        (tmp_path / "data" / "default.results" / "columns").mkdir(parents=True)
        put_models(server)
        writer = Writer(server.port, "w-", 8)
        writer.run(20)
        said = "The columns of the graph could not be made"
        wait_until(lambda: said in server.log.read_text())
        assert said in server.log.read_text()
        assert not any(map(has_columns, writer.wires))
        writer.close()


def test_a_graph_grows_at_once_shrinks_to_nothing_and_grows_again(tmp_path: Path) -> None:
    with serve(tmp_path, workers=2) as server:
        put_models(server)
        writer = Writer(server.port, "w-", 9)
        for turn in range(2):
            for step in range(3):  # more changes than a query applies itself
                fill(writer, range(step * 900, step * 900 + 900), turn)
                check(writer.wire, writer.prefix, writer.held)
            wait_for_columns(*writer.wires)
            check(writer.wire, writer.prefix, writer.held)
            empty(writer)
            check(writer.wire, writer.prefix, writer.held)
        writer.run(10)
        wait_for_columns(*writer.wires)
        check(writer.wire, writer.prefix, writer.held)
        writer.close()


def fill(writer: Writer, numbers: range, turn: int) -> None:
    """Put many twins in one request."""
    twins = {f"w-{at}": {"model": "Sign", "value": f"{turn} {at}"} for at in numbers}
    bodies = [{"$dtId": key, **build_body(twin)} for key, twin in twins.items()]
    status, _, answer = writer.wire.call("POST", "/digitaltwins", bodies)
    assert (status, answer["failureCount"]) == (200, 0)
    writer.held.twins |= twins


def empty(writer: Writer) -> None:
    """Delete all twins."""
    keys = list(writer.held.twins)
    for at in range(0, len(keys), 1000):
        deletions = [{"op": "deleteTwin", "twinId": key} for key in keys[at : at + 1000]]
        status, _, answer = writer.wire.call("POST", "/$transaction", {"operations": deletions})
        assert status == 200, answer
    writer.held.twins.clear()
