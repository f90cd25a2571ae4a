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


def test_required_properties_are_asked_for_too() -> None:
    serial = {**prop("serial"), "@type": ["Property", "Required"]}
    since = {**prop("since", "date"), "@type": ["Property", "Required"]}
    link = {"@type": "Relationship", "name": "feeds", "properties": [since]}
    document = extended(serial, prop("note"), link, contexts=(REQUIREMENT,))
    models = parse_models([document])
    interface = models.interfaces[A]
    lax = compile_validator(interface, models.interfaces.__getitem__)
    strict = compile_validator(interface, models.interfaces.__getitem__, required=True)
    assert lax.validate_twin({}) == []
    assert strict.validate_twin({"serial": "1"}) == []
    (violation,) = strict.validate_twin({"note": "new"})
    assert violation.message == "Twin lacks the required property serial."
    (violation,) = strict.validate_relationship("feeds", {})
    assert violation.message == "feeds lacks the required property since."
    document["@context"][1] = REQUIREMENT.replace(";2", ";1")
    assert find_rules(document) == ["invalidCotype", "invalidCotype"]


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


def build_result(*fields: dict[str, Any], mqtt: str = MQTT) -> dict[str, Any]:
    schema = {"@type": ["Object", "Result"], "fields": list(fields)}
    return extended(prop("p", schema), contexts=(mqtt, REQUIREMENT))


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


def test_a_result_before_version_4_of_mqtt_may_be_required_and_needs_no_error() -> None:
    fields = (
        build_field("ok", "NormalResult", "Required"),
        build_field("bad", "ErrorResult", "Required"),
    )
    assert parse_models([build_result(*fields, mqtt="dtmi:dtdl:extension:mqtt;3")]).uploaded
    assert set(find_rules(build_result(*fields))) == {"disallowedCocotype", "notRequiredType"}


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
        ("$share/a", False),
        ("a/$share", True),
        ("a/{model2}", False),
        ("a/{ex:model:id}", False),
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
    zero = {**contents[0], "index": 0}
    assert find_rules(extended(zero, contexts=(MQTT,))) == ["valueBelowRange"]


def mqtt(version: int, language: int, *contents: Any, **rest: Any) -> dict[str, Any]:
    context = [f"dtmi:dtdl:context;{language}", f"dtmi:dtdl:extension:mqtt;{version}"]
    types = {"@type": ["Interface", "Mqtt"], "payloadFormat": "Json/ecma/404"}
    return {**model("A", contents), "@context": context, **types, **rest}


def test_the_first_version_of_mqtt_is_of_language_version_3_alone() -> None:
    call = {"@type": ["Command", "Idempotent", "Cacheable"], "name": "c", "ttl": "PT15S"}
    emitted = {"@type": ["Telemetry", "Indexed"], "name": "t", "schema": "double", "index": 1}
    assert parse_models([mqtt(1, 3, call, emitted, telemetryTopic="a/{modelId}")]).uploaded
    assert set(find_rules(mqtt(1, 4, call))) == {"invalidCotypeVersion"}
    assert find_rules(mqtt(1, 3, cmdServiceGroupId="a")) == ["noTypeThatAllows"]
    assert parse_models([mqtt(2, 3, cmdServiceGroupId="a")]).uploaded
    assert find_rules(mqtt(3, 3, propertyTopic="a")) == ["noTypeThatAllows"]


MAP = {
    "@type": "Map",
    "mapKey": {"name": "k", "schema": "string"},
    "mapValue": {"name": "v", "schema": "double"},
}


def test_fragmented_is_a_property_or_the_value_of_a_property_result() -> None:
    whole = {**prop("p", MAP), "@type": ["Property", "Fragmented"]}
    assert parse_models([extended(whole, contexts=(MQTT,))]).uploaded
    fields = [{"@type": ["Field", "Fragmented"], "name": "f", "schema": MAP}]
    of_any = prop("p", {"@type": "Object", "fields": fields})
    assert find_rules(extended(of_any, contexts=(MQTT,))) == ["invalidCotype"]
    fields[0]["@type"] = ["Field", "PropertyValue", "Fragmented"]
    of_result = prop("p", {"@type": ["Object", "PropertyResult"], "fields": fields})
    assert parse_models([extended(of_result, contexts=(MQTT,))]).uploaded


@pytest.mark.parametrize(
    ("cotype", "name"),
    [("Composite", "ontology"), ("Congruence", "typeRef")],
)
def test_texts_of_the_operations_context_have_at_most_128_characters(
    cotype: str, name: str
) -> None:
    document = {**extended(contexts=(OPERATIONS,)), "@type": ["Interface", cotype]}
    assert parse_models([{**document, name: "a" * 128}]).uploaded
    assert find_rules({**document, name: "a" * 129}) == ["stringTooLong"]


def test_a_composite_is_no_event_and_an_override_is_not_initialized() -> None:
    both = {"@type": ["Interface", "Composite", "Event"], "ontology": "o"}
    assert find_rules({**extended(contexts=(OPERATIONS,)), **both}) == ["disallowedCocotype"]
    contexts = ("annotation;2", "overriding;2", "quantitativeTypes;2", "initialization;1")
    unit = {
        "@type": ["Property", "ValueAnnotation", "Override", "Initialized"],
        "name": "u",
        "schema": "TemperatureUnit",
        "annotates": "t",
        "overrides": "unit",
        "initialValue": "kelvin",
    }
    heat = {**prop("t", "double", unit="kelvin"), "@type": ["Property", "Temperature"]}
    document = extended(heat, unit, contexts=tuple(f"dtmi:dtdl:extension:{c}" for c in contexts))
    assert find_rules(document) == ["disallowedCocotype"]


CENTRAL = "dtmi:iotcentral:context;2"


@pytest.mark.parametrize(
    ("outer", "inner", "rules"),
    [
        ([CENTRAL, "dtmi:dtdl:context;2"], None, []),
        ("dtmi:dtdl:context;2", [CENTRAL, "dtmi:dtdl:context;2"], []),
        ("dtmi:dtdl:context;3", [CENTRAL, "dtmi:dtdl:context;2"], []),
        ("dtmi:dtdl:context;2", CENTRAL, []),
        (["dtmi:dtdl:extension:historization;1", "dtmi:dtdl:context;2"], None,
         ["missingDtdlContext"]),
        ("dtmi:dtdl:context;2", ["dtmi:dtdl:extension:historization;1", "dtmi:dtdl:context;2"],
         ["dtdlContextFollowsAffiliate"]),
        (["dtmi:dtdl:context;2", CENTRAL, "dtmi:dtdl:context;2"], None,
         ["dtdlContextFollowsAffiliate"]),
        ([CENTRAL, "dtmi:dtdl:context;3"], None, ["missingDtdlContext"]),
    ],
)  # fmt: skip
def test_a_partner_of_version_2_may_stand_before_the_language(
    outer: object, inner: object, rules: list[str]
) -> None:
    state = {**prop("p", "integer"), "@type": ["Telemetry"]}
    if inner is not None:
        state = {**state, "@context": inner, "@type": ["Telemetry", "Event"]}
    document = {**model("A", [state]), "@context": outer}
    if rules:
        assert find_rules(document)[:1] == rules
    else:
        assert parse_models([document]).uploaded


def test_an_event_of_the_partner_is_a_number_or_a_text() -> None:
    event = {"@type": ["Telemetry", "Event"], "name": "t", "schema": "date"}
    document = {**model("A", [event]), "@context": ["dtmi:dtdl:context;2", CENTRAL]}
    assert find_rules(document) == ["notRequiredType"]


def test_types_that_bring_one_property_do_not_stand_together() -> None:
    context = ["dtmi:dtdl:context;2", CENTRAL]
    both = {"@type": ["Telemetry", "Temperature", "Mass"], "name": "t", "schema": "double"}
    document = {**model("A", [{**both, "unit": "kelvin"}]), "@context": context}
    assert find_rules(document) == ["conflictingSupplementalTypes"]
    # NOTE: an event brings none, so that a temperature may be one.
    event = {**both, "@type": ["Telemetry", "Temperature", "Event"], "unit": "kelvin"}
    assert parse_models([{**document, "contents": [event]}]).uploaded


def test_of_one_extension_the_version_named_last_is_in_force() -> None:
    serial = {**prop("serial"), "@type": ["Property", "Required"]}
    newer, older = REQUIREMENT, REQUIREMENT.replace(";2", ";1")
    assert parse_models([extended(serial, contexts=(older, newer))]).uploaded
    assert find_rules(extended(serial, contexts=(newer, older))) == ["invalidCotype"]
    inner = extended({**serial, "@context": newer}, contexts=(older,))
    assert parse_models([inner]).uploaded
    shadowed = mqtt(4, 4, propertyTopic="a")
    shadowed["@context"].append("dtmi:dtdl:extension:mqtt;3")
    assert find_rules(shadowed) == ["noTypeThatAllows"]


def test_a_reference_to_a_reserved_identifier_says_so() -> None:
    for version in (2, 3, 4):
        document = model("A", ["dtmi:iotcentral:p;1", "dtmi:dtdl:own;1"], version=version)
        assert find_rules(document) == ["undefinedReservedId"] * 2


def test_the_parts_of_units_stand_on_values_of_enums() -> None:
    value = {"@type": ["EnumValue", "SymbolicUnit", "DecimalUnit"], "name": "kilofoo"}
    value |= {"enumValue": "kilofoo", "symbol": "kf", "baseUnit": "watt", "prefix": "kilo"}
    kinds = {"@type": "Enum", "valueSchema": "string", "enumValues": [value]}
    contexts = ("dtmi:dtdl:extension:quantitativeTypes;2",)
    assert parse_models([extended(prop("p", kinds), contexts=contexts)]).uploaded
    wrong = extended({**prop("p"), "@type": ["Property", "SymbolicUnit"]}, contexts=contexts)
    assert find_rules(wrong) == ["missingSupplementalLiteralProperty", "invalidCotype"]


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
