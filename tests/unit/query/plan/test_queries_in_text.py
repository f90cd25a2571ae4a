"""Query texts of both languages from the front end to rows of JSON, with and without the rules."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from tests.unit.query.plan.test_splitting import open_session
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.plan.split import split

PARAMETERS: dict[str, Any] = {"id": "r1", "ids": ["r1", "s2", None], "least": 15}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "MATCH (r:Room) WHERE r.area > $least RETURN r.name AS name ORDER BY r.area DESC",
            [{"name": "Office"}, {"name": "Lobby"}],
        ),
        ("MATCH (n) WHERE n.`$dtId` IN $ids RETURN n.`$dtId` AS id", [{"id": "r1"}, {"id": "s2"}]),
        (
            "MATCH (:Floor)-[:contains]->(r)-[:has]->(s) RETURN r.name, count(s) AS sensors",
            [{"r.name": "Lobby", "sensors": 2}],
        ),
        (
            (
                "MATCH (r:Room) OPTIONAL MATCH (r)-[:has]->(s) WITH r, count(s) AS n "
                "WHERE n = 0 RETURN collect(r.name) AS names"
            ),
            [{"names": ["Kitchen", "Office"]}],
        ),
        (
            "MATCH (a {`$dtId`: $id})-[:door*1..2]->(b) RETURN b.`$dtId` AS id",
            [{"id": "r2"}, {"id": "r3"}],
        ),
        (
            (
                "MATCH p = shortestPath((s {`$dtId`: 's1'})-[*]-(r {`$dtId`: 'r3'})) "
                "RETURN [n IN nodes(p) | n.`$dtId`] AS way"
            ),
            [{"way": ["s1", "r1", "r3"]}],
        ),
        (
            (
                "MATCH (r:Room) WHERE (r)-[:has]->() AND NOT r:Sensor "
                "RETURN r.name, [(r)-[:has]->(s) | s.value] AS read"
            ),
            [{"r.name": "Lobby", "read": [21.5, True]}],
        ),
        (
            (
                "MATCH (r:Room {name: 'Lobby'}) RETURN r.area AS x "
                "UNION MATCH (s:Sensor) WHERE digitaltwins.is_of_model(s, 'dtmi:t:Sensor;1') "
                "RETURN s.value AS x"
            ),
            [{"x": 20}, {"x": 21.5}, {"x": True}],
        ),
        ("UNWIND range(1, 6) AS i WITH i SKIP 1 LIMIT 3 RETURN sum(i) AS total", [{"total": 9}]),
        (
            "MATCH ()-[d:door]->() RETURN d.width AS width, count(*) AS n",
            [{"width": 1, "n": 2}, {"width": 2, "n": 1}],
        ),
        ("MATCH (n {none: 1}) RETURN count(n) AS n, max(n.area) AS most", [{"n": 0, "most": None}]),
        (
            "RETURN 0.0 / 0.0 AS nan, 9223372036854775807 AS most",
            [{"nan": "NaN", "most": 2**63 - 1}],
        ),
        (
            "SELECT T.name, T.none FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:t:Floor;1')",
            [{"name": "Ground"}],
        ),
        (
            "SELECT * FROM RELATIONSHIPS WHERE $relationshipName = 'mirror'",
            [
                {
                    "$relationshipId": "loop",
                    "$sourceId": "r2",
                    "$targetId": "r2",
                    "$relationshipName": "mirror",
                }
            ],
        ),
        (
            "SELECT B.$dtId FROM DIGITALTWINS A JOIN B RELATED A.has WHERE A.$dtId = 'r1'",
            [{"$dtId": "s1"}, {"$dtId": "s2"}],
        ),
        (
            (
                "SELECT door.width, B.$dtId FROM DIGITALTWINS A JOIN B RELATED A.door "
                "WHERE A.$dtId = 'r1' AND door.width = 1"
            ),
            [{"width": 1, "$dtId": "r2"}],
        ),
        ("SELECT COUNT() FROM DIGITALTWINS WHERE IS_NUMBER(value)", [{"COUNT": 1}]),
    ],
)
@pytest.mark.parametrize("optimized", [False, True])
def test_a_text_gives_its_rows(text: str, expected: list[Any], optimized: bool) -> None:
    query = parse_query(text, parameters=PARAMETERS).query
    execution = split(optimize(query) if optimized else query, None, PARAMETERS)
    found = execution.run_json(open_session(), PARAMETERS, Limits(max_rows=1000, max_hops=32))
    rows = [orjson.loads(body) for body, _ in found]
    if "ORDER BY" not in text:
        rows.sort(key=repr)
        expected = sorted(expected, key=repr)
    assert rows == expected
