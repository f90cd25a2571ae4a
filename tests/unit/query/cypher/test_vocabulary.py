"""The words that editors offer: all that the languages read, each in a form that they do read."""

from __future__ import annotations

import pytest

from twinframe.errors import QueryInvalid
from twinframe.query.adt.expressions import STRUCTURE, TESTS
from twinframe.query.cypher.functions import FUNCTIONS, Function
from twinframe.query.cypher.tokens import RESERVED, WRITING_CLAUSES
from twinframe.query.cypher.vocabulary import (
    build_cypher_vocabulary,
    build_vendor_vocabulary,
    render_signature,
)
from twinframe.query.language import parse_query

CYPHER = build_cypher_vocabulary()
VENDOR = build_vendor_vocabulary()


def list_parameters(signature: str) -> list[str]:
    inside = signature.partition("(")[2].rpartition(") → ")[0]
    return [name.strip() for name in inside.split(",") if name.strip()]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.name)
def test_a_signature_has_a_name_for_each_argument(function: Function) -> None:
    parameters = list_parameters(render_signature(function))
    needed = [name for name in parameters if not name.endswith(("?", "..."))]
    assert len(needed) == function.minimum
    if function.maximum is None:
        assert parameters[-1] == "..."
    else:
        assert len(parameters) == function.maximum


def test_signatures_read_well() -> None:
    by_name = {word.name: word.signature for word in CYPHER.functions}
    assert by_name["substring"] == "substring(text, start, length?) → string"
    assert by_name["labels"] == "labels(node) → list of strings"
    assert by_name["coalesce"] == "coalesce(value, ...) → any"
    assert by_name["date.truncate"] == "date.truncate(unit, value?, components?) → temporal"
    assert by_name["pi"] == "pi() → float"


def test_every_function_of_cypher_is_offered_once_by_name() -> None:
    names = [word.name for word in CYPHER.functions]
    assert len(names) == len(set(names))
    assert {function.name for function in FUNCTIONS} < set(names)


def test_every_reserved_word_is_offered_or_writes() -> None:
    offered = {part for keyword in CYPHER.keywords for part in keyword.split()}
    assert offered | set(CYPHER.writing) >= RESERVED
    assert not set(CYPHER.keywords) & WRITING_CLAUSES


def test_a_word_that_writes_is_refused_in_a_query() -> None:
    for word in CYPHER.writing:
        with pytest.raises(QueryInvalid, match=word):
            parse_query(f"{word} (n)")


def test_the_vendors_words_are_those_of_its_parser() -> None:
    offered = {part for keyword in VENDOR.keywords for part in keyword.split()}
    assert offered >= STRUCTURE
    tests = {word.name for word in VENDOR.functions if not word.aggregate}
    assert tests == set(TESTS)


@pytest.mark.parametrize("word", [w.name for w in VENDOR.functions if w.aggregate])
def test_the_vendors_aggregates_are_read(word: str) -> None:
    parse_query(f"SELECT {word}(T.x) FROM DIGITALTWINS T")


EXAMPLES = """
EXPLAIN MATCH (a)-->(b) OPTIONAL MATCH (b)-->(c) WHERE a.x IS NULL AND NOT b.x IN [TRUE] OR c.x
IS NOT NULL XOR c.y STARTS WITH 'a' WITH DISTINCT a AS d ORDER BY d.x ASC, d.y DESC SKIP 1 LIMIT
2 UNWIND [NULL, FALSE] AS e CALL (d) { RETURN 1 AS f } RETURN CASE WHEN d.x CONTAINS 'x' THEN e
ELSE f END AS g UNION ALL RETURN EXISTS { (a) } AS g

PROFILE MATCH (a) WHERE a.x ENDS WITH 'z' RETURN COUNT { (a)-->() } AS n, COLLECT { MATCH (b) RETURN
b.x AS x } AS xs UNION RETURN 1 AS n, [] AS xs

MATCH p = shortestPath((a)-[*1..3]->(b)), q = allShortestPaths((a)-[*1..3]->(c)) WHERE all(x IN
[1] WHERE x > 0) OR any(x IN [1] WHERE x > 0) OR none(x IN [1] WHERE x > 0) OR single(x IN [1]
WHERE x > 0) RETURN reduce(t = 0, x IN [1] | t + x) AS s, p, q

EXPLAIN SELECT DISTINCT TOP(3) T.a AS a FROM DIGITALTWINS T WHERE T.a IN [TRUE, FALSE] AND NOT
T.b NIN [NULL] OR IS_OF_MODEL(T, 'dtmi:a:B;1', exact) ORDER BY T.a DESC, T.a ASC

SELECT T.a, COUNT() FROM DIGITALTWINS MATCH (T)-[r:x]->(b) WHERE T.$dtId = 'x' GROUP BY T.a

PROFILE SELECT R FROM DIGITALTWINS T JOIN R RELATED T.has WHERE T.$dtId = 'x'

SELECT * FROM RELATIONSHIPS
"""


def test_every_keyword_and_form_is_read() -> None:
    for text in EXAMPLES.strip().split("\n\n"):
        parse_query(text)
    read = f"{' '.join(EXAMPLES.split())} "
    forms = [word.name for word in CYPHER.functions if word.group == "Patterns"]
    for keyword in (*CYPHER.keywords, *VENDOR.keywords, *forms):
        assert any(f"{keyword}{end}" in read for end in " (]"), keyword
