"""A public building ontology of several hundred interfaces."""

from __future__ import annotations

import gzip
from typing import Any

import orjson
import pytest

from tests.shared import find_shared
from twinframe.dtdl import (
    SERVICE,
    Component,
    ModelSet,
    Relationship,
    build_hierarchy,
    compile_validator,
    parse_models,
)
from twinframe.dtdl.outline import ModelOutline


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    path = find_shared("TWINFRAME_REC_MODELS", "data/rec-building-models.jsonl.gz")
    with gzip.open(path) as lines:
        return [orjson.loads(line) for line in lines]


@pytest.fixture(scope="module")
def ontology(documents: list[dict[str, Any]]) -> ModelSet:
    return parse_models(documents, limits=SERVICE)


def test_outlines_say_what_the_parser_says(
    ontology: ModelSet, documents: list[dict[str, Any]]
) -> None:
    for document in documents:
        outline, parsed = ModelOutline(document), ontology.interfaces[document["@id"]]
        assert tuple(outline.bases) == parsed.extends
        own = {content.name: content for content in outline.contents}
        inherited = {name for base in parsed.extends for name in ontology.interfaces[base].contents}
        assert own.keys() | inherited == parsed.contents.keys()
        for name, content in own.items():
            declared = parsed.contents[name]
            assert content.kind == type(declared).__name__
            if isinstance(declared, Relationship):
                assert {each.name for each in content.properties} == declared.properties.keys()
            if isinstance(declared, Component):
                assert content.schema == declared.schema


def test_every_interface_of_the_ontology_loads(ontology: ModelSet) -> None:
    assert len(ontology.interfaces) == len(ontology.uploaded) == 767


def test_every_interface_of_the_ontology_compiles_to_a_validator(ontology: ModelSet) -> None:
    for interface in ontology.interfaces.values():
        validator = compile_validator(interface, ontology.interfaces.__getitem__)
        parts: dict[str, object] = {name: {} for name in interface.components}
        assert validator.validate_twin({"$metadata": {}, **parts}) == []


def test_ancestors_and_descendants_mirror_each_other(ontology: ModelSet) -> None:
    hierarchy = build_hierarchy(ontology.interfaces.values())
    for interface in ontology.interfaces.values():
        for base in interface.ancestors:
            assert interface.id in hierarchy.descendants(base)
            assert set(ontology.interfaces[base].contents) <= set(interface.contents)
