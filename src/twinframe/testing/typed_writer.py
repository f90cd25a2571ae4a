"""Writes random queries of typed expressions and all clauses, over graphs with odd values.

All that the writer does is decided by the `random.Random` that it is given.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twinframe.model.values import Value
from twinframe.testing.query_law import EdgeSketch, TwinSketch

TEXTS: Final = (
    *("a", "b", "ab", "A", "b'c", 'q"d', "é", "e\u0301", "😀", "İ", "ß", "ﬁ", "ας", "ΑΣ", "ǅ", ""),
    *("  a ", "\u00a0x\u2003", "\u200bz", "\x1cy\x85", "%", "_", "\\", "\\n", "\n", "1", "1.5"),
    *(" 7 ", "1e3", "-0", ".5", "1_000", "0x1F", "\u0663", "true", "TRUE", "null", "NaN", "a\0"),
    *("\0", "\0001", "12\0", "\uffff", "\U0010ffff", "2024-02-29", "12:30", "P1D"),
)
INTEGERS: Final = (
    *(0, 1, -1, 2, 3, 7, -7, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1),
    *(2**63 - 1, 2**63 - 2, -(2**63), 10**18),
)
FLOATS: Final = (
    *(0.0, -0.0, 1.0, 0.1, 0.5, 1.5, -2.5, 0.30000000000000004, 2.0**53, 2.0**53 + 2, 2.0**63),
    *(-(2.0**63), 1e18, 1e308, -1e308, 5e-324, 1e21, 1e-7),
)
IDS: Final = ("a", "b", "b'c", 'q"d', "A", "é", "😀", "back\\slash", "%", "1", "null", "a b", "$x")
DAYS: Final = ("2024-02-29", "2023-12-31", "1969-12-31", "0001-01-01", "9999-12-31")
MODELS: Final = (
    *("dtmi:ex:Space;1", "dtmi:ex:Room;1", "dtmi:ex:Room;2", "dtmi:ex:deep:Hall;1"),
    "dtmi:ex:Sensor;1",
)
LABELS: Final = (
    *("Room", "Space", "Sensor", "Twin", "Nope", "!Room", "Room|Sensor", "Room&Space"),
    *("`dtmi:ex:Room;1`", "!(Room|Sensor)"),
)
POOLS: Final[tuple[tuple[Any, ...], ...]] = (
    (0, 1, 2, 3, -7, 5),
    (0.5, 1.5, -2.25, 0.0, -0.0),
    (1, 1.0, 2, 2.5, 0, -0.0),
    ("a", "b", "ab", "é", "A", ""),
    (1, 2.5, "a", True, "1", False, 0),
    (1, 1.0, "a", True, [1], [], {}, {"k": 1}, 2**53 + 1),
    INTEGERS,
    FLOATS,
    TEXTS,
)
"""A property of a graph has the values of one of these."""

LEAVES: Final[Mapping[str, tuple[str, ...]]] = {
    "num": (
        *("{integer}", "{float}", "1", "2", "0", "$i", "$f", "$big", "{n}.x", "{n}.y"),
        *("{n}.n", "{n}.n", "{n}.g", "{n}.g", "{r}.w"),
    ),
    "text": (
        *("{literal}", "{literal}", "$t", "{n}.s", "{n}.s", "{n}.s", "{n}.x", "{n}.$dtId"),
        *("{n}.d", "type({r})", "{r}.$sourceId"),
    ),
    "bool": (
        *("true", "false", "null", "$b", "{n}.flag", "{n}.flag", "{n}:{label}", "{n}.s IS NULL"),
        *("{n}.$dtId = {id}", "{n}.$dtId <> $id", "{n}.$dtId IN $ids", "{n}.$dtId >= {id}"),
        *("NOT {n}.$dtId < {id}", "{n}.$dtId STARTS WITH {id}", "{n} = {n}", "{n} <> {n}"),
        "{n}.$dtId < {n}.$dtId",
    ),
    "list": (
        *("[]", "[1, 2, 3]", "$li", "$lt", "[1, null]", "['a', 'b']", "[1.0, 2]", "null"),
        *("[[1], [2]]", "range(0, 3)", "{n}.l", "{n}.l", "[{n}.x, {n}.y]", "keys({n}.m)"),
    ),
    "map": (
        *("{{}}", "{{k: 1}}", "$mp", "null", "{n}.m", "{n} {{.x, .s}}", "{n} {{.*}}"),
        *("{n} {{.s, k: {n}.x}}", "{n} {{.nope, .*, x: 1}}"),
    ),
    "any": (
        *("$p", "$q", "$mp.k", "null", "true", "{integer}", "{literal}", "{n}.x", "{n}.y"),
        *("{n}.m.k", "{n}.s", "{n}.m", "{n}.l", "{n}[$k]", "{n}.nope", "{n}.m.d.e", "{r}.w"),
    ),
}
"""Expressions of each type; `{n}` is a node, `{r}` a relationship."""

WHOLES: Final[Mapping[str, tuple[str, ...]]] = {
    "num": (
        *("({num} + {num})", "({num} - {num})", "({num} * {num})", "({num} / {num})"),
        *("({num} % {num})", "({num} ^ 2)", "-({num})", "abs({num})", "sign({num})"),
        *("ceil({num})", "round({num})", "round({num}, 1)", "toInteger({num})", "size({text})"),
        *("size({list})", "toInteger({text})", "toFloat({text})", "coalesce({num}, {num})"),
        *("CASE WHEN {bool} THEN {num} ELSE {num} END", "CASE {any} WHEN {any} THEN {num} END"),
        *("reduce(z = 0, y IN {list} | z + y)", "head({list})", "{list}[-1]", "{list}[$i]"),
        *("COUNT {{ {pattern} }}", "size(({n})-->())", "nullIf({num}, {num})"),
        "date({day}).month",
    ),
    "text": (
        *("({text} + {text})", "({text} + {num})", "toUpper({text})", "toLower({text})"),
        *("trim({text})", "rTrim({text})", "reverse({text})", "substring({text}, 1, 2)"),
        *("left({text}, 1)", "right({text}, 2)", "replace({text}, {text}, {text})"),
        *("toString({any})", "coalesce({text}, {text})", "split({text}, {text})[0]"),
        *("CASE WHEN {bool} THEN {text} ELSE {text} END", "substring({text}, $i)"),
    ),
    "bool": (
        *("({bool} AND {bool})", "({bool} OR {bool})", "({bool} XOR {bool})", "NOT ({bool})"),
        *("{num} = {num}", "{num} <> {num}", "{num} < {num}", "{num} >= {num}"),
        *("{text} = {text}", "{text} <= {text}", "{any} = {any}", "{any} <> {any}"),
        *("{any} < {any}", "{text} STARTS WITH {text}", "{text} ENDS WITH {text}"),
        *("{text} CONTAINS {text}", "{any} IN {list}", "NOT {any} IN {list}"),
        *("({any}) IS NULL", "any({e} IN {source} WHERE {bool})", "isEmpty({list})"),
        *("all({e} IN {source} WHERE {bool})", "none({e} IN {source} WHERE {bool})"),
        *("single({e} IN {source} WHERE {bool})", "EXISTS {{ {pattern} }}", "({n})-->(:Room)"),
        *("NOT ({n})<-[:has*1..2]-()", "is_string({any})", "is_defined({n}.x)", "{map} = {map}"),
        *("is_null({n}.flag)", "{list} = {list}", "{num} < {num} <= {num}", "{text} =~ '(?i)A.*'"),
        "date({n}.d) < date({day})",
    ),
    "list": (
        *("[{any}]", "[{any}, {any}]", "[{e} IN {source} WHERE {bool}]", "({list} + {list})"),
        *("[{e} IN {source} | {any}]", "[{e} IN {source} WHERE {bool} | {any}]", "tail({list})"),
        *("({list} + {any})", "reverse({list})", "{list}[1..]", "{list}[..-1]", "{list}[0..$i]"),
        *("split({text}, {text})", "CASE WHEN {bool} THEN {list} ELSE {list} END"),
        "coalesce({list}, {list})",
    ),
    "map": ("{{x: {any}, k: {any}}}", "{n} {{.x, k: {any}}}", "{n} {{.*, k: {any}}}"),
    "any": ("{num}", "{num}", "{text}", "{text}", "{bool}", "{list}", "{map}"),
    "pattern": (
        "MATCH ({n}){arrow}({m})",
        "MATCH ({n}){arrow}({m}:Room) WHERE {bool}",
        "MATCH ({n}){arrow}({m}) WHERE {bool} RETURN DISTINCT {m}.s AS q",
        "MATCH ({n}){arrow}({m}) WITH count(*) AS q WHERE q > 1 RETURN q",
        "MATCH ({n}){arrow}({m}) MATCH ({m})--(k) RETURN k",
    ),
    "aggregate": (
        *("count(*)", "count({any})", "count(DISTINCT {any})", "sum({n}.n)", "sum({num})"),
        *("sum(DISTINCT {n}.n)", "avg({n}.g)", "min({num})", "max({text})", "min({any})"),
        *("max({bool})", "size(collect({any}))", "size(collect(DISTINCT {n}.s))"),
        *("count({bool})", "percentileDisc({n}.n, 0.5)"),
    ),
    "call": (
        "WITH {n} {optional}MATCH ({n}){arrow}({m}) RETURN {aggregate} AS {v}",
        "WITH {n} MATCH ({n}){arrow}({m}) WHERE {bool} RETURN {any} AS {v}",
        "WITH {n} MATCH ({n}){arrow}({m}) RETURN DISTINCT {m}.s AS {v}",
        "WITH {n} MATCH ({n}){arrow}({m}) WITH {m} ORDER BY {m}.$dtId LIMIT 1 RETURN {m}.x AS {v}",
        "WITH {n} MATCH ({n})-->({m}) RETURN {m}.x AS {v} UNION RETURN {literal} AS {v}",
        "MATCH ({m}:Room) RETURN count({m}) AS {v}",
    ),
}
"""What is made of others; `{e}` is a new element, which `{source}` must not read, `{m}` a new node
and `{v}` a new value. One node `{n}` stands for all of a `pattern` or `call`.
"""

_ARROWS: Final = ("-->", "<--", "--", "-[:has]->", "-[:has|feeds]-")
_TOKEN: Final = re.compile(r"\{\{|\}\}|\{(\w+)\}")


class TypedWriter:
    """Writes queries of which most are no error; several for one graph."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._texts = chance.choice((("a", "b", "ab", "A", "é", ""), TEXTS))
        self._nodes: list[str] = []
        self._edges: list[str] = []
        self._values: dict[str, str] = {}
        self._count = 0

    # --- graphs ---------------------------------------------------------------------------------

    def build_graph(self) -> tuple[list[TwinSketch], list[EdgeSketch]]:
        """Up to five twins, and relationships in each other's way."""
        pick = self._chance.choice
        pools = {"x": pick(POOLS), "y": pick(POOLS), "s": self._texts}
        pools |= {"n": (0, 1, 2, 3, -4), "g": (0.5, 2.25, -3.5), "flag": (True, False), "d": DAYS}
        pools["l"] = ([], [1, 2], [3, 1.5, None], ["a", "b"], [1, "a", True])
        pools["m"] = ({}, {"k": 1}, {"k": None}, {"k": "a", "d": {"e": 2}}, {"k": [1], "x": 2.5})
        ids = self._chance.sample(IDS, pick((0, 1, 2, 3, 4, 5)))
        twins: list[TwinSketch] = [(one, pick(MODELS), self._build_members(pools)) for one in ids]
        edges: list[EdgeSketch] = []
        for _ in range(pick((1, 2, 3, 5, 8)) if ids else 0):
            weights = self._build_members({"w": (1, 2, 1.5, "1", True)})
            edges.append((pick(ids), pick(("has", "has", "feeds", "isPartOf")), pick(ids), weights))
        return twins, edges

    def _build_members(self, pools: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
        kept = [name for name in pools if self._flip(0.8)]
        return {
            name: self._chance.choice(pools[name]) if self._flip(0.9) else None for name in kept
        }

    def build_parameters(self) -> dict[str, Value]:
        """A parameter of each type."""
        pick: Callable[[Sequence[Any]], Any] = self._chance.choice
        return {
            "p": pick((None, True, 1, 1.5, "a", [1], {"k": 1})),
            "q": pick((*INTEGERS, *TEXTS)),
            "i": pick((0, 1, 2, -1)),
            "f": pick(FLOATS),
            "t": pick(TEXTS),
            "b": pick((True, False, None)),
            "big": 2**63 - 1,
            "k": "x",
            "id": pick(IDS),
            "ids": [*self._chance.sample(IDS, 3)],
            "li": pick(([], [1, 2, None], [1.5, "a", True], [[1], 1])),
            "lt": [*self._chance.sample(TEXTS, 2)],
            "mp": {"k": pick((None, 1, "a")), "x": pick(([1], {"k": 1}, 2.5))},
        }

    # --- clauses --------------------------------------------------------------------------------

    def write(self) -> str:
        """A query of one to four clauses and RETURN."""
        self._nodes, self._edges, self._values, self._count = [], [], {}, 0
        text = self._write_match()
        for _ in range(self._chance.choice((0, 0, 0, 1, 1, 2, 3))):
            clauses = (self._write_match, self._write_optional, self._write_optional)
            text += self._chance.choice(
                (*clauses, self._write_with, self._write_with, self._write_unwind, self._write_call)
            )()
        return text + self._write_return()

    def _write_optional(self) -> str:
        return f"OPTIONAL {self._write_match()}"

    def _write_match(self) -> str:
        nodes, edges = list(self._nodes), list(self._edges)
        parts = ", ".join(self._write_path(nodes, edges) for _ in range(self._pick_few()))
        self._nodes, self._edges = nodes, edges
        where = f" WHERE {self._write('bool', self._chance.choice((1, 2)))}"
        return f"MATCH {parts}{where if self._flip(0.6) else ''} "

    def _write_path(self, nodes: list[str], edges: list[str]) -> str:
        text = self._write_node(nodes)
        for _ in range(self._chance.choice((0, 1, 1, 1, 2))):
            length = self._chance.choice(("", "", "", "", "*1..2", "*0..1"))
            name = self._name("r") if self._flip(0.4) and not length else ""
            edges += [name] if name else []
            types = self._chance.choice(("", "", ":has", ":has|feeds"))
            arrow = self._chance.choice(("-[{}]->", "<-[{}]-", "-[{}]-"))
            text += arrow.format(f"{name}{types}{length}") + self._write_node(nodes)
        return text

    def _write_node(self, nodes: list[str]) -> str:
        # NOTE: members are of nodes of the clauses before: a pattern has no order.
        if self._nodes and self._flip(0.4):
            return f"({self._chance.choice(self._nodes)})"
        name = self._name("n")
        nodes.append(name)
        labels = f":{self._chance.choice(LABELS)}" if self._flip(0.25) else ""
        members = ("{x: 1}", "{s: $t}", "{$dtId: $id}", "{n: $i}", "{flag: true}")
        return f"({name}{labels} {self._chance.choice(members) if self._flip(0.2) else ''})"

    def _write_with(self) -> str:
        kept = self._chance.sample(self._nodes, min(len(self._nodes), self._pick_few()))
        items, values = list(kept), {}
        for _ in range(self._chance.choice((0, 1, 2))):
            kind, name = (
                self._chance.choice(("num", "text", "bool", "list", "map")),
                self._name("v"),
            )
            items.append(f"{self._write(kind, 2)} AS {name}")
            values[name] = kind
        if self._flip(0.3):
            name = self._name("v")
            items.append(f"{self._write('aggregate', 2)} AS {name}")
            values[name] = "num"
        page = ""
        if items == kept and kept:
            order = ", ".join(f"{name}.$dtId" for name in kept)
            page = f" ORDER BY {order}{self._chance.choice(('', ' LIMIT 2', ' SKIP 1'))}"
        self._nodes, self._edges, self._values = kept, [], values
        where = f" WHERE {self._write('bool', 2)}" if self._flip(0.3) else ""
        word = "DISTINCT " if page or self._flip(0.2) else ""
        return f"WITH {word}{', '.join(items) or '1 AS one'}{page}{where} "

    def _write_unwind(self) -> str:
        source, name = self._write("list", 2), self._name("u")
        self._values[name] = "any"
        return f"UNWIND {source} AS {name} "

    def _write_call(self) -> str:
        name, outer = self._name("v"), (self._nodes, self._edges, self._values)
        self._nodes, self._edges, self._values = [self._chance.choice(self._nodes)], [], {}
        body = self._write_around("call", 1, {"v": name})
        self._nodes, self._edges, values = outer
        self._values = {**values, name: "any"}
        return f"CALL {{ {body} }} "

    def _write_return(self) -> str:
        kinds = [self._chance.choice(("num", "text", "bool", "list", "any")) for _ in range(2)]
        items = [f"{self._write(kind, 3)} AS c{at}" for at, kind in enumerate(kinds)]
        if self._flip(0.3):
            items[1] = f"{self._write('aggregate', 2)} AS c1"
        elif self._nodes and self._flip(0.3):
            items.append(f"{self._chance.choice(self._nodes)} AS c2")
        word = "DISTINCT " if self._flip(0.15) else ""
        return f"RETURN {word}{', '.join(items)}{' ORDER BY c0' if self._flip(0.2) else ''}"

    # --- expressions ----------------------------------------------------------------------------

    def _write(self, kind: str, depth: int) -> str:
        if kind in ("pattern", "aggregate"):
            return self._write_around(kind, min(depth, 1), {})
        if depth <= 0 or self._flip(0.3):
            own = [name for name, one in self._values.items() if kind in (one, "any")]
            if own and self._flip(0.3):
                return self._chance.choice(own)
            leaves = [one for one in LEAVES[kind] if self._edges or "{r}" not in one]
            return self._fill(self._chance.choice(leaves), 0, {})
        return self._fill(self._chance.choice(WHOLES[kind]), depth - 1, {})

    def _write_around(self, kind: str, depth: int, known: dict[str, str]) -> str:
        node = self._chance.choice(self._nodes)
        known = {**known, "arrow": self._chance.choice(_ARROWS)}
        return self._fill(self._chance.choice(WHOLES[kind]), depth, {**known, "n": node})

    def _fill(self, template: str, depth: int, known: dict[str, str]) -> str:
        nodes, values = list(self._nodes), dict(self._values)

        def fill(found: re.Match[str]) -> str:
            name = found[1]
            if name is None:
                return found[0][0]
            if name not in known:
                text = self._fill_one(name, depth, values)
                if name not in ("e", "m"):
                    return text
                known[name] = text
            return known[name]

        text = _TOKEN.sub(fill, template)
        self._nodes, self._values = nodes, values
        return text

    def _fill_one(self, name: str, depth: int, values: dict[str, str]) -> str:
        pick = self._chance.choice
        match name:
            case "n":
                return pick(self._nodes)
            case "r":
                return pick(self._edges)
            case "m":
                self._nodes = [*self._nodes, self._name("m")]
                return self._nodes[-1]
            case "e":
                element = self._name("e")
                self._values = {**self._values, element: "any"}
                return element
            case "source":
                inner, self._values = self._values, values
                text = self._write("list", depth)
                self._values = inner
                return text
            case "integer":
                return str(pick(INTEGERS))
            case "float":
                return repr(pick(FLOATS))
            case "literal":
                return render_literal(pick(self._texts))
            case "id" | "day":
                return render_literal(pick(IDS if name == "id" else DAYS))
            case "label":
                return pick(LABELS)
            case "optional":
                return pick(("", "OPTIONAL "))
            case _:
                return self._write(name, depth)

    # --- choices --------------------------------------------------------------------------------

    def _name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def _flip(self, chance: float) -> bool:
        return self._chance.random() < chance

    def _pick_few(self) -> int:
        return self._chance.choice((1, 1, 1, 2))


def render_literal(text: str) -> str:
    """The literal of a text in Cypher, with escapes for what is no ASCII letter."""
    return "".join(["'", *(_escape(letter) for letter in text), "'"])


def _escape(letter: str) -> str:
    if letter in "'\\":
        return f"\\{letter}"
    if " " <= letter <= "~" or ord(letter) > 0xFFFF:
        return letter
    return f"\\u{ord(letter):04x}"
