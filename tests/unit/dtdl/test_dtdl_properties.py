"""Any JSON at all gives a verdict: no foreign exception, and test and explanation agree."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.dtdl.conftest import ENUM, LAYOUT
from tests.unit.dtdl.documents import model, prop
from twinframe.dtdl import (
    SPECIFICATION,
    ModelFinding,
    ModelSet,
    ModelText,
    ParserLimits,
    PrimitiveSchema,
    Resolver,
    TwinValidator,
    compile_test,
    list_mismatches,
    parse_model_texts,
    parse_models,
)
from twinframe.dtdl.scalars import PRIMITIVE_TESTS
from twinframe.errors import ErrorDetail, InputError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
WORDS = st.sampled_from(
    ["@context", "@id", "@type", "@value", "@language", "@graph", "contents", "extends", "schemas",
     "schema", "name", "displayName", "fields", "enumValues", "enumValue", "valueSchema", "mapKey",
     "mapValue", "elementSchema", "target", "writable", "maxMultiplicity", "properties", "unit",
     "request", "nullable", "initialValue", "minimum", "index", "dtmi:dtdl:property:name;3",
     "http://a/b", "foo"]
)  # fmt: skip
TERMS = st.sampled_from(
    ["dtmi:dtdl:context;2", "dtmi:dtdl:context;3", "dtmi:dtdl:context;4",
     "dtmi:dtdl:context;4#limitless", "dtmi:dtdl:limits:onvif;1", "dtmi:iotoperations:context;4",
     "dtmi:dtdl:extension:mqtt;4", "dtmi:dtdl:extension:initialization;1", "Initialized", "Limited",
     "Result", "ErrorInfo", "dtmi:dtdl:extension:quantitativeTypes;1",
     "Interface", "Property", "Telemetry", "Relationship", "Component", "Command", "Object", "Map",
     "Array", "Enum", "Field", "Velocity", "double", "string", "dtmi:com:example:A;1", "a", "en",
     "dtmi:com:example:B;1", "metrePerSecond", "ValueAnnotation"]
)  # fmt: skip
JSON = st.recursive(
    SCALARS | TERMS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=25,
)
VALID: list[dict[str, Any]] = [
    model(
        "A",
        [
            prop("kind", ENUM),
            prop("layout", LAYOUT),
            {"@type": "Relationship", "name": "r", "target": "dtmi:com:example:B;1"},
            {"@type": "Component", "name": "c", "schema": "dtmi:com:example:B;1"},
        ],
        displayName={"en": "A", "de": "A"},
    ),
    model("B", [{"@type": "Command", "name": "go", "request": {"name": "x", "schema": "date"}}]),
]


def judge(
    documents: Sequence[object],
    resolve: Resolver | None = None,
    limits: ParserLimits = SPECIFICATION,
) -> None:
    """Parse; an error must be ours and every one of its details a finding with a rule."""
    details: tuple[ErrorDetail, ...] | None = None
    try:
        parse_models(documents, resolve=resolve, limits=limits)
    except InputError as error:
        details = error.details
    if details is not None:
        assert details
        assert all(isinstance(d, ModelFinding) and d.code and d.message for d in details)


def list_places(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a JSON value."""
    found = [path]
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        found += list_places(item, (*path, key))
    return found


def find_value(place: tuple[Any, ...]) -> object:
    """Return the value at a place of the valid documents."""
    value: Any = VALID
    for step in place:
        value = value[step]
    return value


PLACES = [place for place in list_places(VALID) if len(place) >= 1]
OBJECTS = [place for place in PLACES if isinstance(find_value(place), dict)]
CONTEXTS = [
    "dtmi:dtdl:context;2",
    "dtmi:dtdl:context;3",
    ["dtmi:dtdl:extension:quantitativeTypes;1"],
    ["dtmi:dtdl:context;2", "dtmi:dtdl:extension:annotation;2"],
    [],
    "dtmi:com:unknown;1",
    "dtmi:dtdl:context;4",
    ["dtmi:dtdl:context;4#limitless", "dtmi:dtdl:limits:onvif;1"],
    ["dtmi:dtdl:context;4", "dtmi:dtdl:extension:mqtt;4", "dtmi:iotoperations:context;4"],
]
LIMITS = [
    SPECIFICATION,
    replace(SPECIFICATION, accept_all_limits=True, allow_undefined_extensions=True),
    replace(SPECIFICATION, tolerate_solecisms=True, tolerate_resolved_solecisms=True),
]


@given(st.lists(JSON, max_size=3))
def test_any_json_as_models_gives_a_verdict(documents: list[object]) -> None:
    judge(documents)


@given(st.sampled_from(PLACES), JSON)
@settings(max_examples=300)
def test_a_valid_upload_with_one_value_replaced_gives_a_verdict(
    place: tuple[Any, ...], value: object
) -> None:
    documents: Any = copy.deepcopy(VALID)
    target = documents
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    judge(documents)


@given(st.sampled_from(OBJECTS), st.sampled_from(CONTEXTS), WORDS, JSON, st.sampled_from(LIMITS))
@settings(max_examples=300)
def test_a_valid_upload_with_another_context_inside_gives_a_verdict(
    place: tuple[Any, ...], context: object, word: str, value: object, limits: ParserLimits
) -> None:
    documents: Any = copy.deepcopy(VALID)
    target = documents
    for step in place:
        target = target[step]
    target[word] = value
    target["@context"] = context
    judge(documents, limits=limits)


@given(st.text() | st.text('{}[]",:\\ @idcontext'), st.integers(0, 10_000), st.booleans())
def test_any_text_gives_a_verdict(text: str, place: int, cut: bool) -> None:
    whole = json.dumps(VALID, indent=1)
    texts = [text, whole[: place % len(whole)] if cut else whole]
    try:
        parse_model_texts([ModelText(f"{n}.json", item) for n, item in enumerate(texts)])
    except InputError as error:
        findings = [d for d in error.details if isinstance(d, ModelFinding)]
    else:
        findings = []
    assert all(f.line >= 1 and f.source and f.reason for f in findings)


REFERENCES = st.sampled_from([f"dtmi:com:example:S{n};1" for n in range(4)])
SCHEMAS = st.recursive(
    REFERENCES | st.sampled_from(["double", "string", "uuid"]),
    lambda inner: (
        st.builds(lambda item: {"@type": "Array", "elementSchema": item}, inner)
        | st.builds(
            lambda items: {
                "@type": "Object",
                "fields": [{"name": f"f{n}", "schema": item} for n, item in enumerate(items)],
            },
            st.lists(inner, max_size=3),
        )
    ),
    max_leaves=6,
).filter(lambda schema: isinstance(schema, dict))


@given(st.lists(SCHEMAS, min_size=4, max_size=4), JSON)
def test_schemas_in_any_tangle_give_a_verdict_on_any_value(
    schemas: list[dict[str, Any]], value: object
) -> None:
    named = [{**schema, "@id": f"dtmi:com:example:S{n};1"} for n, schema in enumerate(schemas)]
    contents = [prop(f"p{n}", f"dtmi:com:example:S{n};1") for n in range(4)]
    try:
        models = parse_models([model("A", contents, version=4, schemas=named)])
    except InputError:
        return
    for property_ in models.interfaces["dtmi:com:example:A;1"].properties.values():
        expected = list(list_mismatches(property_.schema, value)) == []
        assert compile_test(property_.schema)(value) is expected


@given(st.sampled_from(PLACES), JSON, st.booleans())
def test_any_json_from_a_resolver_gives_a_verdict(
    place: tuple[Any, ...], value: object, trusted: bool
) -> None:
    stored: Any = copy.deepcopy(VALID)
    target = stored
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    heir = model("Heir", extends=["dtmi:com:example:A;1", "dtmi:com:example:B;1"])
    judge([heir], lambda _: stored, replace(SPECIFICATION, trust_resolved=trusted))


@given(st.sampled_from(sorted(PRIMITIVE_TESTS)), JSON)
def test_test_and_explanation_of_a_scalar_agree(name: str, value: object) -> None:
    schema = PrimitiveSchema(name)
    assert compile_test(schema)(value) is (list(list_mismatches(schema, value)) == [])


@given(JSON)
def test_test_and_explanation_of_nested_values_agree(building: ModelSet, value: object) -> None:
    for prop_ in building.interfaces["dtmi:com:example:Room;1"].properties.values():
        expected = list(list_mismatches(prop_.schema, value)) == []
        assert compile_test(prop_.schema)(value) is expected


@given(st.dictionaries(st.text(max_size=6) | st.sampled_from(["label", "sensor"]), JSON))
def test_any_object_as_a_twin_gives_a_verdict(
    room: TwinValidator, document: dict[str, object]
) -> None:
    details = room.validate_twin(document)
    assert all(d.code == "ValidationFailed" for d in details)
    if not isinstance(document.get("sensor"), dict):
        assert details


def test_a_value_nested_thousands_deep_gives_a_verdict(room: TwinValidator) -> None:
    value: object = 1
    for _ in range(5000):
        value = {"doors": [value]}
    assert room.validate_content("layout", value)
    judge([value])
    judge([model("A", [prop("p", value)], displayName=value)])
