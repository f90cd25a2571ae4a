"""The SQL of the main shapes, word for word: a change of a plan must be seen in review.

To accept new SQL, run this file as a script: it writes `golden.sql` anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from twinframe.model.values import Value
from twinframe.query.language import parse_query
from twinframe_storage_sqlite.compiler.engine import SqliteQueryEngine

GOLDEN = Path(__file__).with_name("golden.sql")
PARAMETERS: dict[str, Value] = {"id": "a", "x": 20, "ids": ["a", "b"], "n": 10}


def read_golden() -> dict[str, str]:
    """Query -> SQL."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    heads = [number for number, line in enumerate(lines) if line.startswith("-- ")]
    return {
        lines[start].removeprefix("-- "): "\n".join(lines[start + 1 : end]).strip()
        for start, end in zip(heads, [*heads[1:], len(lines)], strict=True)
    }


def compile_text(text: str) -> str:
    """The SQL of a query, a clause a line."""
    query = parse_query(text, parameters=tuple(PARAMETERS)).query
    sql = SqliteQueryEngine().compile(query, PARAMETERS).text
    for word in (" FROM ", " WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT ", " UNION ALL "):
        sql = sql.replace(word, "\n" + word.strip() + " ")
    return sql


@pytest.mark.parametrize("text", read_golden())
def test_the_sql_of_a_shape_is_as_reviewed(text: str) -> None:
    assert compile_text(text) == read_golden()[text]


def test_compiling_twice_gives_the_same_text() -> None:
    for text in read_golden():
        assert compile_text(text) == compile_text(text)


if __name__ == "__main__":
    GOLDEN.write_text(
        "\n".join(f"-- {text}\n{compile_text(text)}\n" for text in read_golden()),
        encoding="utf-8",
    )
