"""Graphs out and in again: the same bytes, whatever stores them and whatever their values are."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.graph.conftest import World, build_postgres, build_rdf, build_sqlite
from tests.unit.graph.transfer.test_importing import File, export, run
from tests.waiting import join, start
from twinframe.graph.transfer.exporting import order_models
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.contracts.base import EXACT
from twinframe.testing.factories import (
    FLOOR,
    ROOM,
    SENSOR,
    SPACE,
    build_building_interfaces,
    build_interface,
    build_model_record,
    build_property,
)

BAG = "dtmi:com:example:Bag;1"
_MAP = {
    "@type": "Map",
    "mapKey": {"name": "key", "schema": "string"},
    "mapValue": {"name": "value", "schema": "string"},
}


def build_bag() -> dict[str, Any]:
    """A model with a property of each kind, also inside a component and a relationship."""
    contents = [
        build_property("text", "string"),
        build_property("number", "double"),
        build_property("whole", "long"),
        build_property("flag", "boolean"),
        build_property("texts", cast("Any", {"@type": "Array", "elementSchema": "string"})),
        build_property("map", cast("Any", _MAP)),
        {"@type": "Component", "name": "part", "schema": SPACE},
        {
            "@type": "Relationship",
            "name": "holds",
            "properties": [build_property("text", "string"), build_property("number", "double")],
        },
    ]
    return build_interface(BAG, cast("Any", contents))


def build_store(name: str, place: Path) -> GraphStore:
    """An open, empty store of this storage."""
    if name == "memory":
        store: GraphStore = MemoryStore()
    elif name == "sqlite":
        store = build_sqlite(place)
    elif name == "postgres":
        store = build_postgres(place)
    else:
        store = build_rdf(name, None)
    store.open()
    return store


def move(text: bytes, *names: str, place: Path) -> Iterator[bytes]:
    """The exports of stores into which the text goes one after another."""
    for at, name in enumerate(names):
        store = build_store(name, place / f"{at}-{name}")
        try:
            progress, findings = run(World(store, Settings()), text)
            assert findings == []
            assert progress.errors == 0
            text = export(store)
            yield text
            assert list(store.verify()) == []
        finally:
            store.close()


def fill(world: World) -> None:
    """Twins that were put, patched, moved; relationships; a decommissioned and a deleted model."""
    world.do(world.graph.models.create_models(cast("Any", [build_bag()])))
    for number, (_, value) in enumerate(EXACT):
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        world.put(
            f"bag-{number}",
            BAG,
            text=text,
            texts=[text, ""],
            map={"key": text},
            part={"name": text, "$metadata": {"name": {"sourceTime": "2024-01-01T00:00:00.5Z"}}},
        )
    world.put("r\u00e4um/1 \U0001f3e2", temperature=-0.0, readings=[1e-300, 1.5], tags={"$a": "x"})
    world.put("room", temperature=1, area=68.0)
    patches = (
        [{"op": "replace", "path": "/temperature", "value": 20.25}],
        [{"op": "remove", "path": "/area"}, {"op": "add", "path": "/name", "value": "n"}],
        [{"op": "add", "path": "/thermostat/setPoint", "value": 5}],
        [{"op": "add", "path": "/$metadata/name/sourceTime", "value": "2024-01-01T00:00:00Z"}],
    )
    for patch in patches:
        world.patch("room", *patch)
    world.put("floor", FLOOR, level=2**31 - 1)
    world.put("sensor", SENSOR)
    world.relate("room", "e/1", "sensor", "watchedBy", since="2024-02-29")
    world.relate("bag-0", "e", "room", "holds", text='"\\\u2028', number=0.1)
    world.relate("room", "e", "floor")
    decommission: Any = [{"op": "replace", "path": "/decommissioned", "value": True}]
    world.do(world.graph.models.decommission_model(SENSOR, decommission))
    world.do(world.graph.models.delete_model(FLOOR))


@pytest.mark.parametrize(
    "names",
    [
        ("sqlite", "oxigraph"),
        ("rdflib", "memory", "sqlite"),
        ("postgres", "rdflib", "postgres", "sqlite", "postgres"),
    ],
)
def test_a_graph_moves_between_storages_and_back_with_each_byte(
    world: World, tmp_path: Path, names: tuple[str, ...]
) -> None:
    fill(world)
    text = export(world.store)
    assert export(world.store) == text
    for moved in move(text, *names, place=tmp_path):
        assert moved == text


def test_what_is_not_in_documents_comes_along(world: World, tmp_path: Path) -> None:
    fill(world)
    store = build_store("sqlite", tmp_path / "other")
    other = World(store, Settings())
    run(other, export(world.store))
    for twin_id in ("room", "bag-3", "floor"):
        assert other.read(twin_id) == world.read(twin_id)
    model = other.load(other.do(other.graph.models.read_model(SENSOR)))
    assert model == world.load(world.do(world.graph.models.read_model(SENSOR)))
    assert model["decommissioned"]
    # The model of the floor is gone, its labels are not.
    query = "MATCH (n:Floor:Space) RETURN n.`$dtId` AS id"
    for each in (world, other):
        page = each.do(each.graph.queries.run(query, None, None, None))
        assert [orjson.loads(row) for row in page.rows] == [{"id": "floor"}]
    store.close()


def test_a_plain_export_is_what_the_vendor_takes_and_gives_new_etags(
    world: World, tmp_path: Path
) -> None:
    fill(world)
    text = export(world.store, exact=False, author="a", organization="o")
    lines = [orjson.loads(line) for line in text.splitlines()]
    assert lines[:2] == [
        {"Section": "Header"},
        {"fileVersion": "1.0.0", "author": "a", "organization": "o"},
    ]
    twins = lines.index({"Section": "Twins"})
    for line in lines[twins:]:
        assert "$etag" not in line
        assert "lastUpdateTime" not in orjson.dumps(line).decode()
    room = next(line for line in lines if line.get("$dtId") == "room")
    assert room["$metadata"] == {
        "$model": ROOM,
        "name": {"sourceTime": "2024-01-01T00:00:00Z"},
    }
    edge = next(line for line in lines if line.get("$relationshipId") == "e/1")
    assert edge == {
        "$dtId": "room",
        "$relationshipId": "e/1",
        "$targetId": "sensor",
        "$relationshipName": "watchedBy",
        "since": "2024-02-29",
    }
    store = build_store("memory", tmp_path)
    other = World(store, Settings())
    _, findings = run(other, text)
    # The deleted model is not in a plain file: its twin and what leads to it have no place.
    assert {one.item for one in findings} == {"floor", "e of room"}
    assert other.read("room")["$etag"] != world.read("room")["$etag"]
    store.close()


def test_an_edited_line_of_an_exact_file_keeps_what_is_sound_and_gets_the_rest(
    world: World, tmp_path: Path
) -> None:
    world.put("room", temperature=1.5)
    lines = [orjson.loads(line) for line in export(world.store).splitlines()]
    room = next(line for line in lines if line.get("$dtId") == "room")
    room["area"] = 5.0
    room["$etag"] = 'x"\r\nInjected: header'
    room["$metadata"]["temperature"]["lastUpdateTime"] = "yesterday"
    room["$metadata"]["gone"] = {"lastUpdateTime": "2024-01-01T00:00:00Z"}
    text = b"\n".join(map(orjson.dumps, lines))
    store = build_store("sqlite", tmp_path / "other")
    other = World(store, Settings())
    assert run(other, text)[1] == []
    stored = other.read("room")
    assert stored["$etag"].startswith('W/"')
    assert "Injected" not in stored["$etag"]
    before = world.read("room")["$metadata"]
    assert stored["$metadata"]["$lastUpdateTime"] == before["$lastUpdateTime"]
    assert stored["$metadata"].keys() == {"$model", "$lastUpdateTime", "temperature", "area"}
    assert stored["$metadata"]["temperature"]["lastUpdateTime"] > "2024"
    store.close()


def test_models_come_behind_those_they_rest_on_and_else_by_id() -> None:
    records = [
        build_model_record("A", extends=["M"]),
        build_model_record("M", components=["Z"]),
        build_model_record("Z"),
        build_model_record("B"),
    ]
    wanted = ["B", "Z", "M", "A"]
    for order in itertools.permutations(records):
        ordered = order_models(order)
        assert [one.model_id for one in ordered] == [f"dtmi:test:{name};1" for name in wanted]


def test_an_empty_graph_is_exported_and_imported(empty: World, tmp_path: Path) -> None:
    text = export(empty.store)
    assert [orjson.loads(line).get("Section") for line in text.splitlines()] == [
        "Header",
        None,
        "Models",
        "Twins",
        "Relationships",
    ]
    assert list(move(text, "sqlite", place=tmp_path)) == [text]


def test_an_export_shows_one_state_while_others_write(tmp_path: Path) -> None:
    store = build_store("sqlite", tmp_path)
    world = World(store, Settings())
    world.do(world.graph.models.create_models(cast("Any", build_building_interfaces())))
    file = File()
    file.section("Twins", *(file.twin(f"t{at:05}", SENSOR) for at in range(2500)))
    run(world, file.render())
    pieces: list[bytes] = []

    def write(piece: bytes) -> None:
        pieces.append(piece)
        number = len(pieces)
        for twin_id in (f"a{number}", f"z{number}"):
            writer = start(world.put, twin_id, SENSOR)
            join(writer)

    world.do(world.graph.portable.export_graph(write))
    lines = b"".join(pieces).splitlines()
    assert sum(b'"$dtId"' in line for line in lines) == 2500
    store.close()


# --- whatever the values are ----------------------------------------------------------------------

_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
_ID = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\ufffe\uffff"),
    min_size=1,
    max_size=8,
).filter(lambda text: text not in (".", ".."))
_BAG = st.fixed_dictionaries(
    {},
    optional={
        "text": _TEXT,
        "number": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53),
        "whole": st.integers(-(2**63), 2**63 - 1),
        "flag": st.booleans(),
        "texts": st.lists(_TEXT, max_size=3),
        "map": st.dictionaries(_TEXT.filter(bool), _TEXT, max_size=3),
    },
)
_EDGE = st.fixed_dictionaries(
    {}, optional={"text": _TEXT, "number": st.floats(allow_nan=False, allow_infinity=False)}
)


@pytest.mark.parametrize("name", ["sqlite", "oxigraph", "postgres"])
@settings(max_examples=12, deadline=None)
@given(
    bags=st.dictionaries(_ID, st.tuples(_BAG, _EDGE), min_size=1, max_size=4),
    seconds=st.integers(0, 10**9),
)
def test_any_values_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    bags: dict[str, tuple[dict[str, Any], dict[str, Any]]],
    seconds: int,
) -> None:
    place = tmp_path_factory.mktemp("moved")
    first = build_store("memory", place)
    world = World(first, Settings())
    world.now += seconds
    world.do(
        world.graph.models.create_models(cast("Any", [*build_building_interfaces(), build_bag()]))
    )
    world.put("anchor", SENSOR)
    for twin_id, (contents, edge) in bags.items():
        world.put(twin_id, BAG, part={}, **contents)
        world.relate(twin_id, twin_id, "anchor", "holds", **edge)
    text = export(first)
    assert list(move(text, name, "memory", place=place)) == [text, text]
    first.close()
