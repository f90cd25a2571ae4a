"""The benchmark «many twins»: its campus, its texts and how it compares answers."""

from __future__ import annotations

import random
import re

import pytest

from benchmarks.many import joins, scans
from benchmarks.many.answers import Rows, are_equal
from benchmarks.many.campus import Campus

_QUESTIONS = scans.QUESTIONS + joins.QUESTIONS
_CAMPUS = Campus(5_000)


@pytest.mark.parametrize(
    ("one", "other", "is_ordered"),
    [
        ([[1]], [[2]], False),
        ([[1]], [[1], [1]], False),
        ([[1, 2]], [[1]], False),
        ([[1], [2]], [[2], [1]], True),
        ([[1.0]], [[1.00000001]], False),
        ([["a", 1.0], ["b", 2.0]], [["a", 2.0], ["b", 1.0]], False),
        ([[True]], [[1]], False),
        ([[None]], [[0]], False),
        ([["1"]], [[1]], False),
        ([[10**15]], [[10**15 + 1]], False),
    ],
)
def test_different_answers_are_different(one: Rows, other: Rows, is_ordered: bool) -> None:
    assert not are_equal(one, other, is_ordered=is_ordered)


def test_answers_are_equal_in_any_order_and_to_nine_digits() -> None:
    one: Rows = [["a", 0.1 + 0.2], ["b", None], [None, 3]]
    other: Rows = [[None, 3.0], ["b", None], ["a", 0.3]]
    assert are_equal(one, other, is_ordered=False)


def test_a_campus_has_as_many_twins_as_were_asked_for_each_with_an_id_of_its_own() -> None:
    twins = list(_CAMPUS.list_twins())
    assert len(twins) == len({twin_id for twin_id, _, _ in twins}) == 5_000


def test_a_campus_is_the_same_every_time() -> None:
    def read(campus: Campus) -> list[object]:
        built = [campus.build(label, at) for _, label, at in campus.list_twins()]
        links = [*campus.list_parts(), *campus.list_feeds(), *campus.list_neighbours()]
        return [*built, *links]

    assert read(Campus(2_000)) == read(Campus(2_000))


def test_no_two_twins_have_two_relationships_of_one_name() -> None:
    # Patterns of ladybug may use a relationship twice; here that would need such a pair.
    for links in (list(_CAMPUS.list_feeds()), list(_CAMPUS.list_neighbours())):
        pairs = {frozenset((one, other)) for one, other, _ in links}
        assert len(pairs) == len(links)
        assert all(len(pair) == 2 for pair in pairs)


def test_every_part_of_a_campus_is_part_of_one() -> None:
    parts = [(part, at) for part, at, _, _ in _CAMPUS.list_parts()]
    assert len(parts) == len(set(parts)) == 5_000 - _CAMPUS.sites


def test_questions_have_names_of_their_own() -> None:
    assert len({each.name for each in _QUESTIONS}) == len(_QUESTIONS) >= 40


def test_every_text_names_just_the_parameters_that_are_drawn() -> None:
    for question in _QUESTIONS:
        bindings = question.draw(random.Random(1), _CAMPUS)
        for text in (question.cypher, question.typed, question.sql):
            named = re.findall(r"\$(\w+)", text.replace("$dtId", ""))
            assert set(named) == set(bindings), text


def test_ladybug_is_asked_in_the_names_of_its_schema() -> None:
    for question in _QUESTIONS:
        assert "$dtId" not in question.typed
        assert "controller." not in question.typed
        assert ":Sensor" not in question.typed
