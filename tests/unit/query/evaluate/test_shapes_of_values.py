"""Patterns as values and map projections, over the building."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.evaluate.graphs import build_building
from twinframe.errors import QueryInvalid
from twinframe.model.values import Path
from twinframe.query.evaluate.engine import run
from twinframe.query.language import parse_query

ROOM = "MATCH (r {$dtId: 'r1'}) "


def ask(text: str) -> list[Any]:
    """The first column of the result."""
    return [row[0] for row in run(parse_query(text).query, build_building(), {})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("size((r)-->())", 3),
        ("size((r)-[:door]-())", 2),
        ("size((r)-[:door*1..2]->())", 2),
        ("size((r)-[:nope]->())", 0),
        ("size((r)-->(:Sensor)) + 1", 3),
        ("size((r)-->({value: 21.5}))", 1),
        ("size((:Floor)-->())", 3),
        ("[p IN (r)-[:has]->() | length(p)]", [1, 1]),
        ("[p IN (r)-[:has]->() | nodes(p)[1].$dtId]", ["s1", "s2"]),
        ("nodes(head((r)-[:door]->()))[1].$dtId", "r2"),
        ("isEmpty((r)-[:nope]->())", True),
        ("size((r)-[:has]->() + [1])", 3),
        ("[(r)-[:nope]->(), 1]", [[], 1]),
        ("[(r)-[:nope]->()]", [[]]),
        ("[(r)-[:has]->(s) | s.value]", [21.5, True]),
        ("NOT (r)-[:nope]->()", True),
        ("(r)-->() AND (r)-[:nope]->()", False),
        ("(r)-->() = true", True),
        ("(r)-->() IN [true]", True),
        ("(r)-[:nope]->() IS NULL", False),
        ("CASE WHEN (r)-[:nope]->() THEN 1 ELSE 2 END", 2),
        ("CASE (r)-->() WHEN true THEN 'some' END", "some"),
        ("any(x IN [1] WHERE (r)-[:nope]->())", False),
        ("exists((r)-->())", True),
    ],
)
def test_a_pattern_is_a_truth_value_in_conditions_and_else_the_list_of_its_paths(
    text: str, expected: object
) -> None:
    (found,) = ask(f"{ROOM}RETURN {text} AS v")
    assert found == expected
    assert type(found) is type(expected)


def test_the_paths_of_a_pattern_are_unwound() -> None:
    found = ask(f"{ROOM}UNWIND (r)-[:has]->() AS p RETURN p")
    assert [type(path) for path in found] == [Path, Path]
    assert [path.nodes[-1].id for path in found] == ["s1", "s2"]


def test_a_pattern_is_counted_where_it_filters_and_orders() -> None:
    text = "MATCH (n) WHERE size((n)-->()) > 1 RETURN n.$dtId ORDER BY size((n)-->()) DESC, n.$dtId"
    assert ask(text) == ["floor", "r1", "r2"]


def test_a_pattern_at_null_has_no_match_and_no_path() -> None:
    text = "OPTIONAL MATCH (n:Nope) RETURN [size((n)-->()), size([p IN (n)-->() | p])]"
    assert ask(text) == [[0, 0]]


LOBBY = {"name": "Lobby", "area": 20, "tags": ["a", "b"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r {}", {}),
        ("r {.name}", {"name": "Lobby"}),
        ("r {.name, .nope}", {"name": "Lobby", "nope": None}),
        ("r {.*}", LOBBY),
        ("r {.*}", "properties(r)"),
        ("r {.$dtId, .`area`}", {"$dtId": "r1", "area": 20}),
        ("r {`$dtId`: r.$dtId, n: 1 + 1}", {"$dtId": "r1", "n": 2}),
        ("r {.*, area: 1}", {**LOBBY, "area": 1}),
        ("r {area: 1, .*}", {**LOBBY, "area": 1}),
        ("r {.*, name: null}", {**LOBBY, "name": None}),
        ("r {.area, area: 2, area: 3}", {"area": 3}),
        ("r {one}", {"one": 1}),
        ("r {.name, sensors: [(r)-[:has]->(s) | s {.value}]}",
         {"name": "Lobby", "sensors": [{"value": 21.5}, {"value": True}]}),
        ("r {doors: size((r)-[:door]-())}", {"doors": 2}),
        ("r {.name}.name", "Lobby"),
        ("m {.a, b: m.a}", {"a": 5, "b": 5}),
        ("m {.*, c: 1}", {"a": 5, "$x": 6, "c": 1}),
        ("none {.name}", None),
        ("none {.*, a: 1}", None),
        ("none {}", None),
    ],
)  # fmt: skip
def test_a_map_projection_is_a_map_of_what_it_names(text: str, expected: object) -> None:
    given = f"{ROOM}WITH r, 1 AS one, {{a: 5, `$x`: 6}} AS m, null AS none "
    (found,) = ask(f"{given}RETURN {text} AS v")
    if isinstance(expected, str) and expected.endswith(")"):
        expected = ask(f"{given}RETURN {expected} AS v")[0]
    assert found == expected


def test_a_relationship_is_projected_without_its_system_members_unless_they_are_named() -> None:
    text = "MATCH ({$dtId: 'r2'})-[d:door]->() RETURN d {.*, .$targetId}"
    assert ask(text) == [{"width": 2, "$targetId": "r3"}]


def test_a_map_projection_stands_around_aggregates_of_its_group() -> None:
    text = f"{ROOM}MATCH (r)-[:has]->(s) RETURN r {{.name, ids: collect(s.$dtId)}} AS m, r"
    assert ask(text) == [{"name": "Lobby", "ids": ["s1", "s2"]}]


@pytest.mark.parametrize("value", ["1", "'a'", "[1]", "true"])
def test_a_map_projection_of_what_has_no_members_is_an_error(value: str) -> None:
    with pytest.raises(QueryInvalid, match="A map projection takes a Node, Relationship or Map"):
        ask(f"UNWIND [{value}, {{}}] AS x RETURN x {{a: 1}}")
