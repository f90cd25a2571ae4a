"""Columns with twins and relationships that came, went and changed since they were made."""

from __future__ import annotations

from types import MappingProxyType
from typing import ClassVar

import pytest

from twinframe.testing.contracts.query_answers import QueryAnswers
from twinframe.testing.contracts.query_generated import GeneratedQueries
from twinframe.testing.query_corpora import CORPORA
from twinframe.testing.query_law import QueryLaw

THEMES = [*CORPORA, "orders", *(f"plain-{theme}" for theme in (*CORPORA, "orders"))]


@pytest.fixture(scope="module")
def query_law(worn_law: QueryLaw) -> QueryLaw:
    """The law of columns that were brought up to date."""
    return worn_law


class TestWornColumns(QueryAnswers, GeneratedQueries):
    """They answer as those that are new."""

    # NOTE: how much is declined is tested over columns that are new.
    declined = MappingProxyType(dict.fromkeys(THEMES, 1.0))
    answered: ClassVar[int] = 60


def test_a_null_that_comes_where_nothing_was_is_there(query_law: QueryLaw) -> None:
    """A missing member and a null one are alike but for a test of presence."""
    text = "MATCH (t) WHERE is_defined(t.flag) RETURN t.$dtId AS i"
    for value in (None, True):
        twins = [(f"t{at}", "dtmi:ex:Room;1", {"flag": value}) for at in range(6)]
        with query_law.open([*twins, ("u", "dtmi:ex:Room;1", {})]) as graph:
            found = query_law.check(text, graph)
            assert found.declined is not None or len(found.rows) == len(twins)
    assert found.declined is None
