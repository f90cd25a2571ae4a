"""What a new version of models breaks for existing twins."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dtdl.documents import model, prop
from twinframe.dtdl import Change, Effect, compare_models, parse_models


def compare(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> list[Change]:
    return compare_models(parse_models(old), parse_models(new))


def compare_contents(old: list[object], new: list[object]) -> list[tuple[str, str]]:
    """Return effect and place of every change of one interface's contents."""
    changes = compare([model("A", old, version=4)], [model("A", new, version=4)])
    return [(change.effect.value, change.content) for change in changes]


def obj(**fields: object) -> dict[str, Any]:
    return {
        "@type": "Object",
        "fields": [{"name": name, "schema": schema} for name, schema in fields.items()],
    }


def enum(*values: str) -> dict[str, Any]:
    names = [{"name": f"n{n}", "enumValue": value} for n, value in enumerate(values)]
    return {"@type": "Enum", "valueSchema": "string", "enumValues": names}


def array(schema: object) -> dict[str, Any]:
    return {"@type": "Array", "elementSchema": schema}


def test_equal_models_have_no_changes() -> None:
    models = [model("A", [prop("p"), {"@type": "Relationship", "name": "r"}])]
    assert compare(models, models) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("integer", "long"),
        ("integer", "double"),
        ("float", "double"),
        ("byte", "short"),
        ("unsignedByte", "short"),
        ("date", "string"),
        ("uuid", "string"),
        (enum("a"), enum("a", "b")),
        (enum("a"), "string"),
        (obj(x="integer"), obj(x="long", y="string")),
        (array("integer"), array("long")),
    ],
)
def test_a_schema_that_takes_more_is_compatible_and_the_way_back_breaks(
    old: object, new: object
) -> None:
    assert compare_contents([prop("p", old)], [prop("p", new)]) == [("compatible", "p")]
    back = compare_contents([prop("p", new)], [prop("p", old)])
    assert {effect for effect, _ in back} == {"breaking"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("unsignedShort", "short"),
        ("string", "boolean"),
        ("double", "float"),
        (enum("2024-01-01", "soon"), "date"),
        (array("string"), "string"),
        ("point", "polygon"),
    ],
)
def test_a_schema_that_refuses_old_values_breaks_twins(old: object, new: object) -> None:
    ((effect, _),) = compare_contents([prop("p", old)], [prop("p", new)])
    assert effect == "breaking"


def test_a_geometry_that_takes_the_place_of_a_like_object_refuses_what_it_bounds() -> None:
    like = obj(type=enum("LineString"), coordinates=array(array("double")))
    assert compare_contents([prop("p", like)], [prop("p", "lineString")]) == [
        ("breaking", "p/coordinates"),
        ("breaking", "p/coordinates/*"),
    ]
    assert compare_contents([prop("p", "lineString")], [prop("p", like)]) == [("compatible", "p")]


def test_the_place_inside_a_value_is_named() -> None:
    old, new = obj(x=array(obj(y="long", z="string"))), obj(x=array(obj(y="byte")))
    assert compare_contents([prop("p", old)], [prop("p", new)]) == [
        ("breaking", "p/x/*/y"),
        ("breaking", "p/x/*/z"),
    ]


def test_contents_that_go_break_twins_where_twins_keep_them() -> None:
    contents = [
        prop("p"),
        {"@type": "Relationship", "name": "r"},
        {"@type": "Telemetry", "name": "t", "schema": "double"},
        {"@type": "Command", "name": "c"},
    ]
    assert compare_contents(contents, []) == [
        ("breaking", "p"),
        ("breaking", "r"),
        ("caution", "t"),
        ("caution", "c"),
    ]
    assert {effect for effect, _ in compare_contents([], contents)} == {"compatible"}


def test_a_content_that_becomes_another_kind_breaks_twins() -> None:
    telemetry = {"@type": "Telemetry", "name": "p", "schema": "string"}
    assert compare_contents([prop("p")], [telemetry]) == [("breaking", "p")]


def test_a_new_component_breaks_twins_that_lack_it() -> None:
    part = model("Part", [prop("p")])
    whole = model("A", [{"@type": "Component", "name": "part", "schema": part["@id"]}])
    (change,) = compare([model("A"), part], [whole, part])
    assert (change.effect, change.content) == (Effect.BREAKING, "part")


def test_another_interface_of_a_component_is_compared_with_the_old_one() -> None:
    small, large = model("Small", [prop("p")]), model("Large", [prop("p"), prop("q")])

    def whole(part: dict[str, Any]) -> dict[str, Any]:
        return model("A", [{"@type": "Component", "name": "part", "schema": part["@id"]}])

    parts = [small, large]
    (widened,) = compare([whole(small), *parts], [whole(large), *parts])
    assert (widened.effect, widened.content) == (Effect.COMPATIBLE, "part/q")
    (narrowed,) = compare([whole(large), *parts], [whole(small), *parts])
    assert (narrowed.effect, narrowed.content) == (Effect.BREAKING, "part/q")


def relate(**rest: Any) -> list[object]:
    return [{"@type": "Relationship", "name": "r", **rest}]


def test_a_narrower_relationship_breaks_and_a_wider_one_does_not() -> None:
    target = "dtmi:com:example:B;1"
    assert compare_contents(relate(), relate(target=target)) == [("breaking", "r")]
    assert compare_contents(relate(target=target), relate()) == []
    assert compare_contents(relate(), relate(maxMultiplicity=3)) == [("breaking", "r")]
    assert compare_contents(relate(maxMultiplicity=3), relate(maxMultiplicity=5)) == []
    assert compare_contents(relate(properties=[prop("p")]), relate()) == [("breaking", "r/p")]


def test_a_target_may_become_one_of_its_bases() -> None:
    bases = [model("Base"), model("Heir", extends="dtmi:com:example:Base;1")]
    old = model("A", relate(target="dtmi:com:example:Heir;1"))
    new = model("A", relate(target="dtmi:com:example:Base;1"))
    assert compare([old, *bases], [new, *bases]) == []
    assert [c.effect for c in compare([new, *bases], [old, *bases])] == [Effect.BREAKING]


def test_a_new_version_follows_the_old_one_by_its_path() -> None:
    new = [{**model("A", [prop("p", "long")]), "@id": f"dtmi:com:example:A;{n}"} for n in (2, 10)]
    new[1]["contents"] = []
    (change, other) = compare([model("A", [prop("p", "long")])], new)
    assert (change.interface, change.content) == ("dtmi:com:example:A;1", "p")
    assert change.effect is Effect.BREAKING, "version 10 follows, not version 2"
    assert (other.interface, other.message) == ("dtmi:com:example:A;2", "the interface is new")


def test_an_interface_that_goes_breaks_its_twins() -> None:
    (change,) = compare([model("A"), model("B")], [model("B")])
    assert (change.effect, change.message) == (Effect.BREAKING, "the interface is gone")


def test_a_base_that_goes_breaks_and_one_that_comes_does_not() -> None:
    base, heir = model("Base", [prop("p")]), "dtmi:com:example:Base;1"
    with_base = [base, model("A", extends=heir)]
    without = [base, model("A", [prop("p")])]
    lost = compare(with_base, without)
    assert [(c.effect, c.content) for c in lost] == [(Effect.BREAKING, "")]
    gained = compare(without, with_base)
    assert [(c.effect, c.content) for c in gained] == [(Effect.COMPATIBLE, "")]


def test_a_change_of_a_base_is_said_once() -> None:
    heirs = [model(name, extends="dtmi:com:example:Base;1") for name in ("A", "B")]
    old, new = model("Base", [prop("p", "long")]), model("Base", [prop("p", "integer")])
    (change,) = compare([old, *heirs], [new, *heirs])
    assert (change.interface, change.content) == ("dtmi:com:example:Base;1", "p")


def test_another_unit_is_a_caution() -> None:
    context = ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:quantitativeTypes;1"]

    def warm(unit: str) -> list[dict[str, Any]]:
        content = {**prop("t", "double", unit=unit), "@type": ["Property", "Temperature"]}
        return [{**model("A", [content]), "@context": context}]

    (change,) = compare(warm("kelvin"), warm("degreeCelsius"))
    assert change.effect is Effect.CAUTION
    assert "was kelvin and is degreeCelsius" in change.message


def test_a_schema_that_contains_itself_is_compared() -> None:
    def tree(leaf: str) -> list[object]:
        identifier = "dtmi:com:example:Tree;1"
        fields = [
            {"name": "leaf", "schema": leaf},
            {"name": "next", "schema": identifier},
        ]
        return [prop("p", {"@id": identifier, "@type": "Object", "fields": fields})]

    assert compare_contents(tree("long"), tree("long")) == []
    assert ("breaking", "p/leaf") in compare_contents(tree("long"), tree("byte"))
