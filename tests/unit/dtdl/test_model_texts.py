"""Models as texts: findings know their line, and broken JSON is a finding too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.dtdl.documents import model, prop
from twinframe.dtdl import ModelFinding, ModelText, parse_model_texts, read_model_files
from twinframe.dtdl.texts import find_positions
from twinframe.errors import ModelParsingFailed, ModelVersionNotSupported

TEXT = """{
  "@context": "dtmi:dtdl:context;4",
  "@id": "dtmi:com:example:Room;1",
  "@type": "Interface",
  "contents": [
    {"@type": "Property", "name": "area", "schema": "duble"},
    {
      "@type": "Property",
      "schema": "string"
    }
  ]
}"""


def find_all(*texts: ModelText) -> list[ModelFinding]:
    with pytest.raises((ModelParsingFailed, ModelVersionNotSupported)) as caught:
        parse_model_texts(texts)
    findings = [d for d in caught.value.details if isinstance(d, ModelFinding)]
    assert len(findings) == len(caught.value.details)
    return findings


def test_a_finding_names_the_text_the_line_and_the_column() -> None:
    wrong, missing = find_all(ModelText("room.json", TEXT))
    assert (wrong.source, wrong.line, wrong.column) == ("room.json", 6, 43)
    assert wrong.message.endswith("(room.json, line 6, at /contents/0/schema)")
    assert "Did you mean 'double'?" in wrong.message
    assert (missing.code, missing.line, missing.column) == ("missingDtmiSegPropertyValue", 7, 5)


def test_a_text_that_is_no_json_is_one_finding_beside_those_of_the_others() -> None:
    findings = find_all(ModelText("broken.json", '{\n  "@id": }'), ModelText("room.json", TEXT))
    assert [(f.code, f.source, f.line) for f in findings[:2]] == [
        ("notJson", "broken.json", 2),
        ("badDtmiOrTerm", "room.json", 6),
    ]


def test_a_text_that_is_no_json_is_refused_though_all_others_are_right() -> None:
    good = json.dumps(model("A", [prop("p")]))
    (finding,) = find_all(ModelText("good.json", good), ModelText("empty.json", ""))
    assert (finding.code, finding.source) == ("notJson", "empty.json")


def test_an_unsupported_version_names_its_line() -> None:
    (finding,) = find_all(ModelText("old.json", '{\n"@context":\n"dtmi:dtdl:context;9"}'))
    assert (finding.code, finding.line) == ("unrecognizedContextVersion", 2)


def test_findings_in_an_array_of_models_point_into_it() -> None:
    models = [model("A"), model("B", [prop("p", "strng")])]
    (finding,) = find_all(ModelText("all.json", json.dumps(models, indent=1)))
    assert finding.pointer == "/1/contents/0/schema"
    lines = json.dumps(models, indent=1).splitlines()
    assert lines[finding.line - 1].strip() == '"schema": "strng"'


def test_files_and_folders_are_read_each_file_once(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    (folder / "deep").mkdir(parents=True)
    (folder / "b.json").write_text(json.dumps(model("B")), encoding="utf-8")
    (folder / "deep" / "a.json").write_text(json.dumps(model("A")), encoding="utf-8-sig")
    (folder / "notes.txt").write_text("no model", encoding="utf-8")
    texts = read_model_files([folder / "b.json", folder])
    assert [Path(text.name).name for text in texts] == ["b.json", "a.json"]
    assert len(parse_model_texts(texts).uploaded) == 2


def test_a_file_that_is_not_utf_8_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes('{"displayName": "Küche"}'.encode("latin-1"))
    with pytest.raises(ModelParsingFailed, match=r"latin\.json is not UTF-8 text: byte 18 is 0xfc"):
        read_model_files([path])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text('ab~/"\\\n{[:,é', max_size=4), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1]), st.booleans())
def test_every_value_of_any_json_is_found_where_it_stands(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    pointers = dict(list_pointers(value))
    positions = find_positions(text, pointers)
    assert positions.keys() == pointers.keys()
    lines = text.split("\n")
    decoder = json.JSONDecoder()
    for pointer, (key, item) in pointers.items():
        place = positions[pointer]
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        found, end = decoder.raw_decode(rest)
        if key is not None:
            assert found == key
            rest = rest[end:].lstrip().removeprefix(":").lstrip()
            found, _ = decoder.raw_decode(rest)
        assert found == item


def list_pointers(
    value: object, pointer: str = "", key: str | None = None
) -> list[tuple[str, tuple[str | None, object]]]:
    """Return pointer, key and value of everything inside a JSON value."""
    found: list[tuple[str, tuple[str | None, object]]] = [(pointer, (key, value))]
    if isinstance(value, dict):
        for name, item in value.items():
            step = name.replace("~", "~0").replace("/", "~1")
            found += list_pointers(item, f"{pointer}/{step}", name)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            found += list_pointers(item, f"{pointer}/{position}")
    return found
