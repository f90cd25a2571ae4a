"""What holds for every text: errors of one kind only, and plans that do not depend on spelling."""

# ruff: noqa: SIM905 -- a long list of words reads best as words
from __future__ import annotations

import string
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid
from twinframe.query import algebra as al
from twinframe.query.language import parse_query
from twinframe.query.render import render_expression, render_query

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn

PARAMETERS = ("p", "q")
KINDS = (
    "SyntaxError: ",
    "TypeError: ",
    "SemanticError: ",
    "ParameterMissing: ",
    "ProcedureError: ",
)
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

WORDS = (
    "MATCH OPTIONAL WHERE WITH RETURN UNWIND UNION ALL CALL ORDER BY SKIP LIMIT DISTINCT AS AND OR "
    "XOR NOT IN IS NULL STARTS ENDS CONTAINS CASE WHEN THEN ELSE END EXISTS COUNT COLLECT any all "
    "reduce shortestPath SELECT FROM DIGITALTWINS RELATIONSHIPS JOIN RELATED TOP GROUP IS_OF_MODEL "
    "NIN CREATE a b r T $p $dtId `x y` [[x]] 'text' 1 2.5 0x1F .. * + - / % ^ = <> < <= > >= =~ != "
    "( ) [ ] { } , . : ; | & ! -- --> <-- ]-> <-[ // /* */ date size head EXPLAIN \\ \" ' ` $ # é "
).split()

texts = st.one_of(
    st.text(max_size=80),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=30).map("".join),
)


@SLOW
@given(texts)
@example("")
@example("SELECT")
@example("RETURN '\ud800'")
def test_any_text_is_read_or_refused_as_invalid(text: str) -> None:
    try:
        outcome = render_query(parse_query(text, parameters=PARAMETERS).query)
    except QueryInvalid as error:
        outcome = str(error)
    assert outcome.startswith(("Result", "SQL query parse failed: ", *KINDS))


@SLOW
@given(st.data())
def test_a_damaged_query_is_read_or_refused_as_invalid(data: st.DataObject) -> None:
    text = data.draw(queries())
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 6)))
    damaged = text[:at] + data.draw(st.sampled_from(["", *WORDS])) + text[until:]
    line = 1
    try:
        parse_query(damaged, parameters=PARAMETERS)
    except QueryInvalid as error:
        line = error.line
    assert 1 <= line <= damaged.count("\n") + 1


# --- expressions: text, plan, text again


names = st.sampled_from(["a", "b", "limit", "order", "`x y`", "`$odd`", "é"])
keys = st.sampled_from(["x", "name", "$dtId", "where", "`two words`", "end"])
literals = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8).map(
        lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    ),
    st.sampled_from(["true", "FALSE", "null", "0x1F", "$p", "$q"]),
)
operands = st.one_of(
    literals,
    names,
    st.tuples(names, keys).map(".".join),
)


def _extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def join(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
        strategies = [st.just(part) if isinstance(part, str) else part for part in parts]
        return st.tuples(*strategies).map("".join)

    any_operator = st.sampled_from(
        "OR,XOR,AND,=,<>,<,<=,>,>=,IN,CONTAINS,=~,+,-,*,/,%,^,STARTS WITH,ENDS WITH".split(",")
    )
    return st.one_of(
        join(inner, " ", any_operator, " ", inner),
        join("(", inner, ")"),
        join("(NOT (", inner, "))"),
        join("-", inner),
        join("(", inner, " IS NOT NULL)"),
        join("(", inner, ").", keys),
        join("[", inner, ", ", inner, "]"),
        join("[", inner, "][", inner, "..]"),
        join("(", inner, ")[", inner, "]"),
        join("{", keys, ": ", inner, "}"),
        join("coalesce(", inner, ", ", inner, ")"),
        join("CASE WHEN ", inner, " THEN ", inner, " END"),
        join("CASE ", inner, " WHEN 1 THEN ", inner, " ELSE ", inner, " END"),
        join("[x IN ", inner, " WHERE ", inner, " | ", inner, "]"),
        join("any(x IN ", inner, " WHERE ", inner, ")"),
        join("reduce(s = ", inner, ", x IN ", inner, " | ", inner, ")"),
        join(names, ":A&(B|!C)"),
    )


expressions = st.recursive(operands, _extend, max_leaves=12)
_SCOPE = "MATCH (a), (b), (limit), (order), (`x y`), (`$odd`), (é) "


def _read_expression(text: str) -> al.Expression:
    query = parse_query(f"{_SCOPE}RETURN {text} AS out", parameters=PARAMETERS).query
    assert isinstance(query.root, al.Project)
    return query.root.items[0][1]


@settings(SLOW, max_examples=400)
@given(expressions)
@example("-9223372036854775808")
@example("- -9223372036854775808")
@example("-2 ^ -2 ^ 2")
@example("1 < 2 < 3 = true")
@example("1 - 2 - 3 + 4 * 5 / 6 % 7 ^ 8 ^ 9")
@example("NOT a.x = 1 AND b.y IS NULL OR true XOR false")
@example("[a IN b, limit:A&(B|!C)]")
@example("[a IN b AND a.x, [a IN [b, a] WHERE a.x | [1, a]], a IN b]")
@example("[a IN [b IN a | [b, 1]]]")
def test_the_rendered_text_of_an_expression_reads_as_the_same_expression(text: str) -> None:
    try:
        found = _read_expression(text)
    except QueryInvalid as error:
        assume(error.detail not in {"InvalidArgumentType", "NestedTooDeeply"})
        raise
    assert _read_expression(render_expression(found)) == found


# --- whole queries: spelling does not matter


@st.composite
def queries(draw: DrawFn) -> str:
    direction = draw(st.sampled_from(["-[r]->", "<-[r:T]-", "-[r:T|U*1..3]-", "-->"]))
    label = draw(st.sampled_from(["", ":Room", ":A|B", " {x: 1}"]))
    where = draw(st.sampled_from(["", " WHERE a.x > 1", " WHERE EXISTS { (a)-->() }"]))
    middle = draw(
        st.sampled_from(["", " WITH a, b.x AS y ORDER BY b.z", " WITH *", " UNWIND [1] AS u"])
    )
    items = draw(
        st.sampled_from(
            ["a AS a", "DISTINCT a.x AS x", "a.x AS x, count(*) AS n", "count(*) + 1 AS n", "*"]
        )
    )
    tail = draw(st.sampled_from(["", " LIMIT 3", " SKIP 1 LIMIT $p"]))
    return f"MATCH (a{label}){direction}(b){where}{middle} RETURN {items}{tail}"


@SLOW
@given(queries(), st.randoms(use_true_random=False))
def test_case_blanks_and_comments_do_not_change_the_plan(text: str, random: object) -> None:
    choose = random.choice  # type: ignore[attr-defined]  # hypothesis does not type its randoms
    respelled = "".join(
        choose([" ", "\n", "\t", " /* x */ ", " // y\n"]) if char == " " else char for char in text
    )
    for word in ("MATCH", "WHERE", "RETURN", "WITH", "ORDER", "LIMIT", "AS", "EXISTS", "count"):
        if choose([True, False]):
            respelled = "".join(
                piece.lower() if piece.upper() == word.upper() else piece
                for piece in _split_words(respelled)
            )
    first, second = (parse_query(one, parameters=PARAMETERS).query for one in (text, respelled))
    assert first == second
    assert render_query(first) == render_query(second)


def _split_words(text: str) -> list[str]:
    pieces = [""]
    for char in text:
        if (char in string.ascii_letters) != (pieces[-1][-1:] in string.ascii_letters):
            pieces.append("")
        pieces[-1] += char
    return pieces


@SLOW
@given(queries())
def test_a_plan_has_its_columns_and_unique_names_for_what_has_none(text: str) -> None:
    query = parse_query(text, parameters=PARAMETERS).query
    assert len(set(query.columns)) == len(query.columns)
    assert not any(column.startswith(" ") for column in query.columns)
