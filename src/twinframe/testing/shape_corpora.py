"""Test queries for patterns as values, map projections, standard deviations and percentiles."""

from __future__ import annotations

from twinframe.testing.query_templates import build_each

PATTERN_VALUES = tuple(
    build_each(
        "MATCH (t) RETURN t.$dtId AS i, size(<p>) AS n",
        "MATCH (t) WHERE size(<p>) > 1 OR 2 = size(<p>) RETURN t",
        "MATCH (t) RETURN size(<p>) AS n, count(*) AS m, sum(size(<p>)) AS s",
        "MATCH (t)-->(u) WITH u AS t, count(*) AS c RETURN t.s AS s ORDER BY size(<p>) + c, s",
        "MATCH (t) OPTIONAL MATCH (t)-[:nope]->(m) WITH m AS t RETURN size(<p>) AS n, NOT <p> AS e",
        "MATCH (t) RETURN t.$dtId AS i, [p IN <p> | length(p)] AS l, isEmpty(<p>) AS e",
        "MATCH (t) UNWIND <p> AS p RETURN t.$dtId AS i, p, length(p) AS n, nodes(p) AS l",
        "MATCH (t) RETURN t.$dtId AS i, <p> + [1] AS l, reverse(<p>)[0] AS h, [<p>, 1] AS m",
        "MATCH (t) RETURN t.$dtId AS i, NOT <p> AS v, CASE WHEN <p> THEN 1 ELSE 2 END AS w",
        "MATCH (t) WHERE <p> = (t.x = 1) RETURN t",
        "MATCH (t) WHERE CASE t.x WHEN 1 THEN <p> ELSE t.x IS NULL END RETURN t",
        "MATCH (t) RETURN any(p IN <p> WHERE length(p) > 1) AS v, all(y IN [1] WHERE <p>) AS w",
        p=(
            *("(t)-->()", "(t)<--()", "(t)--()", "(t)-[:has]->(:Room)", "(t)-->()-->(t)"),
            *("(t)-[:has|feeds*1..2]->()", "(t)-[{w: 1}]->()", "(t {x: 1})--({s: 'bar'})"),
            *("(:Room)-->(t)", "(t)-->(t)"),
        ),
    )
)
"""Patterns as values: how many matches there are, and the list of their paths."""
PROJECTIONS = (
    *build_each(
        "MATCH (t) RETURN t.$dtId AS i, t {<e>} AS m",
        "MATCH (t) OPTIONAL MATCH (t)-[r:has]->(b) WITH r AS t RETURN t {<e>} AS m",
        "MATCH (t) WITH t, t {<e>} AS m WHERE m.x = 1 OR m.k IS NULL RETURN m, keys(m) AS k",
        "MATCH (t) WHERE t.s > 'b' RETURN collect(t {<e>}) AS l, count(t {<e>}) AS n",
        "MATCH (a) OPTIONAL MATCH (a)-->(t:Room) RETURN a.$dtId AS i, t {<e>} AS m",
        "UNWIND [{x: 1, s: [2], $dtId: 'a'}, null] AS t RETURN t {<e>} AS m, t {<e>}.x AS y",
        "MATCH (u) WITH u.m AS t, u RETURN u.$dtId AS i, t {<e>} AS m",
        "MATCH (t) RETURN t.$dtId AS i, [y IN [t] | y {<e>}] AS l",
        e=(
            *("", ".x", ".*", ".$dtId, .s", ".*, x: 1", "x: t.s, .*", ".nope, .m", ".x, x: 2"),
            *("k: t.m.k, .`a.b`", ".*, .$etag", "`a\"'b`: 1, .*, .``", "x: {s: t.s}, .*"),
            *(".*, s: null", "x: [t.x, t.s], y: 1.50, .list"),
        ),
    ),
    *build_each(
        "MATCH (t) RETURN t.$dtId AS i, t {<e>} AS m",
        "MATCH (t)-[r:has]->(b) RETURN b {<e>} AS m, r {.*, k: b.s} AS r",
        "MATCH (t) OPTIONAL MATCH (t)-->(b:Room) RETURN t.$dtId AS i, b {<e>} AS m",
        e=(
            *(
                "t",
                ".s, t",
                ".*, t",
                "n: size((t)-->()), .s",
                "l: [(t)-[:has]->(c) | c {.s, .x}]",
            ),
            *("p: head([(t)-->(c:Nope) | c])", "e: EXISTS { (t)-->() }, .*"),
        ),
    ),
    *build_each(
        "UNWIND [<v>, {x: 2}] AS t RETURN t {.x} AS m",
        "MATCH (u) WITH u.x AS t RETURN t {a: 1} AS m, t {.*} AS n",
        "UNWIND $l AS t RETURN t {} AS m",
        v=("1", "'a'", "[1]", "true", "null", "date('2024-01-01')"),
    ),
    "MATCH (t)-[:has]->(b) RETURN t, t {.s, bs: collect(b {.s, .x})} AS m",
    "MATCH (t)-[:has]->(b) WITH t, collect(b.s) AS bs RETURN t {.s, bs} AS m",
    "MATCH (t)-[:has]->(b) WITH t, collect(b) AS bs RETURN t {.s, bs, n: size(bs)} AS m",
    "MATCH p = (t)-->(b) RETURN t {.s, p} AS m",
    "MATCH (t) RETURN DISTINCT t {.flag} AS m",
    "MATCH (t) RETURN t {.flag} AS m, count(*) AS n",
    "MATCH (t) WHERE t {.s} = {s: 'foo'} RETURN t {.s} AS m ORDER BY m.s",
)
"""Map projections of nodes, relationships, maps, nulls, and of what has no members."""
_GROUPED = tuple(
    build_each(
        "MATCH (t)<w> RETURN <a> AS v",
        "MATCH (t)<w> RETURN t.$metadata.$model AS m, <a> AS v, count(*) AS n",
        "MATCH (t)<w> RETURN t.flag AS k, <a> AS v",
        "MATCH (t)<w> WITH t ORDER BY t.$dtId LIMIT 4 RETURN <a> + 1 AS v",
        "MATCH (t)-->(u)<w> WITH t, <a> AS v RETURN t.$dtId AS i, v",
        w=("", " WHERE t.x < 100", " WHERE t.s = 'nope'", " WHERE t.$dtId < 'd'"),
        a=build_each(
            *("stDev(<x>)", "stDevP(<x>)", "stDev(DISTINCT t.x) + stDevP(<x>)"),
            *("percentileCont(<x>, <p>)", "percentileDisc(<x>, <p>)"),
            *("percentileCont(DISTINCT t.x, 0.5)", "percentileDisc(DISTINCT t.x, 0.7)"),
            x=("t.x", "size(t.s)", "t.x * 0.5 - 1"),
            p=("0.5", "$f", "0", "$i / 3.0"),
        ),
    )
)
SPREADS = (
    *_GROUPED,
    "MATCH (t) RETURN percentileCont(t.x, 2) AS v",
    "MATCH (t) RETURN percentileDisc(t.x, -0.1) AS v",
    "MATCH (t:Nope) RETURN percentileDisc(t.x, 7) AS v, stDev(t.x) AS s",
    "MATCH (t) RETURN percentileDisc(size(t.s), 'a') AS v",
    "MATCH (t) RETURN percentileDisc(size(t.s), t.x) AS v",
    "MATCH (t) RETURN percentileDisc(size(t.s), $n) AS v",
    "RETURN stDev(null) AS a, stDevP(null) AS b, percentileCont(null, 0.5) AS c, stDev(1) AS d",
    "UNWIND [0.1, 0.1, 0.1] AS x RETURN stDev(x) AS a, stDevP(x) AS b",
    "UNWIND [1e15, 1e15 + 1, 1e15 + 2.0, 0] AS x RETURN stDev(x) AS a, stDevP(x) AS b",
    "UNWIND [1e15 + 3, 1e15, 1e15 + 1, 1e15 + 2.0] AS x RETURN stDev(x) AS a",
    "UNWIND [1e308, -1e308, 1] AS x RETURN stDev(x) AS a",
    "UNWIND [1e308, -1e308, 1] AS x RETURN percentileCont(x, 0.2) AS b",
    "UNWIND [3, 1, 2.0, 1.0, 9007199254740993] AS x RETURN percentileDisc(x, 0.9) AS b",
    "UNWIND [3, 1, 2.0, 1.0] AS x RETURN percentileDisc(x, 0.1) AS b, percentileCont(x, 1) AS c",
    "UNWIND ['a', 1] AS x RETURN stDev(x) AS a",
)
"""Standard deviations and percentiles."""
