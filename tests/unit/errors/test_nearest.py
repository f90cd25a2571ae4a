"""«Did you mean»: the known name nearest to one that is not known."""

from __future__ import annotations

import pytest

from twinframe.errors.nearest import find_nearest, list_nearest, render_hint, render_suggestion


@pytest.mark.parametrize(
    ("name", "known", "nearest"),
    [
        ("tmperature", ["humidity", "temperature"], "temperature"),
        ("TEMPERATURE", ["humidity", "temperature"], "temperature"),
        ("Room", ["room", "Rooms"], "Rooms"),
        ("stores", ["rooms", "Stores"], "Stores"),
        ("x", ["temperature"], None),
        ("", ["temperature"], None),
        ("temperature", [], None),
    ],
)
def test_letters_count_first_and_their_case_last(
    name: str, known: list[str], nearest: str | None
) -> None:
    assert find_nearest(name, known) == nearest


def test_only_the_beginning_of_a_long_name_is_compared() -> None:
    known = "a" * 128
    assert find_nearest(known + "b" * 1_000_000, ["c", known]) == known


def test_several_names_are_listed_nearest_first() -> None:
    known = ["room-12", "room-1", "hall"]
    assert list_nearest("room-01", known, most=2) == ["room-1", "room-12"]


def test_a_hint_asks_for_the_nearest_name_or_lists_all() -> None:
    assert render_hint("reed", ["read", "write"]) == "Did you mean read?"
    assert render_hint("x", ["read", "write"]) == "Known are: read, write."
    assert render_hint("x", ["read", "write"], "There are") == "There are read, write."
    assert render_hint("x", [], "There are:") == "There are: none."


def test_a_suggestion_ends_a_sentence_or_is_empty() -> None:
    assert render_suggestion("reed", ["read"]) == "; did you mean 'read'?"
    assert render_suggestion("x", ["read"]) == ""
