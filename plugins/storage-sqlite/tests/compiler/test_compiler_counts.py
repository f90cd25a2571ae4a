"""Counting whole sets reads the counts kept, and only where those tell."""

from __future__ import annotations

import pytest

from twinframe.query.language import parse_query
from twinframe.testing.query_corpora import COUNTS, READ_COUNTS
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine


def find_sql(text: str) -> str:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    return compiled.text


@pytest.mark.parametrize("text", COUNTS)
def test_a_count_of_a_whole_set_reads_no_element(text: str) -> None:
    sql = find_sql(text)
    assert "twin AS" not in sql
    assert "relationship AS" not in sql


@pytest.mark.parametrize("text", READ_COUNTS)
def test_a_count_of_anything_else_reads_the_elements(text: str) -> None:
    assert "_count AS" not in find_sql(text)
