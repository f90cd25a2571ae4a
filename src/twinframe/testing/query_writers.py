"""Writers of random queries and graphs, for tests that hold an engine to the evaluator.

All that a writer does is decided by the `random.Random` that it is given.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from twinframe.model.values import Value
from twinframe.testing.query_law import EdgeSketch, TwinSketch

LEAVES = (
    *("a.x", "a.`a b`", "a.y", "b.x", "b.k", "a.x.k", "b.y.x", "r.w", "a.$dtId", "b.$dtId"),
    *("a", "b", "r", "a.nope", "$p", "$q", "1", "1.0", "0", "-1", "'1'", "'a'", "true", "false"),
    *("null", "[]", "{}", "a {.*}", "b {.x, .$dtId}", "r {.w, a}", "size((a)-->())", "(a)-->(b)"),
)
OPERATORS = (
    *("=", "<>", "<", "<=", ">", ">=", "AND", "OR", "XOR", "+", "-", "*", "/", "%", "IN"),
    *("STARTS WITH", "ENDS WITH", "CONTAINS", "AND", "OR", "=", "<", "^"),
)
FUNCTIONS = (
    *("is_string", "is_null", "is_defined", "is_number", "is_primitive", "size", "head", "last"),
    *("tail", "reverse", "toUpper", "trim", "toString", "toInteger", "toFloat", "abs", "round"),
    *("sqrt", "floor", "sign", "keys", "exists", "isEmpty", "-", "properties", "exp", "log", "cot"),
)
TEMPLATES = (
    *(("({0} {op} {1})",) * 13),
    *(("(NOT {0})", "CASE WHEN {0} THEN {1} ELSE {2} END", "({0} IN [{1}, {2}])") * 2),
    *("{f}({0})", "{f}({0})", "({0} IS NULL)", "coalesce({0}, {1})"),
    *("CASE {0} WHEN {1} THEN {2} END", "[{0}, {1}]", "{{k: {0}, x: {1}}}", "({0}).k"),
    *("({0})[{1}]", "({0})[{1}..{2}]", "replace({0}, {1}, {2})", "left({0}, {1})"),
    *("right({0}, {1})", "substring({0}, {1})", "range({0}, {1})", "array_contains({0}, {1})"),
    *("round({0}, {1})", "split({0}, {1})", "toLower({0}) CONTAINS {1}"),
    *("a {{.x, k: {0}, .`a b`}}", "b {{.*, x: {0}, y: {1}}}", "[(a)-->(b), {0}]"),
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
    "MATCH (a)-[r]->(b) RETURN {} AS v, count(*) AS c",
    "MATCH (a) OPTIONAL MATCH (a)-[r]->(b) WITH a, r, b WHERE {} RETURN a, r, b",
)
SCALARS = (
    *(None, None, None, True, True, False, 0, 1, -1, 2, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(0.0, -0.0, 1.0, 0.1, -1.5, 1e308, float(2**53), "a", "1", "", "é", "b\0", "😀", "a\uffff"),
)


class ExpressionWriter:
    """Writes expressions of all kinds, and graphs with ill-typed properties for them.

    The graphs are small on purpose: in a large one some row makes every query an error.
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def write(self) -> str:
        """A query of which one expression is random."""
        depth = self._chance.choice((1, 2, 2, 3, 3))
        return self._chance.choice(SHAPES).format(self._write(depth, ()))

    def build_graph(self) -> tuple[list[TwinSketch], list[EdgeSketch]]:
        """Two or three twins and a few relationships between them."""
        names = self._chance.choice(("ab", "ab", "abc"))
        members = [self._build_members("x", "y", "k", "a b", depth=2) for _ in names]
        edges: list[EdgeSketch] = []
        for _ in range(self._chance.choice((0, 1, 1, 1, 1, 2, 2, 5))):
            ends = self._chance.choice(("ab", "aa", *map("".join, itertools.product(names, names))))
            name = self._chance.choice(("has", "feeds"))
            edges.append((ends[0], name, ends[1], self._build_members("w", depth=0)))
        return [(n, "dtmi:ex:Room;1", m) for n, m in zip(names, members, strict=True)], edges

    def build_parameters(self) -> dict[str, Value]:
        """Values of the parameters that the expressions use."""
        return {name: self._build_value(0) for name in "pq"}

    def _write(self, depth: int, bound: tuple[str, ...]) -> str:
        chance = self._chance
        if depth <= 0 or chance.random() < 0.12:
            return chance.choice((*LEAVES, *bound * 6))
        template = chance.choice((*TEMPLATES, *BINDING))
        parts = [self._write(depth - 1, bound) if f"{{{i}}}" in template else "" for i in range(3)]
        inner = self._write(depth - 1, bound + BINDING[template]) if template in BINDING else ""
        operator, function = chance.choice(OPERATORS), chance.choice(FUNCTIONS)
        return template.format(*parts, inner=inner, op=operator, f=function)

    def _build_value(self, depth: int) -> Any:
        kind = self._chance.randrange(6)
        if depth and kind == 0:
            return [self._build_value(depth - 1) for _ in range(self._chance.randrange(3))]
        if depth and kind == 1:
            keys = self._chance.sample(("x", "k"), self._chance.randrange(3))
            return {key: self._build_value(depth - 1) for key in keys}
        return self._chance.choice(SCALARS)

    def _build_members(self, *keys: str, depth: int) -> Mapping[str, Any]:
        return {key: self._build_value(depth) for key in keys if self._chance.random() < 0.8}


NODE_LABELS = ("Room", "Space", "Sensor", "Room|Sensor", "!Room", "Twin")
NODE_MEMBERS = ("{x: 1}", "{s: 'foo'}", "{flag: true}", "{$dtId: 'a'}", "{x: $i}")
LENGTHS = ("", "", "", "", "*1..2", "*0..1", "*2", "*..3")
PATTERN_OPERATORS = ("=", "<>", "<", ">=", "STARTS WITH")
PATTERN_MEMBERS = ("x", "s", "flag", "$dtId", "m.k")


class PatternWriter:
    """Writes patterns: parts, clauses, directions, lengths, WITH and OPTIONAL MATCH."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._bound: list[str] = []
        self._lists: dict[str, bool] = {}
        self._paths: list[str] = []
        self._relationships = 0

    def write(self) -> str:
        """A query of one or two MATCH clauses."""
        text = ""
        for _ in range(self._chance.choice((1, 1, 2))):
            optional = "OPTIONAL " if text and self._chance.random() < 0.4 else ""
            parts = [self._write_named_path() for _ in range(self._chance.choice((1, 1, 2)))]
            text += f"{optional}MATCH {', '.join(parts)} "
            if self._chance.random() < 0.5:
                text += f"WHERE {self._write_predicate(2)} "
            if self._bound and self._chance.random() < 0.25:
                text += self._write_with()
        return text + self._write_return()

    def _write_named_path(self) -> str:
        if self._chance.random() < 0.8:
            return self._write_path()
        self._relationships += 1
        name = f"p{self._relationships}"
        self._paths.append(name)
        return f"{name} = {self._write_path()}"

    def _write_path(self) -> str:
        text = self._write_node()
        for _ in range(self._chance.choice((0, 1, 1, 2))):
            text += self._write_relationship() + self._write_node()
        return text

    def _write_node(self) -> str:
        name = self._chance.choice(("a", "b", "c", "d", "", ""))
        if name and name not in self._bound:
            self._bound.append(name)
        labels = f":{self._chance.choice(NODE_LABELS)}" if self._chance.random() < 0.2 else ""
        members = self._chance.choice(NODE_MEMBERS) if self._chance.random() < 0.15 else ""
        return f"({name}{labels} {members})"

    def _write_relationship(self) -> str:
        name = ""
        length = self._chance.choice(LENGTHS)
        if self._chance.random() < 0.5:
            self._relationships += 1
            name = f"r{self._relationships}"
            self._lists[name] = bool(length)
        types = self._chance.choice(("", "", ":has", ":has|feeds", ":isPartOf"))
        members = "{w: 1}" if self._chance.random() < 0.15 else ""
        arrows = self._chance.choice(("-[{}]->", "<-[{}]-", "-[{}]-"))
        return arrows.format(f"{name}{types}{length} {members}")

    def _write_scalar(self) -> str:
        members = [f"{name}.{key}" for name in self._bound for key in PATTERN_MEMBERS]
        return self._chance.choice([*members, "1", "'foo'", "true", "null", "1.0", "$i"])

    def _write_predicate(self, depth: int) -> str:
        kind = self._chance.randrange(10)
        if depth and kind < 3:
            word = self._chance.choice(("AND", "OR"))
            sides = self._write_predicate(depth - 1), self._write_predicate(depth - 1)
            return f"({sides[0]} {word} {sides[1]})"
        if depth and kind == 3:
            return f"NOT {self._write_predicate(depth - 1)}"
        if self._bound and kind == 4:
            name = self._chance.choice(self._bound)
            return f"{name}:{self._chance.choice(NODE_LABELS[:3])}"
        if self._bound and kind == 5:
            return f"{self._chance.choice(self._bound)} <> {self._chance.choice(self._bound)}"
        if self._bound and kind == 6:
            arrow = self._chance.choice(("-->", "<--", "--", "-[:has*1..2]->"))
            return f"EXISTS {{ ({self._chance.choice(self._bound)}){arrow}() }}"
        operator = self._chance.choice(PATTERN_OPERATORS)
        return f"{self._write_scalar()} {operator} {self._write_scalar()}"

    def _write_with(self) -> str:
        self._bound = self._bound[: self._chance.choice((1, 2))]
        self._lists = {}
        self._paths = []
        names = ", ".join(self._bound)
        order = ", ".join(f"{name}.$dtId" for name in self._bound)
        return self._chance.choice(
            (
                f"WITH {names}, count(*) AS n ",
                f"WITH {names}, count(*) AS n WHERE n > 1 ",
                f"WITH DISTINCT {names} ",
                f"WITH {names} ORDER BY {order} ",
            )
        )

    def _write_return(self) -> str:
        if not self._bound:
            return "RETURN count(*) AS n"
        one, other = self._chance.choice(self._bound), self._chance.choice(self._bound)
        ids = ", ".join(f"{name}.$dtId AS {name}" for name in self._bound)
        lists = [
            f"size({name}) AS {name}" if is_list else name for name, is_list in self._lists.items()
        ]
        return "RETURN " + self._chance.choice(
            (
                f"count(*) AS n, count(DISTINCT {one}) AS m",
                f"{one}.s AS k, count(*) AS n, min({other}.s) AS low",
                f"DISTINCT {ids}",
                ", ".join([ids, *self._lists, *self._paths]),
                ", ".join([*self._bound, *lists, *(f"length({p}) AS {p}" for p in self._paths)]),
            )
        )


CLAUSE_PARAMETERS: Mapping[str, Value] = {
    "i": 1,
    "s": "foo",
    "l": [1, "foo", None, 2.5, [1]],
    "k": "x",
}


class ClauseWriter:
    """Writes clauses around typed expressions; the parameters are `CLAUSE_PARAMETERS`."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._nodes: list[str] = []
        self._edges: list[str] = []
        self._values: list[str] = []
        self._count = 0

    # --- clauses --------------------------------------------------------------------------------

    def write(self) -> str:
        """A query of one to three clauses."""
        text = self._write_match()
        for _ in range(self._chance.choice((0, 0, 1, 1, 2))):
            text += self._pick(self._write_match, self._write_unwind, self._write_with)()
        return text + self._write_return()

    def _write_match(self) -> str:
        start, end, edge = self._name("n"), self._name("n"), self._name("r")
        near = self._chance.choice(self._nodes) if self._nodes and self._flip(0.7) else start
        labels = self._chance.choice(("", "", ":Room", ":Space", ":!Room", ":Room|Sensor"))
        arrow = self._chance.choice(("-[{}]->", "<-[{}]-", "-[{}:has]->", "-[{}:has|feeds]-"))
        if self._flip(0.3):
            pattern = f"({near}{labels if near == start else ''})"
            self._nodes.append(near)
        else:
            pattern = f"({near}){arrow.format(edge)}({end}{labels})"
            self._nodes += [near, end]
            self._edges.append(edge)
        optional = "OPTIONAL " if self._count > 3 and self._flip(0.3) else ""
        where = f"WHERE {self._write_test(2)} " if self._flip(0.6) else ""
        return f"{optional}MATCH {pattern} {where}"

    def _write_unwind(self) -> str:
        source, name = self._write_list(2), self._name("u")
        self._values.append(name)
        return f"UNWIND {source} AS {name} "

    def _write_with(self) -> str:
        kept = list(dict.fromkeys(self._nodes))[:2]
        items, names = list(kept), []
        for _ in range(2):
            value, name = self._pick(self._write_scalar, self._write_list)(2), self._name("v")
            items.append(f"{value} AS {name}")
            names.append(name)
        if self._flip(0.3):
            name = self._name("g")
            items[-1] = f"{self._write_aggregate()} AS {name}"
            names[-1] = name
        self._nodes, self._edges, self._values = kept, [], names
        distinct = "DISTINCT " if self._flip(0.2) else ""
        where = f"WHERE {self._write_test(1)} " if self._flip(0.3) else ""
        return f"WITH {distinct}{', '.join(items)} {where}"

    def _write_return(self) -> str:
        items = [f"{self._pick(self._write_scalar, self._write_list)(3)} AS a"]
        items.append(f"{self._pick(self._write_aggregate, self._write_map_text)()} AS b")
        if self._nodes:
            items.append(f"{self._chance.choice(self._nodes)} AS c")
        distinct = "DISTINCT " if self._flip(0.15) else ""
        return f"RETURN {distinct}{', '.join(items)}"

    def _write_aggregate(self) -> str:
        name = self._chance.choice(("count({})", "min({})", "max({})", "size(collect({}))"))
        distinct = "DISTINCT " if self._flip(0.2) else ""
        return name.format(f"{distinct}{self._write_scalar(2)}")

    # --- expressions ----------------------------------------------------------------------------

    def _write_test(self, depth: int) -> str:
        scalar = partial(self._write_scalar, depth)
        if depth and self._flip(0.25):
            sides = self._write_test(depth - 1), self._write_test(depth - 1)
            return f"({sides[0]} {self._chance.choice(('AND', 'OR', 'XOR'))} {sides[1]})"
        if depth and self._flip(0.35):
            kind = self._chance.choice(("any", "all", "none", "single"))
            source, name = self._write_list(depth - 1), self._name("e")
            test = self._inside(name, self._write_test, depth - 1)
            return f"{kind}({name} IN {source} WHERE {test})"
        operator = self._chance.choice(("=", "<>", "<", ">=", "IN", "STARTS WITH", "IS NULL", "=["))
        match operator:
            case "IS NULL":
                return f"{scalar()} IS NULL"
            case "IN":
                return f"{scalar()} IN {self._write_list(depth)}"
            case "=[":
                return f"{self._write_list(depth)} = {self._write_list(depth)}"
            case _:
                return f"{scalar()} {operator} {scalar()}"

    def _write_scalar(self, depth: int) -> str:
        if depth <= 0 or self._flip(0.4):
            return self._write_leaf()
        inner = depth - 1
        number = self._chance.choice(("0", "1", "-1", "$i"))
        return self._pick(
            lambda: f"head({self._write_list(inner)})",
            lambda: f"last({self._write_list(inner)})",
            lambda: f"{self._write_list(inner)}[{number}]",
            lambda: f"size({self._write_list(inner)})",
            lambda: f"({self._write_scalar(inner)} + {self._write_scalar(inner)})",
            lambda: f"coalesce({self._write_scalar(inner)}, {self._write_scalar(inner)})",
            lambda: f"toString({self._write_scalar(inner)})",
            lambda: f"{self._write_map(inner)}.{self._chance.choice('xy')}",
            lambda: f"{self._write_map(inner)}['x']",
            lambda: f"{self._call_text()}({self._write_text(inner)})",
            lambda: f"{self._call_number()}({self._write_number()})",
            lambda: f"left({self._write_text(inner)}, {self._chance.choice('0123')})",
            lambda: f"substring({self._write_text(inner)}, 1, 2)",
            lambda: f"replace({self._write_text(inner)}, 'o', 'é')",
            lambda: self._write_reduce(inner),
            lambda: self._write_case(inner),
        )()

    def _call_text(self) -> str:
        return self._chance.choice(("toUpper", "toLower", "trim", "size", "toInteger", "toFloat"))

    def _call_number(self) -> str:
        return self._chance.choice(("abs", "sign", "ceil", "floor", "round", "toInteger"))

    def _write_number(self) -> str:
        numbers = ["1", "-2.5", "0.5", "-0.5", "7", "9007199254740993", "-1e300", "2.49"]
        return self._chance.choice([*numbers, "size($l)"])

    def _write_text(self, depth: int) -> str:
        texts = ["'foo'", "' Öl '", "'\\t a\\u000b'", "$s", "''", "'12'"]
        return self._chance.choice([*texts, *[f"{name}.s" for name in self._nodes]])

    def _write_reduce(self, depth: int) -> str:
        name, total = self._name("e"), self._name("t")
        source = self._write_list(depth)
        step = self._inside(name, self._write_scalar, 0)
        start = self._chance.choice(("0", "''", "1.5", "[]"))
        return f"reduce({total} = {start}, {name} IN {source} | {total} + {step})"

    def _write_case(self, depth: int) -> str:
        then, other = self._write_scalar(depth), self._write_scalar(depth)
        return f"CASE WHEN {self._write_test(depth)} THEN {then} ELSE {other} END"

    def _write_leaf(self) -> str:
        keys = ("x", "s", "flag", "$dtId", "m.k", "list")
        members = [f"{name}.{key}" for name in dict.fromkeys(self._nodes) for key in keys]
        members += [f"{name}.w" for name in self._edges] + self._values * 3
        members += [f"{name}[$k]" for name in self._nodes[:1]]
        return self._chance.choice([*members, "1", "2.5", "'foo'", "true", "null", "$i", "$s"])

    def _write_list(self, depth: int) -> str:
        if depth <= 0 or self._flip(0.3):
            lists = ["$l", "[]", "[1, 2, 3]", "[1, null]", "['foo', 'bar']", "null"]
            lists += [f"{name}.list" for name in self._nodes]
            lists += [f"labels({name})" for name in self._nodes[:1]]
            lists += [f"keys({name})" for name in self._nodes[:1]]
            lists += [f"[{', '.join(self._nodes[:2])}]"] if self._flip(0.3) else []
            return self._chance.choice(lists)
        inner = depth - 1
        bounds = self._chance.choice(("0..1", "1..", "..2", "-2..", "..-1", "$i..3"))
        return self._pick(
            lambda: f"[{self._write_scalar(inner)}, {self._write_scalar(inner)}]",
            lambda: self._write_comprehension(inner),
            lambda: self._write_comprehension(inner),
            lambda: f"({self._write_list(inner)} + {self._write_list(inner)})",
            lambda: f"({self._write_list(inner)} + {self._write_scalar(inner)})",
            lambda: f"tail({self._write_list(inner)})",
            lambda: f"reverse({self._write_list(inner)})",
            lambda: f"{self._write_list(inner)}[{bounds}]",
            lambda: (
                f"range({self._chance.choice(('0', '3', '-1'))}, 4, {self._chance.choice('12')})"
            ),
            lambda: f"range(5, {self._chance.choice('16')}, -2)",
        )()

    def _write_comprehension(self, depth: int) -> str:
        source, name = self._write_list(depth), self._name("e")
        where = f" WHERE {self._inside(name, self._write_test, depth)}" if self._flip(0.5) else ""
        item = f" | {self._inside(name, self._write_scalar, depth)}" if self._flip(0.6) else ""
        return f"[{name} IN {source}{where}{item}]"

    def _write_map_text(self) -> str:
        return self._write_map(2)

    def _write_map(self, depth: int) -> str:
        return f"{{x: {self._write_scalar(depth - 1)}, y: {self._write_list(depth - 1)}}}"

    # --- choices --------------------------------------------------------------------------------

    def _inside(self, name: str, write: Callable[[int], str], depth: int) -> str:
        self._values.append(name)
        text = write(depth)
        self._values.remove(name)
        return text

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _flip(self, chance: float) -> bool:
        return self._chance.random() < chance

    def _pick(self, *choices: Callable[..., str]) -> Callable[..., str]:
        return self._chance.choice(choices)
