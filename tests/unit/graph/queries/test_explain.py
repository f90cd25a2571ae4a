"""The plan for programs that EXPLAIN gives: a list of operators that says who runs which."""

from __future__ import annotations

from typing import Any, cast

import orjson
import pytest

from twinframe.graph.queries.explaining import build_operators
from twinframe.query.language import parse_query
from twinframe.query.plan.execution import PushedPart
from twinframe.query.plan.optimize import optimize

TEXTS = (
    "RETURN 1 AS n",
    "MATCH (a:Room)-[r:feeds|serves*1..3]->(b) WHERE a.x > 1 RETURN b.name AS n ORDER BY n LIMIT 5",
    "MATCH (a) OPTIONAL MATCH (a)-->(b) WITH a, count(b) AS n WHERE n > 2 RETURN a.name AS name, n",
    "MATCH (a) RETURN a.x AS x UNION MATCH (b) RETURN b.y AS x",
    "UNWIND [1, 2] AS x CALL (x) { MATCH (t) WHERE t.n = x RETURN count(*) AS n } RETURN x, n",
    "SELECT TOP(3) T.a FROM DIGITALTWINS T JOIN F RELATED T.has WHERE F.$dtId = 'f'",
)


def explain(world: Any, text: str) -> dict[str, Any]:
    (row,) = world.do(world.graph.queries.run(f"EXPLAIN {text}")).rows
    return cast("dict[str, Any]", orjson.loads(row))


def render_lines(operators: list[dict[str, Any]]) -> list[str]:
    """The operators as the plan's text shows them, an operator a line."""
    lines: list[str] = []
    pending = [(0, 1)]
    while pending:
        place, depth = pending.pop()
        one = operators[place]
        first, *more = one["arguments"].split("\n")
        if one["operator"].endswith("Match"):
            first, more = "", one["arguments"].split("\n")
        lines.append("  " * depth + f"{one['operator']} {first}".rstrip())
        lines += ["  " * (depth + 1) + line for line in more]
        pending += [(child, depth + 1) for child in reversed(one["children"])]
    return lines


@pytest.mark.parametrize("text", TEXTS)
def test_the_operators_are_the_plan(world: Any, text: str) -> None:
    row = explain(world, text)
    assert list(row) == ["plan", "pushed", "operators"]
    assert render_lines(row["operators"]) == row["plan"].splitlines()[1:]


def test_each_operator_stands_behind_the_one_it_feeds(world: Any) -> None:
    for text in TEXTS:
        operators = explain(world, text)["operators"]
        fed = [child for one in operators for child in one["children"]]
        assert sorted(fed) == list(range(1, len(operators)))
        assert all(child > at for at, one in enumerate(operators) for child in one["children"])


def test_what_a_part_has_below_it_is_run_by_the_part(world: Any) -> None:
    for text in TEXTS:
        row = explain(world, text)
        operators = row["operators"]
        assert {one["part"] for one in operators} - {None} == set(range(len(row["pushed"])))
        for one in operators:
            if one["part"] is not None:
                assert {operators[child]["part"] for child in one["children"]} <= {one["part"]}


def test_the_sides_of_a_union_that_are_pushed_apart_have_a_part_each() -> None:
    text = "MATCH (a) RETURN a.x AS x UNION ALL MATCH (b) RETURN b.x AS x"
    root = optimize(parse_query(text).query).root
    left, right = (PushedPart(side, (), "made up", cast("Any", None)) for side in find_sides(root))
    parts = [one["part"] for one in build_operators(root, [left, right])]
    assert parts[0] is None
    assert parts[1:] == sorted(cast("list[int]", parts[1:]))
    assert set(parts[1:]) == {0, 1}


def find_sides(root: Any) -> tuple[Any, Any]:
    while not hasattr(root, "left"):
        root = root.source
    return root.left, root.right


def test_a_plan_that_is_deeper_than_json_may_nest_is_explained(world: Any) -> None:
    clauses = " ".join(
        f"WITH x + {n} AS x ORDER BY x SKIP 0 LIMIT 9 WHERE x % 7 > 1" for n in range(60)
    )
    operators = explain(world, f"UNWIND [1, 2] AS x {clauses} RETURN x")["operators"]
    assert len(operators) > 254
