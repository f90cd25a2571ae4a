"""What tools of Neo4j are told of a graph's schema, with models and without, over each storage."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.graph.conftest import World
from twinframe.errors import InvalidArgument
from twinframe.model.rendering import build_json
from twinframe.settings import GraphSettings, Settings


def build_model(name: str, contents: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    context = "dtmi:dtdl:context;3"
    base = {"@context": context, "@id": f"dtmi:plant:{name};1", "@type": "Interface"}
    return {**base, "contents": contents, **more}


def build_property(name: str, schema: Any) -> dict[str, Any]:
    return {"@type": "Property", "name": name, "schema": schema}


MODELS: Any = [
    build_model(
        "Asset",
        [
            build_property("built", "date"),
            build_property("mode", "dtmi:plant:Mode;1"),
            {
                "@type": "Relationship",
                "name": "feeds",
                "target": "dtmi:plant:Pump;1",
                "properties": [build_property("share", "double")],
            },
            {"@type": "Relationship", "name": "near"},
        ],
        schemas=[
            {
                "@id": "dtmi:plant:Mode;1",
                "@type": "Enum",
                "valueSchema": "integer",
                "enumValues": [{"name": "off", "enumValue": 0}],
            }
        ],
    ),
    build_model(
        "Pump",
        [
            build_property("tags", {"@type": "Array", "elementSchema": "string"}),
            build_property("at", "dateTime"),
            {"@type": "Component", "name": "drive", "schema": "dtmi:plant:Drive;1"},
        ],
        extends="dtmi:plant:Asset;1",
    ),
    build_model("Drive", [build_property("hours", "long")]),
    build_model("Valve", [], extends=["dtmi:plant:Asset;1"]),
]


def ask(world: World, text: str, **parameters: Any) -> list[list[Any]]:
    statements = world.graph.statements
    found = asyncio.run(statements.run(statements.prepare(text, parameters)))
    return [[build_json(one) for one in row] for row in found.rows]


@pytest.fixture
def plant(empty: World) -> World:
    """A pump, whose model extends another; no valve."""
    empty.do(empty.graph.models.create_models(MODELS))
    empty.put("p", "dtmi:plant:Pump;1", drive={"$metadata": {}})
    return empty


def test_models_say_what_labels_in_use_have(plant: World) -> None:
    asked = "CALL apoc.meta.data({}) YIELD label, property, type, elementType, other "
    nodes = ask(plant, f"{asked}WHERE elementType = 'node' AND type <> 'RELATIONSHIP' "
                       "RETURN label, property, type")  # fmt: skip
    asset = [["$dtId", "STRING"], ["built", "DATE"], ["mode", "INTEGER"]]
    own = [["tags", "LIST"], ["at", "DATE_TIME"], ["drive", "MAP"]]
    assert nodes == [
        *(["Asset", *one] for one in asset),
        *(["Pump", *one] for one in (asset[0], *own, *asset[1:])),
    ]
    links = ask(plant, f"{asked}WHERE type = 'RELATIONSHIP' RETURN label, property, other")
    declared = [["Asset", "feeds", ["Pump"]], ["Asset", "near", ["Twin"]]]
    assert links == declared
    plant.put("v", "dtmi:plant:Valve;1")
    plant.relate("v", "r", "p", "near")
    links = ask(plant, f"{asked}WHERE type = 'RELATIONSHIP' RETURN label, property, other")
    assert links == [*declared, ["Valve", "near", ["Pump"]]]
    shares = ask(plant, f"{asked}WHERE elementType = 'relationship' RETURN label, property, type")
    assert shares == [["feeds", "share", "FLOAT"]]


def test_labels_without_nodes_are_left_out(plant: World) -> None:
    asked = "CALL db.schema.nodeTypeProperties() YIELD nodeType AS t RETURN DISTINCT t"
    assert ask(plant, asked) == [[":`Asset`"], [":`Pump`"]]
    plant.put("v", "dtmi:plant:Valve;1")
    assert [":`Valve`"] in ask(plant, asked)


def test_the_schema_is_drawn(plant: World) -> None:
    ((nodes, relationships),) = ask(plant, "CALL db.schema.visualization()")
    assert {one["name"] for one in nodes} == {"Asset", "Pump", "Twin"}
    assert [one["name"] for one in relationships] == ["feeds", "near"]


def test_an_open_graph_says_what_its_nodes_have(empty: World) -> None:
    world = World(empty.store, Settings(graph=GraphSettings(open_=True)))
    ask(
        world,
        "CREATE (:Person {name: 'x', age: 4})-[:knows {since: 1.5}]->(:Person:Friend {ok: true})",
    )
    found = ask(
        world,
        "CALL apoc.meta.data({sample: -1}) YIELD label, property, type, other "
        "RETURN label, property, type, other",
    )
    assert ["Person", "age", "INTEGER", []] in found
    assert ["Friend", "ok", "BOOLEAN", []] in found
    assert ["Person", "knows", "RELATIONSHIP", ["Friend", "Person"]] in found
    assert ["knows", "since", "FLOAT", []] in found
    assert ask(world, "CALL db.schema.relTypeProperties()") == [
        [":`knows`", "since", ["Double"], False]
    ]


def test_a_sample_is_a_number(plant: World) -> None:
    for wrong in ("x", -2, 1.5):
        with pytest.raises(InvalidArgument, match="sample"):
            ask(plant, "CALL apoc.meta.data({sample: $n})", n=wrong)


def test_a_graph_answers_a_ping(empty: World) -> None:
    assert ask(empty, "CALL db.ping()") == [[True]]
    assert ask(empty, "CALL apoc.meta.data({})") == []
