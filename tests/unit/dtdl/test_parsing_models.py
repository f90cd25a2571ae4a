"""What parsing model documents yields."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.dtdl.documents import find_all, find_rules, model, prop
from twinframe.dtdl import (
    SERVICE,
    SPECIFICATION,
    ArraySchema,
    EnumSchema,
    MapSchema,
    ModelSet,
    ObjectSchema,
    PrimitiveSchema,
    SchemaReference,
    compile_validator,
    parse_models,
)
from twinframe.errors import ModelVersionNotSupported

ROOM = "dtmi:com:example:Room;1"
SPACE = "dtmi:com:example:Space;1"
SENSOR = "dtmi:com:example:Sensor;1"


def test_uploaded_interfaces_keep_the_order_of_their_documents(building: ModelSet) -> None:
    assert building.uploaded == (ROOM, SPACE, SENSOR)


def test_an_interface_has_its_own_and_its_inherited_contents(building: ModelSet) -> None:
    room = building.interfaces[ROOM]
    assert set(room.properties) == {"label", "kind", "area", "seats", "layout"}
    assert set(room.relationships) == {"contains"}
    assert set(room.telemetries) == {"noise"}
    assert set(room.components) == {"sensor"}
    assert set(room.commands) == {"clean"}


def test_a_content_knows_the_interface_that_declares_it(building: ModelSet) -> None:
    room = building.interfaces[ROOM]
    assert room.properties["label"].declared_by == SPACE
    assert room.properties["area"].declared_by == ROOM


def test_an_interface_is_called_by_the_last_segment_of_its_dtmi(building: ModelSet) -> None:
    assert building.interfaces[ROOM].name == "Room"


def test_dependencies_are_direct_bases_and_component_interfaces(building: ModelSet) -> None:
    assert building.interfaces[ROOM].dependencies == (SPACE, SENSOR)
    assert building.interfaces[SPACE].dependencies == ()


def test_a_relationship_keeps_target_bounds_and_properties(building: ModelSet) -> None:
    contains = building.interfaces[SPACE].relationships["contains"]
    assert contains.target == "dtmi:com:example:Nowhere;1"
    assert (contains.min_multiplicity, contains.max_multiplicity) == (0, 5)
    assert contains.properties["since"].schema == PrimitiveSchema("date")


def test_schemas_are_resolved_to_the_closed_tree(building: ModelSet) -> None:
    room = building.interfaces[ROOM]
    layout = room.properties["layout"].schema
    assert isinstance(layout, ObjectSchema)
    assert isinstance(layout.fields["doors"], ArraySchema)
    assert isinstance(layout.fields["walls"], MapSchema)
    kind = room.properties["kind"].schema
    assert isinstance(kind, EnumSchema)
    assert dict(kind.values) == {1: "office", 2: "lab"}


def test_a_schema_of_the_interface_can_be_referred_to_by_its_dtmi() -> None:
    shared = {"@id": "dtmi:com:example:Tags;1", "@type": "Array", "elementSchema": "string"}
    document = model("A", [prop("tags", "dtmi:com:example:Tags;1")], schemas=[shared])
    interface = parse_models([document]).interfaces["dtmi:com:example:A;1"]
    assert isinstance(interface.properties["tags"].schema, ArraySchema)
    assert set(interface.schemas) == {"dtmi:com:example:Tags;1"}


def test_a_plain_display_name_is_english() -> None:
    interface = parse_models([model("A", displayName="Room")]).interfaces["dtmi:com:example:A;1"]
    assert dict(interface.display_name) == {"en": "Room"}
    assert dict(interface.description) == {}


def test_ancestors_come_nearest_first_and_each_once() -> None:
    top = model("Top")
    left = model("Left", extends="dtmi:com:example:Top;1")
    right = model("Right", extends="dtmi:com:example:Top;1")
    low = model("Low", extends=["dtmi:com:example:Left;1", "dtmi:com:example:Right;1"])
    ancestors = parse_models([low, right, left, top]).interfaces["dtmi:com:example:Low;1"].ancestors
    assert [dtmi.split(":")[-1] for dtmi in ancestors] == ["Left;1", "Right;1", "Top;1"]


def test_an_inherited_component_is_no_dependency_of_the_heir() -> None:
    part = model("Part")
    component = {"@type": "Component", "name": "part", "schema": "dtmi:com:example:Part;1"}
    base = model("Base", [component])
    heir = model("Heir", extends="dtmi:com:example:Base;1")
    interfaces = parse_models([part, base, heir]).interfaces
    assert interfaces["dtmi:com:example:Heir;1"].dependencies == ("dtmi:com:example:Base;1",)


def test_units_and_semantic_types_are_kept() -> None:
    document = model("A", [prop("speed", "double") | {"@type": ["Property", "Velocity"]}])
    document["@context"] = ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:quantitativeTypes;1"]
    document["contents"][0]["unit"] = "metrePerSecond"
    speed = parse_models([document]).interfaces["dtmi:com:example:A;1"].properties["speed"]
    assert (speed.types, speed.unit) == (("Velocity",), "metrePerSecond")


# --- resolution ---------------------------------------------------------------------------------


def test_missing_interfaces_are_asked_for_in_rounds() -> None:
    stored = {
        "dtmi:com:example:Base;1": model("Base", extends="dtmi:com:example:Root;1"),
        "dtmi:com:example:Root;1": model("Root", [prop("deep")]),
        "dtmi:com:example:Part;1": model("Part"),
    }
    rounds: list[frozenset[str]] = []

    def resolve(ids: frozenset[str]) -> list[object]:
        rounds.append(ids)
        return [stored[dtmi] for dtmi in ids]

    component = {"@type": "Component", "name": "part", "schema": "dtmi:com:example:Part;1"}
    document = model("A", [component], extends="dtmi:com:example:Base;1")
    models = parse_models([document], resolve=resolve)
    assert rounds == [
        {"dtmi:com:example:Base;1", "dtmi:com:example:Part;1"},
        {"dtmi:com:example:Root;1"},
    ]
    assert models.uploaded == ("dtmi:com:example:A;1",)
    assert set(models.interfaces) == {"dtmi:com:example:A;1", *stored}
    assert set(models.interfaces["dtmi:com:example:A;1"].properties) == {"deep"}


def test_relationship_targets_are_not_asked_for() -> None:
    target = {"@type": "Relationship", "name": "r", "target": "dtmi:com:example:Nowhere;1"}
    asked: list[frozenset[str]] = []

    def resolve(ids: frozenset[str]) -> list[object]:
        asked.append(ids)
        return []

    parse_models([model("A", [target])], resolve=resolve)
    assert asked == []


def test_a_reference_nobody_can_resolve_is_found_with_the_number_of_its_places() -> None:
    bad = "dtmi:com:example:Gone;1"
    first, second = model("A", extends=bad), model("B", extends=bad)
    findings = find_all(first, second, resolve=lambda _: [])
    assert [finding.code for finding in findings] == ["unresolvedReference"]
    assert "failed to resolve requisite references to" in findings[0].message
    assert "(referenced in 2 places)" in findings[0].message


def test_resolved_documents_are_not_reported_on_again() -> None:
    old = model("Old", [prop("twice"), prop("twice")])
    models = parse_models([model("A", extends="dtmi:com:example:Old;1")], resolve=lambda _: [old])
    assert set(models.interfaces) == {"dtmi:com:example:A;1", "dtmi:com:example:Old;1"}


def test_a_resolved_schema_that_contains_itself_is_a_mention_there() -> None:
    loop = "dtmi:com:example:Loop;1"
    schema = {"@id": loop, "@type": "Array", "elementSchema": loop}
    old = model("Old", [prop("p", loop)], schemas=[schema])
    models = parse_models([model("A", extends="dtmi:com:example:Old;1")], resolve=lambda _: [old])
    found = models.interfaces["dtmi:com:example:A;1"].properties["p"].schema
    assert isinstance(found, ArraySchema)
    assert isinstance(found.element, SchemaReference)
    assert found.element.target is found


def test_a_resolved_content_that_is_no_content_is_left_out() -> None:
    old = model("Old", ["dtmi:com:example:Old;1", prop("p")])
    models = parse_models([model("A", extends="dtmi:com:example:Old;1")], resolve=lambda _: [old])
    assert set(models.interfaces["dtmi:com:example:A;1"].contents) == {"p"}


def test_resolved_documents_are_reported_on_where_they_are_not_trusted() -> None:
    old = model("Old", [prop("twice"), prop("twice")])
    limits = replace(SPECIFICATION, trust_resolved=False)
    document = model("A", extends="dtmi:com:example:Old;1")
    findings = find_all(document, resolve=lambda _: [old], limits=limits)
    assert [finding.code for finding in findings] == ["nonUniquePropertyValue"]


# --- versions and profiles ------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 5, 99])
def test_an_unknown_language_version_is_refused_as_such(version: int) -> None:
    with pytest.raises(ModelVersionNotSupported, match="supported are 2, 3 and 4"):
        parse_models([model("A", version=version)])


def test_version_2_must_not_extend_version_3() -> None:
    assert find_rules(
        model("A", version=2, extends="dtmi:com:example:B;1"), model("B", version=3)
    ) == ["disallowedVersionReference"]


def test_version_3_may_extend_version_2() -> None:
    documents = [model("A", extends="dtmi:com:example:B;1"), model("B", version=2)]
    assert len(parse_models(documents).interfaces) == 2


def test_an_array_in_a_property_is_for_version_3_only() -> None:
    contents = [prop("tags", {"@type": "Array", "elementSchema": "string"})]
    assert find_rules(model("A", contents, version=2)) == ["excludedType"]
    assert parse_models([model("A", contents, version=3)]).uploaded


def test_the_service_refuses_an_interface_defined_in_place_and_the_language_does_not() -> None:
    document = model("A", extends={"@id": "dtmi:com:example:B;1", "@type": "Interface"})
    assert len(parse_models([document]).interfaces) == 2
    assert find_rules(document, limits=SERVICE) == ["inlineInterface"]


def test_the_service_refuses_an_array_among_the_documents() -> None:
    assert parse_models([[model("A")]]).uploaded
    assert find_rules([model("A")], limits=SERVICE) == ["notJsonObject"]


def test_commands_can_be_refused() -> None:
    document = model("A", [{"@type": "Command", "name": "go"}])
    limits = replace(SPECIFICATION, allow_commands=False)
    assert find_rules(document, limits=limits) == ["disallowedCommand"]
    assert parse_models([document], limits=SERVICE).uploaded


def test_trusted_documents_are_read_and_not_judged() -> None:
    # NOTE: what a stored model may say that was taken by the rules of an earlier release.
    old = {
        **model("Old", [prop("p", "double", unit="watt", **{"@type": ["Property", "Power"]})]),
        "@context": ["dtmi:dtdl:context;4", "dtmi:dtdl:extension:quantitativeTypes;1"],
        "comment": "a" * 600,
        "extends": "dtmi:com:example:Base;1",
    }
    base = model("Base", [prop("q"), prop("r", "nonsense")], version=4)
    assert find_rules(old, base)
    models = parse_models([old], resolve=lambda _: [base], trusted=True)
    interface = models.interfaces["dtmi:com:example:Old;1"]
    assert models.uploaded == (interface.id,)
    assert list(interface.properties) == ["q", "r", "p"]
    assert interface.properties["p"].unit == "watt"
    validator = compile_validator(interface, models.interfaces.__getitem__)
    assert validator.validate_twin({"p": 1.5, "q": "a", "r": [1]}) == []
    assert parse_models(["nothing", {}, {"@id": 1}], trusted=True).interfaces == {}


def test_a_trusted_interface_that_extends_no_interface_has_its_own_contents() -> None:
    base = model("Base", [prop("q", **{"@id": "dtmi:com:example:q;1"})])
    odd = model("Odd", [prop("p")], extends=["dtmi:com:example:q;1", "dtmi:com:example:Odd;1"])
    models = parse_models([odd, base], trusted=True)
    assert list(models.interfaces["dtmi:com:example:Odd;1"].contents) == ["p"]
    assert len(models.interfaces) == 2
