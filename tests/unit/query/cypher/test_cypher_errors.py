"""What is wrong with a Cypher text is said with the kit's kind and detail, and with its place."""

# ruff: noqa: E501 -- a table of cases reads best with one case a line
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinframe.errors import QueryInvalid

    Refuse = Callable[..., QueryInvalid]

# (query with ‸ before the place of the error, kind, detail)
CASES = [
    # names
    ("MATCH (a) RETURN ‸b", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a)\nWITH a.x AS x\nRETURN ‸a", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) WITH a.x AS x WHERE ‸y = 1 RETURN x", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) RETURN DISTINCT a.x ORDER BY ‸a.y", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) WHERE (a)-->‸(b) RETURN a", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) WHERE (a)‸-[r]->() RETURN a", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) RETURN [x IN [1] | x] + ‸x", "SyntaxError", "UndefinedVariable"),
    ("RETURN {k: ‸v}", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) CALL { RETURN ‸a.x AS x } RETURN x", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) UNWIND [1] AS ‸a RETURN a", "SyntaxError", "VariableAlreadyBound"),
    ("MATCH (p) MATCH ‸p = (a) RETURN p", "SyntaxError", "VariableAlreadyBound"),
    ("MATCH ‸p = (p)--() RETURN p", "SyntaxError", "VariableAlreadyBound"),
    ("MATCH (a) ‸CALL { RETURN 1 AS a } RETURN a", "SyntaxError", "VariableAlreadyBound"),
    ("MATCH ()-[r]-() MATCH ‸(r) RETURN r", "SyntaxError", "VariableTypeConflict"),
    ("MATCH ()-[r]-‸(r) RETURN r", "SyntaxError", "VariableTypeConflict"),
    ("MATCH r = ()--(), ()‸-[r]-() RETURN r", "SyntaxError", "VariableTypeConflict"),
    ("WITH true AS r MATCH ()‸-[r]-() RETURN r", "SyntaxError", "VariableTypeConflict"),
    ("MATCH (n) WITH [n] AS ns MATCH ‸(ns)-->() RETURN ns", "SyntaxError", "VariableTypeConflict"),
    ("MATCH (n) WITH [n] AS ns MATCH ()‸-[ns*]->() RETURN ns", "SyntaxError", "VariableTypeConflict"),
    ("MATCH (a)-[r]->()‸-[r]->(a) RETURN r", "SyntaxError", "RelationshipUniquenessViolation"),
    ("MATCH () ‸RETURN *", "SyntaxError", "NoVariablesInScope"),
    ("MATCH (a) WITH a, ‸count(*) RETURN a", "SyntaxError", "NoExpressionAlias"),
    ("RETURN 1 AS a, ‸2 AS a", "SyntaxError", "ColumnNameConflict"),
    ("MATCH (a) RETURN *, ‸a", "SyntaxError", "ColumnNameConflict"),
    ("RETURN 1 AS a UNION ‸RETURN 2 AS b", "SyntaxError", "DifferentColumnsInUnion"),
    ("RETURN $p, ‸$missing", "ParameterMissing", "MissingParameter"),
    ("MATCH (n ‸$p) RETURN n", "SyntaxError", "InvalidParameterUse"),
    ("MATCH ()-[r ‸$p]->() RETURN r", "SyntaxError", "InvalidParameterUse"),
    # functions
    ("RETURN ‸tolowr('a')", "SyntaxError", "UnknownFunction"),
    ("RETURN ‸date.truncat('a')", "SyntaxError", "UnknownFunction"),
    ("RETURN ‸toLower()", "SyntaxError", "InvalidNumberOfArguments"),
    ("RETURN ‸range(1, 2, 3, 4)", "SyntaxError", "InvalidNumberOfArguments"),
    ("RETURN ‸size(DISTINCT [1])", "SyntaxError", "UnexpectedSyntax"),
    # types
    ("RETURN ‸123 AND true", "SyntaxError", "InvalidArgumentType"),
    ("RETURN NOT ‸0", "SyntaxError", "InvalidArgumentType"),
    ("RETURN 1 - ‸'a'", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (n) WHERE (‸n) RETURN n", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (n) RETURN length(‸n)", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (n) RETURN type(‸n)", "SyntaxError", "InvalidArgumentType"),
    ("MATCH p = (a) RETURN labels(‸p)", "SyntaxError", "InvalidArgumentType"),
    ("MATCH p = (a) WHERE ‸p.x = 1 RETURN p", "SyntaxError", "InvalidArgumentType"),
    ("RETURN none(x IN ['a'] WHERE ‸x % 2 = 0)", "SyntaxError", "InvalidArgumentType"),
    ("WITH 123 AS n RETURN ‸n.num", "TypeError", "InvalidArgumentType"),
    ("WITH true AS l RETURN ‸l[0]", "TypeError", "InvalidArgumentType"),
    ("RETURN ‸[1, 2]['a']", "TypeError", "InvalidArgumentType"),
    ("RETURN [x IN ‸1 | x]", "SyntaxError", "InvalidArgumentType"),
    *(
        (f"MATCH p = (n)-[r]->() RETURN 1 IN ‸{right}", "SyntaxError", "InvalidArgumentType")
        for right in ("true", "1.5", "'abc'", "{a: [1]}", "n", "r", "p", "date()", "count(*)", "toUpper('x')")
    ),
    ("MATCH (n) WHERE NOT n.x IN ‸'abc' RETURN n", "SyntaxError", "InvalidArgumentType"),
    ("WITH 3 AS l RETURN [x IN [1] WHERE x IN ‸l]", "SyntaxError", "InvalidArgumentType"),
    ("RETURN ‸true + 1", "SyntaxError", "InvalidArgumentType"),
    ("RETURN ‸{a: 1} + 'a'", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (n) RETURN ‸n + n", "SyntaxError", "InvalidArgumentType"),
    ("RETURN ‸date() + 1", "SyntaxError", "InvalidArgumentType"),
    ("RETURN [1, 2][‸'a'..]", "SyntaxError", "InvalidArgumentType"),
    ("RETURN [1, 2][0..‸1.5]", "SyntaxError", "InvalidArgumentType"),
    # aggregates
    ("MATCH (a) WHERE ‸count(a) > 1 RETURN a", "SyntaxError", "InvalidAggregation"),
    ("MATCH (a) RETURN a.x ORDER BY ‸max(a.y)", "SyntaxError", "InvalidAggregation"),
    ("RETURN [x IN [1] | ‸count(x)]", "SyntaxError", "InvalidAggregation"),
    ("UNWIND ‸collect(1) AS x RETURN x", "SyntaxError", "InvalidAggregation"),
    ("RETURN count(‸count(*))", "SyntaxError", "NestedAggregation"),
    ("RETURN count(‸rand())", "SyntaxError", "NonConstantExpression"),
    ("MATCH (a)--(b) RETURN ‸a.x + count(b)", "SyntaxError", "AmbiguousAggregationExpression"),
    (
        "MATCH (a)--(b) RETURN a.x + b.x, ‸a.x + b.x + count(*)",
        "SyntaxError",
        "AmbiguousAggregationExpression",
    ),
    (
        "MATCH (a) RETURN a AS b, size(‸[(a)-->() | 1]) + count(*)",
        "SyntaxError",
        "AmbiguousAggregationExpression",
    ),
    ("MATCH (a)--(b) RETURN count(b.x) AS n ORDER BY ‸a.x + count(b.x)", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a)--(b) RETURN a.x + b.x, count(*) AS n ORDER BY ‸a.x + b.x + count(*)", "SyntaxError", "AmbiguousAggregationExpression"),
    ("MATCH (a)--(b) WITH a.x + b.x, count(*) AS n ORDER BY ‸a.x + b.x + count(*) RETURN *", "SyntaxError", "AmbiguousAggregationExpression"),
    ("MATCH (a)--(b) WITH a.x + b.x, count(*) AS n ORDER BY ‸b.x RETURN *", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a)--(b) WITH ‸a.x + b.x, count(*) AS n ORDER BY a.x + b.x RETURN *", "SyntaxError", "NoExpressionAlias"),
    ("MATCH (a)--(b) WITH a.x + b.x AS s, count(*) AS n ORDER BY ‸a.x + b.x + count(*) RETURN *", "SyntaxError", "AmbiguousAggregationExpression"),
    # SKIP and LIMIT
    ("MATCH (n) RETURN n SKIP ‸n.x", "SyntaxError", "NonConstantExpression"),
    ("MATCH (n) RETURN n LIMIT ‸-1", "SyntaxError", "NegativeIntegerArgument"),
    ("MATCH (n) RETURN n SKIP ‸1.5", "SyntaxError", "InvalidArgumentType"),
    # literals
    ("RETURN ‸9223372036854775808", "SyntaxError", "IntegerOverflow"),
    ("RETURN -‸9223372036854775809", "SyntaxError", "IntegerOverflow"),
    ("RETURN -‸0x8000000000000001", "SyntaxError", "IntegerOverflow"),
    ("RETURN ‸0o1000000000000000000000", "SyntaxError", "IntegerOverflow"),
    ("RETURN ‸1e999", "SyntaxError", "FloatingPointOverflow"),
    ("RETURN ‸9223372h54775808", "SyntaxError", "InvalidNumberLiteral"),
    ("RETURN ‸0x", "SyntaxError", "InvalidNumberLiteral"),
    ("RETURN 'abc ‸\\uH'", "SyntaxError", "InvalidUnicodeLiteral"),
    ("RETURN ‸'\\uD800'", "SyntaxError", "InvalidUnicodeLiteral"),
    ("RETURN 'abc ‸\\q'", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN 42 ‸— 41", "SyntaxError", "InvalidUnicodeCharacter"),
    ("RETURN ‸'open", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN 1 ‸/* open", "SyntaxError", "UnexpectedSyntax"),
    # syntax
    ("‸", "SyntaxError", "UnexpectedSyntax"),
    ("‸FOO (a)", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a ‸b", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a ‸WHERE a.x = 1", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN [‸, ]", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN {‸1: 2}", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN {a: 1, ‸}", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN 1 ‸!= 2", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN 1 = ‸NOT true", "SyntaxError", "UnexpectedSyntax"),
    ("RETURN ‸all(1) AS y", "SyntaxError", "UnknownFunction"),
    ("RETURN ‸all(x IN [1])", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN ‸(a)-->()", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a)-[*‸-2]->() RETURN a", "SyntaxError", "InvalidRelationshipPattern"),
    ("MATCH (a)-[:T‸..]->() RETURN a", "SyntaxError", "InvalidRelationshipPattern"),
    ("MATCH (a)-[:T ‸2]->() RETURN a", "SyntaxError", "InvalidRelationshipPattern"),
    ("MATCH (a) RETURN ((‸(a)-->()))", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) WITH ‸(a)-->() AS p RETURN p", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a)\nRETURN size((a)-->‸(b))", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) UNWIND (a)‸-[r]->() AS p RETURN p", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) RETURN length(‸(a)-->())", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (a) RETURN ‸size(DISTINCT (a)-->())", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN ‸size((a)-->(), 1)", "SyntaxError", "InvalidNumberOfArguments"),
    ("MATCH (a) RETURN [(a)-->() ‸(a)]", "SyntaxError", "UnexpectedSyntax"),
    # map projections
    ("MATCH (a) RETURN a {.x, ‸}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {.x ‸.y}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {‸1: 2}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {‸.1}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {$dtId‸}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {.x‸", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {.x‸: 1}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {x: ‸}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a.b ‸{.x}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN head([a]) ‸{.x}", "SyntaxError", "UnexpectedSyntax"),
    ("MATCH (a) RETURN a {‸name}", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) RETURN a {x: ‸name}", "SyntaxError", "UndefinedVariable"),
    ("MATCH (a) RETURN ‸b {.x}", "SyntaxError", "UndefinedVariable"),
    ("WITH 1 AS a RETURN ‸a {.x}", "SyntaxError", "InvalidArgumentType"),
    ("MATCH p = (a) RETURN ‸p {.x}", "SyntaxError", "InvalidArgumentType"),
    ("WITH date() AS d RETURN ‸d {.year}", "SyntaxError", "InvalidArgumentType"),
    ("MATCH (a)--(b) RETURN ‸a {.x, n: count(b)}", "SyntaxError", "AmbiguousAggregationExpression"),
    ("MATCH (a)--(b) RETURN ‸a {n: count(b)}", "SyntaxError", "AmbiguousAggregationExpression"),
    ("MATCH p = shortestPath(‸(a)-->(b)-->(c)) RETURN p", "SyntaxError", "InvalidRelationshipPattern"),
    ("‸MATCH (a)", "SyntaxError", "InvalidClauseComposition"),
    ("RETURN 1 AS a UNION RETURN 2 AS a ‸UNION ALL RETURN 3 AS a", "SyntaxError", "InvalidClauseComposition"),
    ("MATCH (n) WHERE exists { MATCH (n) ‸SET n.x = 1 } RETURN n", "SyntaxError", "InvalidClauseComposition"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "kind", "detail"), CASES)
def test_an_error_has_its_kind_its_detail_and_its_place(
    marked: str, kind: str, detail: str, refuse: Refuse
) -> None:
    text = marked.replace("‸", "")
    before = marked[: marked.index("‸")]
    error = refuse(text)
    assert (error.kind, error.detail, error.phase) == (kind, detail, "compile time")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    assert (error.line, error.column) == (line, column)
    assert str(error).startswith(f"{kind}: {detail} at line {line}, column {column}: ")
    shown, caret = error.excerpt.split("\n")
    assert shown == text.split("\n")[line - 1]
    assert caret == " " * (column - 1) + "^"


WRITING = [
    ("‸CREATE (a) RETURN a", "CREATE"),
    ("MATCH (a)\n‸SET a.x = 1", "SET"),
    ("match (a) ‸delete a", "DELETE"),
    ("MATCH (a) ‸DETACH DELETE a", "DETACH DELETE"),
    ("MATCH (a) ‸REMOVE a.x RETURN a", "REMOVE"),
    ("‸MERGE (a {x: 1}) RETURN a", "MERGE"),
    ("MATCH p = (a)--() ‸FOREACH (n IN nodes(p) | SET n.x = 1)", "FOREACH"),
    ("‸LOAD CSV FROM 'file:///etc/passwd' AS row RETURN row", "LOAD CSV"),
    ("‸DROP INDEX x", "DROP"),
    ("CALL { MATCH (a) RETURN a } ‸SET a.x = 1", "SET"),
]


@pytest.mark.parametrize(("marked", "clause"), WRITING)
def test_a_writing_clause_is_refused_by_name_and_place(
    marked: str, clause: str, refuse: Refuse
) -> None:
    error = refuse(marked.replace("‸", ""))
    assert (error.kind, error.detail) == ("SemanticError", "WritingClause")
    assert f": {clause} is refused" in str(error)
    before = marked[: marked.index("‸")]
    assert (error.line, error.column) == (
        before.count("\n") + 1,
        len(before) - (before.rfind("\n") + 1) + 1,
    )


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a) WHERE a.name = 'CREATE (b) SET c' RETURN a",
        "MATCH (a) RETURN a.delete, a.set AS `merge` // DELETE",
        "MATCH (a:Create)-[:SET]->(b:Merge {remove: 'DETACH DELETE'}) RETURN a",
        "MATCH (asset) WHERE asset.created > 1 RETURN asset.offset",
    ],
)
def test_words_of_writing_clauses_are_no_reason_to_refuse(
    text: str, plan: Callable[[str], str]
) -> None:
    assert plan(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("MATCH (room) RETURN rooom", "did you mean 'room'?"),
        ("RETURN tolowr('A')", "did you mean 'toLower'?"),
        ("RETURN $lists", "did you mean 'list'?"),
        ("MATCH (a) WHERE a.x == 1 RETURN a", "write ="),
        ("MATCH (end) RETURN 1", "`end`"),
        ("CALL db.labels()", "cannot be called here: CALL is for subqueries"),
        ("MATCH (a) RETURN (a)-->() AS p", "write EXISTS { ... }"),
        ("MATCH (a) RETURN size((a)-->(b))", "write COUNT { ... }"),
        ("MATCH (a) RETURN a {name}", "the property of a is .name"),
        ("MATCH (a) RETURN a.x {.y}", "begins with a variable"),
    ],
)
def test_an_error_says_what_would_be_right(text: str, hint: str, refuse: Refuse) -> None:
    assert hint in str(refuse(text))


def test_procedures_are_refused_as_not_found(refuse: Refuse) -> None:
    error = refuse("CALL test.my.proc(1) YIELD out RETURN out")
    assert (error.kind, error.detail) == ("ProcedureError", "ProcedureNotFound")


def test_the_excerpt_of_a_long_line_is_cut_around_the_place(refuse: Refuse) -> None:
    error = refuse("RETURN " + "1 + " * 60 + "b" + " + 1" * 60)
    shown, caret = error.excerpt.split("\n")
    assert len(shown) < 120
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert shown[len(caret) - 1] == "b"


def test_a_control_character_does_not_move_the_caret(refuse: Refuse) -> None:
    shown, caret = refuse("RETURN\t\t1,\tb").excerpt.split("\n")
    assert shown[len(caret) - 1] == "b"


@pytest.mark.parametrize(
    "text",
    [
        "EXPLAIN PROFILE RETURN 1 AS x",
        "PROFILE EXPLAIN RETURN 1 AS x",
        "PROFILE",
        "PROFILE PROFILE",
    ],
)
def test_one_word_at_most_asks_for_the_plan(refuse: Refuse, text: str) -> None:
    error = refuse(text)
    assert (error.kind, error.detail) == ("SyntaxError", "UnexpectedSyntax")
    assert "RETURN" in str(error)
