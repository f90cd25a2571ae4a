"""A public building ontology of several hundred interfaces."""

from __future__ import annotations

import gzip

import orjson
import pytest

from tests.shared import find_shared
from twinframe.dtdl import SERVICE, ModelSet, build_hierarchy, compile_validator, parse_models


@pytest.fixture(scope="module")
def ontology() -> ModelSet:
    path = find_shared("TWINFRAME_REC_MODELS", "data/rec-building-models.jsonl.gz")
    with gzip.open(path) as lines:
        return parse_models([orjson.loads(line) for line in lines], limits=SERVICE)


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
