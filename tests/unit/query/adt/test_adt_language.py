"""The vendor's query language: errors, rules of names, and what others translate wrongly."""

# ruff: noqa: E501 -- a table of cases reads best with one case a line
from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from twinframe.query.algebra import ResultShape
from twinframe.query.language import Language, ParsedQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from twinframe.errors import QueryInvalid

    Refuse = Callable[..., QueryInvalid]
    Read = Callable[..., ParsedQuery]
    Plan = Callable[..., str]

# (query with ‸ before the place of the error, part of the message, detail)
CASES = [
    ("SELECT * ‸WHERE x = 1", "mismatched input 'WHERE' expecting FROM", "UnexpectedSyntax"),
    ("SELECT *‸", "mismatched input '<EOF>' expecting FROM", "UnexpectedSyntax"),
    ("SELECT * FROM ‸TWINS", "mismatched input 'TWINS' expecting {DIGITALTWINS", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a ‸<> 1", "write !=", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a ‸NOT IN [1]", "write NIN", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a IN ‸('a')", "expecting '['", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a =‸", "'<EOF>'", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE ‸", "'<EOF>'", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T\nWHERE T.flag ‸AND T.x = 1", "input 'AND'", "UnexpectedSyntax"),
    ("SELECT T.a FROM DIGITALTWINS T WHERE T.a = 1 ‸T.b = 2", "expecting <EOF>", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS WHERE ‸group = 1", "[[group]]", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a = ‸'open", "never closed", "UnexpectedSyntax"),
    ("SELECT * FROM DIGITALTWINS T WHERE T.a = ‸" + "9" * 400, "too large", "IntegerOverflow"),
    ("‸SELECT * FROM DIGITALTWINS T JOIN C RELATED T.x", "SELECT * is not supported with JOIN", "InvalidClauseComposition"),
    ("SELECT C FROM DIGITALTWINS ‸JOIN C RELATED T.x", "JOIN needs an alias", "InvalidClauseComposition"),
    ("SELECT C FROM DIGITALTWINS T ‸JOIN C RELATED X.x", "no alias 'X'", "UndefinedVariable"),
    ("SELECT C FROM DIGITALTWINS T ‸JOIN T RELATED T.x", "defined twice", "VariableAlreadyBound"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.x R ‸JOIN D RELATED R.y", "a relationship stands", "VariableTypeConflict"),
    ("SELECT ‸y FROM DIGITALTWINS T JOIN C RELATED T.x", "no alias 'y'", "UndefinedVariable"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.x WHERE ‸IS_OF_MODEL('dtmi:a;1')", "needs an alias", "UndefinedVariable"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.x JOIN D RELATED C.x WHERE ‸x.w = 1", "'x' names 2 relationships", "AmbiguousVariable"),
    ("SELECT ‸x FROM DIGITALTWINS T JOIN C RELATED T.x R", "no alias 'x'", "UndefinedVariable"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.has ‸JOIN D RELATED has.x", "a relationship stands", "VariableTypeConflict"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.has WHERE IS_OF_MODEL(‸has, 'dtmi:a;1')", "a relationship stands", "VariableTypeConflict"),
    ("SELECT C FROM DIGITALTWINS T JOIN C RELATED T.has WHERE ‸hass.w = 1", "did you mean 'has'?", "UndefinedVariable"),
    ("SELECT has, ‸has FROM DIGITALTWINS T JOIN C RELATED T.has", "two columns are called 'has'", "ColumnNameConflict"),
    ("SELECT R FROM RELATIONSHIPS R WHERE ‸IS_OF_MODEL('dtmi:a;1')", "a relationship stands", "VariableTypeConflict"),
    ("‸SELECT R FROM RELATIONSHIPS R JOIN C RELATED R.x", "not supported on RELATIONSHIPS", "InvalidClauseComposition"),
    ("SELECT a FROM DIGITALTWINS T MATCH ‸(a)-[]->(b)", "does not occur in MATCH", "InvalidClauseComposition"),
    ("SELECT a FROM DIGITALTWINS MATCH (a)-[]->(b) ‸MATCH (b)-[]->(c)", "only one MATCH", "InvalidClauseComposition"),
    ("SELECT a FROM DIGITALTWINS MATCH (a)-[r:x*2‸]->(b)", "alias 'r' is not allowed", "InvalidRelationshipPattern"),
    ("SELECT a FROM DIGITALTWINS MATCH (a)-[‸*3..3]->(b)", "no number of hops", "InvalidRelationshipPattern"),
    ("SELECT a FROM DIGITALTWINS MATCH (a)-[‸*1..99]->(b)", "Query__MaxHops", "InvalidRelationshipPattern"),
    ("SELECT a FROM DIGITALTWINS MATCH (a)-[*‸]->(b)", "expecting a number of hops", "UnexpectedSyntax"),
    ("SELECT a FROM DIGITALTWINS MATCH (a‸:Room)-[]->(b)", "expecting ')'", "UnexpectedSyntax"),
    ("SELECT T.a, ‸T.b.a FROM DIGITALTWINS T", "two columns are called 'a'", "ColumnNameConflict"),
    ("SELECT ‸T.a, COUNT() FROM DIGITALTWINS T", "must be in GROUP BY", "AmbiguousAggregationExpression"),
    ("SELECT DISTINCT T.a FROM DIGITALTWINS T ORDER BY ‸T.b", "can only use what is selected", "UndefinedVariable"),
    ("SELECT TOP(‸x) FROM DIGITALTWINS", "expecting a whole number", "UnexpectedSyntax"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "message", "detail"), CASES)
def test_an_error_has_the_vendors_words_and_its_place(
    marked: str, message: str, detail: str, refuse: Refuse
) -> None:
    before = marked[: marked.index("‸")]
    error = refuse(marked.replace("‸", ""))
    line = before.count("\n") + 1
    position = len(before) - (before.rfind("\n") + 1)
    stem = f"SQL query parse failed: SQL Parser Error, Line={line}, Position={position}, Message="
    assert str(error).startswith(stem)
    assert message in str(error)
    assert (error.code, error.detail) == ("SqlQueryError", detail)
    assert (error.line, error.column) == (line, position + 1)


# Each of these is answered wrongly, or refused, by a service that rewrites the text.
TRANSLATIONS = [
    (
        "SELECT * FROM DIGITALTWINS T WHERE T.name = 'x'",
        'where (T.name = "x")',
    ),
    (
        "SELECT * FROM DIGITALTWINS WHERE name = 'Meeting Room 1'",
        'where (#twin1.name = "Meeting Room 1")',
    ),
    (
        "SELECT * FROM DIGITALTWINS WHERE tags.red = true",
        "where (#twin1.tags.red = true)",
    ),
    (
        "SELECT * FROM DIGITALTWINS DT WHERE IS_OF_MODEL('dtmi:a:Room;1')",
        'where digitaltwins.is_of_model(DT, "dtmi:a:Room;1")',
    ),
    (
        "SELECT * FROM DIGITALTWINS T WHERE T.ReturnAirTemp > 20",
        "where (T.ReturnAirTemp > 20)",
    ),
    (
        "SELECT asset FROM DIGITALTWINS asset WHERE asset.name = 'Chiller set 1'",
        'where (asset.name = "Chiller set 1")',
    ),
    ("select * from digitaltwins where temp = 79", "where (#twin1.temp = 79)"),
    ("SELECT T.joinDate, T.matchCode FROM DIGITALTWINS T", "Project T.joinDate AS joinDate, T.matchCode AS matchCode"),
    (
        "SELECT * FROM DIGITALTWINS T WHERE T.name != 'Meeting Room'",
        'where (T.name <> "Meeting Room")',
    ),
    (
        "SELECT * FROM DIGITALTWINS T WHERE T.[[Group]] NIN ['a', 'b']",
        'where (NOT (T.Group IN ["a", "b"]))',
    ),
    (
        "SELECT A FROM DIGITALTWINS MATCH (A)-[:a|b]-(B) WHERE A.$dtId = 'x'",
        "relationship (A)-[#relationship1:a|b]-(B)",
    ),
    (
        "SELECT A FROM DIGITALTWINS MATCH (A)-[:a|b*3..5]-(B) WHERE A.$dtId = 'x'",
        "relationship (A)-[#relationship1:a|b*4..5]-(B)",
    ),
    (
        "SELECT A FROM DIGITALTWINS MATCH (A)-[:contains*1..3]->(B) WHERE A.$dtId = 'x'",
        "relationship (A)-[#relationship1:contains*2..3]->(B)",
    ),
    (
        "SELECT device FROM DIGITALTWINS space JOIN device RELATED space.has WHERE space.$dtId = 'x' AND has.role = 'Operator'",
        'where ((space.$dtId = "x") AND (#relationship1.role = "Operator"))',
    ),
    (
        "SELECT has.role FROM DIGITALTWINS space JOIN device RELATED space.has",
        "Project #relationship1.role AS role",
    ),
    (
        "SELECT has.role, has FROM DIGITALTWINS space JOIN has RELATED space.has",
        "Project has.role AS role, has",
    ),
    (
        "SELECT has.role FROM DIGITALTWINS space JOIN a RELATED space.has R JOIN b RELATED space.has",
        "Project #relationship1.role AS role",
    ),
    (
        "SELECT [[Group]].role FROM DIGITALTWINS space JOIN a RELATED space.[[Group]]",
        "Project #relationship1.role AS role",
    ),
    (
        "SELECT T.highLimit, T.orderId FROM DIGITALTWINS T",
        "Result highLimit, orderId",
    ),
    (
        "SELECT A FROM DIGITALTWINS MATCH (A)-[contains]->(B) WHERE A.$dtId = 'x'",
        "relationship (A)-[`contains`]->(B)",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line"), TRANSLATIONS)
def test_what_text_rewriting_gets_wrong_is_right_here(text: str, line: str, plan: Plan) -> None:
    found = [line.strip() for line in plan(text).split("\n")]
    assert any(candidate.startswith(line) for candidate in found), found


def test_hops_include_their_lower_bound_when_the_setting_says_so(plan: Plan) -> None:
    text = "SELECT b FROM DIGITALTWINS MATCH (a)-[*3..5]->(b) WHERE a.$dtId = 'x'"
    assert "*4..5" in plan(text)
    assert "*3..5" in plan(text, vendor_hops_exclusive=False)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT DISTINCT T.a FROM DIGITALTWINS T",
        "SELECT SUM(T.a) FROM DIGITALTWINS T",
        "SELECT T.a FROM DIGITALTWINS T GROUP BY T.a",
        "SELECT T.a FROM DIGITALTWINS T ORDER BY T.a",
    ],
)
def test_extensions_can_be_switched_off(text: str, plan: Plan, refuse: Refuse) -> None:
    assert plan(text)
    assert "Query__VendorExtensions" in str(refuse(text, vendor_extensions=False))


def test_names_keep_their_case_and_keywords_do_not(plan: Plan) -> None:
    lower = plan("select T.Name from digitaltwins T where T.Name = 'X' and not t.x in [True]")
    assert 'where ((T.Name = "X") AND (NOT (T.t.x IN [true])))' in lower


def test_each_join_is_an_operator_of_its_own(read: Read) -> None:
    text = "SELECT C, D FROM DIGITALTWINS T JOIN C RELATED T.x JOIN D RELATED T.x"
    assert len(_matches(read(text))) == 3


def _matches(parsed: ParsedQuery) -> list[object]:
    found: list[object] = []
    operator: object = parsed.query.root
    while hasattr(operator, "source"):
        operator = operator.source
        found += [operator] if hasattr(operator, "pattern") else []
    return found


@pytest.mark.parametrize(
    ("text", "shape", "columns"),
    [
        ("SELECT * FROM digitaltwins", ResultShape.DOCUMENT, ("DIGITALTWINS",)),
        (
            "SELECT DISTINCT * FROM Relationships ORDER BY x",
            ResultShape.DOCUMENT,
            ("RELATIONSHIPS",),
        ),
        ("SELECT * FROM RELATIONSHIPS R", ResultShape.DOCUMENT, ("R",)),
        ("SELECT T FROM DIGITALTWINS T", ResultShape.OBJECT, ("T",)),
        ("SELECT * FROM DIGITALTWINS MATCH (a)-[r]->(b)", ResultShape.OBJECT, ("a", "b", "r")),
        ("SELECT COUNT() FROM DIGITALTWINS", ResultShape.OBJECT, ("COUNT",)),
    ],
)
def test_rows_have_the_vendors_shape_and_names_from_the_query(
    text: str, shape: ResultShape, columns: tuple[str, ...], read: Read
) -> None:
    query = read(text).query
    assert (query.shape, query.columns, query.omit_null) == (shape, columns, True)


def test_select_at_the_start_means_the_vendors_language(read: Read) -> None:
    assert read("\n  select * from digitaltwins").language is Language.ADT
    assert read("EXPLAIN SELECT * FROM DIGITALTWINS").language is Language.ADT
    assert read("RETURN 'SELECT * FROM DIGITALTWINS' AS x").language is Language.CYPHER
    assert read("/* SELECT */ MATCH (select) RETURN select").language is Language.CYPHER


def test_explain_and_profile_stand_before_either_language(read: Read) -> None:
    for text in ("SELECT * FROM DIGITALTWINS", "MATCH (a) RETURN a"):
        assert read(text).prefix == ""
        for prefix in ("EXPLAIN", "PROFILE"):
            asked = read(f" {prefix.lower()}\n {text}")
            assert asked.prefix == prefix
            assert asked.query == read(text).query
