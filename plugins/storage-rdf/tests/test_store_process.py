"""Workers share an embedded store on disk through one process, which may die at any time."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.forks import CODE
from tests.waiting import PATIENCE, join, start
from twinframe.errors import (
    LimitExceeded,
    MemoryExhausted,
    QueryTimeout,
    StorageBusy,
    StorageFull,
)
from twinframe.query.engine import CannotRun
from twinframe.storage.base import GraphStore
from twinframe.storage.triples import QueryForm
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.contracts.removal import BackupContract, RemovalContract
from twinframe.testing.factories import build_twin_record
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engine import Question
from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.settings import RdfSettings
from twinframe_storage_rdf.store import RdfFileStore
from twinframe_storage_rdf.storeprocess import apart, server
from twinframe_storage_rdf.storeprocess.apart import ShortQueries
from twinframe_storage_rdf.storeprocess.engine import ProcessEngine
from twinframe_storage_rdf.storeprocess.frames import Files, Kind, Request, Status, pack_pair
from twinframe_storage_rdf.storeprocess.server import Pieces
from twinframe_storage_rdf.terms import Iri

PARTS = tuple(part for part in GraphStoreContract.__bases__ if part is not RemovalContract)

_PRODUCT = " ".join(f"GRAPH ?g{n} {{ ?s{n} ?p{n} ?o{n} }}" for n in range(6))
ENDLESS = f"SELECT (COUNT(*) AS ?n) WHERE {{ {_PRODUCT} }}"


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for one store of many graphs."""
    return tmp_path_factory.mktemp("shared")


class TestOxigraphOnDisk(*PARTS):  # type: ignore[misc]  # whatever parts the contract has
    """PERF: graphs of one store with one process: a process for each test takes a minute more."""

    @pytest.fixture(autouse=True)
    def _take_place(self, shared_place: Path) -> None:
        self.shared_place = shared_place

    def make_store(self, place: Path) -> GraphStore:
        engine = ProcessEngine(self.shared_place, 5)
        return RdfFileStore(engine, GraphNames(str(place)), self.shared_place)


class TestOxigraphOnDiskAlone(RemovalContract, BackupContract):
    def make_store(self, place: Path) -> GraphStore:
        return build_store(RdfSettings(directory=str(place), idle_seconds=0.2), "default")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "default"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GraphStore]:
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.2), "default")
    store.open()
    yield store
    store.close()


def ask_anything(text: str) -> Question:
    """A query of a caller over the graph's triples."""
    data = Iri("urn:twinframe:graph:default")
    form = QueryForm(text.split()[0])
    return Question(text, data, data, "application/sparql-results+json", form, 10**6)


def find_process(place: Path) -> int:
    """The store process of the directory: the one that holds its lock."""
    inode = Files(place).alive.stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        parts = line.split()
        if parts[1] == "FLOCK" and parts[5].endswith(f":{inode}"):
            return int(parts[4])
    raise AssertionError("no store process is running")


def test_only_its_user_reaches_the_store_process(store: GraphStore, place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE(Files(place).socket.stat().st_mode) == 0o600


def test_two_stores_of_a_directory_share_one_process(
    store: GraphStore, tmp_path: Path, place: Path
) -> None:
    first = find_process(place)
    other = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.2), "default")
    other.open()
    put(other, build_twin_record("a"))
    with reading(store) as session:
        assert session.has_twin("a")
    other.close()
    assert find_process(place) == first


def test_a_graph_in_use_is_not_removed(store: GraphStore, tmp_path: Path) -> None:
    other = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.2), "default")
    with pytest.raises(StorageBusy):
        other.remove(0.05)
    put(store, build_twin_record("a"))


def test_a_read_after_the_process_was_killed_is_answered(store: GraphStore, place: Path) -> None:
    put(store, build_twin_record("a"))
    first = find_process(place)
    os.kill(first, signal.SIGKILL)
    with reading(store) as session:
        assert session.has_twin("a")
    assert find_process(place) != first


def test_a_query_that_does_not_end_is_stopped_with_its_process_and_others_go_on(
    store: GraphStore, place: Path
) -> None:
    put(store, *(build_twin_record(f"t{n}") for n in range(300)))
    first = find_process(place)
    engine = ProcessEngine(place, 0.2)
    engine.open()
    with pytest.raises(QueryTimeout):
        list(engine.select(ENDLESS, time.monotonic() + 0.2))
    while True:
        try:
            if find_process(place) != first:
                break
        except AssertionError:
            break
        time.sleep(0.05)
    with reading(store) as session:
        assert session.has_twin("t0")
    engine.close()


def test_a_query_whose_asker_died_ends_long_before_its_deadline(
    tmp_path: Path, place: Path
) -> None:
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=60), "default")
    store.open()
    put(store, *(build_twin_record(f"t{n}") for n in range(300)))
    process = find_process(place)
    with _asking_for_five_minutes(place):
        while not _works(process):
            time.sleep(0.05)
        store.close()  # of whoever died no connection is left, and of others neither
    end = time.monotonic() + 100  # a third of what the query may take
    while _is_running(process):
        assert time.monotonic() < end, "it runs for nobody"
        time.sleep(0.05)
    store.open()
    with reading(store) as session:
        assert session.has_twin("t299")
    assert "nobody waits for" in Files(place).log.read_text(encoding="utf-8")
    last = find_process(place)
    store.close()
    os.kill(last, signal.SIGKILL)


@contextmanager
def _asking_for_five_minutes(place: Path) -> Iterator[None]:
    """Another process asks what does not end, and is killed."""
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from twinframe_storage_rdf.storeprocess.engine import ProcessEngine\n"
        "engine = ProcessEngine(Path(sys.argv[1]), 60)\n"
        "engine.open()\n"
        "list(engine.select(sys.argv[2], time.monotonic() + 300))\n"
    )
    asker = subprocess.Popen([*CODE, code, str(place), ENDLESS])
    try:
        yield
    finally:
        asker.kill()
        asker.wait(PATIENCE)


def _works(process: int) -> bool:
    """Whether it has taken more than half a second of a processor."""
    times = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, times)) > os.sysconf("SC_CLK_TCK") // 2


@pytest.fixture
def engine(store: GraphStore, place: Path) -> Iterator[ProcessEngine]:
    """Another client of the store's process; a query may take 64 MiB."""
    put(store, *(build_twin_record(f"t{n}") for n in range(300)))
    store.close()
    while True:  # the process that was started with other limits has to end first
        try:
            find_process(place)
        except AssertionError:
            break
        time.sleep(0.02)
    engine = ProcessEngine(place, 0.2, 64 * 1024**2)
    engine.open()
    yield engine
    engine.close()


def run_query(engine: ProcessEngine, text: str, deadline: float) -> None:
    """As a query that was compiled."""
    list(engine.query(text, deadline))


def run_answer(engine: ProcessEngine, text: str, deadline: float) -> None:
    """As a caller's own SPARQL, which may not name graphs."""
    bare = re.sub(r"GRAPH \?\w+ \{ (.*?) \}", r"\1 .", text)
    engine.answer(replace(ask_anything(bare), limit=10**12), deadline, lambda _: None)


@pytest.mark.parametrize("run", [run_query, run_answer])
def test_of_a_callers_query_that_does_not_end_only_its_child_ends(
    engine: ProcessEngine, place: Path, run: Callable[[ProcessEngine, str, float], None]
) -> None:
    first = find_process(place)
    with pytest.raises(QueryTimeout):
        run(engine, ENDLESS, time.monotonic() + 0.3)
    assert engine.ask("ASK {}")
    assert find_process(place) == first
    while _list_children(first):
        time.sleep(0.02)


@pytest.mark.parametrize("run", [run_query, run_answer])
def test_of_a_callers_query_that_takes_too_much_only_its_child_ends(
    engine: ProcessEngine, place: Path, run: Callable[[ProcessEngine, str, float], None]
) -> None:
    first = find_process(place)
    pairs = "GRAPH ?g { ?a ?b ?c } GRAPH ?h { ?d ?e ?f } GRAPH ?i { ?j ?k ?l }"
    with pytest.raises(LimitExceeded, match="Storage__Rdf__QueryBytes"):
        run(engine, f"SELECT DISTINCT ?a ?b ?c ?d ?e ?f ?j {{ {pairs} }}", time.monotonic() + 120)
    assert engine.ask("ASK {}")
    assert find_process(place) == first


def test_children_end_with_the_store_process(engine: ProcessEngine, place: Path) -> None:
    process = find_process(place)

    def ask() -> None:
        with suppress(QueryTimeout, StorageBusy):
            list(engine.query(ENDLESS, time.monotonic() + 3))

    asking = start(ask)
    while not (children := _list_children(process)):
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    while any(_is_running(child) for child in children):
        time.sleep(0.02)
    engine.ask("ASK {}")
    join(asking)


def test_queries_that_were_short_need_no_child() -> None:
    """Two queries that differ in constants alone are alike; a form is asked about again in time."""
    short = ShortQueries(most=2, seconds=0.5, writes=1)
    text = 'SELECT ?t {{ ?t <urn:id> "{}" ; <urn:n> {} }}'
    assert not short.is_short(text.format("a", 1))
    short.note(text.format("a", 1), 0.1)
    assert short.is_short(text.format('b \\" c', -2.5e3))
    assert not short.is_short(text.format("a", 1).replace("?t <", "?u <"))
    short.note_write()
    assert short.is_short(text.format("a", 1))
    short.note_write()
    assert not short.is_short(text.format("a", 1))
    short.note(text.format("a", 1), 0.1)
    short.note(text.format("b", 1), 0.9)
    assert not short.is_short(text.format("a", 1))


def test_queries_beside_writes_see_the_newest_state(engine: ProcessEngine, tmp_path: Path) -> None:
    """A child has the state at its fork, whatever other threads are about then."""
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.2), "default")
    store.open()
    text = "SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?t <urn:twinframe:vocabulary:id> ?i } }"
    ((before,),) = engine.query(text)
    for number in range(40):
        put(store, build_twin_record(f"new{number}"))
        # Each of another form: none of them was seen to be short.
        ((count,),) = engine.query(text.replace("?n", f"?n{number}"), time.monotonic() + 60)
        assert count == before + number + 1
    store.close()


def test_a_process_whose_socket_was_removed_makes_another(
    engine: ProcessEngine, place: Path
) -> None:
    first = find_process(place)
    Files(place).socket.unlink()
    other = ProcessEngine(place, 0.2)
    other.open()
    assert other.ask("ASK {}")
    other.close()
    assert find_process(place) == first


def test_a_process_leaves_alone_what_came_in_the_place_of_its_directory(
    tmp_path: Path, place: Path
) -> None:
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.5), "default")
    store.open()
    first = find_process(place)
    store.close()
    place.rename(tmp_path / "moved")
    store.open()
    second = find_process(place)
    assert first != second
    while _is_running(first):
        time.sleep(0.02)
    assert Files(place).socket.exists()
    store.close()


def _list_children(process: int) -> list[int]:
    """Those of all its threads."""
    found = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in found for child in file.read_text().split()]


def test_queries_of_callers_leave_no_connections_behind(store: GraphStore, place: Path) -> None:
    engine = ProcessEngine(place, 0.2)
    engine.open()
    connections = Path(f"/proc/{find_process(place)}/fd")
    before = len(list(connections.iterdir()))
    for _ in range(20):
        engine.answer(ask_anything("ASK {}"), time.monotonic() + 10, lambda _: None)
    assert len(list(connections.iterdir())) < before + 5
    engine.close()


def test_workers_may_come_while_a_query_of_a_caller_runs(store: GraphStore, place: Path) -> None:
    """Each takes more address space than queries may, for the stack of its thread."""
    put(store, *(build_twin_record(f"t{n}") for n in range(300)))
    workers = [ProcessEngine(place, 0.2) for _ in range(40)]
    workers[0].open()
    late: list[str] = []

    def run() -> None:
        product = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
        try:
            workers[0].answer(ask_anything(product), time.monotonic() + 2, lambda _: None)
        except QueryTimeout as error:
            late.append(error.message)

    first = find_process(place)
    running = start(run)
    time.sleep(0.2)
    for worker in workers[1:]:
        worker.open()
        assert worker.ask("ASK {}", time.monotonic() + PATIENCE)
    assert find_process(place) == first
    join(running)
    assert "Sparql__Timeout" in late[0]
    for worker in workers:
        worker.close()


def test_a_process_without_clients_ends(tmp_path: Path, place: Path) -> None:
    store = build_store(RdfSettings(directory=str(tmp_path), idle_seconds=0.2), "default")
    store.open()
    process = find_process(place)
    store.close()
    while _is_running(process):
        time.sleep(0.02)


def test_whoever_started_a_process_ends_without_a_word_while_it_goes_on(
    tmp_path: Path, place: Path
) -> None:
    code = (
        "import sys\n"
        "from twinframe_storage_rdf.building import build_store\n"
        "from twinframe_storage_rdf.settings import RdfSettings\n"
        "store = build_store(RdfSettings(directory=sys.argv[1], idle_seconds=60), 'default')\n"
        "store.open()\n"
        "store.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path)], capture_output=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    process = find_process(place)
    assert _is_running(process)
    os.kill(process, signal.SIGKILL)


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


class _Ended(Exception):
    pass


def test_a_full_store_answers_reads_until_there_is_room_to_reopen_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(code: int) -> None:
        raise _Ended(code)

    def refuse(*_: str) -> bool:
        raise StorageFull("no room")

    monkeypatch.setattr(server.os, "_exit", end)
    files = Files(tmp_path / "default")
    files.place.mkdir()
    serving = server.StoreServer(files, 5, 2**20)
    engine = serving._engine
    engine.open()

    def answer(kind: Kind, body: bytes) -> tuple[Status, bytes]:
        request = Request(kind, 0, 0, body)
        with socket.socket() as nobody:
            return serving._answer(request, Pieces(nobody, request))

    monkeypatch.setattr(engine, "has_room", lambda: False)
    write = pack_pair("ASK {}", "INSERT DATA { <a:a> <a:b> <a:c> }")
    with monkeypatch.context() as full:
        full.setattr(engine, "apply", refuse)
        for _ in range(2):
            assert answer(Kind.APPLY, write) == (Status.FULL, b"no room")
            assert not serving._must_reopen()
            assert answer(Kind.ASK, b"ASK {}") == (Status.TRUTH, b"1")
        full.setattr(engine, "_unsynced", True)
        assert serving._must_reopen(), "readers see what was refused"
    monkeypatch.setattr(engine, "has_room", lambda: True)
    with pytest.raises(_Ended, match=str(server._EXIT_FULL)):
        answer(Kind.APPLY, write)
    engine.close()


def test_queries_that_together_take_too_much_give_way_one_by_one(
    engine: ProcessEngine, place: Path
) -> None:
    """Each may take less than all have: the largest of a time is told to come again."""
    first = find_process(place)
    pairs = "GRAPH ?g { ?a ?b ?c } GRAPH ?h { ?d ?e ?f } GRAPH ?i { ?j ?k ?l }"
    outcomes: list[str] = []

    def ask(number: int) -> None:
        other = ProcessEngine(place, 0.2, 64 * 1024**2)
        other.open()
        try:
            text = f"SELECT DISTINCT ?a ?b ?c ?d ?e ?f ?j{number} {{ {pairs} }}"
            list(other.query(text, time.monotonic() + 30))
        except (LimitExceeded, StorageBusy, QueryTimeout) as error:
            outcomes.append(type(error).__name__)
        other.close()

    threads = [start(ask, number) for number in range(6)]
    join(*threads)
    assert len(outcomes) == 6
    assert engine.ask("ASK {}")
    assert find_process(place) == first


def test_of_children_that_take_too_much_together_the_largest_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a child has at the first look is the store process's own, and does not count."""
    sizes = {1: 1_000, 2: 1_000}
    monkeypatch.setattr(apart, "_read_size", sizes.__getitem__)
    crowd = apart._Crowd(100)
    assert not crowd.look(1)
    assert not crowd.look(2)
    sizes |= {1: 1_060, 2: 1_050}
    assert not crowd.look(1), "the other one was not looked at again"
    assert not crowd.look(2), "it is not the largest"
    assert crowd.look(1)
    crowd.leave(1)
    assert not crowd.look(2)


LARGE = (
    "SELECT ?id ?text { GRAPH ?g { ?t <urn:twinframe:vocabulary:id> ?id . ?t <urn:text> ?text } }"
)


def add_large(engine: ProcessEngine, count: int, size: int) -> None:
    """Resources with an id and a text, which has what rows are told apart by."""
    text = ("x" * size + '"}},{"').replace('"', '\\"')
    data = " ".join(
        f'<urn:large:{n}> <urn:twinframe:vocabulary:id> "l{n}" ; <urn:text> "{text}" .'
        for n in range(count)
    )
    update = f"INSERT DATA {{ GRAPH <urn:large> {{ {data} }} }}"
    engine._request(Kind.APPLY, pack_pair("ASK {}", update), time.monotonic() + 60, 0)


@pytest.mark.parametrize("name", ["select", "query"])
def test_rows_of_a_large_answer_come_some_at_a_time(
    engine: ProcessEngine, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_large(engine, 40, 300_000)
    received: list[int] = []
    exchange = engine._exchange

    def count(*arguments: object) -> tuple[Status, bytes]:
        answer = exchange(*arguments)  # type: ignore[arg-type]  # whatever it takes
        received.append(len(answer[1]))
        return answer

    monkeypatch.setattr(engine, "_exchange", count)
    read = getattr(engine, name)
    rows = read(LARGE, time.monotonic() + 60)
    first = next(rows)
    assert sum(received) < 1_500_000 < max(received) * 40
    found = [first, *rows]
    assert sorted(row[0] for row in found) == sorted(f"l{n}" for n in range(40))
    assert {row[1] for row in found} == {"x" * 300_000 + '"}},{"'}
    assert max(received) < 200_000


@pytest.mark.parametrize("name", ["select", "query"])
def test_an_answer_that_is_left_half_read_ends_in_the_process_too(
    engine: ProcessEngine, place: Path, name: str
) -> None:
    add_large(engine, 40, 300_000)
    process, free = find_process(place), len(engine._free)
    for _ in range(20):
        rows = getattr(engine, name)(LARGE, time.monotonic() + 60)
        next(rows)
        rows.close()
    assert len(engine._free) <= free + 1
    while _list_children(process):
        time.sleep(0.02)
    assert engine.ask("ASK {}")
    assert find_process(place) == process


def test_a_client_that_takes_its_time_ends_no_process(engine: ProcessEngine, place: Path) -> None:
    """Only its own read is over, which holds nobody else up."""
    add_large(engine, 40, 300_000)
    process = find_process(place)
    rows = engine.select(LARGE, time.monotonic() + 0.3)
    while True:
        try:
            next(rows)
            break
        except QueryTimeout:  # on a busy machine not even the first row came in time
            process = find_process(place)
            rows = engine.select(LARGE, time.monotonic() + 0.3)
    time.sleep(server.GRACE + 1.0)
    with pytest.raises(QueryTimeout):
        list(rows)
    assert find_process(place) == process


@pytest.mark.parametrize("name", ["select", "query"])
def test_what_is_read_small_is_declined_when_it_is_large(engine: ProcessEngine, name: str) -> None:
    add_large(engine, 1, 100_000)
    read = getattr(engine, name)
    with engine.small_answers(50_000):
        with pytest.raises(CannotRun):
            read(LARGE)
        assert list(read("SELECT (1 AS ?n) {}")) == [(1,)]
    assert len(list(read(LARGE))) == 1


def test_a_snapshot_that_ends_ends_what_was_left_half_read(store: GraphStore, place: Path) -> None:
    put(store, *(build_twin_record(f"t{n}", text="x" * 300_000) for n in range(10)))
    with reading(store) as session:
        with session.snapshot(time.monotonic() + 60):
            nodes = session.scan_nodes(None)
            next(nodes)
        with pytest.raises(StopIteration):
            next(nodes)


def test_the_memory_is_looked_at_while_much_is_read(store: GraphStore) -> None:
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 2:
            raise MemoryExhausted("queries", "Memory__Bytes")

    put(store, *(build_twin_record(f"t{n}", text="x" * 1_000_000) for n in range(14)))
    with reading(store) as session, session.snapshot(time.monotonic() + 60):
        session.watch_memory(look)
        with pytest.raises(MemoryExhausted):
            list(session.scan_nodes(None))


def test_all_twins_come_in_order_and_never_all_at_once(
    store: GraphStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, *(build_twin_record(f"t{n:02}", text="x" * 200_000) for n in range(40)))
    received: list[int] = []
    exchange = ProcessEngine._exchange

    def count(*arguments: object) -> tuple[Status, bytes]:
        answer = exchange(*arguments)  # type: ignore[arg-type]  # whatever it takes
        received.append(len(answer[1]))
        return answer

    monkeypatch.setattr(ProcessEngine, "_exchange", count)
    with reading(store) as session, session.snapshot(time.monotonic() + 60):
        twins = session.iterate_twins()
        first = next(twins)
        assert sum(received) < 2_000_000
        assert [first.twin_id, *(twin.twin_id for twin in twins)] == [f"t{n:02}" for n in range(40)]
