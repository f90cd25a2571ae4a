"""Any JSON at all gives a verdict: no foreign exception, and test and explanation agree."""

from __future__ import annotations

import copy
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
    ParserLimits,
    PrimitiveSchema,
    Resolver,
    TwinValidator,
    compile_test,
    list_mismatches,
    parse_models,
)
from twinframe.dtdl.scalars import PRIMITIVE_TESTS
from twinframe.errors import ErrorDetail, InputError

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
WORDS = st.sampled_from(
    ["@context", "@id", "@type", "@value", "@language", "@graph", "contents", "extends", "schemas",
     "schema", "name", "displayName", "fields", "enumValues", "enumValue", "valueSchema", "mapKey",
     "mapValue", "elementSchema", "target", "writable", "maxMultiplicity", "properties", "unit",
     "request", "dtmi:dtdl:property:name;3", "http://a/b", "foo"]
)  # fmt: skip
TERMS = st.sampled_from(
    ["dtmi:dtdl:context;2", "dtmi:dtdl:context;3", "dtmi:dtdl:extension:quantitativeTypes;1",
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


@given(st.sampled_from(OBJECTS), st.sampled_from(CONTEXTS), WORDS, JSON)
@settings(max_examples=300)
def test_a_valid_upload_with_another_context_inside_gives_a_verdict(
    place: tuple[Any, ...], context: object, word: str, value: object
) -> None:
    documents: Any = copy.deepcopy(VALID)
    target = documents
    for step in place:
        target = target[step]
    target[word] = value
    target["@context"] = context
    judge(documents)


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
