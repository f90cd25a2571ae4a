"""Regular expressions: what is too much work to build is refused before it is built."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.query.evaluate.terms import call, lit, op, rows, var
from twinframe.errors import LimitExceeded
from twinframe.query.algebra import Operator, Project, Reduce, Unit, Unwind
from twinframe.query.evaluate.limits import Limits
from twinframe.query.evaluate.text import LONGEST_PATTERN, MOST_CLASSES, _compile_regex


def ask(text: Any, pattern: Any, source: Operator | None = None) -> list[Any]:
    plan = Project(source or Unit(), (("x", op(text, "=~", pattern)),))
    return [row[0] for row in rows(plan, "x", limits=Limits(max_bytes=2**20))]


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("aaaa", "a+", True),
        ("aaaa", "aaa", False),
        ("äöü", "...", True),
        ("日本", "[日-本]+", True),
        ("É", "(?i)é", True),
        ("a\nb", "a.b", False),
        ("abab", "(a|b)?(a|b)?(a|b)?(a|b)?", True),
    ],
)
def test_the_whole_text_is_matched_by_characters(text: str, pattern: str, expected: bool) -> None:
    assert ask(lit(text), lit(pattern)) == [expected]


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|b)?" * 16_000,
        "x" * (LONGEST_PATTERN + 1),
        "[" + "\\pL" * (MOST_CLASSES + 1) + "]",
        "\\PL" * (MOST_CLASSES + 1),
    ],
)
def test_a_pattern_that_is_too_much_is_refused_unbuilt(pattern: str) -> None:
    built = _compile_regex.cache_info().misses
    with pytest.raises(LimitExceeded, match="A regular expression may"):
        ask(lit("aaaa"), lit(pattern))
    assert _compile_regex.cache_info().misses == built


def test_groups_are_not_captured_so_that_many_take_no_memory() -> None:
    assert ask(lit("abab"), lit("(a|b)?" * 600)) == [True]
    assert _compile_regex("(a|b)?" * 600).groups == 0


def test_a_run_builds_so_many_patterns_and_no_more() -> None:
    numbers = Unwind(Unit(), call("range", 1, 100_000), "i")
    pattern = op(lit("a"), "+", call("toString", var("i")))
    with pytest.raises(LimitExceeded, match="too many regular expressions"):
        ask(lit("a1"), pattern, numbers)


def test_a_pattern_that_grows_by_reduce_is_refused() -> None:
    grown = Reduce("s", lit("(a|b)?"), "j", call("range", 1, 14), op(var("s"), "+", var("s")))
    with pytest.raises(LimitExceeded, match="4,000 characters"):
        ask(lit("a"), grown)


def test_one_pattern_for_all_rows_is_built_once() -> None:
    numbers = Unwind(Unit(), call("range", 1, 2_000), "i")
    assert ask(call("toString", var("i")), lit("[0-9]+once"), numbers) == [False] * 2_000
