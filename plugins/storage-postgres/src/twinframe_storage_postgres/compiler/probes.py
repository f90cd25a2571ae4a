"""Queries with known exact answers that show which parts of SQL a server runs as they are meant.

They are about a few twins with values that are easily mistyped. The answers are in a file next to
this one; the tests make them with the evaluator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import orjson

from twinframe.query.language import parse_query
from twinframe_storage_postgres.compiler.engine import PostgresQuery, compile_query

ANSWERS: Final = Path(__file__).with_name("probes.json")
LABEL: Final = "TwinframeProbe"
KIN: Final = f"Kin{LABEL}"

TWINS: Final[Mapping[str, Mapping[str, Any]]] = {
    "a": {"x": 1, "s": "foo", "k": "p", "list": [1, 2.0, "3", None], "flag": True},
    "b": {"x": 1.0, "s": "bar", "k": "q", "m": {"k": 5, "deep": {"er": "x"}}, "flag": False},
    "c": {"x": "1", "s": "Foo", "k": "p", "list": []},
    "d": {"x": True, "s": "", "k": "q"},
    "e": {"x": None, "s": "f\0é😀", "k": "r"},
    "f": {"x": -0.0, "s": "zz\uffff", "k": "r", "list": ["b", "a"]},
    "g": {"x": 9007199254740993, "s": "é", "y": 3},
    "h": {"x": 2.5, "s": "10", "y": 4.5, "flag": None},
}
"""Id -> contents. Those from `e` on are of the model `Kin` + the label, which extends the other."""

EDGES: Final[Sequence[tuple[str, str, str, Mapping[str, Any]]]] = (
    *((one, "next", other, {}) for one, other in zip("abcdefgh", "bcdefgha", strict=True)),
    ("a", "near", "b", {"w": 1}),
    ("a", "near", "b", {"w": 1.5}),
    ("b", "near", "d", {"w": "1"}),
    ("c", "near", "c", {"w": True}),
    ("c", "near", "a", {}),
)
"""Source, name, target and contents; their ids are `r0`, `r1` ... in order."""


@dataclass(frozen=True, slots=True)
class Probe:
    """A query, and the parts of its statement that a wrong answer to it rules out."""

    about: frozenset[str]
    text: str


def _probe(about: str, text: str) -> Probe:
    return Probe(
        frozenset(about.split(", ")), text.replace(":KinP", f":{KIN}").replace(":P", f":{LABEL}")
    )


PROBES: Final[tuple[Probe, ...]] = (
    # --- patterns
    _probe("SELECT", "MATCH (n:P) RETURN n.$dtId AS i"),
    _probe("SELECT", "MATCH (n:P)-[r:next]->(m) RETURN n, r, m.$dtId AS m"),
    _probe("SELECT", "MATCH (n)<-[:near]-(m) WHERE n.$dtId = $first RETURN n, m.s AS s"),
    _probe("ORDER", "MATCH (n:P) RETURN n.$dtId AS i ORDER BY n.s DESC SKIP 1 LIMIT 3"),
    _probe("RECURSIVE", "MATCH (n:P {$dtId: $first})-[:next*]->(m) RETURN m.$dtId AS i"),
    _probe("RECURSIVE", "MATCH (n:P {k: 'p'})-[r*1..2]->(m) RETURN n.s AS s, m, r, size(r) AS l"),
    _probe(
        "RECURSIVE, EXCEPT",
        "MATCH p = shortestPath((n:P {k: 'q'})-[*]->(m:KinP {k: 'r'})) RETURN length(p) AS l",
    ),
    _probe("EXISTS", "MATCH (n:P) WHERE EXISTS { (n)-[:near]->(:P {k: 'q'}) } RETURN n.s AS s"),
    _probe("NOT EXISTS", "MATCH (n:P) WHERE NOT (n)-[:near]->() RETURN n.$dtId AS i"),
    _probe(
        "NOT EXISTS",
        "MATCH (n:P) WHERE NOT EXISTS { (n)-[:near]->(m:P)-[:next]->(n) } RETURN n.s AS s",
    ),
    _probe("LEFT", "MATCH (n:P) OPTIONAL MATCH (n)-[:near]->(m:P) WHERE m.x >= 1 RETURN n.s, m.s"),
    _probe(
        "LEFT, NOT EXISTS",
        "MATCH (n:P) OPTIONAL MATCH (n)-[:near*1..2]->(m) RETURN n.s AS n, m.s AS m",
    ),
    _probe(
        "a subquery, jsonb_agg()", "MATCH (n:P) RETURN n.s AS s, [(n)-[:next]->(m) | m.x] AS xs"
    ),
    _probe("a subquery", "MATCH (n:P) RETURN n.s AS s, COUNT { (n)-[:near]->() } AS c"),
    _probe("UNION", "MATCH (n:P) RETURN n.s AS s UNION MATCH (n:KinP) RETURN n.k AS s"),
    _probe("SELECT", "MATCH (n:P), (m:KinP) WHERE n.k = m.k AND n <> m RETURN n.s AS n, m.s AS m"),
    _probe("UNION, ALL", "MATCH (n:P)-[:near]-(m) RETURN n.$dtId AS n, m.$dtId AS m"),
    _probe("SELECT", "MATCH p = (n:KinP)-[:next]->()-[:near]->() RETURN p"),
    # --- values
    _probe(
        "->, jsonb_typeof(), ::json",
        "MATCH (n:P) RETURN n.s AS s, n.x AS x, n.m.k AS k, n.list AS l, n.flag AS f, n.m AS m",
    ),
    _probe("=, ::jsonb", "MATCH (n:P) WHERE n.x = 1 RETURN n.s AS s"),
    _probe("twinframe_equal(), num_nulls()", "MATCH (n:P) RETURN n.s AS s, n.x = n.m.k AS v"),
    _probe("<>, twinframe_exact()", "MATCH (n:P) RETURN n.s AS s, n.x <> 1.0 AS v"),
    _probe("=, to_jsonb(), nullif()", "MATCH (n:P) RETURN n.s AS s, n.x = $first AS v"),
    _probe("<", "MATCH (n:P) WHERE n.x < 9007199254740994 RETURN n.s AS s"),
    _probe(">", "MATCH (n:P) WHERE n.x > 9007199254740992.0 RETURN n.s AS s"),
    _probe("<=, >=", "MATCH (n:P) RETURN n.s AS s, n.x <= 1 AS v, n.x >= n.y AS w"),
    _probe("COLLATE", "MATCH (n:P) WHERE n.s > 'Foo' AND n.s <= 'é' RETURN n.s AS s"),
    _probe("COLLATE, ORDER", "MATCH (n:P) RETURN n.s AS s ORDER BY n.s"),
    _probe("ORDER, IN, ELSE", "MATCH (n:P) RETURN n.s AS s, n.x AS x ORDER BY n.x, n.s"),
    _probe("@?, ANY", "MATCH (n:P) WHERE n.x IN [1, 2, 3, 4, '1'] RETURN n.s AS s"),
    _probe("twinframe_in()", "MATCH (n:P) RETURN n.s AS s, n.x IN ['1', 1] AS v"),
    _probe("#>>, ANY", "MATCH (n:P) RETURN n.s AS s, 'b' IN n.list AS v"),
    _probe("starts_with()", "MATCH (n:P) WHERE n.s STARTS WITH 'f' RETURN n.s AS s"),
    _probe("right(), length()", "MATCH (n:P) WHERE (n.s ENDS WITH 'o') RETURN n.s AS s"),
    _probe("strpos()", "MATCH (n:P) WHERE n.s CONTAINS '😀' RETURN n.s AS s"),
    _probe("CASE", "MATCH (n:P {k: 'r'}) RETURN CASE WHEN n.x > 0 THEN n.x + 1 END AS v"),
    _probe("twinframe_compute()", "MATCH (n:P {k: 'p'}) RETURN n.list + [1] AS v"),
    _probe(
        "twinframe_real(), twinframe_compute()",
        "MATCH (n:KinP) RETURN n.y + 1 AS a, n.y - 1.5 AS b, -2 * n.y AS c, size(n.s)",
    ),
    _probe("twinframe_compute()", "MATCH (n:KinP) RETURN n.y / 2 AS a, n.y * n.x AS b"),
    _probe("+, -, *", "MATCH (n:P) WITH count(*) AS c RETURN c + 1 AS a, 3 - c AS b, c * 2 AS d"),
    _probe("/, %", "MATCH (n:P) WITH count(*) AS c RETURN c / 3 AS a, c % 3 AS b, c / 0.5 AS d"),
    _probe("sin(), power(), BETWEEN", "MATCH (n:KinP) RETURN sin(n.y) AS s, round(2.345, 2) AS r"),
    _probe("twinframe_size()", "MATCH (n:P) RETURN size(n.s), size(n.list)"),
    _probe("upper(), octet_length()", "MATCH (n:P {k: 'p'}) RETURN toUpper(n.s) AS v"),
    _probe("twinframe_split()", "MATCH (n:P {k: 'p'}) RETURN split(n.s, 'o') AS v"),
    _probe(
        "substring()", "MATCH (n:P {k: 'p'}) RETURN substring(n.s, 1, 1) AS v, left(n.s, 2) AS w"
    ),
    _probe("twinframe_strip_left()", "MATCH (n:P {k: 'p'}) RETURN lTrim(n.s) AS l, trim(n.s) AS t"),
    _probe("twinframe_to_integer()", "MATCH (n:P {k: 'p'}) RETURN toInteger(n.s) AS v"),
    _probe("twinframe_to_float()", "MATCH (n:P {k: 'p'}) RETURN toFloat(n.s) AS v"),
    _probe("twinframe_text()", "MATCH (n:KinP) RETURN toString(n.y) AS v, toString(n.x * 2.0)"),
    _probe(
        "abs(), floor()", "MATCH (n:KinP) RETURN abs(n.y) AS a, floor(n.y) AS b, round(n.y) AS c"
    ),
    _probe(
        "jsonb_array_elements(), ORDINALITY, jsonb_build_array()",
        "MATCH (n:P) RETURN n.s AS s, [x IN n.list WHERE x <> 'b'] AS v, [n.s, n.k] AS w",
    ),
    _probe("FILTER", "MATCH (n:P) WHERE all(x IN n.list WHERE x <> 'b') RETURN n.s AS s"),
    _probe("twinframe_slice()", "MATCH (n:P) RETURN n.s AS s, n.list[0] AS a, n.list[1..3] AS b"),
    _probe("::json", "MATCH (n:P) RETURN n {.s, .k, two: n.list} AS m"),
    _probe(
        "jsonb_build_object(), jsonb_object_agg(), jsonb_each()",
        "MATCH (n:P)-[r:near]->(b) RETURN r {.*, k: b.s} AS r, n {.*, b: 1} AS n",
    ),
    _probe(
        "twinframe_reverse_any(), json_object_keys()",
        "MATCH (n:P) RETURN reverse(n.list) AS l, keys(n.m) AS k",
    ),
    _probe(
        "json_agg(), json_build_array(), ORDINALITY",
        "MATCH p = (n:P {k: 'q'})-[r*1..2]->(m) RETURN p, r",
    ),
    # --- groups
    _probe("count()", "MATCH (n:P)-[:near]->(m) RETURN count(*) AS n, count(DISTINCT m) AS d"),
    _probe(
        "GROUP, twinframe_form(), bit_or()",
        "MATCH (n:P) RETURN n.k AS k, count(*) AS c, collect(n.s) AS l ORDER BY k",
    ),
    _probe("GROUP", "MATCH (n:P) RETURN DISTINCT n.k AS k"),
    _probe("GROUP", "MATCH (n:P)-[:near]->(m) RETURN DISTINCT m.$dtId AS i"),
    _probe("twinframe_distinct()", "MATCH (n:P) RETURN size(collect(DISTINCT n.k)) AS l"),
    _probe(
        "sum(), bool_or(), twinframe_float()", "MATCH (n:KinP) RETURN sum(n.y) AS s, sum(n.z) AS z"
    ),
    _probe(
        "avg(), stddev_samp(), stddev_pop()",
        "MATCH (n:KinP) RETURN avg(n.y), stDev(n.y), stDevP(n.y)",
    ),
    _probe("min(), max(), greatest()", "MATCH (n:P) RETURN min(n.s) AS a, max(n.s) AS b"),
    _probe("percentile_cont()", "MATCH (n:KinP) RETURN percentileCont(n.y, 0.5) AS p"),
    _probe("ceil()", "MATCH (n:KinP) RETURN percentileDisc(n.y, 0.5) AS p"),
    _probe("jsonb_agg()", "MATCH (n:P) WITH collect(n) AS l UNWIND l AS m RETURN m.s AS s"),
)
"""Every part of statements that a server may be given."""

_COMPARED: Final = 12
"""The digits of floats that count: the last bits of a sum depend on its order. Nor does the sign of
zero, which engines may drop."""


def build_parameters(prefix: str) -> Mapping[str, Any]:
    """The parameters of all probes; `prefix` begins the ids of twins."""
    return {"first": f"{prefix}a"}


def build_documents(prefix: str, model: str, kin: str) -> tuple[list[Any], list[Any]]:
    """The documents of twins and of relationships."""
    twins = [
        {
            "$dtId": prefix + one,
            "$etag": f'W/"{one}"',
            "$metadata": {"$model": kin if one >= "e" else model},
            **contents,
        }
        for one, contents in TWINS.items()
    ]
    edges = [
        {
            "$relationshipId": f"r{number}",
            "$sourceId": prefix + source,
            "$targetId": prefix + target,
            "$relationshipName": name,
            "$etag": f'W/"{number}"',
            **contents,
        }
        for number, (source, name, target, contents) in enumerate(EDGES)
    ]
    return twins, edges


def build_model_ids(prefix: str) -> tuple[str, str]:
    """The models of the twins; the second extends the first."""
    space = f"dtmi:twinframe:{prefix.replace('-', '_')}"
    return f"{space}:{LABEL};1", f"{space}:{KIN};1"


def freeze(text: str, rows: Sequence[bytes], prefix: str) -> list[str]:
    """Return rows, as JSON, in a form that compares, without the prefix."""
    marks = [prefix.encode(), prefix.replace("-", "_").encode()]
    found = []
    for row in rows:
        for mark in marks:
            row = row.replace(mark, b"")
        found.append(orjson.dumps(_round(orjson.loads(row)), option=orjson.OPT_SORT_KEYS).decode())
    return found if "ORDER BY" in text else sorted(found)


def _round(value: Any) -> Any:
    match value:
        case float():
            return float(f"{value:.{_COMPARED}g}") or 0.0
        case dict():
            return {key: _round(each) for key, each in value.items()}
        case list():
            return [*map(_round, value)]
        case _:
            return value


@cache
def load_answers() -> list[list[str]]:
    """Load the exact answers, by probe."""
    found: list[list[str]] = orjson.loads(ANSWERS.read_bytes())
    return found


@cache
def compile_probes() -> tuple[PostgresQuery, ...]:
    """Compile all probes."""
    return tuple(compile_probe(each.text) for each in PROBES)


def compile_probe(text: str) -> PostgresQuery:
    """Compile one; its parameters are those of `build_parameters`."""
    parameters = build_parameters("")
    query = parse_query(text, parameters=tuple(parameters)).query
    return compile_query(query, parameters)
