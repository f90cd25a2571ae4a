"""Test queries over the law test's graph, on which every engine must agree with the evaluator.

The tests of an engine decide which of them it may decline. The graph has twins with the properties
`x`, `s`, `flag`, `m` and `list` of every JSON type.
"""

from __future__ import annotations

from typing import Any

from twinframe.testing.null_corpora import NULLS
from twinframe.testing.query_templates import build_each, build_filtered
from twinframe.testing.shape_corpora import (
    COMPUTED,
    ENTITY_LISTS,
    LISTS,
    PATTERN_VALUES,
    PITFALLS,
    PROJECTIONS,
    SPREADS,
)

PARAMETERS: dict[str, Any] = {
    "i": 1,
    "s": "foo",
    "f": 1.0,
    "b": True,
    "n": None,
    "l": [1, "foo", True, None, 1.5],
    "texts": ["foo", "bar"],
    "e": [],
    "big": 2**63 - 1,
    "id": "a",
    "ids": ["a", "c", "zz"],
    "id_c": "c",
    "id_e": "e",
    "id_l": "l",
    "id_nope": "nope",
}
SCALARS = [
    "1",
    "1.0",
    "'1'",
    "true",
    "false",
    "null",
    "t.x",
    "t.s",
    "t.m.k",
    "0",
    "-1",
    "'foo'",
    "9007199254740993",
    "t.flag",
    "$i",
    "$s",
    "$f",
    "$b",
    "$n",
]


COMPARISONS = tuple(
    build_filtered(
        "<a> <o> <b>",
        a=("t.x", "t.s", "t.m.k", "t.flag"),
        o=("=", "<>", "<", "<=", ">", ">="),
        b=SCALARS,
    )
)
MEMBERSHIPS = tuple(
    build_filtered(
        "<a> IN <l>",
        a=("t", "t.x", "t.s", "t.flag", "t.$dtId"),
        l=(
            *(
                "[1,2,3,4]",
                "['foo','1']",
                "[]",
                "[null]",
                "[1,'foo',true]",
                "[true]",
                "[1.0]",
                "t.list",
            ),
            *("$l", "$texts", "$e", "$n", "$ids", "[t.x, 1]"),
        ),
    )
)
STRINGS = tuple(
    build_filtered(
        "<a> <o> <b>",
        a=("t.s", "t.x", "'foobar'"),
        o=("STARTS WITH", "ENDS WITH", "CONTAINS"),
        b=("'f'", "''", "'é'", "t.s", "t.x", "null", "$s", "'f\\u0000'", "'😀'", "'z\\uffff'"),
    )
)
LOGIC = tuple(
    build_filtered(
        "(<a>) <o> (<b>)",
        a=("true", "false", "null", "t.flag", "t.x = 1", "t.s > 'f'"),
        o=("AND", "OR", "XOR"),
        b=("true", "false", "null", "t.flag", "t.x = 1", "t.s > 'f'"),
    )
)
ARITHMETIC = tuple(
    build_each(
        "MATCH ()-[r]->() WHERE r.w = 1 RETURN <a> <o> <b> AS v",
        "MATCH (t) WHERE t.x < 5 RETURN t.x <o> <b> AS v, -t.x AS w",
        "MATCH (t:Sensor) RETURN t.x <o> <b> AS v",
        a=("1", "2.5", "-7", "$i", "$f", "r.w", "0", "9223372036854775807", "null", "1e308"),
        o="+-*/%",
        b=("1", "2.5", "-7", "3", "0", "0.0", "-9223372036854775808", "$big", "1e308"),
    )
)
TYPE_TESTS = tuple(
    build_filtered(
        "<f>(<a>)",
        "array_contains(<a>, <b>)",
        f=(
            *("is_defined", "is_null", "is_number", "is_string", "is_bool", "is_object"),
            *("is_primitive", "exists"),
        ),
        a=("t.x", "t.flag", "t.m.k", "t.s", "t.m", "t.list"),
        b=("1", "'3'", "2", "null", "true", "t.x"),
    )
)
MODELS = tuple(
    build_filtered(
        "digitaltwins.is_of_model(t, '<m>'<x>)",
        "t:`<m>`",
        "t.$metadata.$model = '<m>'",
        "t:<l>",
        m=(
            *("dtmi:ex:Room;1", "dtmi:ex:Room;2", "dtmi:ex:Room;2.1", "dtmi:ex:Room;2.4"),
            *("dtmi:ex:Room;3", "dtmi:ex:Room", "dtmi:ex:Space;1", "dtmi:ex:deep:Hall;1"),
            *("dtmi:ex:Ro;1", "dtmi:nope;1"),
        ),
        x=("", ", true", ", 'exact'", ", false"),
        l=(
            *("Room", "Space", "Twin", "Nope", "Hall", "Room|Sensor", "!Room", "Room&Space"),
            *("!(Room|Sensor)&Space", "!Twin"),
        ),
    )
)
PATTERNS = tuple(
    build_each(
        "MATCH <p> RETURN count(*) AS n",
        "MATCH <p> RETURN *",
        "MATCH <p> WHERE a.$dtId = $id RETURN *",
        "MATCH <p> WHERE a.s STARTS WITH 'f' RETURN a.s AS s, count(*) AS n",
        p=(
            *("(a)-[r]->(b)", "(a)<-[r]-(b)", "(a)-[r]-(b)", "(a)-[r:has]->(b)", "(a)-[r]->(a)"),
            *("(a)-[r:has|feeds]-(b)", "(a)-[r:has {w: 1}]->(b)", "(a:Room)-[r]->(b:Space)"),
            *("(a)-[r]-(a)", "(a {x: 1})-[r]-(b)", "(a)-[r]->()-->(b)", "(a)-[r]-()--(b)"),
            *("(a)-[r]-()--()--(b)", "(a)-[r]->(b)-[q]->(a)", "(a)-->(b), (b)-->(c)"),
            *("(a)-->(b), (c)<--(b)", "(a), (b:Sensor)", "(a)-[r]-(b:Room)--(c {s: 'Foo'})"),
            *("(a)--(b)--(c)--(a)", "(x)-[q]->(a), (a)-[r*1..2]-(b)"),
        ),
    )
)
WALKS = tuple(
    build_each(
        "MATCH (a)<d>(b) WHERE a.$dtId = 'a' RETURN b.$dtId AS b, r",
        "MATCH (a)<d>(b) WHERE b.$dtId = 'a' RETURN a.$dtId AS a, r",
        "MATCH (a)<d>(b:Room) RETURN a, b",
        "MATCH (x)-[q]->(a) MATCH (a)<d>(b) RETURN count(*) AS n, count(b.s) AS m",
        "MATCH (x)-[q]->(a), (a)<d>(b), (b)-->(y) WHERE y.s > '' RETURN x, b, size(r) AS n",
        d=(
            pattern.replace("<n>", length)
            for pattern in ("-[r<n>]->", "<-[r<n>]-", "-[r<n>]-", "-[r:has|feeds<n>]-")
            for length in ("*", "*1..4", "*0..2", "*2", "*0..0", "*..3", "*2..", "*1..1", "*3..2")
        ),
    )
)
ORDERS = tuple(
    build_each(
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i SKIP $i + 1 LIMIT toInteger($f * 3)",
        "MATCH (t) WITH t ORDER BY t.$dtId LIMIT size($l) - 1 RETURN t.$dtId AS i ORDER BY i DESC",
        "MATCH (t) RETURN t.$dtId AS i ORDER BY i LIMIT $i + $i + size([1, 2])",
        "MATCH (t) RETURN t.$dtId AS i ORDER BY <k>, i",
        (
            "MATCH (t) WHERE NOT t.$dtId IN ['g','h'] RETURN t.$dtId AS i"
            " ORDER BY <k>, i SKIP 1 LIMIT 4"
        ),
        "MATCH (t) WHERE t.x < 100 OR t.flag RETURN t.$dtId AS i ORDER BY <k> DESC, i DESC",
        "MATCH (t) WHERE t.x >= 0 RETURN t.$dtId AS i ORDER BY <k> DESC, i",
        "MATCH (t) WITH t ORDER BY t.s LIMIT 5 RETURN t.s AS s ORDER BY s DESC",
        "MATCH (t) WITH t ORDER BY t.s DESC LIMIT 5 RETURN collect(t.s) AS s",
        "MATCH (t) WITH t ORDER BY t.s RETURN collect(t.s) AS s, count(*) AS n",
        "MATCH (t) WITH t ORDER BY t.s SKIP 2 LIMIT 7 WHERE t.s > 'b' RETURN t.s AS s",
        "MATCH (t) WITH t.s AS s ORDER BY s LIMIT 5 WITH s SKIP 1 RETURN s",
        "MATCH ()-[r]->() RETURN r ORDER BY r",
        "MATCH (t) RETURN DISTINCT t.$metadata.$model AS m ORDER BY m",
        k=("t.x", "t.s", "t.$dtId", "t.flag", "t", "t.m.k"),
    )
)
AGGREGATES = tuple(
    build_each(
        "MATCH (t)<w> RETURN <a> AS v",
        "MATCH (t)<w> RETURN t.$metadata.$model AS m, <a> AS v",
        "MATCH (t)<w> RETURN <k> AS k, count(*) AS n",
        "MATCH (t)<w> RETURN DISTINCT <k> AS k",
        "MATCH (t)<w> WITH DISTINCT <k> AS k RETURN count(*) AS n, count(k) AS m",
        "MATCH (t)<w> WITH <a> AS v RETURN 1 AS one",
        w=("", " WHERE t.x < 100", " WHERE t.s = 'nope'", " WHERE t.$dtId < 'd'"),
        a=(
            *(
                "count(t)",
                "count(t.x)",
                "count(DISTINCT t.s)",
                "count(DISTINCT t.flag)",
                "sum(t.x)",
            ),
            *("count(DISTINCT t.x)", "min(t.s)", "max(t.s)", "min(t.flag)", "max(t.$dtId)"),
            *("avg(t.x)", "min(t.x)", "max(t.x)", "sum(t.m.k)", "count(DISTINCT t)", "sum(1.5)"),
            *("avg(2)", "min(1)", "sum(DISTINCT 1)", "count(null)", "sum(null)", "avg(null)"),
            *("collect(null)", "max(null)", "size(collect(t.x))", "size(collect(DISTINCT t.s))"),
        ),
        k=("t.flag", "t.x", "t.s", "t", "t.x = 1", "t.m.k", "1", "null", "t.m"),
    )
)
VALUES = tuple(
    build_each(
        "MATCH (t) RETURN t.$dtId AS i, <c> AS v",
        "MATCH (t) WITH t, <c> AS v WHERE v IS NOT NULL RETURN v, t.s AS s",
        "MATCH (t) WITH <c> AS v RETURN v, count(*) AS n",
        "MATCH (t) WITH <c> AS v LIMIT 100 WHERE v = 1 OR v = 'one' RETURN v",
        c=(
            "CASE WHEN t.x = 1 THEN 'one' WHEN t.flag THEN 'flag' END",
            "CASE t.x WHEN 1 THEN 'one' WHEN '1' THEN 1 ELSE true END",
            "CASE WHEN t.x > 0 THEN t.x ELSE t.s END",
            *("coalesce(t.flag, t.x, 'none')", "coalesce(t.m.k, 0)", "coalesce(t.m, t.s)"),
            *("coalesce(null, t.x)", "size(t.s)", "size(t.list)", "t.s + '!'", "'n' + 1"),
            *(
                "t.s + t.s",
                "t.`a.b`",
                "t.`q\"'\\\\`",
                "t.``",
                "t['x']",
                "t['$dtId']",
                "t.m.deep.er",
            ),
            *("t.m.k.z", "t.x.y", "id(t)", "t.$etag", "t.$metadata", "[t.x, t.s, null]"),
            *("NOT t.flag", "t.x IS NULL", "t.flag AND t.x = 1", "1 + 2 * 3", "-t.x"),
            *("EXISTS { (t)-->() }", "COUNT { (t)-->() }", "[(t)-->(b) | b.s = 'bar']"),
        ),
    )
)
OPTIONALS = tuple(
    build_each(
        "MATCH (t) OPTIONAL MATCH <o> RETURN t, b",
        "MATCH (t) OPTIONAL MATCH <o> RETURN t.$dtId AS t, b.s AS s, b:Room AS l, b IS NULL AS z",
        "MATCH (t) OPTIONAL MATCH <o> MATCH (b)-->(c) RETURN t.$dtId AS t, c.$dtId AS c",
        "MATCH (t) OPTIONAL MATCH <o> RETURN t, count(b) AS n, min(b.s) AS l",
        "MATCH (t) OPTIONAL MATCH <o> OPTIONAL MATCH (b)-[q]->(c) RETURN t, c, type(q) AS q",
        "MATCH (t) OPTIONAL MATCH <o> WITH t, b WHERE b IS NULL RETURN t",
        "MATCH (t) OPTIONAL MATCH <o> RETURN DISTINCT b",
        "MATCH (t) OPTIONAL MATCH <o> RETURN is_defined(b.s) AS a, NOT b.s = 'x' AS c, b = t AS d,"
        " digitaltwins.is_of_model(b, 'dtmi:ex:Room;1') AS f, b.s IN [] AS g, NOT b:Room AS h",
        o=(
            *("(t)-[r]->(b)", "(t)<-[r]-(b)", "(t)-[r:has]->(b:Room)", "(b:Nope)"),
            *("(t)-[r]->(b) WHERE b.s = 'bar'", "(t)-[r]->(b) WHERE r.w = 1", "(t)-[r]-(b)"),
            *("(t)-[r]->(b {x: 1})", "(t)-[r]->(b) WHERE b.x = t.x", "(t)-->()-->(b)"),
        ),
    )
)
SUBPLANS = tuple(
    build_filtered(
        "<s>",
        s=(
            "EXISTS { (t)-->() }",
            "EXISTS { MATCH (t)-[r]->(b) WHERE b.s = 'bar' }",
            "NOT EXISTS { (t)--() }",
            "EXISTS { (t)-[*1..3]->(:Room) }",
            "COUNT { (t)-->() } > 1",
            "EXISTS { MATCH (t)-->(b) WHERE b.x = t.x }",
            "EXISTS { MATCH (t)-->(b) RETURN b LIMIT 1 }",
            "EXISTS { MATCH (t)-->(b)-->(t) }",
            "COUNT { MATCH (t)-->(b) RETURN DISTINCT b } = 1",
            "size([(t)-->(b) | 1]) > 1",
        ),
    )
)
OTHERS = (
    "UNWIND [1, 2.5, 'a', null, true, [1, 2]] AS x RETURN x",
    "UNWIND $l AS x RETURN x",
    "UNWIND $ids AS i MATCH (t {$dtId: i}) RETURN t",
    "UNWIND null AS x RETURN x",
    "MATCH (t) UNWIND [t.x, t.s] AS v RETURN v",
    "MATCH (t) WITH collect(t) AS ts UNWIND ts AS t RETURN t.$dtId AS i",
    "MATCH (a)-[r]->() WITH a, collect(r) AS rs UNWIND rs AS r RETURN r.w AS w, a.s AS s",
    "SELECT B.s, has.w FROM DIGITALTWINS A JOIN B RELATED A.has WHERE has.w = 1 AND A.s > 'a'",
    "SELECT has, feeds.w FROM DIGITALTWINS A JOIN B RELATED A.has JOIN C RELATED B.feeds",
    "RETURN 1 AS a UNION ALL RETURN 'x' AS a",
    "RETURN true AS a UNION RETURN 1 AS a",
    "MATCH (t) RETURN t.x AS a UNION ALL MATCH (t) RETURN t.s AS a",
    "MATCH (t:Room) RETURN t AS a UNION MATCH (t:Space) RETURN t AS a",
    "RETURN 1 AS x, 'a' AS y, null AS z, true AS b, 1.5 AS f, [1, 'a', null, true, [2]] AS l",
    "RETURN $i AS i, $s AS s, $f AS f, $b AS b, $n AS n, $l AS l, $big AS big",
    "RETURN 1e308 * 10 AS x, -1e308 * 10 AS y",
    "RETURN null IN [] AS y, null IN [1] AS z, 3 IN [1, null] AS w",
    "MATCH (t:Model) RETURN t",
    "MATCH (t) WHERE t.$dtId = 1 RETURN t",
    "MATCH (t {$dtId: '1'}) RETURN t",
    "MATCH (a) MATCH (b) WHERE a.x = b.x RETURN a.$dtId AS a, b.$dtId AS b",
    "MATCH (a) MATCH (b) WHERE a.s = b.$dtId OR a = b RETURN a, b",
    "MATCH (a) MATCH (b) WHERE a.x = b.$dtId RETURN a, b",
    "MATCH (a)-[r]->() WHERE r.$sourceId IN ['a', 'b'] AND NOT r.$targetId = 'b' RETURN r",
    "MATCH ()-[r]->() RETURN r.$sourceId AS s, count(*) AS n, startNode(r) AS a",
    "MATCH (a)-[r]->(b) WITH a, count(r) AS n MATCH (a)-->(c) RETURN a, n, c",
    "MATCH (a)-[*1..2]->(b)-[q*1..2]->(c) RETURN a.$dtId AS a, c.$dtId AS c, size(q) AS n",
    "MATCH (a)-[*1..2]->(b), (b)-[*1..2]->(a) RETURN a, b",
    "MATCH (a) MATCH (b) WHERE a.list = b.m OR a.m = b.list OR NOT a.list = b.m RETURN a, b",
    "MATCH (t) RETURN t, COUNT { MATCH (t)-->(x) OPTIONAL MATCH (x)--()--(y) RETURN x, y } AS n",
    "MATCH (t) WHERE EXISTS { MATCH (t)-->(x) OPTIONAL MATCH (x)--(y:Room)--() RETURN y } RETURN t",
    "MATCH (t) OPTIONAL MATCH (t)-[r*1..2]->(x:Room) RETURN t, r, x",
    "MATCH (t) WITH t ORDER BY t.$dtId LIMIT 4 OPTIONAL MATCH (t)--()--(x) RETURN t, x",
    "MATCH (t) WITH t.m AS m LIMIT 50 WHERE m.k = 5 RETURN m, m.k AS k",
    "MATCH (x) WITH x AS a OPTIONAL MATCH (a)--()--(c) RETURN c",
    "MATCH (x) WITH collect(x) AS l UNWIND l AS a OPTIONAL MATCH (a)--()--(c) RETURN c",
    "MATCH (x) WITH x AS a MATCH (a)-[*1..2]->(c) RETURN c",
    "WITH null AS a OPTIONAL MATCH p = (a)-[r]->() RETURN nodes(p) AS n",
    "MATCH (t) WHERE t.s + 1 = 'foo1' RETURN t",
    "MATCH (t) WHERE t.x < 5 RETURN t.x + 'a' AS v, 'a' + t.x AS w",
    "MATCH (t) WHERE t.s > 'a' RETURN t.s + 'a' AS v, 'a' + t.s + true + 1 AS w",
    "MATCH (t) WHERE t.s < 'g' AND t.s <> '' RETURN t.s + t.s AS v",
)

CALLS = (
    "CALL { MATCH (t:Room) RETURN count(*) AS n } RETURN n",
    "MATCH (a) CALL { MATCH (t:Sensor) RETURN t, t.s AS s } RETURN a.$dtId AS a, t, s",
    "MATCH (a) CALL { MATCH (t) RETURN t ORDER BY t.$dtId DESC LIMIT 2 } RETURN a, t.s AS s",
    "CALL { RETURN 1 AS x UNION RETURN 'b' AS x } WITH x MATCH (t {x: x}) RETURN t, x",
    "CALL { MATCH (a)-[*1..2]->(b) RETURN a, b } MATCH (b)-->(c) RETURN a, b, c",
    "UNWIND [1, 2] AS i CALL { MATCH (t) RETURN max(t.s) AS m } RETURN i, m",
    "MATCH (a) CALL { MATCH (t:Nope) RETURN t } RETURN count(*) AS n, count(a) AS m",
    "CALL { MATCH (t) RETURN t.x AS x } RETURN x IS NULL AS z, count(*) AS n",
    "CALL { MATCH (t) RETURN collect(t) AS ts } UNWIND ts AS t RETURN t.s AS s",
)
CORRELATED_CALLS = (
    "MATCH (a) CALL { WITH a MATCH (a)-->(b) RETURN b.x AS x } RETURN a, x",
    "MATCH (a) CALL { WITH a MATCH (a)-[r]->(b) WHERE r.w > 0 RETURN r, b } RETURN a.s AS s, r, b",
    "MATCH (a), (b:Sensor) CALL { WITH a MATCH (a)-->(c) RETURN c.x AS x } RETURN a, b, x",
    "MATCH (a) CALL { WITH a OPTIONAL MATCH (a)-->(b:Room) RETURN b } RETURN a, b",
    "MATCH (a) CALL { WITH a WITH a.list AS l UNWIND l AS e RETURN e } RETURN a.$dtId AS i, e",
    "MATCH (a) CALL { WITH a WITH a.s AS s MATCH (t {s: s}) RETURN t } RETURN a, t",
    "MATCH (a) CALL { WITH a MATCH (a)-->(b) RETURN count(b) AS n } RETURN a, n",
    "MATCH (a) CALL { WITH a MATCH (a)--(b) RETURN count(b.x) AS n } WITH n WHERE n > 0 RETURN n",
    "MATCH (a) CALL { WITH a MATCH (a)-->(b) RETURN collect(b.s) AS l } RETURN a, size(l) AS n",
    "MATCH (a) CALL { WITH a OPTIONAL MATCH (a)-->(b) RETURN count(*) + 1 AS n } RETURN a, n",
    "MATCH (a) CALL { WITH a MATCH (a)-[*1..2]->(b) RETURN b } RETURN a, b",
    (
        "MATCH (a) CALL { WITH a MATCH (a)--(b) CALL { WITH b MATCH (b)--(c) RETURN c } RETURN c }"
        " RETURN a, c"
    ),
)
PATHS = (
    "MATCH p = (a)-->(b) RETURN p",
    "MATCH p = (a)-->(b)<--(c) RETURN length(p) AS n, nodes(p) AS m, relationships(p) AS r",
    "MATCH p = (a) RETURN p, length(p) AS n, p IS NULL AS z",
    "OPTIONAL MATCH p = (a:Nope)-->(b) RETURN p, nodes(p) AS n, length(p) AS l",
    "MATCH p = (a)-[r]-(b) WHERE length(p) = 1 AND a.x = 1 RETURN p, a",
    "MATCH p = (a)--(b) WITH p, count(*) AS n RETURN p, n",
    "MATCH p = (a)-->(b), q = (c)-->(d) WHERE p = q RETURN count(*) AS n",
    "MATCH p = (a)-->(b) MATCH q = (a)--(c) WHERE NOT p = q RETURN count(*) AS n",
    "MATCH (a) OPTIONAL MATCH p = (a)-->()-->(c) RETURN a, [n IN nodes(p) | n.s] AS s",
    "MATCH p = (a)-->(b) RETURN {x: p, y: a, z: [a, b]} AS m",
    "MATCH p = (a)-->(b) RETURN p AS v UNION MATCH p = (a)<--(b) RETURN p AS v",
    "MATCH p = (a)-->(b) RETURN all(n IN nodes(p) WHERE n.s > '') AS v",
    "MATCH p = (a)-->(b) RETURN any(r IN relationships(p) WHERE r.w = 1) AS v",
    "MATCH p = (a)-[*1..2]->(b) RETURN p",
    "MATCH p = (a)-[*0..2]-(b {$dtId: 'a'})-->(c)-[r*1..2]->(d) RETURN p, r, d",
    "MATCH p = (a)<-[r:has*]-(b {$dtId: 'a'}) RETURN [n IN nodes(p) | n.s] AS s, r, length(p) AS n",
    "MATCH (a) OPTIONAL MATCH p = (a)-[:feeds*]->(b:Room) RETURN a, p, relationships(p) AS r",
    "MATCH p = (a)-[*..2]->(b) WITH p, a MATCH q = (a)-[*2..2]->(c) WHERE NOT p = q RETURN p, q",
    "MATCH p = (a)-[*]->(a), q = (a)-[*1..2]-(b) WHERE length(p) > length(q) RETURN p, q",
    "MATCH p = (a)-[*2]-(b) RETURN DISTINCT nodes(p) AS n, count(p) AS m",
    "MATCH (a) WHERE EXISTS { MATCH p = (a)-[*..3]->(b:Room) WHERE length(p) > 2 } RETURN a",
    "MATCH p = shortestPath((a)-[*..5]->(b)) WHERE a <> b RETURN a, b, length(p) AS n",
    "MATCH p = shortestPath((a {$dtId:'a'})-[*..5]-(b {$dtId:'d'})) RETURN length(p) AS n",
    "MATCH p = shortestPath((a)<-[:has*]-(b)) WHERE a <> b RETURN a.s AS a, length(p) AS n",
    "MATCH p = shortestPath((a)-[:has|feeds*0..]-(b)) RETURN a, b, length(p) AS n",
    (
        "MATCH (a), (b) WHERE a.$dtId < b.$dtId MATCH p = shortestPath((a)-[*..3]-(b))"
        " WHERE length(p) > 1 RETURN a, b, length(p) AS n"
    ),
    "MATCH p = shortestPath((a)-[*..5]->(b)) WHERE a <> b WITH p, a RETURN max(length(p)) AS n, a",
    "MATCH p = shortestPath((a)-[*..2]->(b)) WHERE a <> b RETURN count(p) AS n, a",
    (
        "MATCH (a) WHERE EXISTS { MATCH p = shortestPath((a)-[*..3]->(b:Room))"
        " WHERE a <> b AND length(p) > 1 } RETURN a"
    ),
)
JUNCTIONS = tuple(
    build_filtered(
        "<a> <o> <b>",
        a=("t.s", "t.x", "t.flag", "NOT t.x", "(t.x > 0 OR t.x)", "true", "false"),
        o=("AND", "OR", "XOR"),
        b=("true", "false", "t.s = 'foo'", "t.x", "t.s IS NULL", "t.nope", "(false AND t.s)"),
    )
)
CONDITIONS = tuple(
    build_each(
        "MATCH (t) RETURN t.$dtId AS i, CASE WHEN t.<a> THEN 1 ELSE 2 END AS v",
        "MATCH (t) WHERE CASE WHEN t.<a> THEN true ELSE null END RETURN t.$dtId AS i",
        "MATCH (t) WHERE CASE WHEN t.<a> THEN null END RETURN t.$dtId AS i",
        "MATCH (t) WHERE t.s = 'foo' RETURN CASE WHEN t.<a> THEN 1 WHEN t.s THEN 2 END = 'a' AS v",
        "MATCH (t) RETURN [y IN [t.<a>] WHERE y | 1] AS v",
        "MATCH (a)-[r]->(t) WHERE a.<a> AND t.s = 'bar' AND r.w > 0 RETURN a.$dtId AS i",
        "MATCH (a)-[r]->(t) WHERE (a.<a> OR t.flag) AND r.w = 1 RETURN a.$dtId AS i",
        a=("flag", "x", "s", "nope"),
    )
)
LEFT_OUT = tuple(
    build_filtered(
        "t.$dtId <o> (<f>)",
        "null <o> (<f>)",
        "(<f>) <o> t.nope",
        "t.nope <o> (<f>)",
        "t.s <o> (<f>)",
        "CASE t.$dtId WHEN (<f>) THEN true END",
        "(<f>) IN []",
        "(<f>) IN null",
        "t.$dtId IN ['a', 'b', <f>]",
        "size(['a'] + [<f>] + t.nope) > 0",
        "is_string(<f>)",
        "t.nope IS NULL XOR (<f>)",
        "replace(t.s, null, toString(<f>)) = 'a'",
        "[<f>][null..] IS NULL",
        "sqrt([][<f>]) IS NULL",
        "any(z IN (<f>) WHERE t.nope)",
        o=("=", "<>", "<", "STARTS WITH", "ENDS WITH", "CONTAINS", "+", "%"),
        f=("t.s = t.list.k", "t.list.k IS NULL", "t.x + 1", "COUNT { (t)-->(u) WHERE u.x }"),
    )
)
"""The types, a null or a check of the other operand decide; the error of `<f>` is not left out."""
WALKS_BETWEEN = tuple(
    build_each(
        "MATCH (a)<d>(b) WHERE a.$dtId = 'a' RETURN b.$dtId AS b",
        "MATCH (a)<d>(b) WHERE b.$dtId = 'a' RETURN a",
        "MATCH (a:Room)<d>(b) RETURN a, b",
        "MATCH (x)-[q]->(a), (a)<d>(b) RETURN x, q, b",
        "MATCH (x)-[q]->(a) MATCH (a)<d>(b) RETURN count(*) AS n, count(b.s) AS m",
        "MATCH (a)<d>(a) RETURN a",
        "MATCH (a)<d>(b) RETURN a.$dtId AS a, b.$dtId AS b",
        "MATCH (a) OPTIONAL MATCH (a)<d>(b) RETURN a.$dtId AS a, b.$dtId AS b",
        "MATCH (a {`$dtId`: 'r1'})<d>(b) RETURN a.$dtId AS a, count(*) AS n",
        "MATCH (a) WHERE EXISTS { (b {`$dtId`: 'r1'})<d>(c) } RETURN a.$dtId AS a",
        "MATCH (a) OPTIONAL MATCH (a)<d>(b:Room) RETURN a, b",
        "MATCH (a) WHERE EXISTS { (a)<d>(:Room) } RETURN a",
        "MATCH (a) WHERE EXISTS { (a)<d>(a) } RETURN a",
        d=(
            pattern.replace("<n>", length)
            for pattern in (
                *("-[<n>]->", "<-[:has<n>]-", "-[<n>]-", "-[:has|feeds<n>]-", "-[:has<n>]->"),
            )
            for length in ("*1..3", "*0..2", "*2", "*0..0", "*..2", "*3..2", "*", "*0..")
        ),
    )
)
"""Walks of which only the ends are asked for."""
SHORTEST = tuple(
    build_each(
        "MATCH p = shortestPath((a {`$dtId`: '<a>'})<d>(b {`$dtId`: '<b>'})) "
        "RETURN length(p) AS n, length(p) AS m",
        "MATCH p = allShortestPaths((a:Twin {`$dtId`: '<a>'})<d>(b {`$dtId`: $id_<b>})) "
        "RETURN p, nodes(p) AS n, relationships(p) AS r, length(p) AS l",
        a=("a", "b", "k"),
        b=("c", "e", "l", "nope"),
        d=("-[*..4]->", "<-[:has*1..3]-", "-[:has|feeds|isPartOf*..5]-", "-[*0..2]-"),
    )
)
"""Shortest paths between two twins of which the ids are known."""
COMPOSED = (
    "MATCH (a)-[r]->(b) RETURN [a, r, b.x, null, [1, 'a']] AS l, {k: a, m: {n: b.s}} AS m",
    "MATCH p = (a)-[r]->(b)<--(c) RETURN p, nodes(p) AS n, relationships(p) AS r, length(p) AS l",
    "MATCH p = (a) RETURN p, length(p) AS n ORDER BY n LIMIT 100",
    "MATCH (a) OPTIONAL MATCH p = (a)-[:feeds]->(b) RETURN a, p, nodes(p) AS n, length(p) AS l",
    "MATCH (a) OPTIONAL MATCH p = (a)-[:feeds]->(b) RETURN a, [a, p] AS l, {p: p, b: b} AS m",
    "MATCH (a)-[r]-(b) WITH a, [r, b.s] AS l RETURN a.$dtId AS i, l",
    "MATCH ()-[r]->() RETURN startNode(r) AS a, endNode(r).s AS s, [endNode(r)] AS l",
    "OPTIONAL MATCH (:Nope)-[r]->() RETURN startNode(r) AS a, startNode(r) IS NULL AS n, [r] AS l",
    "MATCH (a)-[r:has]->(b) WHERE length([1]) = 1 OR a = startNode(r) RETURN a",
    "MATCH (a) WITH a, startNode(null) AS s RETURN a, s",
    "MATCH (a)-[r]->() WITH DISTINCT endNode(r) AS e MATCH (e)-[q]->(c) RETURN e, q, c",
    "CALL { MATCH (t) RETURN t ORDER BY t.$dtId LIMIT 3 } MATCH (t)-->(u) RETURN t, u.s AS s",
    "MATCH (a) CALL { OPTIONAL MATCH (n:Nope) RETURN n } RETURN a, n, n.s AS s",
)
"""Lists, maps, paths and ends of relationships."""
KNOWN = (
    "RETURN all(x IN [1, 2, null] WHERE x > 1) AS a, reduce(s = 0, x IN [1, 2] | s + x) AS r",
    "WITH [1, [2, 'a'], {k: null}] AS l RETURN l, l[1..] AS s, l[1][1] AS e, size(l) AS n",
    "WITH {a: 1, b: {c: 'x'}} AS m RETURN m, m.a AS a, m.b.c AS c, m.nope AS n, keys(m) AS k",
    "WITH [3, 1, 2] AS l MATCH (t) WHERE t.x IN l RETURN t.$dtId AS i, l",
    "WITH {x: 1} AS m MATCH (t {x: m.x})-[r]->(u) RETURN t, m, u ORDER BY u.$dtId LIMIT 100",
    "UNWIND range(1, 3) AS x MATCH (t {x: x}) RETURN x, t",
    "WITH [1, 2] AS l UNWIND l + [null] AS x RETURN x, l",
    "WITH [1] AS l, 2 AS n MATCH (t) RETURN l, n, count(*) AS c, max(t.s) AS m",
    "WITH [1] AS l MATCH (t:Nope) RETURN l, count(*) AS c",
    "WITH [1] AS l MATCH (t) WITH DISTINCT l, t.$metadata.$model AS m RETURN l, m",
    "WITH [1] AS l MATCH (t) OPTIONAL MATCH (t)-->(u) WHERE u.x IN l RETURN t, u, l[0] AS o",
    "WITH [1, 2] AS l MATCH (t) WHERE EXISTS { MATCH (t)-->(u) WHERE u.x IN l } RETURN t, l",
    "MATCH (t) WITH t, toUpper('foo') AS f WHERE toLower(f) = t.s RETURN t, f + '!' AS g",
    "MATCH (t) WHERE t.x > 7 % 4 - 3 RETURN t.$dtId AS i, 2 ^ 3 AS p, toString(1.5) AS s",
    "MATCH (t) WITH t SKIP 0 LIMIT 3 WITH t, [1] AS l RETURN count(t) AS n, l",
    "CALL { WITH [1, 2] AS l RETURN l } MATCH (t) RETURN t.$dtId AS i, l[0] AS o",
    "WITH null AS l UNWIND l AS x RETURN x",
)
"""Lists, maps and values that are the same in all rows."""
COUNTS = (
    "MATCH (t) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(t) AS n, count(*) AS m, count(DISTINCT t) AS o",
    "MATCH (t:!Room|Sensor) RETURN count(*) AS n",
    "MATCH (t:Nothing) RETURN count(*) AS n",
    "MATCH (t:Room) RETURN count(*) + 1 AS n",
    "MATCH (t) WHERE t:Room OR t:Sensor RETURN count(*) AS n",
    "MATCH (t) WHERE digitaltwins.is_of_model(t, 'dtmi:ex:Space;1') RETURN count(*) AS n",
    "MATCH (t:Space) WHERE NOT is_of_model(t, 'dtmi:ex:Room;1', true) RETURN count(*) AS n",
    "MATCH (t:Space) RETURN t.$metadata.$model AS m, count(*) AS n",
    "MATCH (t) WITH t.$metadata.$model AS m, count(t) AS n WHERE n > 1 RETURN m ORDER BY m",
    "MATCH ()-[r]->() RETURN count(r) AS n",
    "MATCH ()-[:has|feeds]->() RETURN count(*) AS n",
    "MATCH (a)<-[r]-(b) RETURN type(r) AS name, count(*) AS n",
    "MATCH ()-[:nothing]->() RETURN count(*) AS n",
    "MATCH (t:Nothing) RETURN t.$metadata.$model AS m, count(*) AS n",
    "SELECT COUNT() FROM DIGITALTWINS",
    "SELECT COUNT() FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:ex:Room;1')",
    "SELECT COUNT() FROM DIGITALTWINS WHERE $metadata.$model = 'dtmi:ex:Room;1'",
    "SELECT COUNT() FROM RELATIONSHIPS WHERE $relationshipName = 'has'",
    "MATCH (t:Room) RETURN count(*) AS n UNION ALL MATCH ()-[:has]->() RETURN count(*) AS n",
)
"""Counts of whole sets: a store may keep them."""
READ_COUNTS = (
    "MATCH (t) RETURN count(t.x) AS n",
    "MATCH (t) WHERE t.x = 1 RETURN count(*) AS n",
    "MATCH (t {$dtId: 'a'}) RETURN count(*) AS n",
    "MATCH (t) RETURN t.s AS s, count(*) AS n",
    "MATCH (t) RETURN count(*) AS n, max(t.s) AS m",
    "MATCH (t) RETURN t, count(*) AS n",
    "MATCH (t), (u) RETURN count(*) AS n",
    "MATCH (a)-[r]->(a) RETURN count(*) AS n",
    "MATCH (a)-[r]-(b) RETURN count(*) AS n",
    "MATCH (:Room)-[r]->() RETURN count(*) AS n",
    "MATCH ()-[r {w: 1}]->() RETURN count(*) AS n",
    "MATCH ()-[r]->()-[q]->() RETURN count(*) AS n",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->() RETURN count(r) AS n",
    "OPTIONAL MATCH (t:Room) RETURN count(*) AS n, count(t) AS m",
    "MATCH (t) WHERE EXISTS { (t)-->() } RETURN count(*) AS n",
    "MATCH (t:Room) WITH t LIMIT 2 RETURN count(*) AS n",
    "MATCH (t) UNWIND [1, 2] AS i RETURN count(*) AS n",
)
"""Counts of which no store keeps the result."""

CORPORA: dict[str, tuple[str, ...]] = {
    "comparisons": COMPARISONS,
    "memberships": MEMBERSHIPS,
    "strings": STRINGS,
    "logic": LOGIC,
    "arithmetic": ARITHMETIC,
    "type-tests": TYPE_TESTS,
    "models": MODELS,
    "patterns": PATTERNS,
    "walks": WALKS,
    "walks-between": WALKS_BETWEEN,
    "aggregates": AGGREGATES,
    "counts": COUNTS,
    "read-counts": READ_COUNTS,
    "values": VALUES,
    "optionals": OPTIONALS,
    "subplans": SUBPLANS,
    "others": OTHERS,
    "paths": PATHS,
    "shortest": SHORTEST,
    "calls": CALLS,
    "correlated-calls": CORRELATED_CALLS,
    "junctions": JUNCTIONS,
    "conditions": CONDITIONS,
    "left-out": LEFT_OUT,
    "composed": COMPOSED,
    "known": KNOWN,
    "pattern-values": PATTERN_VALUES,
    "computed": COMPUTED,
    "entity-lists": ENTITY_LISTS,
    "lists": LISTS,
    "projections": PROJECTIONS,
    "spreads": SPREADS,
    "nulls": NULLS,
    "pitfalls": PITFALLS,
}
"""The texts by theme; `ORDERS` are apart, because the order of their rows is compared too."""
