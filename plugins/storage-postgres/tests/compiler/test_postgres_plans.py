"""The indexes that statements use, on graphs of two sizes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.postgres.graphs import Graphs
from tests.postgres.server import share_server
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.storage.base import GraphSession
from twinframe_storage_postgres.compiler.engine import PostgresQueryEngine

BY_ID, BY_MODEL = "twin_dt_id_key", "twin_model"
OUT, IN = "relationship_out", "relationship_in"
IDS = ["sensor-3", "sensor-6", "sensor-9"]


@pytest.fixture(scope="module", params=[2000, 8000])
def graph(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphSession]:
    """Sensors in rooms, ten in each."""
    rooms = request.param // 10
    twins: list[Any] = [(f"room-{i}", "dtmi:ex:Room;1", {"x": i}) for i in range(rooms)]
    twins += [(f"sensor-{i}", "dtmi:ex:Sensor;1", {"x": i}) for i in range(request.param)]
    edges: list[Any] = [
        (f"sensor-{i}", "in", f"room-{i % rooms}", {}) for i in range(request.param)
    ]
    place: Path = tmp_path_factory.mktemp("plans")
    with ExitStack() as stack:
        graphs = Graphs(place)
        stack.callback(graphs.close)
        session = stack.enter_context(graphs.open(twins, edges))
        with psycopg.connect(share_server(), autocommit=True) as connection:
            for table in ("twin", "relationship"):
                connection.execute(f"ANALYZE {session.schema}.{table}")
        yield session


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("MATCH (n {$dtId: $id}) RETURN n", {BY_ID}),
        ("MATCH (n) WHERE n.$dtId = $id RETURN n.x AS x", {BY_ID}),
        ("MATCH (n) WHERE n.$dtId IN $ids RETURN n", {BY_ID}),
        ("MATCH (n) WHERE n.$dtId STARTS WITH 'sensor-12' RETURN n.$dtId AS i", {BY_ID}),
        ("MATCH (n:Sensor) WHERE n.$dtId = $id RETURN n", {BY_ID}),
        ("MATCH (n {$dtId: $id})-[:in]->(m) RETURN m.$dtId AS i", {BY_ID, OUT}),
        ("MATCH (n {$dtId: $room})<-[:in]-(m) RETURN m.$dtId AS i", {BY_ID, IN}),
        ("MATCH (n {$dtId: $id})-[*1..2]->(m) RETURN m.$dtId AS i", {BY_ID, OUT}),
        ("MATCH (n {$dtId: $id}) WHERE EXISTS { (n)-[:in]->() } RETURN n", {BY_ID, OUT}),
        ("MATCH (n)-[r]->(m) WHERE r.$sourceId = $id RETURN m.$dtId AS i", {BY_ID, OUT}),
        ("UNWIND $rows AS r MATCH (n {$dtId: r.id}) RETURN n.x AS x", {BY_ID}),
        ("UNWIND $rows AS r MATCH (n:Sensor) WHERE r.id = n.$dtId RETURN n.x AS x", {BY_ID}),
        ("UNWIND range(1, 9) AS i MATCH (n {$dtId: 'sensor-' + i}) RETURN n.x AS x", {BY_ID}),
        (
            "UNWIND $rows AS r WITH r LIMIT 3 OPTIONAL MATCH (n {$dtId: r.id + '1'}) RETURN n",
            {BY_ID},
        ),
        ("UNWIND $rows AS r RETURN COUNT { ({$dtId: r.id + '1'}) } AS c", {BY_ID}),
        ("MATCH (n {$dtId: $id}), (m {$dtId: 'room-' + n.x}) RETURN m.x AS x", {BY_ID}),
    ],
)
def test_what_a_few_ids_lead_to_is_found_by_indexes(
    text: str, indexes: set[str], graph: GraphSession
) -> None:
    rows = [{"id": one} for one in IDS]
    parameters = {"id": "sensor-3", "ids": IDS, "room": "room-3", "rows": rows}
    query = optimize(parse_query(text, parameters=tuple(parameters)).query)
    compiled = PostgresQueryEngine().compile(query, parameters)
    with graph.snapshot():
        used = set(compiled.list_indexes(graph, parameters))
        found = list(compiled.run_json(graph, parameters))
    assert indexes <= used
    assert found
