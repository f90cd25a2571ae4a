"""Indexes on properties: made, listed, dropped, declared, moved, and used by compiled queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import psycopg
import pytest

from tests.postgres.server import build_prefix, share_server
from tests.waiting import PATIENCE, Threads
from twinframe.errors import InvalidArgument
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.storage.base import GraphTransaction, ModelRecord, TwinRecord
from twinframe.storage.indexes import IndexOrigin
from twinframe_storage_postgres.compiler.engine import PostgresQuery, PostgresQueryEngine
from twinframe_storage_postgres.settings import PostgresSettings
from twinframe_storage_postgres.store import PostgresGraphStore

MODEL = "dtmi:ex:Room;1"
VALUES: tuple[Any, ...] = (1, 2.5, "3", None, True, False, 40, 41, "", "ä", [1], {"k": 1}, 10**18)
MANY = 3000
QUESTIONS: tuple[tuple[str, Any], ...] = (
    *(("MATCH (r:Room) WHERE r.area = $value RETURN r.$dtId AS i", each) for each in VALUES),
    ("MATCH (r {area: $value}) RETURN r.$dtId AS i", 1.0),
    ("MATCH (r:Room) WHERE r.area IN $value RETURN r.$dtId AS i", ["3", 1.0, 2_000_000, None]),
    ("MATCH (r:Room) WHERE r.area > $value RETURN r.$dtId AS i", 2_990_000),
    ("MATCH (r) WHERE r.area <= $value RETURN r.$dtId AS i", 41.5),
    ("MATCH (r) WHERE r.area < $value AND r.area >= 2 RETURN r.$dtId AS i", 30),
)


def build_store(folder: Path, *indexes: str) -> PostgresGraphStore:
    settings = PostgresSettings(
        url=share_server(),  # type: ignore[arg-type]  # pydantic makes it a secret
        schema_=build_prefix(folder),
        directory=str(folder),
        indexes=indexes,
    )
    return PostgresGraphStore(settings, "g")


def fill(store: PostgresGraphStore) -> None:
    def apply(transaction: GraphTransaction) -> None:
        record = ModelRecord(MODEL, b"{}", b"{}", b"{}", (), (), "2026-01-01T00:00:00Z")
        transaction.put_models([record])
        for number in range(MANY):
            area = VALUES[number] if number < len(VALUES) else number * 1000
            body = {"$dtId": f"t{number}", "$metadata": {"$model": MODEL}, "area": area, "Area": 7}
            transaction.put_twin(TwinRecord(f"t{number}", MODEL, 'W/"1"', orjson.dumps(body)))

    (outcome,) = store.write([apply])
    assert outcome.error is None


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PostgresGraphStore]:
    store = build_store(tmp_path)
    store.open()
    with closing(store):
        fill(store)
        yield store
    store.remove(60.0)


def compile_text(text: str, parameters: dict[str, Any]) -> PostgresQuery:
    query = optimize(parse_query(text, parameters=tuple(parameters)).query)
    compiled = PostgresQueryEngine().compile(query, parameters)
    assert isinstance(compiled, PostgresQuery)
    return compiled


def ask(store: PostgresGraphStore, text: str, value: Any) -> tuple[list[str], list[str]]:
    """The ids that a query finds, and the indexes that it uses."""
    compiled = compile_text(text, {"value": value})
    with closing(store.session()) as session, session.snapshot():
        used = [*compiled.list_indexes(session, {"value": value})]
        rows = [row[0] for row in compiled.run_rows(session, {"value": value})]
    return sorted(str(row) for row in rows), used


def test_an_index_is_made_once_listed_and_dropped(store: PostgresGraphStore) -> None:
    assert store.create_index("area")
    assert not store.create_index("area")
    assert store.create_index("Area")
    assert store.list_indexes() == ["Area", "area"]
    for report in store.report_indexes():
        assert report.origin is IndexOrigin.COMMAND
        assert report.size > 0
        assert not report.hindrance
    store.drop_index("area")
    assert store.list_indexes() == ["Area"]
    with pytest.raises(InvalidArgument, match="'area' has no index"):
        store.drop_index("area")


@pytest.mark.parametrize("name", ["", "a b", "a.b", "$dtId", "1a", "a'", "ä", "a" * 600])
def test_what_is_no_name_of_a_property_is_not_indexed(name: str, store: PostgresGraphStore) -> None:
    with pytest.raises(InvalidArgument, match="is no name of a property"):
        store.create_index(name)
    assert store.list_indexes() == []


def test_queries_answer_the_same_by_the_index(store: PostgresGraphStore) -> None:
    before = [ask(store, *each) for each in QUESTIONS]
    store.create_index("area")
    after = [ask(store, *each) for each in QUESTIONS]
    assert [rows for rows, _ in after] == [rows for rows, _ in before]
    assert {"area" for _, used in before if "area" in used} == set()
    for (text, value), (_, used) in zip(QUESTIONS, after, strict=True):
        assert "area" in used or value is None or isinstance(value, dict) or value == [1], text


def test_a_long_text_is_indexed(store: PostgresGraphStore) -> None:
    store.create_index("area")
    text = "".join(str(number) for number in range(20_000))
    body = {"$dtId": "long", "$metadata": {"$model": MODEL}, "area": text}
    record = TwinRecord("long", MODEL, 'W/"1"', orjson.dumps(body))
    (outcome,) = store.write([lambda transaction: transaction.put_twin(record)])
    assert outcome.error is None
    found, used = ask(store, "MATCH (r {area: $value}) RETURN r.$dtId AS i", text)
    assert (found, used) == (["long"], ["area"])


def test_several_nodes_make_a_declared_index_once(
    tmp_path: Path, store: PostgresGraphStore
) -> None:
    others = [build_store(tmp_path, "area", "name") for _ in range(3)]
    with Threads(len(others)) as threads:
        for opening in [threads.submit(other.open) for other in others]:
            opening.result(PATIENCE)
    for other in others:
        with closing(other):
            assert other.list_indexes() == ["area", "name"]
            assert {each.origin for each in other.report_indexes()} == {IndexOrigin.DECLARED}
    assert [each.origin for each in store.report_indexes()] == [IndexOrigin.COMMAND] * 2


def test_an_index_that_was_left_half_made_is_made_again(store: PostgresGraphStore) -> None:
    store.create_index("area")
    with psycopg.connect(share_server(), autocommit=True) as connection:
        connection.execute(
            "UPDATE pg_index SET indisvalid = FALSE FROM pg_class c WHERE c.oid = indexrelid "
            "AND c.relname ~ '^property_.*_number$' AND indrelid = to_regclass(%s)",
            (f"{store.schema}.twin",),
        )
    assert store.list_indexes() == []
    assert [each.hindrance for each in store.report_indexes()] == [
        "it is not complete: create it again"
    ]
    assert store.create_index("area")
    assert store.list_indexes() == ["area"]
