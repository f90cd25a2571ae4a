"""Rewritten plans take a null as the plans they were made of: it is no false."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.storage.base import GraphSession
from twinframe.storage.memory import MemoryStore
from twinframe.testing.null_corpora import NULLS as TEXTS
from twinframe.testing.null_corpora import SOURCES, TESTS
from twinframe.testing.query_corpora import PARAMETERS
from twinframe.testing.query_law import ODD_EDGES, ODD_TWINS, ask_evaluator, write_graph


@pytest.fixture(scope="module")
def session() -> Iterator[GraphSession]:
    """The odd graph of the law tests, in memory."""
    store = MemoryStore()
    store.open()
    write_graph(store, ODD_TWINS, ODD_EDGES)
    opened = store.session()
    yield opened
    opened.close()
    store.close()


def test_rewritten_queries_about_nulls_have_equal_rows(session: GraphSession) -> None:
    for text in TEXTS:
        query = parse_query(text, parameters=PARAMETERS.keys()).query
        found = ask_evaluator(optimize(query), session, PARAMETERS)
        wanted = ask_evaluator(query, session, PARAMETERS)
        assert sorted(map(repr, found.rows)) == sorted(map(repr, wanted.rows)), text
        assert found.error == wanted.error, text


@pytest.mark.parametrize("source", SOURCES)
def test_a_condition_is_true_false_or_null_of_each_row(source: str, session: GraphSession) -> None:
    def count(condition: str) -> int:
        text = f"{source} WITH * WHERE {condition} RETURN 1 AS x"
        query = parse_query(text, parameters=PARAMETERS.keys()).query
        answer = ask_evaluator(query, session, PARAMETERS)
        assert answer.error is None, text
        return len(answer.rows)

    rows = count("true")
    for test in TESTS:
        assert count(test) + count(f"NOT ({test})") + count(f"({test}) IS NULL") == rows, test
