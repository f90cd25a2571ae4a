"""What findings say: the rule, the element, the place, and what would be right."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.dtdl.documents import find_all, find_rules, model, prop
from twinframe.dtdl import parse_models
from twinframe.errors import InputError, ModelParsingFailed


def test_a_finding_names_element_property_value_place_and_the_nearest_name() -> None:
    finding = find_all(model("A"), model("B", [prop("fine"), prop("bad", "duble")]))[0]
    assert finding.code == "badDtmiOrTerm"
    assert finding.element == "dtmi:com:example:B:_contents:__bad;1"
    assert (finding.property, finding.value) == ("schema", '"duble"')
    assert (finding.document, finding.pointer) == (1, "/contents/1/schema")
    assert "Did you mean 'double'?" in finding.message
    assert "document 1, at /contents/1/schema" in finding.message


def test_a_finding_says_in_a_whole_sentence_what_an_element_may_be() -> None:
    schema, base = find_all(model("A", [prop("p", "duble")], extends=3))
    assert "must be one of 'boolean', " in schema.message
    elements = "'time', or the DTMI of an element of type Array, Enum, Map or Object, or such an "
    assert f"{elements}element itself. Did you mean 'double'?" in schema.message
    assert "must be the DTMI of an element of type Interface, or such" in base.message


def test_all_findings_of_an_upload_come_at_once() -> None:
    first = model("A", [prop("p_"), prop("q", "duble")])
    second = model("B", [{"@type": "Telemetry", "name": "t"}])
    findings = find_all(first, second)
    assert [(f.document, f.code) for f in findings] == [
        (0, "stringInvalid"),
        (0, "badDtmiOrTerm"),
        (1, "missingObjectProperty"),
    ]


def test_the_message_of_the_error_tells_how_many_more_there_are() -> None:
    with pytest.raises(ModelParsingFailed, match="And 1 more, see details"):
        parse_models([model("A", [prop("p", "x"), prop("q", "y")])])


def test_an_unknown_property_is_found_with_the_nearest_known_one() -> None:
    finding = find_all(model("A", dispalyName="Room"))[0]
    assert finding.code == "noTypeThatAllows"
    assert "Did you mean 'displayName'?" in finding.message


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({}, "missingContext"),
        ({"@context": []}, "emptyContext"),
        ({"@context": "dtmi:dtdl:context;3"}, "badType"),
        ({"@context": "dtmi:dtdl:context;3", "@type": "Interface"}, "missingTopLevelId"),
        ({"@context": "dtmi:dtdl:context;3", "@type": "Interface", "@id": "x"}, "invalidId"),
        ({"@context": ["dtmi:ex:c;1", "dtmi:dtdl:context;3"]}, "missingDtdlContext"),
        ({"@context": "dtmi:dtdl:context;" + "9" * 5000}, "invalidContextSpecifier"),
        ({"@context": "dtmi:dtdl:context;03"}, "invalidContextSpecifier"),
        (7, "notJsonObject"),
        (None, "notJsonObject"),
    ],
)
def test_a_document_that_is_no_interface_is_found(document: object, rule: str) -> None:
    assert rule in find_rules(document)


def test_one_dtmi_defined_twice_is_found() -> None:
    assert find_rules(model("A"), model("A")) == ["duplicateDefinition"]


def test_a_name_used_twice_is_found_once() -> None:
    findings = find_all(model("A", [prop("p"), prop("p", "double")]))
    assert [finding.code for finding in findings] == ["nonUniquePropertyValue"]
    assert findings[0].pointer == "/contents/1"


def test_a_name_that_two_bases_declare_is_found() -> None:
    left, right = model("L", [prop("p")]), model("R", [prop("p")])
    low = model("Low", extends=["dtmi:com:example:L;1", "dtmi:com:example:R;1"])
    findings = find_all(left, right, low)
    assert [finding.code for finding in findings] == ["nonUniqueImportedPropertyValue"]
    assert "dtmi:com:example:L;1" in findings[0].message


def test_a_name_inherited_over_two_ways_from_one_base_is_no_finding() -> None:
    top = model("Top", [prop("p")])
    left = model("L", extends="dtmi:com:example:Top;1")
    right = model("R", extends="dtmi:com:example:Top;1")
    low = model("Low", extends=["dtmi:com:example:L;1", "dtmi:com:example:R;1"])
    assert len(parse_models([top, left, right, low]).interfaces) == 4


def test_a_cycle_of_extends_is_found_on_every_interface_in_it() -> None:
    first = model("A", extends="dtmi:com:example:B;1")
    second = model("B", extends="dtmi:com:example:A;1")
    assert find_rules(first, second) == ["recursiveStructureNarrow"] * 2


def test_ten_levels_of_extends_are_the_most() -> None:
    chain = [model("I0")]
    chain += [model(f"I{n}", extends=f"dtmi:com:example:I{n - 1};1") for n in range(1, 12)]
    assert len(parse_models(chain[:11]).interfaces) == 11
    assert find_rules(*chain) == ["excessiveDepthNarrow"]


def test_a_component_whose_interface_has_components_is_found() -> None:
    inner = {"@type": "Component", "name": "inner", "schema": "dtmi:com:example:C;1"}
    outer = {"@type": "Component", "name": "outer", "schema": "dtmi:com:example:B;1"}
    findings = find_all(model("A", [outer]), model("B", [inner]), model("C"))
    assert [finding.code for finding in findings] == ["excludedType"]
    assert "'inner'" in findings[0].message


def test_an_enum_value_of_another_type_than_the_enum_is_found() -> None:
    enum = {
        "@type": "Enum",
        "valueSchema": "integer",
        "enumValues": [{"name": "a", "enumValue": "1"}],
    }
    assert find_rules(model("A", [prop("p", enum)])) == ["nonConformantDatatype"]


def test_an_annotation_may_name_a_content_that_only_an_heir_brings() -> None:
    context = ["dtmi:dtdl:context;3", "dtmi:dtdl:extension:annotation;2"]
    note = prop("note", annotates="value") | {"@type": ["Property", "ValueAnnotation"]}
    base = model("Base", [note]) | {"@context": context}
    fine = model("Fine", [prop("value")], extends="dtmi:com:example:Base;1")
    command = {"@type": "Command", "name": "value"}
    wrong = model("Wrong", [command], extends="dtmi:com:example:Base;1")
    assert len(parse_models([base, fine]).interfaces) == 2
    assert find_rules(base, wrong) == ["notSiblingRequiredType"]


def test_deeply_nested_elements_are_bounded() -> None:
    schema: object = "string"
    for _ in range(200):
        schema = {"@type": "Array", "elementSchema": schema}
    assert "excessiveNesting" in find_rules(model("A", [prop("p", schema)]))


def test_a_very_wrong_upload_is_bounded_in_what_it_keeps() -> None:
    documents = [model(f"A{n}", extends=f"dtmi:com:example:B{n};1") for n in range(1500)]
    findings = find_all(*documents)
    assert len(findings) == 1000
    with pytest.raises(ModelParsingFailed, match="And 1499 more"):
        parse_models(documents)


def test_a_class_that_the_version_in_force_has_not_is_found() -> None:
    request = {"@context": "dtmi:dtdl:context;2", "name": "x", "schema": "double"}
    command = {"@type": "Command", "name": "go", "request": request}
    assert find_rules(model("A", [command])) == ["disallowedVersionDefinition"]


def test_thousands_of_contents_of_one_name_are_told_in_linear_work() -> None:
    findings = find_all(model("A", [prop("p") for _ in range(20_000)]))
    assert {finding.code for finding in findings} == {"nonUniquePropertyValue"}
    assert len(findings) == 1000


LONG = "dtmi:" + "a" * 2044


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        ({**model("A"), "@context": "dtmi:dtdl:context;3.1"}, "unrecognizedContextVersion"),
        ({**model("A"), "@context": "dtmi:dtdl:context;03"}, "invalidContextSpecifier"),
        ({**model("A"), "@context": "dtmi:dtdl:context;3#limits"}, "disallowedContextFragment"),
        ({**model("A"), "@context": "dtmi:dtdl:context;2#limitless"}, "disallowedContextFragment"),
        ({**model("A"), "@context": "dtmi:dtdl:context;3#other"}, "invalidContextFragment"),
        ({**model("A"), "@context": ["dtmi:dtdl:context;3", LONG + ";1"]},
         "invalidContextSpecifierForVersion"),
        (model("A", [{"@type": "Relationship", "name": "r", "target": LONG}]), "identifierTooLong"),
        (model("A", [LONG]), "badDtmiOrTerm"),
    ],
)  # fmt: skip
def test_contexts_and_identifiers_have_their_bounds(document: dict[str, Any], rule: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_models([document])
    assert [detail.code for detail in caught.value.details] == [rule]
