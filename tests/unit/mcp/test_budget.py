"""Budgets: whatever is cut, nothing is lost, nothing comes twice, and every cut is said."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.mcp.budget import Budget, Fetched, Shortening, Taken, measure

rows_of_any_size = st.lists(st.integers(1, 300), max_size=40)


class Pages:
    """Numbered rows of given lengths, behind tokens; `answered` counts the pages."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.rows = [orjson.dumps({"n": n, "text": "x" * size}) for n, size in enumerate(lengths)]
        self.answered = 0

    async def fetch(self, token: str | None, size: int) -> Fetched:
        assert size > 0
        self.answered += 1
        start = int(token or 0)
        end = start + size
        return Fetched(self.rows[start:end], str(end) if end < len(self.rows) else None)


def take_all(pages: Pages, rows: int, size: int, keeps: Any = None) -> list[Taken]:
    """The answers until there is no token any more."""
    answers = []
    token = None
    while token is not None or not answers:
        budget = Budget(rows, size, Shortening(), keeps)
        answers.append(asyncio.run(budget.take(pages.fetch, token)))
        token = answers[-1].token
        assert len(answers) < 200
    return answers


@given(rows_of_any_size, st.integers(1, 10), st.integers(400, 1500))
def test_all_rows_come_once_and_in_order(lengths: list[int], rows: int, size: int) -> None:
    pages = Pages(lengths)
    answers = take_all(pages, rows, size)
    numbers = [row["n"] for one in answers for row in one.rows]  # type: ignore[index,call-overload]
    assert numbers == list(range(len(lengths)))
    for one in answers:
        assert len(one.rows) <= rows
        assert measure(one.rows) <= size + 2
        assert one.rows or not lengths
    assert pages.answered <= 3 * len(answers)


@given(rows_of_any_size, st.integers(1, 10), st.integers(400, 1500), st.integers(1, 7))
def test_all_rows_that_are_wanted_come_once(
    lengths: list[int], rows: int, size: int, step: int
) -> None:
    answers = take_all(Pages(lengths), rows, size, lambda row: row["n"] % step == 0)
    numbers = [row["n"] for one in answers for row in one.rows]  # type: ignore[index,call-overload]
    assert numbers == list(range(0, len(lengths), step))
    assert all(len(one.rows) <= rows and measure(one.rows) <= size + 2 for one in answers)


@given(st.lists(st.integers(1, 5000), min_size=1, max_size=12), st.integers(1, 5))
def test_a_row_too_large_is_given_cut_and_not_left_out(lengths: list[int], rows: int) -> None:
    answers = take_all(Pages(lengths), rows, 300)
    assert sum(len(one.rows) for one in answers) == len(lengths)
    assert all(measure(one.rows) <= 302 for one in answers)


class Growing(Pages):
    """A graph that somebody writes to: each page that is fetched once more has longer rows."""

    async def fetch(self, token: str | None, size: int) -> Fetched:
        page = await super().fetch(token, size)
        self.rows = [orjson.dumps({**orjson.loads(r), "more": "y" * 40}) for r in self.rows]
        return page


@given(st.lists(st.integers(1, 200), min_size=1, max_size=20), st.integers(2, 10))
def test_rows_that_grow_in_between_are_not_lost(lengths: list[int], rows: int) -> None:
    answers = take_all(Growing(lengths), rows, 500)
    numbers = [row["n"] for one in answers for row in one.rows]  # type: ignore[index,call-overload]
    assert numbers == list(range(len(lengths)))


def test_a_filter_that_finds_little_gives_up_with_a_token() -> None:
    pages = Pages([1] * 10_000)
    answers = take_all(pages, 5, 1000, lambda row: row["n"] == 9_999)
    assert [len(one.rows) for one in answers] == [0, 0, 1]
    assert all(one.token for one in answers[:-1])


# --- shortening -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "short"),
    [
        ([0.5] * 64, [0.5] * 64),
        ([0.5] * 65, {"$vector": 65}),
        ([True] * 65, [True] * 65),
        (["a"] * 65, ["a"] * 65),
        ([[1] * 65], [{"$vector": 65}]),
        ({"a": {"b": "x" * 1001}}, {"a": {"b": "x" * 1000 + "… (1001 characters)"}}),
        ({"$metadata": {"$model": "m", "x": {}}}, {"$metadata": {"$model": "m"}}),
        ({"$metadata": {"x": {}}, "y": 1}, {"y": 1}),
        (None, None),
        ({}, {}),
    ],
)
def test_long_values_are_shortened(value: Any, short: Any) -> None:
    assert Shortening().shorten(value) == short
    assert Shortening(full=True).shorten(value) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=80) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=100,
)


@given(json_values)
def test_what_is_short_stays_as_it_is_and_what_is_not_is_named(value: Any) -> None:
    shortening = Shortening()
    short = shortening.shorten(value)
    if "$metadata" not in orjson.dumps(value).decode():
        assert (short == value) == (not shortening.paths)


@given(json_values, st.integers(64, 2000))
def test_a_single_value_is_cut_to_its_budget(value: Any, size: int) -> None:
    budget = Budget(1, size, Shortening(full=True))
    cut = budget.cut(value)
    fits = measure(value) <= size
    assert (cut == value) if fits else (measure(cut) <= max(size, 120))
    assert fits or budget.shortening.paths
