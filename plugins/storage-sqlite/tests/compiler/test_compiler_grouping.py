"""Groups by members of documents are made of rows without their documents."""

from __future__ import annotations

import pytest

from twinframe.query.language import parse_query
from twinframe.testing.query_law import QueryLaw
from twinframe_storage_sqlite.compiler.engine import SqliteQuery, SqliteQueryEngine


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (t) RETURN t.s AS s, count(*) AS n",
        "MATCH (t) RETURN DISTINCT t.s AS s",
        "MATCH (u)-[r]->(t) RETURN r.w AS w, t.flag AS f, avg(size(u.$dtId)) AS m",
        "MATCH (t) WITH t.s AS s, collect(t.$dtId) AS ids RETURN s, size(ids) AS n ORDER BY s",
        "MATCH (t) WITH t.flag AS f, count(*) AS n WHERE n > 1 RETURN f, n",
    ],
)
def test_no_document_goes_into_the_sort(text: str, query_law: QueryLaw) -> None:
    compiled = SqliteQueryEngine().compile(parse_query(text).query, {})
    assert isinstance(compiled, SqliteQuery)
    grouped = compiled.text.partition(" GROUP BY ")[0]
    assert "LIMIT -1 OFFSET 0) AS q" in grouped
    assert ".document" not in compiled.text.partition(" GROUP BY ")[2].partition(" LIMIT ")[0]
    assert query_law.check(text).declined is None
