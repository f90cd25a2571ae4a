"""Rules that name models by public ontologies."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from twinframe_storage_rdf.mapping import GraphNames
from twinframe_storage_rdf.ontology import Ontology
from twinframe_storage_rdf.settings import RdfSettings

REC = {
    "dtmi:digitaltwins:rec_3_3:core:*;1": "https://w3id.org/rec/core/*",
    "dtmi:digitaltwins:rec_3_3:asset:*;1": "https://w3id.org/rec/asset/*",
    "dtmi:digitaltwins:rec_3_3:agents:*;1": "https://w3id.org/rec/agents/*",
    "dtmi:digitaltwins:rec_3_3:core:Space;1": "https://brickschema.org/schema/Brick#Space",
}
segments = st.from_regex(r"[A-Za-z][A-Za-z0-9_]{0,6}", fullmatch=True)


def test_a_rule_with_a_star_names_every_model_of_a_namespace() -> None:
    names = GraphNames("g", REC)
    assert names.build_model_iri("dtmi:digitaltwins:rec_3_3:core:Room;1") == (
        "https://w3id.org/rec/core/Room"
    )
    assert names.build_model_iri("dtmi:other:core:Room;1") == "dtmi:other:core:Room;1"


def test_a_star_stands_for_one_name_segment_and_one_version() -> None:
    rules = Ontology(REC)
    assert rules.find_iri("dtmi:digitaltwins:rec_3_3:core:inner:Room;1") is None
    assert rules.find_iri("dtmi:digitaltwins:rec_3_3:core:Room;2") is None


def test_a_rule_for_one_model_comes_before_a_rule_for_many() -> None:
    rules = Ontology(REC)
    space = "dtmi:digitaltwins:rec_3_3:core:Space;1"
    assert rules.find_iri(space) == "https://brickschema.org/schema/Brick#Space"
    assert rules.find_model("https://brickschema.org/schema/Brick#Space") == space


@pytest.mark.parametrize(
    "rules",
    [
        {"dtmi:a;1": "https://x.example/A", "dtmi:b;1": "https://x.example/A"},
        {"dtmi:a:*;1": "https://x.example/*", "dtmi:b:*;1": "https://x.example/*"},
        {"dtmi:a:*;1": "https://x.example/*", "dtmi:b:*;1": "https://x.example/pre*"},
        {"dtmi:a:*;1": "https://x.example/*", "dtmi:b:c;1": "https://x.example/Room"},
        {"dtmi:a:*;1": "https://x.example/Room"},
        {"dtmi:a:Room;1": "https://x.example/*"},
        {"dtmi:*:a;1": "https://x.example/*"},
        {"no model": "https://x.example/A"},
        {"dtmi:a;1": "no iri"},
        {"dtmi:a;1": "https://x.example/> ?s ?p"},
        {"dtmi:a;1": "p:short"},
        {"dtmi:a;1": "urn:twinframe:twin:a"},
    ],
)
def test_rules_that_are_not_one_to_one_or_no_iris_are_refused(rules: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match="Ontology"):
        RdfSettings(ontology=rules)


def test_rules_that_cannot_meet_are_taken() -> None:
    assert RdfSettings(ontology=REC).ontology == REC


@given(
    st.dictionaries(
        st.builds("dtmi:{}:*;1".format, segments),
        st.builds("https://x.example/{}{}*{}".format, segments, st.sampled_from("/#_"), segments),
        max_size=4,
    ),
    segments,
)
def test_rules_without_faults_lead_there_and_back(rules: dict[str, str], name: str) -> None:
    ontology = Ontology(rules)
    if list(ontology.find_faults()):
        return
    for rule in rules:
        model = rule.replace("*", name)
        iri = ontology.find_iri(model)
        assert iri is not None
        assert ontology.find_model(iri) == model


def test_all_models_of_the_field_get_names_of_their_own() -> None:
    named = os.environ.get("TWINFRAME_REC_MODELS")
    file = Path(named or Path(__file__).parents[4] / "shared/data/rec-building-models.jsonl.gz")
    if not file.exists():
        pytest.skip(f"TWINFRAME_REC_MODELS is not set and there is no {file}")
    with gzip.open(file) as lines:
        models = [orjson.loads(line)["@id"] for line in lines]
    spaces = {model.rpartition(":")[0] for model in models if model.endswith(";1")}
    assert len(spaces) > 3
    rules = {f"{one}:*;1": f"https://w3id.org/rec/{one.split(':', 2)[2]}/*" for one in spaces}
    names = GraphNames("g", RdfSettings(ontology=rules).ontology)
    iris = {names.build_model_iri(model): model for model in models}
    assert len(iris) == len(models)
    assert all(names.parse_model_iri(iri) == model for iri, model in iris.items())
    assert sum(iri.startswith("https://w3id.org/rec/") for iri in iris) > 200
