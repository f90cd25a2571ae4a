"""DTDL v4: its schemas, its limits, and schemas that contain themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.dtdl.documents import find_all, find_rules, model, prop
from twinframe.dtdl import (
    SPECIFICATION,
    ObjectSchema,
    PrimitiveSchema,
    Schema,
    SchemaReference,
    compile_test,
    compile_validator,
    list_mismatches,
    parse_models,
    parse_value,
)

CORE = "dtmi:dtdl:context;4"
LIMITLESS = f"{CORE}#limitless"
ONVIF = "dtmi:dtdl:limits:onvif;1"
TREE = "dtmi:com:example:Tree;1"


def build_schema(schema: object, version: int = 4) -> Schema:
    models = parse_models([model("A", [prop("p", schema)], version=version)])
    return models.interfaces["dtmi:com:example:A;1"].properties["p"].schema


def conforms(schema: Schema, value: object) -> bool:
    found = compile_test(schema)(value)
    assert found is (list(list_mismatches(schema, value)) == [])
    return found


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("byte", ["127", "-128", "-0"], ["128", "-129", "1.0"]),
        ("short", ["32767", "-32768"], ["32768"]),
        ("unsignedByte", ["0", "255"], ["-1", "256", "-0"]),
        ("unsignedShort", ["65535"], ["65536", "-0"]),
        ("unsignedInteger", ["4294967295"], ["4294967296"]),
        ("unsignedLong", ["18446744073709551615"], ["18446744073709551616", "-0", "-1"]),
        (
            "decimal",
            ['"1"', '"-3.14"', '"+0.5"', '"3."', '"0"'],
            ["1", '"1e3"', '""', '"."', '"1,5"', '"01"', '"-00.5"', '".5"'],
        ),
        ("bytes", ['""', '"aGVsbG8="'], ['"aGVsbG8"', '"aGV*"', "1"]),
        (
            "uuid",
            ['"00a185be-a3a4-465a-9dac-cfa24bc7b923"'],
            ['"00a185bea3a4465a9daccfa24bc7b923"'],
        ),
        ("float", ["-0", "1.5"], ["1e39", "true"]),
        ("double", ["-0", "1e300"], ['"1"']),
    ],
)
def test_the_scalars_take_and_refuse(name: str, right: list[str], wrong: list[str]) -> None:
    schema = PrimitiveSchema(name)
    assert [text for text in right if not conforms(schema, parse_value(text))] == []
    assert [text for text in wrong if conforms(schema, parse_value(text))] == []


def test_texts_that_python_takes_for_json_are_none() -> None:
    for text in ("NaN", "-Infinity", "", "{'a': 1}", "01"):
        with pytest.raises(ValueError, match=r"."):
            parse_value(text)


def test_a_scaled_decimal_is_an_object_of_value_and_scale() -> None:
    schema = build_schema("scaledDecimal")
    assert conforms(schema, {"value": "3.14", "scale": -2})
    assert not conforms(schema, {"value": 3.14})
    assert not conforms(schema, {"value": "1", "scale": 32768})
    assert not conforms(schema, {"value": "3.14", "precision": 1})


@pytest.mark.parametrize("name", ["byte", "uuid", "scaledDecimal", "unsignedLong"])
def test_the_schemas_of_version_4_are_unknown_before(name: str) -> None:
    assert find_rules(model("A", [prop("p", name)])) == ["badDtmiOrTerm"]
    assert build_schema(name) is not None


def tree(**more: object) -> dict[str, Any]:
    fields = [
        {"name": "label", "schema": "string"},
        {"name": "next", "schema": TREE},
        {"name": "many", "schema": {"@type": "Array", "elementSchema": TREE}},
    ]
    return {"@id": TREE, "@type": "Object", "fields": fields, **more}


def test_a_schema_may_contain_itself_and_its_values_are_checked_all_the_way_down() -> None:
    schema = build_schema(tree())
    assert conforms(schema, {"label": "a", "next": {"next": {"many": [{"label": "b"}]}}})
    wrong = {"next": {"many": [{"label": "b"}, {"label": 3}]}}
    assert not conforms(schema, wrong)
    (mismatch,) = list_mismatches(schema, wrong)
    assert mismatch.path == "/next/many/1/label"


def test_a_schema_that_contains_itself_knows_where() -> None:
    schema = build_schema(tree())
    assert isinstance(schema, ObjectSchema)
    mention = schema.fields["next"]
    assert isinstance(mention, SchemaReference)
    assert mention.target is schema


def test_a_schema_may_not_contain_itself_in_version_3() -> None:
    assert "recursiveStructureWide" in find_rules(model("A", [prop("p", tree())]))


def test_two_schemas_may_contain_each_other() -> None:
    ids = ["dtmi:com:example:One;1", "dtmi:com:example:Two;1"]
    schemas = [
        {"@id": own, "@type": "Object", "fields": [{"name": "other", "schema": other}]}
        for own, other in zip(ids, reversed(ids), strict=True)
    ]
    interface = model("A", [prop("p", ids[0]), prop("q", ids[1])], version=4, schemas=schemas)
    models = parse_models([interface])
    for content in models.interfaces["dtmi:com:example:A;1"].properties.values():
        assert conforms(content.schema, {"other": {"other": {}}})
        assert not conforms(content.schema, {"other": {"other": {"one": 1}}})


def test_a_value_of_a_schema_without_bound_conforms_up_to_a_depth() -> None:
    schema = build_schema(tree())
    value: dict[str, Any] = {}
    for _ in range(98):
        value = {"next": value}
    assert conforms(schema, value)
    for _ in range(5000):
        value = {"next": value}
    assert not conforms(schema, value)
    (mismatch,) = list_mismatches(schema, value)
    assert mismatch.right == "nested at most 100 deep"


def build_nested(depth: int) -> object:
    schema: object = "double"
    for _ in range(depth):
        schema = {"@type": "Array", "elementSchema": schema}
    return schema


@pytest.mark.parametrize(
    ("context", "bound"),
    [
        ([CORE], 8),
        ([LIMITLESS, CORE], 8),
        ([LIMITLESS, f"{CORE}#limits"], 8),
        ([LIMITLESS, "dtmi:dtdl:limits:aio;1"], 12),
        ([LIMITLESS, ONVIF], 24),
    ],
)
def test_limits_bound_how_deep_schemas_stand_in_each_other(context: list[str], bound: int) -> None:
    accepting = replace(SPECIFICATION, accept_all_limits=True)
    fitting = {**model("A", [prop("p", build_nested(bound))]), "@context": context}
    assert parse_models([fitting], limits=accepting).uploaded
    deep = {**model("A", [prop("p", build_nested(bound + 1))]), "@context": context}
    assert "excessiveDepthWide" in find_rules(deep, limits=accepting)


def test_a_long_cycle_of_schemas_is_bounded_too() -> None:
    ids = [f"dtmi:com:example:S{n};1" for n in range(3000)]
    schemas = [
        {"@id": own, "@type": "Array", "elementSchema": other}
        for own, other in zip(ids, [*ids[1:], ids[0]], strict=True)
    ]
    rules = find_rules(model("A", version=4, schemas=schemas))
    assert set(rules) == {"excessiveDepthWide"}
    resolved = model("A", [prop("p", ids[1500])], version=4, schemas=schemas)
    heir = model("Heir", version=4, extends="dtmi:com:example:A;1")
    models = parse_models([heir], resolve=lambda _: [resolved])
    schema = models.interfaces["dtmi:com:example:Heir;1"].properties["p"].schema
    value: list[Any] = []
    for _ in range(90):
        value = [value]
    assert conforms(schema, value)
    assert not conforms(schema, [1])


@pytest.mark.parametrize(
    ("context", "rule"),
    [
        (LIMITLESS, "missingLimitContext"),
        ([LIMITLESS], "missingLimitContext"),
        ([LIMITLESS, LIMITLESS], "missingLimitContext"),
        ([LIMITLESS, "dtmi:dtdl:extension:quantitativeTypes;2", ONVIF], "missingLimitContext"),
        ([LIMITLESS, "dtmi:dtdl:context;3"], "missingLimitContext"),
        (f"{CORE}#limits", "misplacedLimitContext"),
        ([CORE, f"{CORE}#limits"], "misplacedLimitContext"),
        ([CORE, ONVIF], "misplacedLimitContext"),
        ([ONVIF, LIMITLESS], "missingDtdlContext"),
        (f"{CORE}#other", "invalidContextFragment"),
        ("dtmi:dtdl:context;3#limits", "disallowedContextFragment"),
        ([LIMITLESS, ONVIF], "disallowedLimitContext"),
        ([LIMITLESS, "dtmi:dtdl:limits:onvif;2"], "unresolvableContextVersion"),
        ([LIMITLESS, "dtmi:dtdl:limits:onwif;1"], "unresolvableContextSpecifier"),
    ],
)
def test_limits_stand_where_they_belong(context: object, rule: str) -> None:
    assert find_rules({**model("A"), "@context": context}) == [rule]


@pytest.mark.parametrize("accepted", ["dtmi:dtdl:limits:onvif", ONVIF])
def test_a_limit_context_is_accepted_by_family_or_by_version(accepted: str) -> None:
    limits = replace(SPECIFICATION, acceptable_limits=frozenset({accepted}))
    chosen = {**model("A"), "@context": [LIMITLESS, ONVIF]}
    assert parse_models([chosen], limits=limits).uploaded


@pytest.mark.parametrize(
    ("limits", "name", "bound"),
    [
        ("onvif", "description", 4096),
        ("onvif", "comment", 512),
        ("onvif", "displayName", 512),
        ("aio", "description", 2048),
        ("aio", "comment", 512),
        ("aio", "displayName", 512),
    ],
)
def test_limit_contexts_bound_the_texts(limits: str, name: str, bound: int) -> None:
    accepting = replace(SPECIFICATION, accept_all_limits=True)
    context = ["dtmi:dtdl:context;4#limitless", f"dtmi:dtdl:limits:{limits};1"]
    document = {**model("A"), "@context": context}
    assert parse_models([{**document, name: "a" * bound}], limits=accepting).uploaded
    (rule,) = find_rules({**document, name: "a" * (bound + 1)}, limits=accepting)
    assert rule in ("stringTooLong", "langStringValueTooLong")


@pytest.mark.parametrize(
    ("chosen", "of_an_interface", "other"),
    [
        (ONVIF, 256, 512),
        ("dtmi:dtdl:limits:aio;1", 128, 2048),
        ("dtmi:dtdl:context;4", 128, 2048),
    ],
)
def test_limit_contexts_bound_the_identifiers(
    chosen: str, of_an_interface: int, other: int
) -> None:
    accepting = replace(SPECIFICATION, accept_all_limits=True)

    def build(length: int, length_inside: int) -> dict[str, Any]:
        content = {**prop("p", "double"), "@id": f"dtmi:{'b' * (length_inside - 7)};1"}
        identifier = f"dtmi:{'a' * (length - 7)};1"
        document = model("A", [content])
        return {**document, "@context": [LIMITLESS, chosen], "@id": identifier}

    assert parse_models([build(of_an_interface, other)], limits=accepting).uploaded
    long = build(of_an_interface + 1, other)
    assert find_rules(long, limits=accepting) == ["idTooLongForType"]
    longer = build(of_an_interface, other + 1)
    assert find_rules(longer, limits=accepting) == ["idTooLong"]


def test_a_payload_may_be_nullable_from_version_4_on() -> None:
    request = {"name": "x", "schema": "double", "nullable": True}
    command = {"@type": "Command", "name": "c", "request": request}
    models = parse_models([model("A", [command], version=4)])
    payload = models.interfaces["dtmi:com:example:A;1"].commands["c"].request
    assert payload is not None
    assert payload.nullable
    assert find_rules(model("A", [command])) == ["inferredTypeDoesNotAllow"]


def test_schemas_shared_level_by_level_are_compiled_once_each() -> None:
    schemas: list[dict[str, Any]] = []
    inner: object = "double"
    for level in range(8):
        identifier = f"dtmi:com:example:L{level};1"
        fields = [{"name": f"f{n}", "schema": inner} for n in range(30)]
        schemas.append({"@id": identifier, "@type": "Object", "fields": fields})
        inner = identifier
    # NOTE: written out this is a tree of 30^8 fields, which counts against the total.
    document = model("A", [prop("p", inner)], version=4, schemas=schemas)
    (finding,) = find_all(document)
    assert finding.code == "excessiveCount"
    small = {**document, "schemas": schemas[:3], "contents": [prop("p", schemas[2]["@id"])]}
    interface = parse_models([small]).interfaces["dtmi:com:example:A;1"]
    validator = compile_validator(interface, {}.__getitem__)
    assert validator.validate_twin({"p": {"f0": {"f29": {"f1": 1.5}}}}) == []
