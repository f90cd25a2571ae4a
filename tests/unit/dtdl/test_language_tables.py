"""The tables of the language: semantic types, units and co-types, against the published ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.shared import find_shared
from tests.unit.dtdl.documents import find_rules
from twinframe.dtdl import parse_models
from twinframe.dtdl.metamodel import AdjunctRule, Vocabulary
from twinframe.dtdl.rules import EXTENSIONS, LANGUAGES, LIMITED
from twinframe.dtdl.rules.core import CLASSES
from twinframe.errors import ModelParsingFailed

VOCABULARIES = {rules.core.context: rules.core for rules in LANGUAGES.values()} | EXTENSIONS
# What the published tables leave out: partners of DTDL v2, and an extension of a preview.
UNPUBLISHED = {"dtmi:iotcentral:context;2", "dtmi:dtdl:extension:initialization;1"}


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    path = find_shared("TWINFRAME_DTDL_TABLES", "data/dtdl-tables.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _list_quantities(vocabulary: Vocabulary) -> Iterator[AdjunctRule]:
    return (rule for rule in vocabulary.adjuncts.values() if "unit" in rule.properties)


def test_semantic_types_and_units_are_the_published_ones(tables: dict[str, Any]) -> None:
    for context, table in tables["quantitativeTypes"].items():
        vocabulary = VOCABULARIES[context]
        rules = list(_list_quantities(vocabulary))
        kinds = {rule.name: rule.properties["unit"].value_type for rule in rules}
        assert kinds == table["semanticTypes"], context
        units = {kind: sorted(names) for kind, names in vocabulary.enums.items()}
        assert units == {kind: sorted(names) for kind, names in table["units"].items()}, context
        versions = {rule.versions for rule in rules}
        assert versions == {frozenset(table["languageVersions"])}, context
        for rule in rules:
            terms = {term for term in rule.properties["unit"].terms if ":" not in term}
            assert terms == set(table["units"][kinds[rule.name]])


def test_every_published_type_stands_where_it_may(tables: dict[str, Any]) -> None:
    published = set()
    for identifier, table in tables["adjuncts"].items():
        vocabulary = VOCABULARIES[table["extensionContext"]]
        if table["abstract"] or not table["cotypes"]:
            continue
        rule = vocabulary.adjuncts[vocabulary.names[identifier]]
        assert rule.on == CLASSES & set(table["cotypes"]), identifier
        assert rule.versions == frozenset(table["cotypeVersions"]), identifier
        for sibling in table["siblings"]:
            if "disallowedType" in sibling:
                assert rule.sibling_classes == set(sibling["requiredTypeNames"])
        published.add((vocabulary.context, rule.name))
    ours = {
        (vocabulary.context, rule.name)
        for vocabulary in VOCABULARIES.values()
        if vocabulary.context not in UNPUBLISHED
        for rule in vocabulary.adjuncts.values()
        if "unit" not in rule.properties
    }
    assert published == ours


def test_the_limit_contexts_are_the_published_ones(tables: dict[str, Any]) -> None:
    published = {name: limit["dtdlVersion"] for name, limit in tables["limitContexts"].items()}
    assert {name: rules.version for name, rules in LIMITED.items()} == published


# --- an ontology of everything that the tables of the product hold ------------------------------

QUANTITIES = [
    (version, vocabulary, rule)
    for vocabulary in VOCABULARIES.values()
    for rule in _list_quantities(vocabulary)
    if vocabulary.context not in UNPUBLISHED
    for version in sorted(rule.versions)
]


def _build_model(version: int, vocabulary: Vocabulary, rule: AdjunctRule, unit: str) -> Any:
    contexts = dict.fromkeys([f"dtmi:dtdl:context;{version}", vocabulary.context])
    path = vocabulary.context.replace(";", ":v").removeprefix("dtmi:")
    path = path.replace("dtdl:", "").replace(":1", ":v1")
    return {
        "@context": list(contexts),
        "@id": f"dtmi:com:example:{path}:on{version}:{rule.name}:{unit};1",
        "@type": "Interface",
        "contents": [
            {"@type": ["Property", rule.name], "name": "a", "schema": "double", "unit": unit},
            {"@type": ["Telemetry", rule.name], "name": "b", "schema": "long", "unit": unit},
        ],
    }


def _list_units(rule: AdjunctRule) -> list[str]:
    return [term for term in rule.properties["unit"].terms if ":" not in term]


def test_an_ontology_of_every_unit_of_every_semantic_type_loads_whole() -> None:
    documents = [
        _build_model(version, vocabulary, rule, unit)
        for version, vocabulary, rule in QUANTITIES
        for unit in _list_units(rule)
    ]
    models = parse_models(documents)
    assert len(models.interfaces) == len(documents) > 2500
    for document in documents:
        contents = models.interfaces[document["@id"]].contents
        assert contents["a"].unit == contents["b"].unit == document["contents"][0]["unit"]  # type: ignore[union-attr]  # a property and a telemetry


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_unit_of_another_kind_is_refused_with_the_right_ones(version: int) -> None:
    for language, vocabulary, rule in QUANTITIES:
        if language != version:
            continue
        right = _list_units(rule)
        wrong = next(
            unit for units in vocabulary.enums.values() for unit in units if unit not in right
        )
        for unit in (wrong, "noSuchUnit"):
            with pytest.raises(ModelParsingFailed) as caught:
                parse_models([_build_model(language, vocabulary, rule, unit)])
            for finding in caught.value.details:
                assert f'has the value "{unit}"' in finding.message
                assert all(f"'{name}'" in finding.message for name in right)


def test_a_semantic_type_is_refused_in_a_version_it_does_not_belong_to() -> None:
    vocabulary = EXTENSIONS["dtmi:dtdl:extension:quantitativeTypes;1"]
    document = _build_model(4, vocabulary, vocabulary.adjuncts["Power"], "watt")
    assert set(find_rules(document)) == {"invalidCotypeVersion"}
    with pytest.raises(ModelParsingFailed, match="only for 2 and 3"):
        parse_models([document])
