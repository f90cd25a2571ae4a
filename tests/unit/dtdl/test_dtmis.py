"""Digital Twin Model Identifiers and their parts."""

from __future__ import annotations

import pytest

from tests.unit.dtdl.documents import find_rules, model
from twinframe.dtdl import (
    build_hierarchy,
    is_dtmi,
    parse_models,
    parse_name,
    parse_version,
    parse_versionless,
)


@pytest.mark.parametrize(
    "text",
    ["dtmi:foo:bar;1", "dtmi:foo;7", "dtmi:a_b:c9;999999999", "dtmi:foo;1#", "dtmi:foo#part",
     "dtmi:foo_bar:_16:baz33:qux;12", "dtmi:a:_contents:__b;1"],
)  # fmt: skip
def test_well_formed_identifiers(text: str) -> None:
    assert is_dtmi(text)


@pytest.mark.parametrize(
    "text",
    ["", "dtmi:;1", "urn:foo;1", "dtmi:1a;1", "dtmi:a_;1", "dtmi:a::b;1", "dtmi:a;01", "dtmi:a;0",
     "dtmi:a;1234567890", "dtmi:a;1.0", "dtmi:a;1\n", "dtmi:é;1", "dtmi:_;1",
     "dtmi:a;1#a_", "dtmi:a;1##"],
)  # fmt: skip
def test_ill_formed_identifiers(text: str) -> None:
    assert not is_dtmi(text)


def test_the_parts_of_an_identifier() -> None:
    dtmi = "dtmi:com:example:Room;3"
    assert (parse_name(dtmi), parse_version(dtmi)) == ("Room", "3")
    assert parse_versionless(dtmi) == "dtmi:com:example:Room"
    assert (parse_name("dtmi:Room"), parse_version("dtmi:Room")) == ("Room", "")
    assert parse_versionless(f"{dtmi}#part") == "dtmi:com:example:Room#part"


def test_a_model_is_not_defined_under_an_empty_fragment() -> None:
    assert find_rules(model("A", **{"@id": "dtmi:com:example:A;1#"})) == ["invalidId"]


def test_version_2_needs_a_version_and_version_3_does_not() -> None:
    document = {"@id": "dtmi:com:example:Room", "@type": "Interface"}
    assert find_rules({"@context": "dtmi:dtdl:context;2", **document}) == ["invalidId"]
    assert parse_models([{"@context": "dtmi:dtdl:context;3", **document}]).uploaded


def test_the_hierarchy_knows_ancestors_and_descendants() -> None:
    documents = [
        model("Top"),
        model("Mid", extends="dtmi:com:example:Top;1"),
        model("Low", extends="dtmi:com:example:Mid;1"),
    ]
    hierarchy = build_hierarchy(parse_models(documents).interfaces.values())
    top, mid, low = (f"dtmi:com:example:{name};1" for name in ("Top", "Mid", "Low"))
    assert hierarchy.ancestors(low) == (mid, top)
    assert set(hierarchy.descendants(top)) == {mid, low}
    assert hierarchy.is_a(low, top)
    assert hierarchy.is_a(low, low)
    assert not hierarchy.is_a(top, low)
    assert hierarchy.descendants("dtmi:unknown;1") == ()
