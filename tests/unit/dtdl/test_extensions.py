"""Standard extensions and partner contexts: what their types demand of models and of twins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.dtdl.documents import find_rules, model, prop
from twinframe.dtdl import (
    SPECIFICATION,
    build_initial_values,
    compile_validator,
    parse_models,
)

A = "dtmi:com:example:A;1"
MQTT = "dtmi:dtdl:extension:mqtt;4"
OPERATIONS = "dtmi:iotoperations:context;4"
REQUIREMENT = "dtmi:dtdl:extension:requirement;2"
INITIALIZATION = "dtmi:dtdl:extension:initialization;1"


def extended(*contents: Any, contexts: tuple[str, ...], **rest: Any) -> dict[str, Any]:
    return {**model("A", contents, **rest), "@context": ["dtmi:dtdl:context;4", *contexts]}


def test_required_fields_are_asked_for_where_the_validator_is_told_to() -> None:
    point = {
        "@type": "Object",
        "fields": [
            {"@type": ["Field", "Required"], "name": "x", "schema": "double"},
            {"name": "y", "schema": "double"},
        ],
    }
    models = parse_models([extended(prop("at", point), contexts=(REQUIREMENT,))])
    interface = models.interfaces[A]
    lax = compile_validator(interface, models.interfaces.__getitem__)
    strict = compile_validator(interface, models.interfaces.__getitem__, required=True)
    assert lax.validate_twin({"at": {"y": 1.0}}) == []
    assert strict.validate_twin({"at": {"x": 1.0}}) == []
    (violation,) = strict.validate_twin({"at": {"y": 1.0}})
    assert "the required field 'x'" in violation.message


def initialized(name: str, schema: str, value: object) -> dict[str, Any]:
    return {**prop(name, schema, initialValue=value), "@type": ["Property", "Initialized"]}


def test_initial_values_are_those_of_properties_and_components() -> None:
    part = {**extended(initialized("p", "integer", 3), contexts=(INITIALIZATION,))}
    part["@id"] = "dtmi:com:example:Part;1"
    component = {"@type": "Component", "name": "part", "schema": part["@id"]}
    empty = {"@type": "Component", "name": "bare", "schema": "dtmi:com:example:Bare;1"}
    whole = extended(
        initialized("q", "string", "new"), prop("r"), component, empty, contexts=(INITIALIZATION,)
    )
    models = parse_models([whole, part, model("Bare", version=4)])
    values = build_initial_values(models.interfaces[A], models.interfaces.__getitem__)
    assert values == {"q": "new", "part": {"p": 3}, "bare": {}}
    validator = compile_validator(models.interfaces[A], models.interfaces.__getitem__)
    assert validator.validate_twin(values) == []


def test_an_initial_value_conforms_to_the_schema_of_its_property() -> None:
    document = extended(initialized("p", "integer", "three"), contexts=(INITIALIZATION,))
    assert find_rules(document) == ["nonConformantPropertyValue"]


@pytest.mark.parametrize(
    ("schema", "rest", "rules"),
    [
        ("double", {"minimum": 1, "maximum": 2.5}, []),
        ("integer", {"maximum": 2.5}, ["nonConformantPropertyValue"]),
        ("byte", {"maximum": 300}, ["nonConformantPropertyValue"]),
        ("decimal", {"maximum": 2.5}, []),
        ("double", {"maximum": "two"}, ["numericNotNumeric"]),
        ("string", {}, ["notRequiredType"]),
    ],
)
def test_limits_of_a_value_are_values_of_its_schema(
    schema: str, rest: dict[str, object], rules: list[str]
) -> None:
    content = {**prop("p", schema, **rest), "@type": ["Property", "Limited"]}
    document = extended(content, contexts=(OPERATIONS,))
    assert (find_rules(document) if rules else []) == rules
    if not rules:
        assert parse_models([document]).uploaded


def build_result(*fields: dict[str, Any]) -> dict[str, Any]:
    schema = {"@type": ["Object", "Result"], "fields": list(fields)}
    return extended(prop("p", schema), contexts=(MQTT, REQUIREMENT))


def build_field(name: str, *types: str, schema: object = "string") -> dict[str, Any]:
    return {"@type": ["Field", *types], "name": name, "schema": schema}


ERROR = {"@type": ["Object", "Error"]}


def test_the_fields_of_a_result_are_results() -> None:
    normal = build_field("ok", "NormalResult")
    error = build_field("bad", "ErrorResult", schema=ERROR)
    assert parse_models([build_result(normal, error)]).uploaded
    assert find_rules(build_result(normal, build_field("x"))) == ["notRequiredType"]
    assert find_rules(build_result(build_field("bad", "ErrorResult"))) == ["notRequiredType"]
    twice = build_result(normal, build_field("more", "NormalResult"))
    assert find_rules(twice) == ["siblingDuplicatesCotype"]
    required = build_result(build_field("ok", "NormalResult", "Required"))
    assert find_rules(required) == ["disallowedCocotype"]
    info = build_result(build_field("i", "ErrorInfo", schema={"@type": "Object"}))
    assert find_rules(info) == ["siblingMissingCotype"]


def test_a_result_field_outside_of_a_result_is_refused() -> None:
    schema = {"@type": "Object", "fields": [build_field("ok", "NormalResult")]}
    assert find_rules(extended(prop("p", schema), contexts=(MQTT,))) == ["parentMissingCotype"]


@pytest.mark.parametrize(
    ("topic", "right"),
    [
        ("a/{modelId}/b", True),
        ("{ex:site}/{commandName}", True),
        ("", False),
        ("a//b", False),
        ("a/b/", False),
        ("a/{model", False),
        ("a/#", False),
    ],
)
def test_a_topic_is_levels_of_labels_and_tokens(topic: str, right: bool) -> None:
    document = extended(contexts=(MQTT,), payloadFormat="Json/ecma/404", telemetryTopic=topic)
    document["@type"] = ["Interface", "Mqtt"]
    if right:
        assert parse_models([document]).uploaded
    else:
        assert find_rules(document) == ["stringInvalid"]


def test_indexes_of_contents_differ() -> None:
    contents = [{**prop(name, index=1), "@type": ["Property", "Indexed"]} for name in ("p", "q")]
    assert find_rules(extended(*contents, contexts=(MQTT,))) == ["nonUniquePropertyValue"]


def test_types_that_exclude_each_other_do_not_stand_together() -> None:
    both = {"@type": ["Relationship", "HasCapability", "HasComponent"], "name": "r"}
    assert find_rules(extended(both, contexts=(OPERATIONS,))) == ["disallowedCocotype"]


def test_a_partner_reserves_its_dtmis_where_its_context_is_in_force() -> None:
    own = {"@id": "dtmi:iotoperations:Mine;1"}
    assert parse_models([{**model("A", version=4), **own}]).uploaded
    assert find_rules({**extended(contexts=(OPERATIONS,)), **own}) == ["reservedId"]


SOLECISMS: list[dict[str, Any]] = [
    model("A", [prop("p"), prop("p", "double")], version=2),
    model("A", version=2, extends=[{"@id": "dtmi:com:example:B;1"}]),
    model("A", [prop("p", **{"@id": "dtmi:dtdl:own;1"})], version=2),
]


@pytest.mark.parametrize("document", SOLECISMS)
def test_solecisms_of_version_2_are_tolerated_where_asked_for(document: dict[str, Any]) -> None:
    tolerant = replace(SPECIFICATION, tolerate_solecisms=True)
    both = [document, model("B", version=2)]
    assert parse_models(both, limits=tolerant).uploaded
    assert find_rules(*both)
    later = {**document, "@context": "dtmi:dtdl:context;3"}
    assert find_rules(later, both[1], limits=tolerant)


def test_of_tolerated_doubles_the_first_counts() -> None:
    tolerant = replace(SPECIFICATION, tolerate_solecisms=True)
    models = parse_models([SOLECISMS[0]], limits=tolerant)
    schema = models.interfaces[A].properties["p"].schema
    assert getattr(schema, "name", "") == "string"


def test_layers_are_refused_as_identifiers_with_a_fragment() -> None:
    layer = extended(contexts=())
    layer |= {"@id": f"{A}#layer", "@type": ["Interface", "Layer"]}
    assert "invalidId" in find_rules(layer) or "typeUndefinedTerm" in find_rules(layer)
