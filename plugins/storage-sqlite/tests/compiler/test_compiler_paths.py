"""Questions by id: the index that a statement uses, and what it costs as the graph grows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from twinframe.errors import InvalidContinuationToken
from twinframe.model.values import Value
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine
from twinframe_storage_sqlite.session import SqliteSession

MakeGraph = Callable[..., SqliteSession]

BY_ID = "sqlite_autoindex_twin_1"
BY_MODEL = "twin_model"
IDS: list[Value] = [f"sensor-{number}" for number in range(0, 60, 3)]
TWO = "['sensor-3', 'sensor-6']"
FEW = "n.$dtId STARTS WITH 'sensor-12'"


def _build_graph(make_graph: MakeGraph, twins: int) -> SqliteSession:
    """Two thirds are sensors, each in a room; one twin in 100 is a building."""
    rooms, buildings = twins // 3, twins // 100
    sensors = twins - rooms - buildings
    rows: list[tuple[Any, ...]] = [
        (f"{name}-{number}", f"dtmi:ex:{label};1", {"x": number})
        for name, label, count in (
            ("building", "Space", buildings),
            ("room", "Room", rooms),
            ("sensor", "Sensor", sensors),
        )
        for number in range(count)
    ]
    return make_graph(
        rows, [(f"sensor-{number}", "in", f"room-{number % rooms}") for number in range(sensors)]
    )


@pytest.fixture(scope="module")
def graphs(make_graph: MakeGraph) -> tuple[SqliteSession, SqliteSession]:
    """The same graph in two sizes."""
    return _build_graph(make_graph, 300), _build_graph(make_graph, 3000)


def _compile(text: str, parameters: dict[str, Value]) -> SqliteQuery:
    query = parse_query(text, parameters=parameters).query
    compiled = SqliteQueryEngine().compile(optimize(query), parameters)
    assert isinstance(compiled, SqliteQuery)
    return compiled


def _list_used(
    graph: SqliteSession, compiled: SqliteQuery, parameters: dict[str, Value] | None = None
) -> list[str]:
    """List those indexes of twins that a page uses."""
    used = compiled.list_indexes(graph, parameters or {})
    return [each for each in used if each in (BY_ID, BY_MODEL)]


def _count_steps(
    graph: SqliteSession, compiled: SqliteQuery, parameters: dict[str, Value]
) -> tuple[int, int]:
    """Return the steps of SQLite for a page, and its rows."""
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    graph.connection.set_progress_handler(count, 1)
    try:
        rows = len(list(compiled.run_json(graph, parameters, limit=1000)))
    finally:
        graph.connection.set_progress_handler(None)
    return steps, rows


# --- ids and lists of ids -------------------------------------------------------------------------

EXACT = [
    "MATCH (n:Sensor) WHERE n.$dtId = 'sensor-3' RETURN n",
    "MATCH (n:Sensor {$dtId: $one}) RETURN n.x",
    "MATCH (n:Sensor) WHERE $one = n.$dtId RETURN count(n)",
    "MATCH (n) WHERE n.$dtId = 'sensor-3' OR n.$dtId = $one RETURN n",
    "MATCH (n:Sensor) WHERE n.$dtId = 'sensor-3' OR n.$dtId = $one RETURN n",
    "MATCH (n) WHERE n.$dtId IN $ids RETURN n.x",
    "MATCH (n:Sensor) WHERE n.$dtId IN $ids RETURN n.x",
    "MATCH (n:Sensor) WHERE n.$dtId IN $ids RETURN avg(n.x)",
    "MATCH (n:Sensor) WHERE n.$dtId IN $ids AND n.x > 3 RETURN n.x ORDER BY n.x",
    f"MATCH (n:Sensor) WHERE n.$dtId IN {TWO} RETURN n.x",
    f"MATCH (n:Sensor|Room) WHERE n.$dtId IN {TWO} RETURN n.x SKIP 1 LIMIT 5",
    f"MATCH (n) WHERE n.$dtId IN {TWO} AND n.$metadata.$model = 'dtmi:ex:Sensor;1' RETURN n.x",
    "MATCH (n:Sensor) WITH n, n.$dtId AS i WHERE i IN $ids RETURN i",
    "MATCH (n:Sensor) WHERE n.$dtId IN $mixed RETURN n.x",
    "UNWIND $ids AS i MATCH (n:Sensor) WHERE n.$dtId = i RETURN n.x",
    "MATCH (n:Sensor)-[:in]->(m:Room) WHERE n.$dtId IN $ids RETURN m.$dtId",
    "MATCH (n:Room)<-[:in]-(m:Sensor) WHERE m.$dtId IN $ids RETURN count(n)",
    (
        f"MATCH (n:Room {{$dtId: 'room-0'}}) WHERE EXISTS"
        f" {{ MATCH (m:Sensor) WHERE m.$dtId IN {TWO} }} RETURN n"
    ),
    (
        "MATCH (n:Room {$dtId: 'room-0'}) OPTIONAL MATCH (m:Sensor) WHERE m.$dtId IN $ids"
        " RETURN count(m)"
    ),
    "MATCH ()-[r]->() WHERE r.$sourceId IN $ids RETURN r.$relationshipId",
    "MATCH ()-[r:in]->() WHERE r.$sourceId = $one RETURN r.$relationshipId",
    f"SELECT T FROM DIGITALTWINS T WHERE T.$dtId IN {TWO}",
    f"SELECT T.x FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:ex:Sensor;1') AND T.$dtId IN {TWO}",
    (
        "SELECT COUNT() FROM DIGITALTWINS T WHERE IS_OF_MODEL('dtmi:ex:Sensor;1')"
        " AND T.$dtId = 'sensor-3'"
    ),
]


@pytest.mark.parametrize("text", EXACT)
def test_a_question_by_ids_costs_the_same_in_a_graph_of_any_size(
    text: str, graphs: tuple[SqliteSession, SqliteSession]
) -> None:
    parameters: dict[str, Value] = {"ids": IDS, "one": "sensor-9", "mixed": [*IDS, 3, None]}
    compiled = _compile(text, parameters)
    costs = [_count_steps(graph, compiled, parameters) for graph in graphs]
    assert costs[0][1] == costs[1][1] > 0
    assert costs[1][0] < 1.2 * costs[0][0]
    assert _list_used(graphs[1], compiled, parameters) == [BY_ID]


# --- ranges of ids --------------------------------------------------------------------------------

NARROW = [
    f"MATCH (n:Sensor) WHERE {FEW} RETURN count(n)",
    "MATCH (n:Sensor) WHERE n.$dtId STARTS WITH $prefix RETURN avg(n.x)",
    f"MATCH (n:Sensor) WHERE {FEW} RETURN n.x",
    f"MATCH (n:Sensor) WHERE {FEW} OR n.$dtId STARTS WITH 'sensor-3' RETURN count(n)",
    f"MATCH (n:Sensor) WHERE {FEW} AND n.x > 3 RETURN n.x ORDER BY n.x",
    "MATCH (n:Sensor) WHERE n.$dtId >= 'sensor-12' AND n.$dtId < 'sensor-13' RETURN count(n)",
    "MATCH (n:Sensor) WHERE 'sensor-8' < n.$dtId RETURN n.x",
    "MATCH (n) WHERE n.$dtId >= 'sensor-12' AND n.$dtId < 'sensor-13' RETURN n.x",
    f"MATCH (n:Sensor) WITH n WHERE {FEW} RETURN count(n)",
    f"MATCH (n:Sensor)-[:in]->(m:Room) WHERE {FEW} RETURN count(m)",
    f"MATCH (m:Room)<-[:in]-(n:Sensor) WHERE {FEW} RETURN m.$dtId",
    f"MATCH (n)-[:in]->(m) WHERE {FEW} RETURN m.$dtId",
    (
        f"MATCH (m:Room {{$dtId: 'room-0'}}) WHERE COUNT {{ MATCH (n:Sensor) WHERE {FEW} }} > 3"
        " RETURN m.x"
    ),
    f"MATCH (m:Room {{$dtId: 'room-0'}}) OPTIONAL MATCH (n:Sensor) WHERE {FEW} RETURN count(n)",
    (
        "SELECT COUNT() FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:ex:Sensor;1')"
        " AND STARTSWITH(T.$dtId, 'sensor-12')"
    ),
    "SELECT T.$dtId FROM DIGITALTWINS T WHERE STARTSWITH(T.$dtId, 'sensor-12')",
]


@pytest.mark.parametrize("text", NARROW)
def test_a_narrow_range_of_ids_is_read_by_the_index_of_ids(
    text: str, graphs: tuple[SqliteSession, SqliteSession]
) -> None:
    parameters: dict[str, Value] = {"prefix": "sensor-19"}
    assert _list_used(graphs[1], _compile(text, parameters), parameters) == [BY_ID]


WIDE = [
    "MATCH (n:Space) WHERE n.$dtId >= 'b' AND n:Twin AND NOT n:Room RETURN count(n)",
    "MATCH (n:Room) WHERE n.$dtId >= 'a' RETURN count(n)",
    "MATCH (n:Room) WHERE n.$dtId STARTS WITH 'r' RETURN avg(n.x)",
    "MATCH (n:Room) WHERE n.$dtId < 'z' RETURN n.x ORDER BY n.x",
]


@pytest.mark.parametrize("text", WIDE)
def test_a_wide_range_of_ids_leaves_the_index_of_models(
    text: str, graphs: tuple[SqliteSession, SqliteSession]
) -> None:
    assert _list_used(graphs[1], _compile(text, {})) == [BY_MODEL]


def test_the_choice_is_made_for_each_run(graphs: tuple[SqliteSession, SqliteSession]) -> None:
    compiled = _compile("MATCH (n:Room) WHERE n.$dtId STARTS WITH $p RETURN count(n)", {"p": ""})
    assert _list_used(graphs[1], compiled, {"p": "room-10"}) == [BY_ID]
    assert _list_used(graphs[1], compiled, {"p": "room"}) == [BY_MODEL]
    assert [body for body, _ in compiled.run_json(graphs[1], {"p": "room-99"})] == [
        b'{"count(n)":11}'
    ]


def test_ids_beside_another_condition_are_no_range(
    graphs: tuple[SqliteSession, SqliteSession],
) -> None:
    text = f"MATCH (n:Sensor) WHERE {FEW} OR n.x = 3 RETURN count(n)"
    assert _list_used(graphs[1], _compile(text, {})) == [BY_MODEL]


def test_twins_that_no_relationship_joins_keep_their_own_index(
    graphs: tuple[SqliteSession, SqliteSession],
) -> None:
    text = f"MATCH (n:Sensor), (m:Space) WHERE {FEW} AND m.x < 2 RETURN count(*)"
    assert _list_used(graphs[1], _compile(text, {})) == [BY_ID, BY_MODEL]


@pytest.mark.parametrize("name", ["\0n1\0", "n1.model IN (", "n1.dt_id >= :c0"])
def test_a_name_that_looks_like_a_condition_is_only_a_name(
    name: str, graphs: tuple[SqliteSession, SqliteSession]
) -> None:
    text = f"MATCH (n:Sensor) WHERE {FEW} AND n.`{name}` IS NULL RETURN count(n)"
    rows = [body for body, _ in _compile(text, {}).run_json(graphs[1], {})]
    plain = _compile(f"MATCH (n:Sensor) WHERE {FEW} RETURN count(n)", {})
    assert rows == [body for body, _ in plain.run_json(graphs[1], {})]


# --- pages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", ["", ":Sensor", ":Room", ":Space"])
@pytest.mark.parametrize("limit", [1, 7, 400])
def test_pages_of_a_range_of_ids_have_each_row_once(
    label: str, limit: int, graphs: tuple[SqliteSession, SqliteSession]
) -> None:
    graph = graphs[0]
    compiled = _compile(f"MATCH (n{label}) WHERE n.$dtId >= 'room-2' RETURN n.$dtId", {})
    assert compiled.resumable
    found: list[int | str | None] = []
    while page := list(compiled.run_json(graph, {}, after=(found or [None])[-1], limit=limit)):
        found += [key for _, key in page]
    evaluated = _compile(f"MATCH (n{label}) RETURN n.$dtId", {})
    wanted = [body for body, _ in evaluated.run_json(graph, {}) if body >= b'{"n.$dtId":"room-2']
    assert [f'{{"n.$dtId":"{key}"}}'.encode() for key in found] == sorted(wanted)


def test_a_key_of_another_kind_is_refused(graphs: tuple[SqliteSession, SqliteSession]) -> None:
    by_id = _compile("MATCH (n) WHERE n.$dtId >= 'room-2' RETURN n", {})
    by_row = _compile("MATCH (n) RETURN n", {})
    for compiled, key in ((by_id, 7), (by_row, "room-7")):
        with pytest.raises(InvalidContinuationToken):
            list(compiled.run_json(graphs[0], {}, after=key, limit=1))
