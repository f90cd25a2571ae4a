"""The law over generated expressions of all kinds, each over a few twins of ill-typed properties.

Graphs are small on purpose: in a large one some row makes every query an error.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from twinframe.query.plan.optimize import optimize

LEAVES = (
    *("a.x", "a.`a b`", "a.y", "b.x", "b.k", "a.x.k", "b.y.x", "r.w", "a.$dtId", "b.$dtId"),
    *("a", "b", "r", "a.nope", "$p", "$q", "1", "1.0", "0", "-1", "'1'", "'a'", "true", "false"),
    *("null", "[]", "{}"),
)
OPERATORS = (
    *("=", "<>", "<", "<=", ">", ">=", "AND", "OR", "XOR", "+", "-", "*", "/", "%", "IN"),
    *("STARTS WITH", "ENDS WITH", "CONTAINS", "AND", "OR", "=", "<"),
)
FUNCTIONS = (
    *("is_string", "is_null", "is_defined", "is_number", "is_primitive", "size", "head", "last"),
    *("tail", "reverse", "toUpper", "trim", "toString", "toInteger", "toFloat", "abs", "round"),
    *("sqrt", "floor", "sign", "keys", "exists", "isEmpty", "-", "properties"),
)
TEMPLATES = (
    *(("({0} {op} {1})",) * 13),
    *(("(NOT {0})", "CASE WHEN {0} THEN {1} ELSE {2} END", "({0} IN [{1}, {2}])") * 2),
    *("{f}({0})", "{f}({0})", "({0} IS NULL)", "coalesce({0}, {1})"),
    *("CASE {0} WHEN {1} THEN {2} END", "[{0}, {1}]", "{{k: {0}, x: {1}}}", "({0}).k"),
    *("({0})[{1}]", "({0})[{1}..{2}]", "replace({0}, {1}, {2})", "left({0}, {1})"),
    *("right({0}, {1})", "substring({0}, {1})", "range({0}, {1})", "array_contains({0}, {1})"),
)
BINDING = {
    "any(z IN {0} WHERE {inner})": ("z",),
    "all(z IN {0} WHERE {inner})": ("z",),
    "none(z IN {0} WHERE {inner})": ("z",),
    "single(z IN {0} WHERE {inner})": ("z",),
    "[z IN {0} WHERE {inner} | {1}]": ("z",),
    "[z IN {0} | {inner}]": ("z",),
    "reduce(y = {0}, z IN {1} | {inner})": ("y", "z"),
    "(COUNT {{ (a)-[z]->() WHERE {inner} }} {op} {0})": ("z.w",),
    "EXISTS {{ (a)-->(z) WHERE {inner} }}": ("z.x",),
}
"""Templates that bind variables for `inner`, and what reads those."""
SHAPES = (
    "MATCH (a)-[r]->(b) WHERE {} RETURN a.$dtId AS a, b.$dtId AS b",
    "MATCH (a)-[r]->(b) WHERE NOT ({}) RETURN a, r, b",
    "MATCH (a)-[r]->(b) RETURN {} AS v",
    "MATCH (a)-[r]-(b) WITH a, r, b, {} AS v WHERE v IS NOT NULL RETURN v, b",
    "MATCH (a)-[r]->(b) WITH {} AS v RETURN DISTINCT v IS NULL AS n, count(*) AS c",
    "MATCH (a)-[r]->(b) WITH a, b, r LIMIT 99 WHERE {} RETURN a.x AS x, r.w AS w",
    "MATCH (a), (b)-[r:has]->() WHERE {} AND a.x > 0 AND b.k = a.k RETURN a, b",
    "MATCH (a)-[r]->(b) WHERE a.x AND {} RETURN a.$dtId AS a",
    "MATCH (a)-[r]->(b) WHERE a.x.k = 1 OR NOT ({}) RETURN a.$dtId AS a",
    "MATCH (a)-[r]->(b) UNWIND {} AS v RETURN v",
    "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WHERE {} RETURN a.$dtId AS a, b.$dtId AS b",
    "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) RETURN {} AS v",
)
SCALARS = (
    *(None, None, None, True, True, False, 0, 1, -1, 2, 2**53 + 1, 2**63 - 1),
    *(0.0, 1.0, -1.5, 1e308, "a", "1", "", "é", "b\0"),
)
EDGES = (("a", "has", "b"), ("a", "feeds", "b"), ("a", "has", "a"))


class Writer:
    """Writes expressions, values and graphs from the choices of `chance`."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def write_query(self) -> str:
        return self._chance.choice(SHAPES).format(self._write(self._chance.choice((2, 3, 3)), ()))

    def _write(self, depth: int, bound: tuple[str, ...]) -> str:
        chance = self._chance
        if depth <= 0 or chance.random() < 0.12:
            return chance.choice((*LEAVES, *bound * 6))
        template = chance.choice((*TEMPLATES, *BINDING))
        parts = [self._write(depth - 1, bound) if f"{{{i}}}" in template else "" for i in range(3)]
        inner = self._write(depth - 1, bound + BINDING[template]) if template in BINDING else ""
        operator, function = chance.choice(OPERATORS), chance.choice(FUNCTIONS)
        return template.format(*parts, inner=inner, op=operator, f=function)

    def build_value(self, depth: int) -> Any:
        kind = self._chance.randrange(6)
        if depth and kind == 0:
            return [self.build_value(depth - 1) for _ in range(self._chance.randrange(3))]
        if depth and kind == 1:
            keys = self._chance.sample(("x", "k"), self._chance.randrange(3))
            return {key: self.build_value(depth - 1) for key in keys}
        return self._chance.choice(SCALARS)

    def build_members(self, *keys: str, depth: int) -> Mapping[str, Any]:
        return {key: self.build_value(depth) for key in keys if self._chance.random() < 0.8}


@settings(max_examples=1000, deadline=None)
@given(chance=st.randoms(use_true_random=False))
def test_generated_expressions_have_equal_values(
    law: Callable[..., Any], make_graph: Callable[..., Any], chance: random.Random
) -> None:
    writer = Writer(chance)
    contents = [writer.build_members("x", "y", "k", "a b", depth=2) for _ in "ab"]
    twins = [(name, "dtmi:ex:Room;1", each) for name, each in zip("ab", contents, strict=True)]
    edges = [
        (*chance.choice(EDGES), writer.build_members("w", depth=0))
        for _ in range(chance.choice((1, 1, 1, 2)))
    ]
    parameters = {name: writer.build_value(0) for name in "pq"}
    rewrite = chance.choice((optimize, lambda query: query))
    graph = make_graph(twins, edges)
    law(writer.write_query(), graph, parameters, lenient=True, rewrite=rewrite)
