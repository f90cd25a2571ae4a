"""Findings point at their place: JSON pointers into the twin, relationship or list of models."""

from __future__ import annotations

from typing import Any

import pytest
from jsonpointer import resolve_pointer

from twinframe.dtdl import compile_validator, parse_models
from twinframe.dtdl.findings import ModelFinding
from twinframe.errors import TwinframeError

CONTEXT = "dtmi:dtdl:context;3"
CLIMATE = {
    "@context": CONTEXT,
    "@id": "dtmi:x:Climate;1",
    "@type": "Interface",
    "contents": [{"@type": "Property", "name": "setpoint", "schema": "double"}],
}
ROOM = {
    "@context": CONTEXT,
    "@id": "dtmi:x:Room;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Property", "name": "seats", "schema": "integer"},
        {"@type": "Component", "name": "climate", "schema": "dtmi:x:Climate;1"},
        {
            "@type": "Relationship",
            "name": "leadsTo",
            "properties": [{"@type": "Property", "name": "width", "schema": "double"}],
        },
    ],
}
INTERFACES = parse_models([ROOM, CLIMATE]).interfaces
VALIDATOR = compile_validator(INTERFACES["dtmi:x:Room;1"], INTERFACES.__getitem__)


@pytest.mark.parametrize(
    ("twin", "target"),
    [
        ({"seats": "x", "climate": {}}, "/seats"),
        ({"climate": {"setpoint": "warm"}}, "/climate/setpoint"),
        ({"climate": {"a/b~c": 1}}, "/climate/a~1b~0c"),
        ({"climate": 5}, "/climate"),
        ({"nothing": 1, "climate": {}}, "/nothing"),
    ],
)
def test_a_violation_points_into_the_twin(twin: dict[str, Any], target: str) -> None:
    (violation,) = VALIDATOR.validate_twin(twin)
    assert violation.target == target
    resolve_pointer(twin, target)


def test_what_is_missing_is_pointed_at_where_it_would_be() -> None:
    assert [one.target for one in VALIDATOR.validate_twin({})] == ["/climate"]


def test_a_violation_points_into_the_relationship() -> None:
    (violation,) = VALIDATOR.validate_relationship("leadsTo", {"width": True})
    assert violation.target == "/width"
    (violation,) = VALIDATOR.validate_relationship("leadTo", {})
    assert violation.target == "/$relationshipName"


def test_a_finding_points_into_the_list_of_models() -> None:
    bad = {**ROOM, "@id": "dtmi:x:Bad;1", "contents": [{"@type": "Property", "name": "a"}]}
    worse = {**CLIMATE, "contents": [{"@type": "Property", "name": "b", "schema": "doubel"}]}
    with pytest.raises(TwinframeError) as refused:
        parse_models([bad, worse])
    found = [one for one in refused.value.details if isinstance(one, ModelFinding)]
    assert {one.target for one in found} == {"/0/contents/0", "/1/contents/0/schema"}
    for one in found:
        resolve_pointer([bad, worse], one.target)
