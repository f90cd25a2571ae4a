"""Indexes on properties: made, listed, dropped, declared, and used by compiled queries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from twinframe.errors import InvalidArgument
from twinframe.query.language import parse_query
from twinframe.storage.base import GraphTransaction, ModelRecord, TwinRecord
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

MODEL = "dtmi:ex:Room;1"


def build_store(folder: Path, *indexes: str) -> SqliteGraphStore:
    settings = SqliteSettings(directory=str(folder), durability="relaxed", indexes=indexes)
    store = SqliteGraphStore(settings, "default")
    store.open()
    return store


def fill(store: SqliteGraphStore) -> None:
    def apply(transaction: GraphTransaction) -> None:
        record = ModelRecord(MODEL, b"{}", b"{}", b"{}", (), (), "2026-01-01T00:00:00Z")
        transaction.put_models([record])
        for number, area in enumerate((1, 2.5, "3", None, True, 40, 41)):
            body = {"$dtId": f"t{number}", "$metadata": {"$model": MODEL}, "area": area, "Area": 7}
            record_of = TwinRecord(f"t{number}", MODEL, 'W/"1"', orjson.dumps(body))
            transaction.put_twin(record_of)

    (outcome,) = store.write([apply])
    assert outcome.error is None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteGraphStore]:
    opened = build_store(tmp_path)
    fill(opened)
    yield opened
    opened.close()


def compile_text(text: str, parameters: dict[str, Any]) -> SqliteQuery:
    query = parse_query(text, parameters=parameters.keys()).query
    compiled = SqliteQueryEngine().compile(query, parameters)
    assert isinstance(compiled, SqliteQuery)
    return compiled


def test_an_index_is_made_once_listed_and_dropped(store: SqliteGraphStore) -> None:
    assert store.create_index("area")
    assert not store.create_index("area")
    assert store.create_index("Area")
    assert store.list_indexes() == ["Area", "area"]
    store.drop_index("area")
    assert store.list_indexes() == ["Area"]


def test_dropping_what_is_not_indexed_names_the_nearest(store: SqliteGraphStore) -> None:
    store.create_index("area")
    with pytest.raises(InvalidArgument, match="Did you mean 'area'"):
        store.drop_index("areas")


@pytest.mark.parametrize("name", ["", "a.b", "a-b", "1a", "a')--", "ä", "$dtId", "a" * 600])
def test_what_is_no_name_of_a_property_is_refused(store: SqliteGraphStore, name: str) -> None:
    with pytest.raises(InvalidArgument, match="is no name of a property"):
        store.create_index(name)
    assert store.list_indexes() == []
    with pytest.raises(ValidationError, match="indexes"):
        SqliteSettings(indexes=(name,))


def test_declared_indexes_are_made_at_the_start_and_stay(tmp_path: Path) -> None:
    build_store(tmp_path, "area").close()
    opened = build_store(tmp_path, "area", "name")
    assert opened.list_indexes() == ["area", "name"]
    opened.close()
    opened = build_store(tmp_path)
    assert opened.list_indexes() == ["area", "name"]
    opened.close()


@pytest.mark.parametrize(
    ("text", "parameters", "ids"),
    [
        ("MATCH (t {area: $v}) RETURN t.$dtId AS i", {"v": 2.5}, ["t1"]),
        ("MATCH (t) WHERE t.area = '3' RETURN t.$dtId AS i", {}, ["t2"]),
        ("MATCH (t) WHERE t.area IN $l RETURN t.$dtId AS i", {"l": [1, 41]}, ["t0", "t6"]),
        ("MATCH (t) WHERE t.area = true RETURN t.$dtId AS i", {}, ["t4"]),
        ("MATCH (t) WHERE t.area > 2 RETURN t.$dtId AS i ORDER BY t.area", {}, ["t1", "t5", "t6"]),
    ],
)
def test_a_query_answers_the_same_with_and_without_an_index(
    store: SqliteGraphStore, text: str, parameters: dict[str, Any], ids: list[str]
) -> None:
    compiled = compile_text(text, parameters)
    session = store.session()
    before = sorted(compiled.run_rows(session, parameters))
    store.create_index("area")
    assert sorted(compiled.run_rows(session, parameters)) == before == [(each,) for each in ids]
    session.close()


def test_queries_use_the_index_and_say_so(store: SqliteGraphStore) -> None:
    session = store.session()
    compiled = compile_text("MATCH (t) WHERE t.area = $v RETURN t.$dtId AS i", {"v": 1})
    assert compiled.list_indexes(session, {"v": 1}) == []
    store.create_index("area")
    assert compiled.list_indexes(session, {"v": 1}) == ["area"]
    ordered = compile_text("MATCH (t) WHERE t.area > 1 RETURN t ORDER BY t.area LIMIT 2", {})
    assert ordered.list_indexes(session, {}) == ["area"]
    session.close()


def test_a_point_read_names_the_index_of_the_store(store: SqliteGraphStore) -> None:
    session = store.session()
    compiled = compile_text("MATCH (t {$dtId: 't1'})-[:x]->(u) RETURN u", {})
    assert "relationship_out" in compiled.list_indexes(session, {})
    session.close()
