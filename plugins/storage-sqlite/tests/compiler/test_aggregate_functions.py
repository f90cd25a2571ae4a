"""The aggregate functions that queries find on their connection."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from twinframe.query.engine import CannotRun
from twinframe_storage_sqlite import aggregate_functions
from twinframe_storage_sqlite.aggregate_functions import add_aggregate_functions

MEDIAN = "SELECT twinframe_percentile_disc(value, 0.5, 0) FROM json_each(?)"


@pytest.fixture
def connection() -> Any:
    connection = apsw.Connection(":memory:")
    add_aggregate_functions(connection)
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("call", "numbers", "expected"),
    [
        ("stdev(value)", "[1, 3, null]", 2**0.5),
        ("stdevp(value)", "[1, 3.0]", 1.0),
        ("stdev(DISTINCT value)", "[1, 1.0, 3]", 2**0.5),
        ("stdev(value)", "[]", 0.0),
        ("percentile_disc(value, 0.5, 0)", "[3, 1, 2.5]", 2.5),
        ("percentile_disc(value, 0.5, 0)", "[1, 1, 1, 2, 3]", 1),
        ("percentile_disc(value, 0.5, 1)", "[1, 1.0, 1, 2, 3]", 2),
        ("percentile_cont(value, 0.5, 0)", "[1, 2]", 1.5),
        ("percentile_cont(value, 1.0, 0)", "[9007199254740993, 1]", 9007199254740992.0),
        ("percentile_cont(value, 0.5, 0)", "[null]", None),
    ],
)
def test_a_function_is_that_of_cypher(
    call: str, numbers: str, expected: object, connection: apsw.Connection
) -> None:
    found = connection.execute(f"SELECT twinframe_{call} FROM json_each(?)", (numbers,)).get
    assert (found, type(found)) == (expected, type(expected))


def test_too_many_numbers_are_left_to_the_evaluator_and_forgotten(
    connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregate_functions, "_MOST_NUMBERS", 3)
    for _ in range(2):
        with pytest.raises(CannotRun, match="so many numbers"):
            connection.execute(MEDIAN, ("[1, 2, 3, 4]",)).fetchall()
        assert connection.execute(MEDIAN, ("[1, 2, 3]",)).get == 2


def test_numbers_of_several_groups_count_together(
    connection: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregate_functions, "_MOST_NUMBERS", 3)
    text = "SELECT twinframe_percentile_disc(value, 0.5, 0) FROM json_each(?) GROUP BY key % 2"
    assert connection.execute(text, ("[1, 2, 3]",)).fetchall() == [(1,), (2,)]
    both = MEDIAN.replace("SELECT ", "SELECT twinframe_percentile_cont(value, 0.5, 0), ")
    with pytest.raises(CannotRun):
        connection.execute(both, ("[1, 2]",)).fetchall()


@pytest.mark.parametrize(
    "call", ["stdev(value)", "percentile_cont(value, 0.5, 0)", "stdevp(value)"]
)
def test_a_result_that_is_no_number_is_left_to_the_evaluator(
    call: str, connection: apsw.Connection
) -> None:
    infinite = "SELECT 9e999 AS value UNION ALL SELECT -9e999"
    with pytest.raises(CannotRun):
        connection.execute(f"SELECT twinframe_{call} FROM ({infinite})").fetchall()
