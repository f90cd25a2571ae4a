"""Texts made to hurt end in an error that names its limit, or are read in bounded stack."""

# ruff: noqa: E501 -- a table of cases reads best with one case a line
from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from twinframe.errors import LimitExceeded, QueryInvalid
from twinframe.query.language import ParsedQuery, parse_query
from twinframe.query.render import render_query

if TYPE_CHECKING:
    from collections.abc import Callable

    Refuse = Callable[..., QueryInvalid]
    Read = Callable[..., ParsedQuery]

N = 10_000
HUGE = 10_000_000
UNLIMITED = {"max_text_bytes": HUGE, "max_words": HUGE, "max_constants": HUGE}

NESTED = {
    "parentheses": "RETURN " + "(" * N + "1" + ")" * N,
    "lists": "RETURN " + "[" * N + "]" * N,
    "maps": "RETURN " + "{a:" * N + "1" + "}" * N,
    "calls": "RETURN " + "abs(" * N + "1" + ")" * N,
    "case": "RETURN " + "CASE WHEN true THEN " * N + "1" + " END" * N,
    "not": "RETURN " + "NOT " * N + "true",
    "minus": "RETURN " + "- " * N + "1",
    "sums": "RETURN " + "1 + " * N + "1",
    "powers": "RETURN " + "1 ^ " * N + "1",
    "properties": "MATCH (a) RETURN a" + ".b" * N,
    "subscripts": "MATCH (a) RETURN a" + "[0]" * N,
    "null tests": "RETURN 1" + " IS NULL" * N,
    "label negations": "MATCH (a:" + "!" * N + "A) RETURN a",
    "label parentheses": "MATCH (a:" + "(" * N + "A) RETURN a",
    "clauses": "MATCH (a) " * N + "RETURN a",
    "projections": "WITH 1 AS a " * N + "RETURN a",
    "subqueries": "MATCH (a) WHERE " + "EXISTS { (a)-->() WHERE " * N + "true" + "}" * N + " RETURN a",
    "calls of subqueries": "CALL { " * N + "RETURN 1 AS a" + "}" * N + " RETURN a",
    "operators of every level": (
        "RETURN " + "true OR true XOR true AND NOT 1 = 1 + 1 * 1 ^ -(" * 60 + "1" + ")" * 60
    ),
    "vendor parentheses": "SELECT * FROM DIGITALTWINS WHERE " + "(" * N + "a=1" + ")" * N,
    "vendor not": "SELECT * FROM DIGITALTWINS WHERE " + "NOT " * N + "a=1",
    "vendor path": "SELECT a" + ".b" * N + " FROM DIGITALTWINS",
    "vendor joins": "SELECT a FROM DIGITALTWINS a" + "".join(
        f" JOIN b{i} RELATED a.x" for i in range(N)
    ),
}  # fmt: skip

WIDE = {
    "or": "MATCH (a) WHERE " + " OR ".join(f"a.x={i}" for i in range(N)) + " RETURN a",
    "comparisons": "RETURN " + "1 < " * N + "1",
    "labels": "MATCH (a" + ":A" * N + ") RETURN a",
    "types": "MATCH ()-[a:A" + "|A" * N + "]->() RETURN a",
    "unions": "RETURN 1 AS a" + " UNION RETURN 1 AS a" * 2000,
    "columns": "RETURN " + ", ".join(f"{i} AS a{i}" for i in range(N)),
    "list": "RETURN [" + ", ".join("1" for _ in range(N)) + "]",
    "vendor or": "SELECT * FROM DIGITALTWINS WHERE " + " OR ".join(f"x={i}" for i in range(N)),
    "vendor in": "SELECT * FROM DIGITALTWINS WHERE x IN [" + ", ".join(["'a'"] * N) + "]",
}


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting_is_refused_with_its_limit(name: str, refuse: Refuse) -> None:
    error = refuse(NESTED[name], **UNLIMITED)
    assert error.detail == "NestedTooDeeply"
    assert "nested too deeply: at most" in str(error)
    assert error.column > 1


@pytest.mark.parametrize("name", WIDE)
def test_wide_texts_are_read_in_bounded_stack(name: str, read: Read) -> None:
    frames = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame, frames = frame.f_back, frames + 1
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(frames + 150)
    try:
        query = read(WIDE[name], **UNLIMITED).query
        assert render_query(query)
        assert hash(query.root) == hash(query.root)
    finally:
        sys.setrecursionlimit(before)


@pytest.mark.parametrize("name", sorted(WIDE.keys() - {"list", "vendor in"}))
def test_a_wide_text_is_refused_for_its_number_of_words_however_short(
    name: str, refuse: Refuse
) -> None:
    error = refuse(WIDE[name], max_words=9_999)
    assert error.detail == "TooComplex"
    assert "too large: at most 9999 words, values and symbols" in str(error)
    assert error.column > 9_999


@pytest.mark.parametrize(
    ("opening", "item", "closing"),
    [
        ("MATCH (a) WHERE a.$dtId IN [", "'t-{}'", "] RETURN a"),
        ("MATCH (a) WHERE NOT a.x IN [", "-{}", "] RETURN a"),
        ("SELECT T FROM DIGITALTWINS T WHERE T.$dtId IN [", "'t-{}'", "]"),
        ("SELECT T FROM DIGITALTWINS T WHERE T.x NIN [", "-{}.5", "]"),
    ],
)
def test_constants_in_a_list_are_counted_apart_from_words(
    opening: str, item: str, closing: str, read: Read, refuse: Refuse
) -> None:
    def build(count: int) -> str:
        return opening + ",".join(item.format(i) for i in range(count)) + closing

    assert read(build(1_000), max_words=30, max_constants=1_000).query.columns
    error = refuse(build(1_001), max_words=30, max_constants=1_000)
    assert "too large: at most 1000 constants may stand in lists" in str(error)


def test_only_what_stands_in_the_list_itself_is_a_constant_of_it(refuse: Refuse) -> None:
    for text in ("RETURN [coalesce(" + "1," * 100 + "1)]", "RETURN [{a: [" + "b," * 100 + "b]}]"):
        assert "at most 50 words" in str(refuse(text, max_words=50, max_constants=50))


def test_the_deepest_text_allowed_can_be_read_rendered_and_compared(read: Read) -> None:
    text = "RETURN " + "[1 + " * 62 + "[]" + "]" * 62
    query = read(text).query
    assert render_query(query)
    assert query == read(text).query
    assert hash(query) == hash(read(text).query)


def test_the_limits_come_from_the_options(read: Read, refuse: Refuse) -> None:
    text = "RETURN " + "(" * 10 + "1" + ")" * 10
    assert read(text, max_depth=11).query.columns
    assert "at most 10 levels" in str(refuse(text, max_depth=10))
    assert "at most 5 operations" in str(refuse("RETURN 1+1+1+1+1+1+1", max_height=5))


def test_a_pattern_has_a_largest_size(read: Read, refuse: Refuse) -> None:
    assert read("MATCH (a)" + "-->()" * 120 + " RETURN a").query.columns
    for text in (
        "MATCH (a)" + "-->()" * N + " RETURN a",
        "MATCH (a)" + ", ()" * N + " RETURN a",
        "SELECT a FROM DIGITALTWINS MATCH (a)" + "-[]->()" * N,
    ):
        assert "at most 256 nodes and relationships" in str(refuse(text, **UNLIMITED))


def test_many_columns_times_many_sort_keys_are_refused(refuse: Refuse) -> None:
    items = ", ".join(f"a.x + {i}" for i in range(1000))
    error = refuse(f"MATCH (a) RETURN DISTINCT {items} ORDER BY {items}")
    assert error.detail == "TooComplex"


def test_a_length_beyond_the_hop_limit_is_refused(read: Read, refuse: Refuse) -> None:
    assert read("MATCH (a)-[*32]->(b) RETURN b").query.columns
    assert "Query__MaxHops" in str(refuse("MATCH (a)-[*33]->(b) RETURN b"))
    assert refuse("MATCH (a)-[*99999999999]->(b) RETURN b").detail == "IntegerOverflow"


@pytest.mark.parametrize(
    "text", ["RETURN '" + "a" * 270_000 + "'", "RETURN '" + "é" * 140_000 + "'"]
)
def test_a_long_text_is_refused_before_it_is_read(text: str) -> None:
    with pytest.raises(LimitExceeded, match="262144 bytes"):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "RETURN '" + "\\'" * 20_000,
        "/*" + "*" * 20_000,
        "/*" + " */* " * 10_000,
        "RETURN `" + "``" * 20_000,
        "RETURN " + "9" * 20_000,
        "RETURN 0x" + "f" * 20_000,
        "RETURN " + "a" * 60_000,
        "RETURN " + "$a" * 20_000,
        "SELECT " + "[[" * 20_000,
    ],
)
def test_texts_that_make_scanners_backtrack_are_refused_at_once(text: str) -> None:
    with pytest.raises(QueryInvalid):
        parse_query(text)


OPERATORS = ("", "1 = ", "1 + ", "NOT ", "- ", "true OR true XOR true AND NOT 1 = 1 + 1 * 1 ^ -")
NESTS = (
    ("(", "1", ")"),
    ("coalesce(", "1", ")"),
    ("[", "1", "]"),
    ("{a: ", "1", "}"),
    ("any(x IN [1] WHERE ", "true", ")"),
    ("CASE WHEN ", "true", " THEN 1 END"),
    ("EXISTS { MATCH (a) WITH a WHERE ", "true", " RETURN a }"),
)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: nest[0])
def test_whatever_is_accepted_fits_into_the_stack(operator: str, nest: tuple[str, ...]) -> None:
    opening, inner, closing = nest
    frames = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        frame, frames = frame.f_back, frames + 1
    before = sys.getrecursionlimit()
    # NOTE: 1000 frames are Python's own limit; a server needs some of them itself.
    sys.setrecursionlimit(frames + 800)
    try:
        outcomes = {
            _read_nested(operator + opening, inner, closing, count) for count in (3, 12, 30, 41, 62)
        }
    finally:
        sys.setrecursionlimit(before)
    assert outcomes <= {"read", "NestedTooDeeply", "InvalidArgumentType"}
    assert outcomes & {"read", "InvalidArgumentType"}


def _read_nested(opening: str, inner: str, closing: str, count: int) -> str:
    text = f"MATCH (a) RETURN {opening * count}{inner}{closing * count} AS out"
    try:
        query = parse_query(text).query
        assert hash(query) == hash(parse_query(text).query)
        assert render_query(query)
    except QueryInvalid as error:
        return error.detail
    return "read"
