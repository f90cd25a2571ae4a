"""ORDER BY a stored time: the store's engine and the evaluator give the same rows in one order."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.graph.conftest import find_engine
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph import Graph
from twinframe.graph.context.model_cache import ModelCache
from twinframe.graph.queries.temporal_members import TypingCache
from twinframe.query.evaluate.member_typing import MemberTyping
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split
from twinframe.storage.base import GraphTransaction, ModelRecord, TwinRecord
from twinframe.testing.factories import build_interface

SCHEMAS = {"Moment": "dateTime", "Day": "date", "Clock": "time", "Word": "string", "Size": "double"}
STORED = {
    "Moment": [
        *("2024-03-01T12:00:00Z", "2024-03-01T13:00:00+01:00", "2024-03-01T11:59:59.999999999Z"),
        *("2024-03-01T12:00:00.10Z", "2024-03-01T12:00:00.1Z", "1969-12-31T23:59:59.5-08:00"),
        *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2024-03-01T12:00:00", None, 5, True),
        "2024-02-29T00:00:00+05:45",
    ],
    "Day": ["2024-02-29", "1969-12-31", "0000-01-01", "2024-03-01", None, 7.5],
    "Clock": ["00:30:00+01:00", "23:30:00Z", "08:00:00", "08:00:00.25-03:30", None, False],
    "Word": ["2024-03-01T12:00:00Z", "2024-02-29", "a", "", None],
    "Size": [1.0, -2.5, None],
}
OTHER_FORMS = [
    ("Moment", "20240301T120000Z"),
    ("Moment", "2024-03-01T12:00:00[Europe/Berlin]"),
    ("Moment", "2024-02-30T12:00:00Z"),
    ("Moment", "soon"),
    ("Day", "2024-W10-2"),
    ("Clock", "8"),
    ("Moment", {"a": 1}),
    ("Moment", ["2024-03-01T12:00:00Z"]),
]
QUERIES = [
    "MATCH (t) RETURN t.`$dtId` AS x ORDER BY t.at, t.`$dtId`",
    "MATCH (t) RETURN t.`$dtId` AS x ORDER BY t.at DESC, t.`$dtId` LIMIT 9",
    "MATCH (t) RETURN t.at AS at, t.`$dtId` AS x ORDER BY at DESC, x SKIP 3",
    "MATCH (t) RETURN t.at AS t, t.`$dtId` AS x ORDER BY x",
    "MATCH (t:Moment) WHERE t.at > '2' RETURN t.`$dtId` AS x ORDER BY t.at, x DESC",
    "MATCH (t) WITH t ORDER BY t.at, t.`$dtId` LIMIT 11 RETURN t.`$dtId` AS x",
    "MATCH (t) OPTIONAL MATCH (t)-[:none]->(m) RETURN t.`$dtId` AS x ORDER BY m.at, t.at, x",
]


def build_id(name: str) -> str:
    return f"dtmi:com:example:{name};1"


def put_raw(world: Any, twin_id: str, name: str, value: Any) -> None:
    """Store a twin as it may stand in a store: nothing judges it."""
    document = {"$dtId": twin_id, "$etag": "x", "$metadata": {"$model": build_id(name)}}
    record = TwinRecord(twin_id, build_id(name), "x", orjson.dumps(document | {"at": value}))

    def apply(transaction: GraphTransaction) -> None:
        transaction.put_twin(record)

    (outcome,) = world.store.write([apply])
    assert outcome.error is None


@pytest.fixture
def times(empty: Any) -> Any:
    """Twins of models that declare `at` in many ways, of one that extends another, and of none."""
    models: list[Any] = []
    for name, schema in SCHEMAS.items():
        model: Any = build_interface(build_id(name))
        model["contents"] = [{"@type": "Property", "name": "at", "schema": schema}]
        models.append(model)
    for name, base in (("Later", "Moment"), ("Lost", "Moment")):
        model = build_interface(build_id(name))
        model["extends"] = build_id(base)
        models.append(model)
    empty.do(empty.graph.models.create_models(models))
    for name, values in {**STORED, "Later": STORED["Moment"], "Lost": STORED["Moment"]}.items():
        for number, value in enumerate(values):
            put_raw(empty, f"{name}-{number}", name, value)
    empty.do(empty.graph.models.delete_model(build_id("Lost")))
    return empty


def ask(world: Any, text: str, engine: Any) -> list[Any]:
    graph = Graph(InlineRunner(world.store), world.settings, engine=engine)
    page = world.do(graph.queries.run(text))
    return [orjson.loads(row) for row in page.rows]


@pytest.mark.parametrize("text", QUERIES)
def test_the_engine_orders_stored_times_as_the_evaluator_does(times: Any, text: str) -> None:
    found = ask(times, text, find_engine(times.store))
    assert found == ask(times, text, None)
    assert found


@pytest.mark.parametrize("text", QUERIES)
def test_the_store_runs_the_whole_query(times: Any, text: str) -> None:
    engine = find_engine(times.store)
    if engine is None or engine.name not in {"sqlite", "postgres"}:
        pytest.skip("the engines of SQLite and PostgreSQL alone order stored times")
    typing = read_typing(times)
    assert split(optimize(parse_query(text).query), engine, {}, typing).is_whole


@pytest.mark.parametrize(("name", "value"), OTHER_FORMS)
def test_another_form_is_ordered_all_the_same(times: Any, name: str, value: Any) -> None:
    put_raw(times, "other", name, value)
    for text in QUERIES[:3]:
        assert ask(times, text, find_engine(times.store)) == ask(times, text, None)


def test_a_member_that_an_interface_within_another_declares_is_left_to_the_evaluator(
    empty: Any,
) -> None:
    contents = [{"@type": "Property", "name": "at", "schema": "dateTime"}]
    inner = {"@id": build_id("Inner"), "@type": "Interface", "contents": contents}
    put_models(empty, {"Plain": contents})
    assert read_typing(empty).declared == {"at": {"dateTime": [build_id("Plain")]}}
    part = {"@type": "Component", "name": "part", "schema": inner}
    put_models(empty, {"Outer": [part]})
    assert read_typing(empty).names == {"at", "part"}
    assert not read_typing(empty).declared


def put_models(world: Any, models: dict[str, Any]) -> None:
    """Store models as those of earlier releases may stand in a store: nothing judges them."""
    records = []
    for name, contents in models.items():
        document = {"@id": build_id(name), "@type": "Interface", "contents": contents}
        time = "2026-01-01T00:00:00.0000000Z"
        body = orjson.dumps(document)
        records.append(ModelRecord(build_id(name), body, b"{}", b"{}", (), (), time))

    def apply(transaction: GraphTransaction) -> None:
        transaction.put_models(records)

    (outcome,) = world.store.write([apply])
    assert outcome.error is None


def read_typing(world: Any) -> MemberTyping:
    session = world.store.session()
    try:
        typing = TypingCache(ModelCache()).open(session, session.read_schema_version())
    finally:
        session.close()
    assert typing is not None
    return typing
