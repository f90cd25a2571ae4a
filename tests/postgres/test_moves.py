"""Graphs move from one database to another while they are written: nothing is lost or doubled."""

from __future__ import annotations

import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from typing import Final

import orjson
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.point_shelf import NOW, open_points
from tests.postgres.server import build_prefix, serve, share_server
from tests.postgres.test_nodes import wait_until
from tests.storages import require
from tests.waiting import PATIENCE, Threads
from twinframe.control.hosting.databases import plan_moves
from twinframe.errors import ConfigurationError, StorageBusy, StorageError, StorageMoved
from twinframe.storage.base import (
    ChangeKind,
    GraphTransaction,
    ModelRecord,
    OutboxEvent,
    RelationshipRecord,
    TwinRecord,
)
from twinframe.storage.points import Points
from twinframe_points import walking
from twinframe_points.settings import PointsSettings
from twinframe_points.store import BlockPointStore
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

MODEL: Final = "dtmi:m;1"
STEPS: Final = ("prepare", "copy", "catch up", "switch", "leave", "arrive")
WRITERS: Final = 2
ROUNDS: Final = int(os.environ.get("TWINFRAME_MOVES", "1"))


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """Two databases of one server."""
    require("postgres")
    name = f"b{secrets.token_hex(6)}"
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield {"main": share_server(), "b": share_server().replace("dbname=postgres", f"dbname={name}")}
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@dataclass
class Graph:
    """A graph that several stores have open, as processes of several nodes would."""

    settings: PostgresSettings
    name: str

    def build(self, database: str = "") -> PostgresGraphStore:
        return PostgresGraphStore(self.settings, self.name, database)

    @contextmanager
    def opened(self, count: int = 1, database: str = "") -> Iterator[list[PostgresGraphStore]]:
        stores = [self.build(database) for _ in range(count)]
        try:
            for store in stores:
                store.open()
            yield stores
        finally:
            for store in stores:
                store.close()


@pytest.fixture
def graph(urls: dict[str, str], tmp_path: Path) -> Graph:
    return build_graph(urls, tmp_path)


def build_graph(urls: dict[str, str], folder: Path) -> Graph:
    settings = PostgresSettings(
        url=SecretStr(urls["main"]),
        databases={"b": SecretStr(urls["b"])},
        schema_=build_prefix(folder),
        directory=str(folder / "files"),
        turn_timeout=PATIENCE,
    )
    made = Graph(settings, "g")
    with made.opened() as (store,):
        run(store, put_model)
        run(store, lambda t: t.put_twins([build_twin(f"t{n}", n) for n in range(300)]))
        edges = [build_edge(n) for n in range(299)]
        run(store, lambda t: t.put_relationships(edges))
        run(store, lambda t: t.put_twins([build_twin("n", 0), build_twin("x0", 0)]))
    return made


def run(store: PostgresGraphStore, function: Callable[[GraphTransaction], object]) -> object:
    (outcome,) = store.write([function])
    if outcome.error is not None:
        raise outcome.error
    return outcome.result


def put_model(t: GraphTransaction) -> None:
    t.put_models([ModelRecord(MODEL, b'{"@id":"dtmi:m;1"}', b"{}", b"{}", (), (), "now")])


def build_twin(name: str, value: int) -> TwinRecord:
    etag = f'W/"{value}"'
    return TwinRecord(name, MODEL, etag, orjson.dumps({"$dtId": name, "$etag": etag, "v": value}))


def build_edge(n: int) -> RelationshipRecord:
    body = orjson.dumps({"$relationshipId": "r", "$etag": 'W/"1"'})
    return RelationshipRecord(f"t{n}", "r", "to", f"t{n + 1}", 'W/"1"', body)


def raise_it(t: GraphTransaction) -> int:
    """Raise the number, note it as an event and an entry, and replace some twin by another."""
    stored = t.read_twin("n")
    assert stored is not None
    value = orjson.loads(stored.body)["v"] + 1
    t.put_twin(build_twin("n", value))
    if t.has_twin(f"x{value - 5}"):
        t.delete_twin(f"x{value - 5}")
    t.put_twin(build_twin(f"x{value}", value))
    t.put_entry("k", f"{value % 3}", str(value).encode())
    event = OutboxEvent("n", str(value).encode(), ChangeKind.TWIN_UPDATED, "", value, "")
    t.append_events([event])
    return value


def read_value(store: PostgresGraphStore) -> int:
    session = store.session()
    try:
        with session.snapshot():
            first = orjson.loads(session.read_twin("n").body)["v"]
            assert session.has_twin(f"x{first}")  # of the same moment, whatever moves meanwhile
    except StorageMoved:  # a snapshot that the move has cut
        return read_value(store)
    finally:
        session.close()
    return first


class Load:
    """Writers and readers of a number, each with a store of its own, until they are stopped."""

    def __init__(self, stores: list[PostgresGraphStore], *, has_points: bool = False) -> None:
        self.stores = stores
        self.shelves = [open_shelf(store) for store in stores] if has_points else []
        self.points: list[int] = []
        for shelf in self.shelves:
            shelf.list_paths("t0")  # makes the tables
        self.ending = threading.Event()
        self.written: list[int] = []
        self.lock = threading.Lock()

    def write(self, number: int) -> None:
        store = self.stores[number % len(self.stores)]
        while not self.ending.is_set():
            value = run(store, raise_it)
            with self.lock:
                self.written.append(value)

    def read(self, number: int) -> None:
        store = self.stores[number % len(self.stores)]
        while not self.ending.is_set():
            with self.lock:
                newest = max(self.written, default=0)
            assert read_value(store) >= newest

    def write_points(self, number: int) -> None:
        shelf, mine = self.shelves[number % len(self.shelves)], 0
        while not self.ending.is_set():
            value = number + WRITERS * mine
            shelf.write(Points([f"t{value % 3}"], ["v"], [build_time(value)], [value]))
            mine += 1
            with self.lock:
                self.points.append(value)

    def keep_points(self) -> None:
        """Make blocks of the points that are written, as upkeep of any node does."""
        while not self.ending.is_set():
            with suppress(StorageMoved):
                self.shelves[-1].run_upkeep()

    @contextmanager
    def going(self, writers: int = WRITERS, readers: int = 2) -> Iterator[None]:
        with Threads(2 * writers + readers + 1) as threads:
            tasks: list[Future[None]] = [threads.submit(self.write, n) for n in range(writers)]
            tasks += [threads.submit(self.read, n) for n in range(readers)]
            if self.shelves:
                tasks += [threads.submit(self.write_points, n) for n in range(writers)]
                tasks.append(threads.submit(self.keep_points))
            try:
                yield
            finally:
                self.ending.set()
            for task in tasks:
                task.result(PATIENCE)
        for shelf in self.shelves:
            shelf.close()


def open_shelf(store: PostgresGraphStore) -> BlockPointStore:
    """Open the points, whose age makes blocks of them at once."""
    ticks = count()
    settings = PointsSettings(keep_days=0, keep_bytes=0)
    return open_points(store, Path(), settings, lambda: NOW + 300 * next(ticks))


def build_time(value: int) -> int:
    """Build the time of a point, in microseconds."""
    return NOW * 1_000_000 + value * 60_000_000


def check_points(store: PostgresGraphStore, load: Load) -> None:
    """All points that were acknowledged are there, once, and nothing else."""
    shelf = open_shelf(store)
    for twin in range(3):
        found = shelf.read_points((f"t{twin}", "v"), 0, 2**62, 1_000_000)
        expected = sorted(value for value in load.points if value % 3 == twin)
        assert [(at, value) for at, value in found] == [(build_time(v), v) for v in expected]
    assert not shelf.verify()
    assert shelf.measure() > 0
    shelf.close()


def check(graph: Graph, load: Load, database: str) -> None:
    """All that was acknowledged is there, once, and nothing else."""
    assert sorted(load.written) == list(range(1, len(load.written) + 1))
    for opened_at in ("", "b"):  # wherever it was when a process heard of it
        with graph.opened(database=opened_at) as (store,):
            assert read_value(store) == len(load.written)
            assert store._home.database == database
            assert store.verify() == []
            session = store.session()
            events = session.read_events(after=0, limit=1_000_000)
            assert [int(event.body) for _, event in events] == sorted(load.written)
            assert [at for at, _ in events] == list(range(1, len(events) + 1))
            kept = range(max(len(load.written) - 4, 0), len(load.written) + 1)
            assert session.count_twins() == 301 + len(kept)
            assert sorted(
                (int(one.item), one.key) for one in session.read_entries("k", after=None, limit=9)
            ) == sorted((v, str(v % 3)) for v in kept[-3:] if v)
            session.close()
            if load.shelves:
                check_points(store, load)


def move(graph: Graph, source: str, target: str) -> tuple[float, str]:
    store, name = graph.build(source), secrets.token_hex(8)
    pause = store.move(target, name, lambda line: None)
    assert store.settle_move(target, name)
    return pause, name


@pytest.mark.parametrize("has_points", [False, True])
def test_a_graph_moves_there_and_back_while_it_is_written_and_read(
    graph: Graph, has_points: bool
) -> None:
    with graph.opened(3) as stores:
        load = Load(stores, has_points=has_points)
        with load.going():
            for _ in range(ROUNDS):
                for source, target in (("main", "b"), ("b", "main")):
                    pause, name = move(graph, source, target)
                    assert pause <= 1.0
                    graph.build(source).clear_move(name)
        assert {store._home.database for store in stores} <= {"main", "b"}
    check(graph, load, "main")
    # It is removed wherever it is, and its name leads nowhere any more.
    move(graph, "main", "b")
    graph.build("main").remove(5.0)
    for url in (graph.settings.url, graph.settings.databases["b"]):
        with psycopg.connect(url.get_secret_value()) as connection:
            named = graph.build().schema
            found = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [named])
            assert found.fetchall() == []


def test_a_moved_graph_keeps_its_indexes(graph: Graph) -> None:
    with graph.opened() as (store,):
        assert store.create_index("v")
        move(graph, "main", "b")
        assert store.list_indexes() == ["v"]
        assert store._home.database == "b"
        assert not store.create_index("v")


@pytest.mark.parametrize("step", STEPS)
def test_a_mover_that_is_killed_leaves_the_graph_whole(graph: Graph, step: str) -> None:
    name = secrets.token_hex(8)
    with graph.opened(2) as stores:
        load = Load(stores, has_points=True)
        with load.going():
            child = os.fork()
            if not child:
                kill_at(graph, name, step)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
            assert graph.build("main").settle_move("b", name) is (step == "arrive")
            assert graph.build("main").settle_move("b", name) is (step == "arrive")
        if step != "arrive":
            assert move(graph, "main", "b")[0] <= 1.0
    check(graph, load, "b")


def kill_at(graph: Graph, name: str, step: str) -> None:
    def report(line: str) -> None:
        if line == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with suppress(BaseException):
        graph.build("main").move("b", name, report)
    os._exit(1)


def test_a_graph_that_has_left_is_received_by_whoever_comes_first(graph: Graph) -> None:
    name = secrets.token_hex(8)
    with graph.opened() as (store,):
        graph.build("main").move("b", name, lambda line: None)
        assert run(store, raise_it) == 1  # before anybody settled the move
        assert read_value(store) == 1


def test_a_long_read_goes_on_in_what_the_graph_left_behind(graph: Graph) -> None:
    with graph.opened() as (store,):
        session = store.session()
        with session.snapshot():
            names = [twin.twin_id for twin in islice(session.iterate_twins(), 5)]
            move(graph, "main", "b")
            assert run(store, raise_it) == 1  # which the snapshot does not see
            assert orjson.loads(session.read_twin("n").body)["v"] == 0
            twins = [*session.iterate_twins()]
            assert [twin.twin_id for twin in twins[:5]] == names
            assert len([*session.iterate_relationships()]) == 299
            assert session.count_twins() == len(twins) == 302
        assert read_value(store) == 1
        session.close()
        move(graph, "b", "main")
        assert read_value(store) == 1


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_points_are_walked_on_in_what_the_graph_left_behind(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    monkeypatch.setattr(walking, "_GROUP_SERIES", 1)  # each is read by itself
    points = Points()
    for number in range(9):
        points.add(f"t{number % 3}", "v", build_time(number), number)
    with graph.opened() as (store,):
        shelf = open_shelf(store)
        shelf.write(points)
        walk = shelf.walk(1)
        found = [*islice(walk, parts)]
        move(graph, "main", "b")
        later = open_shelf(store)
        later.write(Points(["t1"], ["v"], [build_time(99)], [99]))
        found += walk
        values = [value for part in found for value in part.values]
        assert values == [0, 3, 6, 1, 4, 7, 2, 5, 8]
        assert len(later.read_points(("t1", "v"), 0, 2**62, 9)) == 4
        shelf.close()
        later.close()


def test_a_move_that_was_given_up_cannot_be_finished_by_its_mover(graph: Graph) -> None:
    name = secrets.token_hex(8)

    def report(line: str) -> None:
        if line == "catch up":
            assert not graph.build("main").settle_move("b", name)

    with pytest.raises(StorageError):
        graph.build("main").move("b", name, report)
    with graph.opened() as (store,):
        assert run(store, raise_it) == 1
        assert store._home.database == "main"
    assert move(graph, "main", "b")[0] <= 1.0


MAKE: Final = (
    "CREATE TABLE @meta (key text PRIMARY KEY, value bigint NOT NULL)",
    "INSERT INTO @meta VALUES ('version', 1)",
)


def test_tables_of_a_plugin_are_made_where_the_graph_is_and_move_with_it(graph: Graph) -> None:
    make = (
        *MAKE,
        """CREATE TABLE @odd ("a b" text COLLATE "C" NOT NULL DEFAULT 'x\\y', n integer,
        PRIMARY KEY ("a b"), UNIQUE (n), CHECK (n > 0))""",
        'CREATE INDEX ON @odd (n DESC, "a b") WHERE n > 5',
        'ALTER TABLE @odd ALTER "a b" SET STORAGE EXTERNAL',
    )
    with graph.opened() as (store,):  # it hears of no move before the tables are made
        move(graph, "main", "b")
        tables = store.build_tables("tables", 1, make)
        assert not tables.exists()
        with tables.writing() as session:
            assert session.read("SELECT value FROM @meta") == [(1,)]
            session.run("INSERT INTO @odd (n) VALUES (7)")
        before = read_definitions(graph, "b")
        move(graph, "b", "main")
        with tables.reading() as session:
            assert session.read('SELECT n, "a b" FROM @odd') == [(7, "x\\y")]
        assert read_definitions(graph, "main") == before
        tables.close()


def read_definitions(graph: Graph, database: str) -> list[str]:
    """What `pg_dump` says of the tables of the plugin, in the order of names."""
    url = graph.settings.build_for(database).url.get_secret_value()
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT concat_ws(' ', a.attrelid::regclass, a.attname, a.atttypid::regtype, "
            "a.attnotnull, a.attstorage, a.attcollation, pg_get_expr(d.adbin, d.adrelid)) "
            "FROM pg_attribute a LEFT JOIN pg_attrdef d ON (d.adrelid, d.adnum) = "
            "(a.attrelid, a.attnum) JOIN pg_class c ON c.oid = a.attrelid "
            "WHERE a.attnum > 0 AND c.relnamespace = %(schema)s::regnamespace "
            "AND starts_with(c.relname, 'tables_') UNION ALL "
            "SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i JOIN pg_class c "
            "ON c.oid = i.indrelid WHERE c.relnamespace = %(schema)s::regnamespace "
            "AND starts_with(c.relname, 'tables_') UNION ALL "
            "SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE connamespace = %(schema)s::regnamespace "
            "AND conrelid::regclass::text ~ 'tables_' ORDER BY 1",
            {"schema": f'"{graph.build().schema}"'},
        )
        return [text for (text,) in rows.fetchall()]


def test_a_graph_with_other_tables_stays(graph: Graph) -> None:
    with graph.opened() as (store,):
        run(store, lambda transaction: transaction.read_twin("n"))
        with psycopg.connect(graph.settings.url.get_secret_value()) as connection:
            connection.execute(f'CREATE TABLE "{store.schema}".notes (line text)')
        with pytest.raises(ConfigurationError, match="notes"):
            move(graph, "main", "b")
        assert run(store, raise_it) == 1


def test_a_graph_whose_plugin_makes_tables_during_a_move_is_moved_later(graph: Graph) -> None:
    with graph.opened() as (store,):
        tables = store.build_tables("made", 1, MAKE)

        def report(line: str) -> None:
            if line == "catch up":
                with tables.writing():
                    pass

        name = secrets.token_hex(8)
        with pytest.raises(StorageBusy, match="tables during the move"):
            graph.build("main").move("b", name, report)
        assert not graph.build("main").settle_move("b", name)
        move(graph, "main", "b")
        assert run(store, raise_it) == 1
        assert tables.exists()
        tables.close()


def test_the_source_goes_on_when_the_target_is_lost(urls: dict[str, str], tmp_path: Path) -> None:
    with serve() as server:
        graph = build_graph({**urls, "b": server.url}, tmp_path)

        def report(line: str) -> None:
            if line == "catch up":
                server.stop()

        with graph.opened(2) as stores:
            load = Load(stores)
            name = secrets.token_hex(8)
            with load.going():
                with pytest.raises(StorageError):
                    graph.build("main").move("b", name, report)
                with pytest.raises(StorageError):  # the copy cannot be removed yet
                    graph.build("main").settle_move("b", name)
                before = len(load.written)
                wait_until(lambda: len(load.written) >= before + 20)
            server.start()
            assert not graph.build("main").settle_move("b", name)
            assert read_value(stores[0]) == len(load.written)
            assert move(graph, "main", "b")[0] <= 1.0
            assert read_value(stores[1]) == len(load.written)


SIZES = st.dictionaries(
    st.sampled_from("abcd"),
    st.dictionaries(st.text("xyz", min_size=1, max_size=4), st.integers(0, 1000), max_size=9),
    min_size=1,
)


@given(SIZES)
def test_a_plan_makes_databases_more_alike_and_moves_each_graph_once(
    sizes: dict[str, dict[str, int]],
) -> None:
    named = {db: {f"{db}.{g}": size for g, size in graphs.items()} for db, graphs in sizes.items()}
    held = {db: dict(graphs) for db, graphs in named.items()}

    def spread() -> int:
        return sum(sum(graphs.values()) ** 2 for graphs in held.values())

    plan = plan_moves(named)
    assert len({graph for graph, _ in plan}) == len(plan)
    for graph, target in plan:
        before = spread()
        source = next(db for db, graphs in held.items() if graph in graphs)
        held[target][graph] = held[source].pop(graph)
        assert spread() < before


def test_a_graph_stays_where_moving_it_would_only_exchange_the_databases() -> None:
    assert plan_moves({"a": {"g": 10, "h": 10}, "b": {}}) == [("g", "b")]
    assert plan_moves({"a": {"g": 10}, "b": {}}) == []
