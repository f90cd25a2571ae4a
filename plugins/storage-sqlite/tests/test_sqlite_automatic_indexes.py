"""Automatic indexes: asked for by queries, made within a budget, dropped when nobody asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.waiting import PATIENCE
from twinframe.query.language import parse_query
from twinframe.storage.base import (
    GraphTransaction,
    ModelRecord,
    RelationshipRecord,
    TwinRecord,
    WriteFunction,
)
from twinframe.storage.indexes import IndexOrigin, IndexReport
from twinframe.testing.contracts.base import run_all
from twinframe.testing.query_law import freeze
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.index_notes import IndexNotes
from twinframe_storage_sqlite.indexing import upkeep
from twinframe_storage_sqlite.indexing.samples import read_samples
from twinframe_storage_sqlite.indexing.targets import Target
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MODEL: Final = "dtmi:ex:Device;1"
BUILDING: Final = "dtmi:ex:Building;1"
TWINS: Final = 10_000
NAMES: Final = ("near", "feeds", "holds", "has")
DAY: Final = 86_400.0
BY_SERIAL: Final = "MATCH (d:Device) WHERE d.serialNumber = 'S-17' RETURN d"
BY_LOAD: Final = "MATCH (d:Device) WHERE d.load > 9990 RETURN d.$dtId AS i ORDER BY d.load LIMIT 3"
BY_NAME: Final = "MATCH (d) WHERE d.name STARTS WITH 'n-400' RETURN d.$dtId AS i"
BY_FLAG: Final = "MATCH (d) WHERE d.enabled = true RETURN count(*) AS n"

MakeStore = Callable[..., SqliteGraphStore]


def build_record(number: int, **contents: Any) -> TwinRecord:
    body = {
        "$dtId": f"t{number}",
        "$metadata": {"$model": MODEL},
        "serialNumber": f"S-{number}",
        "load": number,
        "name": f"n-{number}",
        "enabled": number % 2 == 0,
        "group": number % 40,
        **contents,
    }
    return TwinRecord(f"t{number}", MODEL, 'W/"1"', orjson.dumps(body))


def fill(transaction: GraphTransaction) -> None:
    """Store devices and, between neighbours, relationships, of which few are `rare`."""
    models = [ModelRecord(each, b"{}", b"{}", b"{}", (), (), "2026") for each in (MODEL, BUILDING)]
    transaction.put_models(models)
    for number in range(TWINS):
        transaction.put_twin(build_record(number))
    building = {"$dtId": "b", "$metadata": {"$model": BUILDING}}
    transaction.put_twin(TwinRecord("b", BUILDING, "1", orjson.dumps(building)))
    transaction.put_relationship(RelationshipRecord("b", "rb", "has", "t7", "1", b"{}"))
    for number in range(TWINS - 1):
        name = "rare" if number % 2000 == 1999 else NAMES[number % len(NAMES)]
        ends = f"t{number}", f"t{number + 1}"
        body = orjson.dumps({"$relationshipId": f"r{number}", "weight": number})
        record = RelationshipRecord(ends[0], f"r{number}", name, ends[1], "1", body)
        transaction.put_relationship(record)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a filled store."""
    folder = tmp_path_factory.mktemp("filled")
    store = build_store(folder)
    run_all(store, fill)
    target = folder / "filled.backup"
    store.back_up(target)
    store.close()
    return target


@pytest.fixture
def open_filled(tmp_path: Path, filled: Path) -> Iterator[MakeStore]:
    """Opens stores on one filled graph with these settings; all are closed at the end."""
    opened: list[SqliteGraphStore] = []

    def make(**settings: Any) -> SqliteGraphStore:
        if not opened:
            SqliteGraphStore(SqliteSettings(directory=str(tmp_path)), "graph").restore(filled, 5)
        opened.append(build_store(tmp_path, **settings))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


def build_store(folder: Path, **settings: Any) -> SqliteGraphStore:
    settings = {"directory": str(folder), "durability": "relaxed", **settings}
    store = SqliteGraphStore(SqliteSettings(**settings), "graph")
    store.open()
    return store


def compile_text(text: str) -> SqliteQuery:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    return compiled


def ask(store: SqliteGraphStore, *texts: str, runs: int = 5) -> None:
    session = store.session()
    for text in texts:
        compiled = compile_text(text)
        for _ in range(runs):
            with session.snapshot(time.monotonic() + PATIENCE):
                list(compiled.run_json(session, {}, limit=100))
    session.close()


def plan(store: SqliteGraphStore, days: float = 0.0) -> list[WriteFunction[None]]:
    """Plan as the background task does, as if it were days later."""
    session = store.session()
    with session.snapshot(time.monotonic() + PATIENCE):
        if days:
            now = time.time() + days * DAY
            planned = upkeep.plan_upkeep(session, store.settings, store._notes.take(), now)
        else:
            planned = list(store.plan_index_upkeep(session))
    session.close()
    return planned


def tend(store: SqliteGraphStore, days: float = 0.0) -> None:
    for write in plan(store, days):
        (outcome,) = store.write([write])
        if outcome.error is not None:
            raise outcome.error


def report(store: SqliteGraphStore) -> Mapping[str, IndexReport]:
    return {each.name: each for each in store.report_indexes()}


def list_used(store: SqliteGraphStore, text: str) -> list[str]:
    session = store.session()
    used = compile_text(text).list_indexes(session, {})
    session.close()
    return [
        name
        for name in used
        if not name.startswith(("twin_", "interface_", "relationship_", "sqlite_"))
    ]


def answer(store: SqliteGraphStore, text: str) -> tuple[list[Any], int]:
    """Return the rows, and the steps of SQLite that they took."""
    session = store.session()
    with session.snapshot(time.monotonic() + PATIENCE):
        rows = sorted(map(repr, map(freeze, compile_text(text).run_rows(session, {}))))
        steps = session.read_steps()
    session.close()
    return rows, steps


@pytest.mark.parametrize(
    ("text", "name", "use"),
    [
        (BY_SERIAL, "serialNumber", "equality"),
        (BY_LOAD, "load", "range"),
        (BY_NAME, "name", "range"),
        ("MATCH (d) WHERE d.load IN [1, 2] RETURN d.$dtId AS i", "load", "equality"),
        (
            "MATCH (d:Device)-[:has]->(e) WHERE d.serialNumber = 'S-3' RETURN e",
            "serialNumber",
            "equality",
        ),
        (
            "MATCH ()-[r]->() WHERE r.$relationshipId = 'r5' RETURN r",
            "$relationshipId",
            "equality",
        ),
        ("MATCH (a)-[r:rare]->(b) RETURN a.$dtId AS i", "$relationshipName", "equality"),
        ("MATCH ()-[r]->() WHERE r.weight = 7 RETURN r", "weight", "equality"),
    ],
)
def test_what_queries_select_by_gets_an_index_that_they_use(
    open_filled: MakeStore, text: str, name: str, use: str
) -> None:
    store = open_filled()
    rows, steps = answer(store, text)
    ask(store, text)
    tend(store)
    assert list_used(store, text) == [name]
    found, fewer = answer(store, text)
    assert found == rows
    assert fewer < steps / 20
    made = report(store)[name]
    assert (made.origin, made.uses, made.used) == (IndexOrigin.AUTOMATIC, (use,), 0)
    assert made.asked == 6
    assert made.size > 1000
    ask(store, text, runs=3)
    tend(store)
    assert report(store)[name].used == 4
    assert store.verify() == []


@pytest.mark.parametrize(
    "text",
    [
        BY_FLAG,
        "MATCH (d) WHERE d.name CONTAINS '17' RETURN d.$dtId AS i",
        "MATCH (d) WHERE d.name ENDS WITH '17' RETURN d.$dtId AS i",
        "MATCH (d) WHERE d.load <> 3 RETURN count(*) AS n",
        "MATCH (d {$dtId: 't4'}) WHERE d.load = 4 RETURN d",
        "MATCH (d) RETURN d.load AS l, count(*) AS n",
        "MATCH (d) WHERE d.missing = 3 RETURN d",
    ],
)
def test_no_index_is_made_that_would_not_help(open_filled: MakeStore, text: str) -> None:
    store = open_filled()
    ask(store, text)
    tend(store)
    assert store.list_indexes() == []
    assert list_used(store, text) == []


def test_too_few_values_are_reported(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_FLAG)
    tend(store)
    wanted = report(store)["enabled"]
    assert (wanted.origin, wanted.asked) == (IndexOrigin.WANTED, 5)
    assert wanted.hindrance == "too few different values"


def test_few_runs_make_no_index_yet_and_are_remembered(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_SERIAL, runs=2)
    tend(store)
    assert store.list_indexes() == []
    store.close()
    store = open_filled()
    ask(store, BY_SERIAL, runs=2)
    tend(store)
    assert store.list_indexes() == ["serialNumber"]


def test_an_index_is_dropped_when_nobody_asked_for_days(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_SERIAL, BY_FLAG)
    tend(store)
    tend(store, days=6)
    assert store.list_indexes() == ["serialNumber"]
    ask(store, BY_SERIAL, runs=1)
    tend(store, days=6.5)
    tend(store, days=13)
    assert store.list_indexes() == ["serialNumber"]
    tend(store, days=14)
    assert store.list_indexes() == []
    assert report(store) == {}


def test_the_count_is_bounded_and_more_use_displaces_less(open_filled: MakeStore) -> None:
    store = open_filled(automatic_index_count=1)
    ask(store, BY_SERIAL)
    tend(store)
    ask(store, BY_NAME)
    tend(store)
    assert store.list_indexes() == ["serialNumber"]
    assert "AutomaticIndexCount" in report(store)["name"].hindrance
    ask(store, BY_NAME, runs=40)
    tend(store)
    assert store.list_indexes() == ["name"]


def test_the_size_is_bounded(open_filled: MakeStore) -> None:
    store = open_filled(automatic_index_bytes=1000)
    ask(store, BY_SERIAL)
    tend(store)
    assert store.list_indexes() == []
    assert "AutomaticIndexBytes" in report(store)["serialNumber"].hindrance


def test_an_index_that_takes_too_long_is_only_advised(open_filled: MakeStore) -> None:
    store = open_filled(automatic_index_pause=1e-9)
    ask(store, BY_SERIAL)
    tend(store)
    assert store.list_indexes() == []
    assert "AutomaticIndexPause" in report(store)["serialNumber"].hindrance


def test_advise_makes_nothing_and_says_what_is_wanted(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_SERIAL)
    tend(store)
    store.close()
    store = open_filled(automatic_indexes="advise")
    ask(store, BY_NAME)
    tend(store)
    assert store.list_indexes() == []
    assert report(store)["name"].origin is IndexOrigin.WANTED


def test_off_leaves_nothing_behind(open_filled: MakeStore) -> None:
    store = open_filled()
    before = read_schema(store)
    ask(store, BY_SERIAL, BY_FLAG)
    tend(store)
    assert read_schema(store) != before
    store.close()
    store = open_filled(automatic_indexes="off")
    session = store.session()
    assert session.notes is None
    store._notes = IndexNotes(pause=0.0)
    assert store.is_index_upkeep_due(session)
    session.close()
    tend(store)
    assert read_schema(store) == before
    assert report(store) == {}
    assert not plan(store)


def read_schema(store: SqliteGraphStore) -> list[Any]:
    session = store.session()
    found = session.read_all("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
    session.close()
    return found


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (BY_SERIAL, ["serialNumber"]),
        ("MATCH (d) WHERE d.load IN [1, 2] RETURN d.name AS n", ["load"]),
        (BY_NAME, []),
        (BY_FLAG, []),
        ("MATCH (d) WHERE d.load > 5 RETURN count(*) AS n", []),
    ],
)
def test_values_that_columns_look_up_get_an_index_in_large_graphs(
    open_filled: MakeStore, monkeypatch: pytest.MonkeyPatch, text: str, names: list[str]
) -> None:
    store = open_filled()
    answer_elsewhere(store, text)
    tend(store)
    assert store.list_indexes() == []
    monkeypatch.setattr(upkeep, "_MANY_ENTITIES", TWINS)
    answer_elsewhere(store, text)
    tend(store)
    assert store.list_indexes() == names


def answer_elsewhere(store: SqliteGraphStore, text: str) -> None:
    session = store.session()
    for _ in range(10):
        compile_text(text).count_answered(session)
    session.close()


def test_an_index_by_hand_takes_the_place_of_an_automatic_one(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_SERIAL)
    tend(store)
    assert store.create_index("serialNumber")
    assert store.list_indexes() == ["serialNumber"]
    ask(store, BY_SERIAL)
    tend(store)
    assert next(each.origin for each in store.report_indexes()) is IndexOrigin.COMMAND
    assert not [each for each in read_schema(store) if each[1].startswith("auto_")]
    store.drop_index("serialNumber")
    assert store.list_indexes() == []


def test_an_automatic_index_can_be_dropped_by_hand(open_filled: MakeStore) -> None:
    store = open_filled()
    ask(store, BY_SERIAL)
    tend(store)
    store.drop_index("serialNumber")
    assert store.list_indexes() == []


def test_a_rare_model_keeps_its_order_of_joins(open_filled: MakeStore) -> None:
    """SQLite takes each model for one of average size, and would begin with the property."""
    store = open_filled()
    few = "MATCH (b:Building)-[:has]->(d) WHERE d.group = 7 RETURN d.$dtId AS i"
    rows, steps = answer(store, few)
    ask(store, "MATCH (d) WHERE d.group = 7 RETURN d.$dtId AS i", few)
    tend(store)
    assert answer(store, few) == (rows, steps)


def test_the_size_of_an_index_is_estimated_from_whole_values(open_filled: MakeStore) -> None:
    store = open_filled()

    def apply(transaction: GraphTransaction) -> None:
        for number in range(0, TWINS, 4):
            transaction.put_twin(build_record(number, name=f"{number}-" + "x" * 2000))

    run_all(store, apply)
    session = store.session()
    (sample,) = read_samples(session, "twin", [Target("twin", "name")]).values()
    session.close()
    assert sample.size > TWINS / 4 * 2000
    ask(store, BY_NAME)
    tend(store)
    assert 0.5 < sample.size / report(store)["name"].size < 2


def test_a_frequent_name_keeps_its_order_of_joins(open_filled: MakeStore) -> None:
    """SQLite knows the average of all names alone, and would begin with the relationships."""
    store = open_filled()
    point = "MATCH (a)-[:has]->(b) WHERE a.$dtId = 't7' RETURN b.$dtId AS i"
    _, steps = answer(store, point)
    ask(store, "MATCH (a)-[r:rare]->(b) RETURN a.$dtId AS i", point)
    tend(store)
    assert answer(store, point)[1] <= steps
