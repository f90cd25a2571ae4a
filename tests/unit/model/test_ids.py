"""Which ids are accepted and what a model id says."""

from __future__ import annotations

import pytest

from twinframe.errors import InvalidArgument
from twinframe.model.ids import (
    build_family,
    build_labels,
    build_model_name,
    parse_component_name,
    parse_model_id,
    parse_relationship_id,
    parse_twin_id,
)


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "devices%2Ft67",
        "a/b",
        "a:b;1",
        " ",
        "\u00e9",
        "e\u0301",
        "\U0001f3e2",
        "x" * 1024,
        "...",
        "*",
    ],
)
def test_almost_any_text_is_a_twin_id_as_it_is(text: str) -> None:
    assert parse_twin_id(text) == text
    assert parse_relationship_id(text) == text


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "must not be empty"),
        ("x" * 1025, "at most 1024"),
        ("a\x00b", "U+0000 (at position 1"),
        ("a\r\nb", "U+000D"),
        ("\x7f", "U+007F"),
        ("\x85", "U+0085"),
        ("\u2028", "U+2028"),
        ("\ud800", "U+D800"),
        ("\uffff", "U+FFFF"),
        (".", "a URL could not name it"),
        ("..", "a URL could not name it"),
        ("a\ufffd", "U+FFFD"),
    ],
)
def test_what_no_url_could_carry_is_refused(text: str, part: str) -> None:
    for parse in (parse_twin_id, parse_relationship_id):
        with pytest.raises(InvalidArgument) as caught:
            parse(text)
        assert part in caught.value.message
        assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "text", ["dtmi:a;1", "dtmi:com:example:Room;1", "dtmi:a_b:c1;999999999", "dtmi:a", "dtmi:a;1.2"]
)
def test_a_dtmi_is_a_model_id(text: str) -> None:
    assert parse_model_id(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "x", "dtmi:", "dtmi:a;0", "dtmi:a;01", "DTMI:a;1", "dtmi:1a;1", "dtmi:a_;1", "dtmi:a;\n"],
)
def test_anything_else_is_no_model_id(text: str) -> None:
    with pytest.raises(InvalidArgument, match="is not supported"):
        parse_model_id(text)


def test_a_component_name_is_a_dtdl_name() -> None:
    assert parse_component_name("part_1") == "part_1"
    for text in ("", "_a", "a_", "1a", "a.b", "$metadata", "a" * 513):
        with pytest.raises(InvalidArgument):
            parse_component_name(text)


def test_a_model_id_names_family_and_labels() -> None:
    assert build_model_name("dtmi:com:example:Room;1") == "Room"
    assert build_model_name("dtmi:Room") == "Room"
    assert build_family("dtmi:com:example:Room;12") == "dtmi:com:example:Room"
    assert build_labels(frozenset({"dtmi:a:Room;1", "dtmi:b:Space;2"})) == {
        "Twin",
        "dtmi:a:Room;1",
        "Room",
        "dtmi:b:Space;2",
        "Space",
    }
