"""What of a query is the same for all rows can be worked out before it runs, and nothing else."""

from __future__ import annotations

import pytest

from twinframe.query.algebra import Expression, Project
from twinframe.query.evaluate.constants import Known, find_known
from twinframe.query.language import parse_query

KNOWN = {"l": [1, 2, None], "m": {"a": {"b": 3}}, "n": None}


def parse_expression(text: str) -> Expression:
    """The expression of a RETURN over the known variables, and an unknown one."""
    given = "WITH $l AS l, $m AS m, $n AS n MATCH (u)"
    root = parse_query(f"{given} RETURN {text} AS v", parameters=tuple(KNOWN)).query.root
    assert isinstance(root, Project)
    return root.items[0][1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("[x IN range(1, 4) WHERE x % 2 = 0 | x * 10]", [20, 40]),
        ("l[0]", 1),
        ("m.a.b", 3),
        ("n.nope", None),
        ("reduce(s = 0, x IN [1, 2] | s + x)", 3),
        ("CASE WHEN true THEN 1 ELSE 1 / 0 END", 1),
        ("any(x IN l WHERE x > 1)", True),
    ],
)
def test_what_reads_known_variables_alone_is_known(text: str, value: object) -> None:
    assert find_known(parse_expression(text), KNOWN) == Known(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "u.x",
        "l + u.x",
        "1 / 0",
        "rand()",
        "[x IN [1] | rand()]",
        "any(x IN [1] WHERE rand() < x)",
        "reduce(s = 0, x IN [1] | s + timestamp())",
        "toString(datetime())",
        "date.realtime()",
        "range(1, 1000000)",
        "reduce(s = 0, i IN range(1, 1000000000) | s + i)",
        "all(i IN range(1, 1000000000) WHERE i > 0)",
        "size([i IN range(1, 1000000000) WHERE i < 0])",
        "EXISTS { (u)-->() }",
    ],
)
def test_rows_chance_clocks_graphs_errors_and_long_lists_are_not_known(text: str) -> None:
    assert find_known(parse_expression(text), KNOWN) is None
