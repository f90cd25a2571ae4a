"""Names in queries that no stored model knows: warned of with «did you mean», refused if strict."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.errors import QueryInvalid
from twinframe.settings import Settings
from twinframe.testing.factories import SENSOR, build_interface

KNOWN = [
    (
        "MATCH (r:Room {name: 'x'})-[w:watchedBy {since: 'y'}]->(s:Sensor) "
        "WHERE s.serial = w.since RETURN r.thermostat.setPoint, r.area, r.address.city, "
        "r.tags.anything, r.tags['x']"
    ),
    "MATCH (r:`dtmi:com:example:Room;1`) RETURN r.$dtId, r.$metadata.$model, r.$etag, r['name']",
    "MATCH (t:Twin:Space&!Floor|Room) RETURN t.thermostat.$metadata",
    "MATCH (m:Model)-[:_extends|_hasComponent]->(n:Model) RETURN m.displayName, n.anything",
    "WITH {odd: 1} AS t RETURN t.odd, {strange: 2}.strange",
    "MATCH (t:Room) WITH t.tags AS t RETURN t.odd",
    "MATCH (t:Room) WITH {odd: t.name} AS t, count(*) AS n RETURN t.odd",
    "MATCH p = (a:Room)-[:hasPart*1..3]->(b) RETURN [x IN nodes(p) | x.whatever], length(p)",
    "UNWIND [{odd: 1}] AS t RETURN t.odd",
    (
        "SELECT T.name, T.thermostat.setPoint FROM DIGITALTWINS T JOIN S RELATED T.hasPart R "
        "WHERE IS_OF_MODEL(T, 'dtmi:com:example:Room;1') AND R.$relationshipId = 'a'"
    ),
    "SELECT * FROM RELATIONSHIPS R WHERE R.$relationshipName = 'hasPart' AND R.since = 'x'",
]
UNKNOWN = [
    ("MATCH (r:Rooom)\nRETURN r", "UnknownLabel", 1, 10, "Room"),
    ("MATCH (r:room) RETURN r", "UnknownLabel", 1, 10, "Room"),
    ("MATCH (r:Room|Flor) RETURN r", "UnknownLabel", 1, 15, "Floor"),
    ("MATCH (r)\nWHERE r:Bilding RETURN r", "UnknownLabel", 2, 9, "Building"),
    ("MATCH (a)-[:watchdBy]->(b) RETURN a", "UnknownRelationship", 1, 13, "watchedBy"),
    ("MATCH (a)-[r]->(b) WHERE r:hasParts RETURN a", "UnknownRelationship", 1, 28, "hasPart"),
    ("MATCH (temp:Room)\nRETURN temp.temperatur", "UnknownProperty", 2, 13, "temperature"),
    ("MATCH (s {seriel: '1'}) RETURN s", "UnknownProperty", 1, 11, "serial"),
    ("MATCH (s) RETURN s['seriel']", "UnknownProperty", 1, 21, "serial"),
    ("MATCH (s) RETURN s.$dtid", "UnknownProperty", 1, 20, "$dtId"),
    ("MATCH (a)-[r {sinze: 1}]->(b) RETURN a", "UnknownProperty", 1, 15, "since"),
    ("MATCH (r) RETURN r.thermostat.setpoint", "UnknownProperty", 1, 31, "setPoint"),
    ("MATCH (r) WHERE exists { (r)-->(s:Sensr) } RETURN r", "UnknownLabel", 1, 35, "Sensor"),
    (
        "MATCH (r) CALL { MATCH (s) RETURN s.seria AS x } RETURN x",
        "UnknownProperty",
        1,
        37,
        "serial",
    ),
    ("MATCH (r) RETURN r.zzzzzzzz", "UnknownProperty", 1, 20, None),
    ("SELECT * FROM DIGITALTWINS T WHERE T.nam = 'x'", "UnknownProperty", 1, 38, "name"),
    (
        "SELECT A FROM DIGITALTWINS A JOIN B RELATED A.hasPar",
        "UnknownRelationship",
        1,
        47,
        "hasPart",
    ),
    (
        "SELECT * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:com:example:Rom;1')",
        "UnknownModel",
        1,
        52,
        "dtmi:com:example:Room;1",
    ),
]


@pytest.mark.parametrize("text", KNOWN)
def test_names_of_the_models_and_of_the_query_itself_are_no_warning(world: Any, text: str) -> None:
    assert world.do(world.graph.queries.run(text)).warnings == ()


@pytest.mark.parametrize(("text", "code", "line", "column", "suggestion"), UNKNOWN)
def test_an_unknown_name_gets_its_answer_and_a_warning(
    world: Any, text: str, code: str, line: int, column: int, suggestion: str | None
) -> None:
    for _ in range(2):  # also from the kept plan
        (warning,) = world.do(world.graph.queries.run(text)).warnings
        assert (warning.code, warning.line, warning.column) == (code, line, column)
        assert warning.suggestion == suggestion
        assert suggestion is None or f"did you mean '{suggestion}'?" in warning.message


@pytest.mark.parametrize(("text", "code", "line", "column", "suggestion"), UNKNOWN)
def test_an_unknown_name_is_refused_when_strict(
    world: Any, text: str, code: str, line: int, column: int, suggestion: str | None
) -> None:
    settings = Settings.model_validate({"Query": {"Strict": True}})
    strict = type(world)(world.store, settings)
    with pytest.raises(QueryInvalid) as caught:
        strict.do(strict.graph.queries.run(text))
    error = caught.value
    assert (error.detail, error.line, error.column) == (code, line, column)
    assert suggestion is None or suggestion in error.message
    for known in KNOWN:
        strict.do(strict.graph.queries.run(known))


def test_a_model_that_came_is_known_at_once(world: Any) -> None:
    text = "MATCH (c:Camera) RETURN c.lens"
    run = world.graph.queries.run
    assert len(world.do(run(text)).warnings) == 2
    camera: Any = [build_interface("dtmi:com:example:Camera;1", extends=[SENSOR])]
    camera[0]["contents"] = [{"@type": "Property", "name": "lens", "schema": "string"}]
    world.do(world.graph.models.create_models(camera))
    assert world.do(run(text)).warnings == ()


def test_each_name_is_warned_of_once_and_many_are_cut(world: Any) -> None:
    run = world.graph.queries.run
    twice = world.do(run("MATCH (r) WHERE r.x1 = 1 RETURN r.x1 AS a ORDER BY r.x1"))
    assert [warning.column for warning in twice.warnings] == [19]
    names = ", ".join(f"r.unknown{n}" for n in range(100))
    assert len(world.do(run(f"MATCH (r) RETURN {names}")).warnings) == 10
    long = world.do(run(f"MATCH (r) RETURN r.{'x' * 10_000} AS x")).warnings
    assert len(long[0].message) < 200


def test_only_the_first_page_has_warnings(world: Any) -> None:
    for n in range(4):
        world.put(f"s{n}", SENSOR)
    for text in ("MATCH (s) RETURN s.odd AS x", "MATCH (s) RETURN s.odd AS x ORDER BY x"):
        page = world.do(world.graph.queries.run(text, None, None, 2))
        assert len(page.warnings) == 1
        assert world.do(world.graph.queries.run(None, None, page.continuation_token)).warnings == ()
