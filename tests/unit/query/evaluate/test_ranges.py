"""range(): where no list is needed none is built, however long it would be."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.evaluate.engine import run
from twinframe.query.evaluate.limits import Limits
from twinframe.query.language import parse_query
from twinframe.query.plan.optimize import optimize
from twinframe.query.reader import EmptyReader


def ask(text: str, most: int | None = 1000, **parameters: Any) -> list[Any]:
    query = optimize(parse_query(text, parameters=parameters.keys()).query)
    rows = run(query, EmptyReader(), parameters, Limits(max_rows=most))
    return [row[0] if len(row) == 1 else row for row in rows]


UNBUILT = [
    ("UNWIND range(1000000, 2000000) AS i WITH i LIMIT 3000 RETURN sum(i)", [3004498500]),
    ("UNWIND range(1, 200000) AS i RETURN count(i)", [200000]),
    ("UNWIND range(1, 200000) AS i RETURN max(i) - min(i) + avg(i)", [299999.5]),
    ("UNWIND range(9223372036854775807, 0, -2) AS i RETURN i LIMIT 2", [2**63 - 1, 2**63 - 3]),
    ("UNWIND range(-9223372036854775808, 9223372036854775807) AS i RETURN i LIMIT 1", [-(2**63)]),
    ("UNWIND range(1, 1000000) AS i WITH i SKIP 10 LIMIT 1 RETURN i", [11]),
    ("UNWIND reverse(range(1, 1000000)) AS i RETURN i LIMIT 2", [1000000, 999999]),
    ("UNWIND tail(range(1, 1000000))[5..] AS i RETURN i LIMIT 1", [7]),
    ("UNWIND [1, 2] AS x CALL { UNWIND range(1, 5000000) AS i RETURN i LIMIT 1 } RETURN i", [1, 1]),
    ("RETURN size(range(1, 5000000))", [5000000]),
    ("RETURN size(range(-9223372036854775808, -2))", [2**63 - 1]),
    ("RETURN size(range(10, 1, -3)) + size(range(10, 1)) + size(range(1, 10, 4))", [7]),
    ("RETURN isEmpty(range(1, 5000000)) OR NOT isEmpty(range(1, 0))", [False]),
    ("RETURN head(range(1, 5000000)) + last(range(1, 5000000, 2))", [5000000]),
    ("RETURN head(range(1, 0)) IS NULL AND last(range(1, 0)) IS NULL", [True]),
    ("RETURN range(1, 5000000)[4999999] + range(1, 5000000)[-1]", [10000000]),
    ("RETURN range(1, 5000000)[5000000] IS NULL", [True]),
    ("RETURN range(1, 5000000)[2..4]", [[3, 4]]),
    ("RETURN tail(range(1, 5000000)[..3])", [[2, 3]]),
    ("RETURN 4999999 IN range(1, 5000000)", [True]),
    ("RETURN 5.0 IN range(1, 5000000, 2) AND NOT 6 IN range(1, 5000000, 2)", [True]),
    ("RETURN 5.5 IN range(1, 5000000) OR 'a' IN range(1, 9) OR true IN range(0, 9)", [False]),
    ("RETURN (0.0 / 0.0) IN range(0, 9) OR 1e300 IN range(0, 9) OR [1] IN range(0, 9)", [False]),
    ("RETURN null IN range(1, 5000000) IS NULL AND NOT null IN range(1, 0)", [True]),
    ("RETURN 1 IN range(1, null) IS NULL AND size(range(null, 1)) IS NULL", [True]),
    ("RETURN any(x IN range(1, 5000000) WHERE x > 10)", [True]),
    ("RETURN all(x IN range(1, 200000) WHERE x > 0)", [True]),
    ("RETURN single(x IN range(1, 200000) WHERE x = 7)", [True]),
    ("RETURN none(x IN range(1, 200000) WHERE x > 7)", [False]),
    ("RETURN reduce(a = 0, x IN range(1, 200000) | a + x)", [20000100000]),
    ("RETURN size([x IN range(1, 200000) WHERE x % 1000 = 0])", [200]),
    ("UNWIND range($from, $to) AS i WITH i WHERE i % 2 = 0 RETURN i LIMIT 1", [2]),
]


@pytest.mark.parametrize(("text", "rows"), UNBUILT, ids=[text for text, _ in UNBUILT])
def test_a_range_that_is_only_gone_through_is_not_built(text: str, rows: list[Any]) -> None:
    assert ask(text, **({"from": 1, "to": 5_000_000} if "$" in text else {})) == rows


def test_memory_stays_small_however_many_numbers_there_are() -> None:
    def measure(count: int) -> int:
        text = f"UNWIND range(1, {count}) AS i RETURN sum(i), avg(i), count(*), max(i)"
        tracemalloc.start()
        ask(text)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    measure(10)
    assert measure(100_000) < 2 * measure(1000)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN range(1, 5000000)",
        "WITH range(1, 5000000) AS l RETURN size(l)",
        "RETURN tail(range(1, 5000000))",
        "RETURN range(1, 5000000)[5..]",
        "RETURN range(1, 5000000) + [1]",
        "RETURN [x IN range(1, 5000000) | x * 2]",
        "RETURN [range(1, 5000000)]",
    ],
)
def test_a_range_that_is_kept_counts_as_a_list(text: str) -> None:
    with pytest.raises(LimitExceeded, match="elements is longer than a query may hold: 1000"):
        ask(text)


def test_more_numbers_than_can_be_counted_are_an_error() -> None:
    with pytest.raises(QueryInvalid, match="outside of the 64-bit range"):
        ask("RETURN size(range(-9223372036854775808, 9223372036854775807))")


def test_a_short_range_is_a_list() -> None:
    assert ask(
        "RETURN range(1, 3), reverse(range(1, 3)), range(0, 9)[2..4], [x IN range(1, 2)]"
    ) == [([1, 2, 3], [3, 2, 1], [2, 3], [1, 2])]
