"""Test queries about missing things: nodes of optional matches, missing members, labels of no
model.

Each of `TESTS` is applied to the rows of `SOURCES`, in each of `FRAMES`. If an engine treats a null
as false, a negation, a comparison or a count of it gives other rows than the evaluator.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

SOURCES = (
    "MATCH (t) OPTIONAL MATCH (t)-[r:nope]->(m)",
    "MATCH (t) OPTIONAL MATCH (t)-[r:has]->(m)",
    "MATCH (t) OPTIONAL MATCH (t)-[r]->(m:Nope)",
    "MATCH (t) OPTIONAL MATCH (t)-->()-[r]->(m) WHERE m.s > 'f'",
    "MATCH (t) OPTIONAL MATCH (m:Nope) OPTIONAL MATCH (m)-[r]->()",
    "MATCH (t) WITH t, null AS m, null AS r",
    "MATCH (t) WITH t, CASE WHEN t.x = 1 THEN t END AS m, null AS r",
    "MATCH (t) OPTIONAL MATCH (t)-[r:has]->(m) WITH DISTINCT t, r, m LIMIT 50",
    "MATCH (t) CALL { WITH t OPTIONAL MATCH (t)-[r:feeds]->(m) RETURN r, m }",
)
"""Clauses that bind a node `t`, a node `m` and a relationship `r`; the last two are often null."""

TESTS = (
    *("m:Nope", "m:!Nope", "m:Room", "m:!Room", "m:Nope|Room", "m:Nope&Room", "m:`dtmi:nope;1`"),
    *("m:Twin", "m:!Twin", "r:has", "r:nope", "r:!nope", "r:!has&!nope", "t:Nope", "t:!Nope"),
    "is_of_model(m, 'dtmi:nope;1')",
    "is_of_model(m, 'dtmi:nope;1', true)",
    "is_of_model(m, 'dtmi:ex:Room;1', 'exact')",
    *("m = t", "m <> t", "r = r", "m = null", "m IN [t]", "m IN []", "m IN [null]", "r IN [r]"),
    *("m.x = 1", "m.x <> 1", "m.x < 1", "m.x IN []", "m.x IN [1, null]", "m.x IN null"),
    *("m.x IN $e", "m.x IN $n", "m.x IN $l", "1 IN m.list", "t.nope IN []", "t.nope IN [1]"),
    *("null IN []", "null IN [null]", "1 IN t.nope", "m.list IN [m.list]", "m.$dtId IN $ids"),
    *("m.s STARTS WITH 'f'", "m.s CONTAINS null", "null ENDS WITH 'a'", "m.s =~ 'f.*'"),
    *("exists(m.x)", "is_defined(m.x)", "is_null(m.x)", "is_string(m.x)", "is_primitive(m.x)"),
    *("array_contains(m.list, 1)", "array_contains(m.list, null)", "m.flag", "m.nope = 1"),
    *("EXISTS { (m)-->() }", "EXISTS { (m:Nope) }", "EXISTS { MATCH (m) WHERE NOT m:Nope }"),
    *("COUNT { (m)-->() } = 0", "COUNT { (m:Nope) } = 0"),
    "EXISTS { MATCH (z:!Nope) WHERE z = m }",
    "EXISTS { MATCH (m)-[*1..2]->() }",
    *(
        f"{kind}({part})"
        for kind, part in itertools.product(
            ("all", "any", "none", "single"),
            ("x IN m.list WHERE x = 1", "x IN [] WHERE x = m.x", "x IN [m] WHERE x:Nope"),
        )
    ),
    *("all(x IN $e WHERE false)", "any(x IN $n WHERE x)", "none(x IN [null] WHERE x = 1)"),
    *("type(r) = 'has'", "type(r) IN []", "'Room' IN labels(m)", "id(m) = 'a'", "endNode(r) = m"),
    *("m IS NULL", "r IS NOT NULL", "m.x IS NULL", "coalesce(m:Nope, true)", "m.m.k = 5"),
    *("size(m.s) = 0", "isEmpty(m.s)", "keys(m) = []", "properties(m) = {}", "[m.x] = [1]"),
    "CASE WHEN m:Nope THEN false ELSE true END",
    "CASE m.x WHEN null THEN true ELSE false END",
)
"""Conditions over these three."""

FRAMES = (
    "<s> WITH * WHERE <e> RETURN t.$dtId AS i, m.$dtId AS j",
    "<s> WITH * WHERE NOT (<e>) RETURN t.$dtId AS i, m.$dtId AS j",
    "<s> WITH * WHERE (<e>) IS NULL RETURN t.$dtId AS i, m.$dtId AS j",
    "<s> RETURN t.$dtId AS i, <e> AS v, NOT (<e>) AS w",
    "<s> WITH * WHERE (<e>) <> true RETURN t.$dtId AS i",
    "<s> WITH * WHERE (<e>) XOR true RETURN t.$dtId AS i",
    "<s> WITH * WHERE (<e>) IN [false] RETURN count(*) AS n",
    "<s> WITH * WHERE NOT ((<e>) AND t.s > '') RETURN count(*) AS n",
    "<s> WITH * WHERE coalesce(<e>, true) RETURN count(*) AS n",
    "<s> RETURN CASE WHEN <e> THEN 1 WHEN NOT (<e>) THEN 2 ELSE 3 END AS c",
    "<s> RETURN CASE <e> WHEN false THEN 1 WHEN null THEN 5 ELSE 2 END AS c",
    "<s> RETURN count(<e>) AS c, count(DISTINCT <e>) AS d",
    "<s> RETURN count(CASE WHEN NOT (<e>) THEN 1 END) AS c, min(<e>) AS l",
    "<s> RETURN avg(CASE WHEN NOT (<e>) THEN 1.5 END) AS a, max(CASE WHEN <e> THEN 2 END) AS x",
    "<s> RETURN <e> AS k, count(*) AS n",
    "<s> WITH *, <e> AS v WHERE NOT v RETURN count(*) AS n",
    "<s> OPTIONAL MATCH (t)-->(w) WHERE NOT (<e>) RETURN t.$dtId AS i, w.$dtId AS j",
    "<s> MATCH (w:Sensor) WHERE NOT (<e>) RETURN count(*) AS n",
    "<s> RETURN any(y IN [1] WHERE NOT (<e>)) AS a, [y IN [1] WHERE NOT (<e>) | y] AS l",
    "<s> WITH * WHERE EXISTS { MATCH (t) WHERE NOT (<e>) } RETURN count(*) AS n",
)
"""Positions of a condition; `<s>` is one of the sources, `<e>` the condition."""

JOINED = (
    "(NOT <a>)",
    "(<a> AND <b>)",
    "(<a> OR <b>)",
    "(<a> XOR <b>)",
    "((<a>) = (<b>))",
    "((<a>) IN [<b>, null])",
    "coalesce(<a>, <b>)",
    "CASE WHEN <a> THEN <b> ELSE NOT <b> END",
)
"""Conditions made of two others."""


def build_null_query(source: str, condition: str, place: str) -> str:
    """Build the query that tests `condition` on the rows of `source` in `place`."""
    return place.replace("<s>", source).replace("<e>", condition)


def build_null_queries() -> Iterator[str]:
    """Yield each condition in each place, over one source after the other."""
    sources = itertools.cycle(SOURCES)
    for place, condition in itertools.product(FRAMES, TESTS):
        yield build_null_query(next(sources), condition, place)


NULLS = tuple(build_null_queries())
