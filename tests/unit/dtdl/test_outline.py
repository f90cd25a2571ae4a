"""Outlines of model documents: every form that the language allows, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from twinframe.dtdl.outline import ModelOutline, read_elements, read_list

INNER: dict[str, Any] = {
    "@id": "dtmi:x:Inner;1",
    "@type": "Interface",
    "contents": {"@type": "Property", "name": "deep", "schema": "date"},
}


@pytest.mark.parametrize(
    ("value", "found"), [(None, []), ("a", ["a"]), ([], []), (["a", 1], ["a", 1]), ({}, [{}])]
)
def test_a_member_is_left_out_one_value_or_a_list(value: object, found: list[object]) -> None:
    assert read_list(value) == found
    assert read_elements(value) == [each for each in found if isinstance(each, dict)]


def test_contents_have_a_kind_and_a_name_whatever_other_types_they_have() -> None:
    outline = ModelOutline(
        {
            "contents": [
                {"@type": ["Temperature", "Property"], "name": "t", "schema": "double"},
                {"@type": "Telemetry", "name": "noise", "schema": "long"},
                {
                    "@type": "Relationship",
                    "name": "has",
                    "properties": {"@type": "Property", "name": "since", "schema": "date"},
                },
                {"@type": "Property"},
                "odd",
            ]
        }
    )
    assert [(each.kind, each.name, each.schema) for each in outline.contents] == [
        ("Property", "t", "double"),
        ("Telemetry", "noise", "long"),
        ("Relationship", "has", None),
    ]
    relationship = list(outline.contents)[2]
    assert [(each.kind, each.name) for each in relationship.properties] == [("Property", "since")]


def test_bases_and_interfaces_within_are_told_apart() -> None:
    outline = ModelOutline(
        {
            "extends": ["dtmi:x:Base;1", INNER],
            "contents": [
                {"@type": "Component", "name": "a", "schema": INNER},
                {"@type": "Component", "name": "b", "schema": "dtmi:x:Other;1"},
                {"@type": "Property", "name": "c", "schema": {"@type": "Object", "fields": []}},
            ],
        }
    )
    assert list(outline.bases) == ["dtmi:x:Base;1"]
    assert [each.document for each in outline.inner] == [INNER, INNER]
    assert [each.name for inner in outline.inner for each in inner.contents] == ["deep", "deep"]


def test_schemas_are_found_by_id() -> None:
    level = {"@id": "dtmi:x:level;1", "@type": "Enum", "enumValues": []}
    assert ModelOutline({"schemas": level}).schemas == {"dtmi:x:level;1": level}
    assert ModelOutline({"schemas": [level, {"@type": "Enum"}]}).schemas == {
        "dtmi:x:level;1": level
    }
    assert ModelOutline({}).schemas == {}
