"""Twins, components, relationships and telemetry against their interface."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.dtdl import Interface, ModelSet, TwinValidator, compile_validator


def texts(details: list[Any]) -> list[str]:
    assert {detail.code for detail in details} <= {"ValidationFailed"}
    return [detail.message for detail in details]


def twin(**contents: object) -> dict[str, object]:
    return {"$dtId": "r1", "$metadata": {"$model": "dtmi:com:example:Room;1"}, **contents}


def test_a_twin_needs_its_components_and_nothing_else(room: TwinValidator) -> None:
    assert room.validate_twin(twin(sensor={})) == []


def test_a_twin_with_every_content_conforms(room: TwinValidator) -> None:
    document = twin(
        label="Aula",
        kind=2,
        area=12,
        seats=4,
        layout={"doors": ["north"], "walls": {"west": 4.5}},
        sensor={"unitName": "T-1", "$metadata": {}},
    )
    document["$etag"] = None
    assert room.validate_twin(document) == []


def test_a_missing_component_is_found(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin()))
    assert text.startswith("Twin is missing component sensor of dtmi:com:example:Sensor;1")


def test_a_component_that_is_no_object_is_found(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin(sensor=[])))
    assert text == "Expected value of type component for sensor on Twin. [] is not an object."


def test_an_unknown_property_is_found_with_the_nearest_one(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={}, labl="x")))
    assert text == "labl does not appear on the DTDL for Twin. Did you mean 'label'?"


def test_an_unknown_property_of_a_component_names_the_component(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={"x": 1})))
    assert text == "x does not appear on the DTDL for sensor."


@pytest.mark.parametrize(
    ("name", "kind"),
    [("noise", "Telemetry"), ("contains", "Relationship"), ("clean", "Command")],
)
def test_another_content_used_as_a_property_is_found(
    room: TwinValidator, name: str, kind: str
) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={}, **{name: 1})))
    assert text == f"{name} is not a property - it is a {kind}."


@pytest.mark.parametrize("name", ["$model", "$x", "$relationships"])
def test_other_dollar_names_are_found(room: TwinValidator, name: str) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={}, **{name: 1})))
    assert text.startswith(f"{name} does not appear on the DTDL for Twin.")


def test_only_metadata_is_ignored_in_a_component(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={"$etag": "x"})))
    assert text.startswith("$etag does not appear on the DTDL for sensor.")


def test_null_is_no_value(room: TwinValidator) -> None:
    (text,) = texts(room.validate_twin(twin(sensor={}, label=None)))
    assert text == "Expected value of type string for label on Twin. null is not a string."


def test_a_wrong_value_names_type_property_and_owner(room: TwinValidator) -> None:
    (text,) = texts(room.validate_component("sensor", {"unitName": 5}))
    assert text == "Expected value of type string for unitName on sensor. 5 is not a string."


def test_a_wrong_value_inside_a_value_is_found_with_its_path(room: TwinValidator) -> None:
    layout = {"doors": ["a", 1], "walls": {"we/st": "long"}, "dors": 1}
    found = texts(room.validate_content("layout", layout))
    stem = "Expected value of type object for layout on Twin. "
    assert found[0] == f"{stem}At /doors/1: 1 is not a string."
    assert found[1] == f'{stem}At /walls/we~1st: "long" is not a finite number.'
    assert found[2].startswith(f"{stem}At /dors: 1 is not one of 'doors', 'walls'")
    assert found[2].endswith("Did you mean 'doors'?")


@pytest.mark.parametrize("value", [3, "office", 1.0, True, None, [1]])
def test_an_enum_takes_its_values_only(room: TwinValidator, value: object) -> None:
    (text,) = texts(room.validate_content("kind", value))
    assert text.startswith("Expected value of type enum for kind on Twin.")
    assert "one of 1, 2" in text


def test_a_whole_component_is_validated_as_a_content(room: TwinValidator) -> None:
    assert room.validate_content("sensor", {"unitName": "x"}) == []
    assert len(room.validate_content("sensor", {"unitName": 1, "y": 2})) == 2
    assert len(room.validate_content("sensor", None)) == 1


def test_several_violations_are_found_at_once(room: TwinValidator) -> None:
    assert len(room.validate_twin(twin(label=1, area="x", y=1))) == 4


def test_relationship_properties_are_validated(room: TwinValidator) -> None:
    assert room.validate_relationship("contains", {"since": "2024-02-29"}) == []
    (text,) = texts(room.validate_relationship("contains", {"since": "2023-02-29"}))
    assert text.startswith("Expected value of type date for since on contains.")
    (text,) = texts(room.validate_relationship("contains", {"sinse": "2024-02-29"}))
    assert text == "sinse does not appear on the DTDL for contains. Did you mean 'since'?"


def test_a_relationship_the_model_does_not_have_is_found(room: TwinValidator) -> None:
    (text,) = texts(room.validate_relationship("contain", {}))
    assert text.endswith("Did you mean 'contains'?")
    (text,) = texts(room.validate_relationship("area", {}))
    assert text == "area is not a relationship - it is a Property."


def test_any_object_is_telemetry(room: TwinValidator) -> None:
    assert room.validate_telemetry({"noise": "loud", "unknown": [1]}) == []
    assert room.validate_telemetry({}, component="sensor") == []
    assert len(room.validate_telemetry([1])) == 1
    assert len(room.validate_telemetry({}, component="sensr")) == 1


def test_telemetry_is_checked_where_it_is_asked_for(room: TwinValidator) -> None:
    assert room.validate_telemetry({"noise": 41.5}, strict=True) == []
    (wrong,) = texts(room.validate_telemetry({"noise": "loud"}, strict=True))
    assert (
        wrong == 'Expected value of type double for noise on Twin. "loud" is not a finite number.'
    )
    (near,) = texts(room.validate_telemetry({"nois": 1}, strict=True))
    assert near.endswith("Did you mean 'noise'?")
    (kind,) = texts(room.validate_telemetry({"area": 1}, strict=True))
    assert kind == "area is not a telemetry - it is a Property."
    assert len(room.validate_telemetry({"noise": 1}, component="sensor", strict=True)) == 1


def test_a_document_of_nothing_but_errors_is_bounded(room: TwinValidator) -> None:
    document: dict[str, object] = {f"unknown{n}": n for n in range(5000)}
    assert len(room.validate_twin(document)) == 100
    assert len(room.validate_component("sensor", document)) == 100


def test_an_unknown_component_interface_passes_the_error_of_the_lookup(
    building: ModelSet,
) -> None:
    room = building.interfaces["dtmi:com:example:Room;1"]
    nothing: dict[str, Interface] = {}
    with pytest.raises(KeyError):
        compile_validator(room, nothing.__getitem__)
