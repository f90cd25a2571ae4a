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
        "MATCH (t) RETURN size(<p>) > 0 AS a, 1 > size(<p>) AS b, size(<p>) <= 0.0 AS c, t.s AS s",
        "MATCH (t) WHERE 0 = size(<p>) OR 0 <> size(<p>) AND size(<p>) < 3 RETURN t.$dtId AS i",
        "MATCH (t) WHERE size([<p> | t]) >= 1 AND NOT isEmpty([<p> | 1]) RETURN t.$dtId AS i",
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
COMPUTED = tuple(
    build_each(
        "MATCH (t) RETURN t.$dtId AS i, <f> AS v",
        "MATCH (t) WHERE t.x < 100 RETURN t.$dtId AS i, <f> AS v",
        "MATCH (t) WHERE <f> IS NOT NULL RETURN count(*) AS n",
        "MATCH (t) OPTIONAL MATCH (t)-[:has]->(b) WITH b AS t RETURN <f> AS v, count(*) AS n",
        f=(
            *("toUpper(t.s)", "toLower(t.s) CONTAINS 'É'", "trim(t.s + ' \u00a0')", "lTrim(t.s)"),
            *("split(t.s, 'o')", "split(t.s, '')", "split(t.s, t.s)[0]", "size(split(t.s, '\0'))"),
            *("t.x ^ 2", "2 ^ t.x", "(-8) ^ t.x", "0 ^ (0 - t.x)", "round(t.x, 1)", "t.x ^ null"),
            *("round(2.345, 2)", "round(t.x, -1)", "round(t.x, 1.5)", "round(t.x, null)"),
            *(f"{name}(t.x)" for name in ("exp", "log", "log10", "sin", "tan", "cot", "asin")),
            *("toString(t.x)", "t.s + t.x", "t.x + '|' + 1.5", "toInteger(t.s)", "toFloat(t.s)"),
            *("toInteger(' 12 ')", "toInteger('1.9')", "toFloat('1e3')", "toFloat('x')"),
            *("toInteger('99999999999999999999')", "toString(-0.0 * t.x)", "toString(1e308 * 10)"),
            *(
                "log(size(t.s))",
                "exp(size(t.s) * 400)",
                "degrees(t.x)",
                "haversin(0.5)",
                "log(null)",
            ),
        ),
    )
)
"""Functions of strings and numbers that a store may not have itself."""
ENTITY_LISTS = (
    *build_each(
        "MATCH p = (t)-[r]->(b) WITH t, collect(<e>) AS l RETURN t.$dtId AS i, size(l) AS n",
        "MATCH p = (t)-[r:has {w: 1}]->(b) WITH collect(<e>) AS l RETURN l, l[0] AS f, l[-1] AS g",
        "MATCH p = (t)-[r:has]->(b) WITH p, r, b ORDER BY r.$relationshipId WITH collect(<e>) AS l"
        " RETURN l, head(l) AS h, last(l) AS z, tail(l) AS r, reverse(l) AS b, l[1..2] AS s",
        "MATCH p = (t)-[r]->(b) WITH collect(<e>) AS l UNWIND l AS x RETURN x",
        "MATCH p = (t)-[r:has]->(b) WITH b.s AS s, collect(<e>) AS l RETURN s, l ORDER BY s",
        "MATCH (t) OPTIONAL MATCH p = (t)-[r:has {w: 1}]->(b) RETURN t.$dtId AS i, [<e>] AS l",
        "MATCH (t) OPTIONAL MATCH p = (t)-[r:has {w: 1}]->(b) RETURN t.s AS s, collect(<e>) AS l",
        "MATCH p = (t)-[r:has {w: 1}]->(b) RETURN [<e>, <e>] + <e> AS l, [<e>] + [<e>] AS m",
        "MATCH p = (t)-[r:has {w: 1}]->(b) RETURN [<e>] = [<e>] AS v, head([<e>]) = <e> AS w",
        "MATCH p = (t)-[r:has]->(b) RETURN [<e>] AS v, count(*) AS n",
        "MATCH p = (t)-[r:has]->(b) RETURN DISTINCT [<e>] AS v",
        "MATCH p = (t)-[r:has {w: 1}]->(b) RETURN collect(<e>) AS v UNION ALL"
        " MATCH p = (t)-[r:has {w: 1}]->(b) RETURN collect(<f>) AS v",
        "MATCH p = (t)-[r:has {w: 1}]->(b) RETURN [<e>] AS v UNION"
        " MATCH p = (t)-[r:has {w: 1}]->(b) RETURN [<f>] AS v",
        "MATCH p = (t)-[r:has {w: 1}]->(b) RETURN <e> IN [<f>] AS v, <e> IN [<e>, null] AS w",
        "MATCH (t) RETURN head([p = (t)-[r:has]->(b:Room) | <e>]) AS h",
        e=("b", "r", "p"),
        f=("t", "r", "p", "b.x"),
    ),
    "MATCH p = (t)-->(b) WITH b, collect(p) AS l RETURN b.$dtId AS i, [q IN l | length(q)] AS n",
    "MATCH p = (t)-[:has*1..2]->(b) WITH b, collect(p) AS l UNWIND l AS q RETURN b, nodes(q) AS n",
    "MATCH (t:Room) WITH collect(t) AS l MATCH (u) WHERE u IN l RETURN u",
    "MATCH (t:Room) WITH collect(t) AS l MATCH (u) WHERE NOT u IN l RETURN u",
    "MATCH (t) OPTIONAL MATCH (t)-[:has]->(b) WITH [t, b] AS l MATCH (u) RETURN u IN l AS v, l",
    "MATCH (t)-[r:has]->() WITH collect(r) AS l MATCH ()-[q]->() WHERE NOT q IN l RETURN q",
    "MATCH (t) OPTIONAL MATCH (t)-[:has]->(b) RETURN t.$dtId AS i, b IN [(t)-->(c) | c] AS v",
    "MATCH (t)-->(b) WITH collect(b)[0..9] AS l MATCH (t)-->(b) WHERE b IN l RETURN count(*) AS n",
    "MATCH (t)-[:has]->(b) WITH t, collect(b) AS l RETURN head(l).s AS s, [x IN l | x {.s}] AS m",
    "MATCH (t)-[r:has]->() WITH t, collect(r) AS l RETURN head(l).w AS w, endNode(head(l)) AS e",
    "MATCH (t) WITH head([(t)-[:has]->(b) | b]) AS h MATCH (h)-->(c) RETURN h, c",
    "MATCH (t) WITH t ORDER BY t.$dtId DESC RETURN head(collect(t)) AS h, last(collect(t.s)) AS l",
    "MATCH p = (t)-->(b) RETURN collect(DISTINCT p) AS l",
    "MATCH p = shortestPath((a {$dtId: 'a'})-[*..3]->(b {$dtId: 'c'})) RETURN [p] AS l",
    "RETURN head(null) AS h, last([]) AS l, head([null, 1]) AS n",
)
"""Lists of nodes, relationships and paths, and their elements."""
PROJECTIONS = (
    *build_each(
        "MATCH (t) RETURN t.$dtId AS i, t {<e>} AS m",
        "MATCH (t) OPTIONAL MATCH (t)-[r:has]->(b) WITH r AS t RETURN t {<e>} AS m",
        "MATCH (t) WITH t, t {<e>} AS m WHERE m.x = 1 OR m.k IS NULL RETURN m, keys(m) AS k",
        "MATCH (t) WHERE t.s > 'b' WITH t ORDER BY t.$dtId"
        " RETURN collect(t {<e>}) AS l, count(t {<e>}) AS n",
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
    "MATCH (t) OPTIONAL MATCH (t)-[r:has]->(b:Room) RETURN {k: b {.*, t}, l: r {t, b}} AS m, t",
    "MATCH (t) OPTIONAL MATCH (t)-[:has]->(b) WITH t, collect(b) AS l RETURN t {.*, l, s: t} AS m",
    "MATCH (t) OPTIONAL MATCH (t)-[:no]->(b) WITH b, b {.*, t} AS m RETURN m IS NULL AS n, m.s",
    "MATCH (t) RETURN DISTINCT t {.flag} AS m",
    (
        "UNWIND [[1], [1.0], [true], ['1'], [[1]], [null], [2.5, -0.0], [2.5, 0]] AS l"
        " RETURN l, count(*) AS n, count(DISTINCT [l]) AS m"
    ),
    (
        "UNWIND [{a: 1, b: 2}, {b: 2.0, a: 1}, {a: 1}, {a: true}, {}, {a: null}] AS m"
        " RETURN m, count(*) AS n"
    ),
    (
        "UNWIND [9007199254740993, 9007199254740992.0, 1e19, 9223372036854775807] AS x"
        " RETURN [x] AS l, count(*) AS n"
    ),
    "MATCH (t) RETURN t.list AS l, t.x AS x, count(*) AS n, count(DISTINCT t.m) AS m",
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
PITFALLS = (
    *build_each(
        "MATCH (t) WITH t, {k: t.x, n: null} AS m RETURN t.$dtId AS i, <f>(<a>) AS v",
        "MATCH (t) WITH t, {k: t.x, n: null} AS m WHERE NOT <f>(<a>) RETURN t.$dtId AS i",
        f=("is_null", "is_defined", "is_primitive"),
        a=(
            *("m.k", "m.n", "m.nope", "m['k']", "{k: t.nope}.k", "t.list[0]", "t.list[3]"),
            *("[t.x][0]", "[null][0]", "t[$s]", "t['m']['k']", "t {.x, .nope}.nope"),
        ),
    ),
    *build_each(
        "MATCH (t<l>) WHERE t.$dtId <c> RETURN t.s AS s, t.$dtId = 'b' AS v",
        "MATCH (t<l>)-[r]->(u) WHERE t.$dtId <c> RETURN t, r, u",
        "MATCH (t)-[r]->(u<l>) WHERE NOT 'b' <= u.$dtId AND t.$dtId <c> RETURN t, r.w AS w",
        l=("", ":Room"),
        c=("STARTS WITH 'b'", ">= 'b'", "< $id_c", "IN ['a', 'b\\'', 'd\"']", "<> 'b\\''"),
    ),
    *build_each(
        "MATCH (t) RETURN t.$dtId AS i, <e> AS v",
        e=(
            *("replace('a', '', split(t.s, 'o')[9])", "replace('a', split(t.s, t.s)[0], t.nope)"),
            *("toInteger('\\u00001')", "toFloat('1\\u0000')", "toInteger(t.s + '\\u0000')"),
            *(
                "toInteger('12\\u0000') > t.x",
                "null IN [t.x XOR null]",
                "(t.flag XOR null) IS NULL",
            ),
        ),
    ),
    "MATCH (t) RETURN DISTINCT null AS n, t.x IN t.list AS v",
    "MATCH (t) OPTIONAL MATCH p = (t) WHERE t.s = 'foo' RETURN t.s AS s, length(p) AS n, p",
    "MATCH (t)-[r]->(u) OPTIONAL MATCH p = (t)-[r]->(u) WHERE t.s = 'foo' RETURN p, r",
    "MATCH (t) RETURN DISTINCT null XOR EXISTS { MATCH (t)-->() WITH count(*) AS n RETURN n } AS v",
    "MATCH (t)-->(u) RETURN (0 - $big) ^ 0.5 AS v",
    "UNWIND [['\\u0000b', '1']] AS l MATCH (t) WHERE t.s IN l RETURN l, t.$dtId AS i",
    "SELECT * FROM DIGITALTWINS T WHERE T.s > 'b' AND NOT IS_NULL(T.flag)",
    "SELECT TOP(99) * FROM RELATIONSHIPS WHERE w != 1",
    "SELECT * FROM DIGITALTWINS MATCH (A)-[r:has]->(B) WHERE NOT r.w = 1 OR B.s > 'b'",
)
"""Queries of which some engine once gave another answer."""
LISTS = (
    *build_each(
        "MATCH (t) RETURN t.$dtId AS i, <e> AS v",
        "MATCH (t) WHERE size(<e>) > 1 RETURN t.$dtId AS i",
        "MATCH (t) OPTIONAL MATCH (t)-[:has]->(b:Room) WITH b AS t RETURN <e> AS v, count(*) AS n",
        "MATCH (t) UNWIND <e> AS x RETURN t.$dtId AS i, x",
        e=(
            *("[t.s, 'z']", "[x IN [t.s, 'b', null] WHERE x > 'b']", "[t.s] + 1", "'a' + [t.s]"),
            *("[t.s, 2][1..]", "[t.s, 2, 3][-2..-1]", "reverse([t.s, 'z'])", "tail([1, t.s])"),
            *("[x IN ['a', 'b'] | x + t.s]", "[[t.s], []][0]", "[x IN [t.s, 1] | [x]]"),
        ),
    ),
    *build_each(
        "MATCH (t)-->(b) WITH t, collect(b.s) AS l WHERE <q> RETURN t.$dtId AS i, size(l) AS n",
        "MATCH (t) OPTIONAL MATCH (t)-->(b) WITH t, collect(DISTINCT b.s) AS l"
        " RETURN t.$dtId AS i, <q> AS v",
        "MATCH (t) WITH t, [(t)-->(b) | b.s] AS l RETURN <q> AS v, count(*) AS n",
        q=(
            *(f"{kind}(y IN l WHERE y > 'b')" for kind in ("any", "all", "none", "single")),
            *("size(l) > 1", "t.s IN l", "'bar' IN l + 'bar'", "size([y IN l WHERE y <> t.s]) > 0"),
            *("reduce(n = 0, y IN l | n + size(y)) > 5", "isEmpty(tail(l))", "l[0] IS NULL"),
        ),
    ),
    *build_each(
        "MATCH (t)-[r:has*1..3]->(b) WHERE <w> RETURN t.$dtId AS i, b.$dtId AS j, size(r) AS n",
        "MATCH p = (t)-[r*0..2]-(b) WHERE <w> RETURN length(p) AS n, count(*) AS c",
        "MATCH (t) OPTIONAL MATCH p = (t)<-[r:has*1..2]-(b) WHERE <w>"
        " RETURN t.$dtId AS i, b.s AS s, length(p) AS n, [x IN nodes(p) | x.$dtId] AS l",
        w=(
            *("all(z IN r WHERE z.w = 1)", "none(z IN r WHERE z.w = '1')", "size(r) = 2"),
            *("t.s < b.s", "any(z IN r WHERE startNode(z) = t)"),
        ),
    ),
    *build_each(
        "MATCH (t) CALL { WITH t MATCH (t)-->(b) RETURN <c> } RETURN t.$dtId AS i, c",
        "MATCH (t:Room) CALL { WITH t OPTIONAL MATCH (t)--(b) RETURN <c> } RETURN t.s AS s, c",
        c=(
            *("count(b) AS c", "min(b.s) AS c", "b.s AS c ORDER BY c LIMIT 1", "DISTINCT b.s AS c"),
            *("size(collect(DISTINCT b)) AS c", "b.s AS c ORDER BY c SKIP 1 LIMIT 2"),
        ),
    ),
    *build_each(
        "MATCH (t) WHERE EXISTS { <m> } RETURN t.$dtId AS i",
        "MATCH (t) RETURN t.$dtId AS i, COUNT { <m> } AS n",
        m=(
            *(
                "MATCH (t)-->(b) MATCH (b)-->(c) RETURN c",
                "MATCH (t)-->(b) RETURN DISTINCT b.s AS s",
            ),
            *("MATCH (t)-->(b) WITH count(*) AS n WHERE n > 1 RETURN n",),
            *("MATCH (t)-->(b) RETURN b.s AS s UNION MATCH (t)<--(b) RETURN b.s AS s",),
            *("MATCH (t)-->(b) WITH b ORDER BY b.s LIMIT 1 MATCH (b)-->(c) RETURN c",),
        ),
    ),
    (
        "MATCH (t)-[:has]->(b) WITH t, b ORDER BY b.$dtId, b.s WITH t, collect(b.s)[..1] AS l"
        " RETURN t.$dtId AS i, l"
    ),
    "MATCH (t) WITH t ORDER BY t.s WITH t.flag AS f, collect(t.s) AS l RETURN f, l, head(l) AS h",
    (
        "UNWIND [{i: 'a', n: 1}, {i: 'c', n: 2}, {i: 'zz'}, null] AS q MATCH (t {$dtId: q.i})"
        " RETURN t.$dtId AS i, q.n AS n"
    ),
)
"""Lists of all kinds: of values, of a group, of a walk, and what subqueries make of each row."""
