"""The query's rows of the wire in the vendor's language: envelope, result rows, paging."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.server import Server
from tests.e2e.wire import Wire
from tests.e2e.wire_world import (
    JSON_TYPE,
    ROOM,
    VERSION,
    WORDS,
    check_refusal,
    interface,
    must,
    prop,
    put_edge,
    put_room,
    twin_path,
)

Json = Any
STEM = "dtmi:com:wire:query:"
PATH = f"/query?{VERSION}"
QUOTED = "q'1"


# NOTE: as long as the server it fills: a module's fixture is set up again when tests come back to
# the module, as they do where processes take tests from each other.
@pytest.fixture(autouse=True, scope="session")
def twins(wire_server: Server) -> Iterator[None]:
    """Versions of a model and an heir with a number each, words, and rooms that know each other."""
    wire = Wire(wire_server.port)
    number = prop("x", "double")
    models = [
        *(interface(f"{STEM}A;{version}", number) for version in (1, 2, 3)),
        interface(f"{STEM}B;1", extends=f"{STEM}A;2"),
        interface(f"{STEM}C;1", extends=f"{STEM}B;1"),
    ]
    must(wire.call("POST", f"/models?{VERSION}", models), 201)
    for at, model in enumerate(("A;1", "A;2", "A;3", "B;1", "C;1"), 1):
        body = {"$metadata": {"$model": STEM + model}, "x": at}
        must(wire.call("PUT", twin_path(f"qx{at}"), body))
    words = {word: word[0] for word in ("select", "from", "where", "order", "match", "join", "top")}
    body = {
        "$metadata": {"$model": WORDS},
        **words,
        "count": "c",
        "name": "it's",
        "stock": {"1a": 1, "b c": 2, "d": 3},
    }
    must(wire.call("PUT", twin_path(QUOTED), body))
    put_room(wire, "qhub", Address={"street": "s"}, Climate={"Mode": "auto"}, Open=True)
    for at in range(5):
        put_room(wire, f"qroom{at}", Temperature=at)
        put_edge(wire, "qhub", f"e{at}", "knows", f"qroom{at}")
    body = {"$relationshipName": "has", "$targetId": "qroom1", "restricted": True}
    must(wire.call("PUT", twin_path("qroom0", "relationships", "h"), body))
    yield
    wire.close()


UNKNOWN = ("T.missing", ":A;4", ":Unknown;1")  # names of the texts below that no model has


def run(wire: Wire, text: str) -> list[Json]:
    """The rows of a query that fits one page."""
    status, headers, page = wire.call("POST", PATH, {"query": text})
    assert status == 200, page
    assert headers["content-type"] == JSON_TYPE
    assert "etag" not in headers
    assert float(headers["query-charge"]) > 0
    assert list(page)[:2] == ["value", "continuationToken"]
    # Ours alone: a name that no stored model knows is answered with a warning, nothing else is.
    assert list(page)[2:] == (["warnings"] if any(name in text for name in UNKNOWN) else [])
    assert page["continuationToken"] is None
    return list(page["value"])


X = "FROM DIGITALTWINS T WHERE T.x >= 1"
ONE = "FROM DIGITALTWINS T WHERE T.$dtId = 'qx1'"
HUB = "FROM DIGITALTWINS A JOIN B RELATED A.knows R WHERE A.$dtId = 'qhub'"

ROWS: list[tuple[str, list[Json]]] = [
    (f"SELECT T.x {ONE}", [{"x": 1}]),
    (f"SELECT T.x AS n, T.$dtId {ONE}", [{"n": 1, "$dtId": "qx1"}]),
    ("SELECT x FROM DIGITALTWINS WHERE $dtId = 'qx1'", [{"x": 1}]),
    ("select t.x from digitaltwins t where t.$dtId = 'qx1'", [{"x": 1}]),
    (f"SELECT T.missing {ONE}", [{}]),
    (f"SELECT T.missing AS m, T.x {ONE}", [{"x": 1}]),
    (f"SELECT T.$metadata.$model {ONE}", [{"$model": f"{STEM}A;1"}]),
    (f"SELECT COUNT() {X}", [{"COUNT": 5}]),
    (f"SELECT COUNT() AS c {X}", [{"c": 5}]),
    (f"select count() {X}", [{"COUNT": 5}]),
    ("SELECT COUNT() FROM DIGITALTWINS WHERE x > 100", [{"COUNT": 0}]),
    ("SELECT COUNT() FROM RELATIONSHIPS R WHERE R.$sourceId = 'qhub'", [{"COUNT": 5}]),
    (f"SELECT COUNT() {HUB}", [{"COUNT": 5}]),
    (f"SELECT TOP(1) T.x {ONE}", [{"x": 1}]),
    ("SELECT T.missing FROM DIGITALTWINS T WHERE T.missing = 1", []),
    (("SELECT A.$dtId, B.$dtId AS b, R.restricted FROM DIGITALTWINS A "
     "JOIN B RELATED A.has R WHERE A.$dtId = 'qroom0'"),
     [{"$dtId": "qroom0", "b": "qroom1", "restricted": True}]),
    (("SELECT C.$dtId FROM DIGITALTWINS A JOIN B RELATED A.knows JOIN C RELATED B.has "
     "WHERE A.$dtId = 'qhub'"), [{"$dtId": "qroom1"}]),
    ("SELECT A.$dtId FROM DIGITALTWINS A JOIN B RELATED A.has WHERE B.$dtId IN ['qroom1']",
     [{"$dtId": "qroom0"}]),
    (("SELECT R.$relationshipId, R.$targetId FROM RELATIONSHIPS R "
     "WHERE R.$relationshipName = 'has' AND R.$sourceId = 'qroom0' AND R.restricted = true"),
     [{"$relationshipId": "h", "$targetId": "qroom1"}]),
    (("SELECT T.Address, T.Climate.Mode, T.Address.street AS s FROM DIGITALTWINS T "
     "WHERE T.$dtId = 'qhub'"), [{"Address": {"street": "s"}, "Mode": "auto", "s": "s"}]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "rows"), ROWS)
def test_a_query_gives_the_vendors_rows(wire: Wire, text: str, rows: list[Json]) -> None:
    assert run(wire, text) == rows


WHERE: list[tuple[str, str]] = [
    ("x = 1", "1"),
    ("x != 2", "1345"),  # a comparison with a missing property is false
    ("x > 1 AND x <= 3", "23"),
    ("x IN [1, 4, 'a', true, null]", "14"),
    ("x NIN [1, 4]", "235"),
    ("NOT x = 2 AND x <= 3", "13"),
    ("x = 1 OR x = 2 AND x = 3", "1"),
    ("(x = 1 OR x = 2) AND x = 2", "2"),
    ("x < 'a'", ""),
    ("x != 'a' AND x < 3", "12"),
    ("IS_NUMBER(x) AND x < 3", "12"),
    ("IS_STRING(x)", ""),
    ("IS_BOOL(x)", ""),
    ("IS_OBJECT(x)", ""),
    ("IS_PRIMITIVE(x)", "12345"),
    ("IS_NULL(x)", ""),
    ("IS_DEFINED(x)", "12345"),
    ("STARTSWITH($dtId, 'qx') AND ENDSWITH($dtId, '3')", "3"),
    ("CONTAINS($dtId, 'x4')", "4"),
    ("STARTSWITH($dtId, 'QX')", ""),
    ("$metadata.$model = 'dtmi:com:wire:query:A;2'", "2"),
    ("$metadata.x.lastUpdateTime > '2020-01-01T00:00:00Z' AND x = 1", "1"),
    # The given version or a later one, by the model itself or by what it extends.
    ("IS_OF_MODEL('dtmi:com:wire:query:A;1')", "12345"),
    ("IS_OF_MODEL('dtmi:com:wire:query:A;2')", "2345"),
    ("IS_OF_MODEL('dtmi:com:wire:query:A;3')", "3"),
    ("IS_OF_MODEL('dtmi:com:wire:query:A;4')", ""),
    ("is_of_model('dtmi:com:wire:query:B;1')", "45"),
    ("IS_OF_MODEL('dtmi:com:wire:query:A;2', exact)", "2"),
    ("IS_OF_MODEL('dtmi:com:wire:query:Unknown;1')", ""),
    ("NOT IS_OF_MODEL('dtmi:com:wire:query:A;2') AND IS_DEFINED(x)", "1"),
]


@pytest.mark.parametrize(("condition", "numbers"), WHERE)
def test_a_condition_finds_the_vendors_twins(wire: Wire, condition: str, numbers: str) -> None:
    found = run(wire, f"SELECT $dtId FROM DIGITALTWINS WHERE {condition}")
    assert {row["$dtId"] for row in found} == {f"qx{number}" for number in numbers}
    assert len(found) == len(numbers)


def test_documents_are_those_of_get_bare_under_a_star_and_named_otherwise(wire: Wire) -> None:
    twin = must(wire.call("GET", twin_path("qx1")))
    assert run(wire, f"SELECT * {ONE}") == [twin]
    assert run(wire, f"SELECT T {ONE}") == [{"T": twin}]
    assert run(wire, f"SELECT T AS twin {ONE}") == [{"twin": twin}]
    assert run(wire, f"SELECT TOP(1) {ONE}") == [twin]
    edge = must(wire.call("GET", twin_path("qroom0", "relationships", "h")))
    where = "WHERE $sourceId = 'qroom0'"
    assert run(wire, f"SELECT * FROM RELATIONSHIPS {where}") == [edge]
    ends = [must(wire.call("GET", twin_path(end))) for end in ("qroom0", "qroom1")]
    rows = [{"A": ends[0], "B": ends[1], "R": edge}]
    join = "SELECT A, B, R FROM DIGITALTWINS A JOIN B RELATED A.has R WHERE A.$dtId = 'qroom0'"
    assert run(wire, join) == rows
    match = "SELECT A, B, R FROM DIGITALTWINS MATCH (A)-[R:has]->(B) WHERE A.$dtId = 'qroom0'"
    assert run(wire, match) == rows


@pytest.mark.parametrize(
    "number",
    ["68", "68.0", "68.25", "-0.5", "1e300", "5e-324", "0.1", "123456789.12345679", "1e22"],
)
def test_numbers_come_back_as_they_were_from_the_store_and_from_queries(
    wire: Wire, number: str
) -> None:
    body = f'{{"$metadata":{{"$model":"{ROOM}"}},"Climate":{{}},"Temperature":{number}}}'
    twin = must(wire.call("PUT", twin_path("qnumber"), body.encode()))
    given = json.loads(number)
    assert twin["Temperature"] == given
    assert type(twin["Temperature"]) is type(given)
    where = f"FROM DIGITALTWINS T WHERE T.$dtId = 'qnumber' AND T.Temperature = {number}"
    assert run(wire, f"SELECT * {where}") == [twin]
    (row,) = run(wire, f"SELECT T.Temperature, T {where}")
    assert row == {"Temperature": given, "T": twin}
    assert type(row["Temperature"]) is type(given)


def test_keywords_and_odd_keys_are_names_in_brackets_or_behind_a_dot(wire: Wire) -> None:
    where = r"WHERE T.name = 'it\'s'"
    text = (
        f"SELECT T.[[select]], T.[[from]], T.[[order]], T.match, T.join FROM DIGITALTWINS T {where}"
    )
    assert run(wire, text) == [
        {"select": "s", "from": "f", "order": "o", "match": "m", "join": "j"}
    ]
    text = f"SELECT T.stock.[[1a]], T.stock.[[b c]], T.stock.d FROM DIGITALTWINS T {where}"
    assert run(wire, text) == [{"1a": 1, "b c": 2, "d": 3}]
    text = "SELECT $dtId, name FROM DIGITALTWINS WHERE [[where]] = 'w' AND [[top]] = 't'"
    assert run(wire, text) == [{"$dtId": QUOTED, "name": "it's"}]
    text = r"SELECT $dtId FROM DIGITALTWINS WHERE $dtId = 'q\'1'"
    assert run(wire, text) == [{"$dtId": QUOTED}]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "BadRequest"),
        ({}, "InvalidArgument"),
        ([], "InvalidArgument"),
        ({"query": 1}, "InvalidArgument"),
        ({"continuationToken": "no"}, "BadRequest"),
        ({"query": "foo"}, "SqlQueryError"),
        ({"query": "SELECT foo"}, "SqlQueryError"),
        ({"query": "SELECT * FROM elsewhere"}, "SqlQueryError"),
        ({"query": "SELECT * FROM DIGITALTWINS WHERE x ="}, "SqlQueryError"),
        ({"query": "SELECT * FROM DIGITALTWINS A JOIN B RELATED A.r"}, "SqlQueryError"),
        ({"query": "SELECT * FROM RELATIONSHIPS R JOIN T RELATED R.x"}, "SqlQueryError"),
        ({"query": "SELECT TOP(-1) * FROM DIGITALTWINS"}, "SqlQueryError"),
    ],
)
def test_a_bad_query_is_refused(wire: Wire, body: Json, code: str) -> None:
    check_refusal(wire.call("POST", PATH, body), 400, code)


def test_a_syntax_error_says_where_in_the_vendors_words(wire: Wire) -> None:
    answer = wire.call("POST", PATH, {"query": "SELECT *\nFROM elsewhere"})
    check_refusal(answer, 400, "SqlQueryError")
    message = answer[2]["error"]["message"]
    assert message.startswith("SQL query parse failed: SQL Parser Error, Line=2, Position=5, ")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT T.$dtId FROM DIGITALTWINS T",
        f"SELECT * FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, '{ROOM}')",
        "SELECT TOP(4) * FROM DIGITALTWINS",
        "SELECT * FROM RELATIONSHIPS",
        f"SELECT A.$dtId AS a, B.$dtId AS b {HUB}",
        f"SELECT COUNT() {X}",
        "SELECT B.$dtId FROM DIGITALTWINS MATCH (A)-[*..2]->(B) WHERE A.$dtId = 'qhub'",
    ],
)
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("with_text", [True, False])
def test_pages_give_each_row_once_and_none_is_empty(
    wire: Wire, text: str, size: int, with_text: bool
) -> None:
    """Python sends text and token on later pages and no size, .NET the token and the size."""
    whole = run(wire, text)
    page = must(wire.call("POST", PATH, {"query": text}, max_items_per_page=str(size)))
    rows = list(page["value"])
    headers = {} if with_text else {"max_items_per_page": str(size)}
    while page["continuationToken"] is not None:
        body = {"continuationToken": page["continuationToken"]}
        if with_text:
            body["query"] = text
        page = must(wire.call("POST", PATH, body, **headers))
        assert 0 < len(page["value"]) <= size
        rows += page["value"]
    assert rows == whole


def test_a_query_sees_the_write_before_it(wire: Wire) -> None:
    for value in range(5):
        put_room(wire, "qfresh", Seats=value)
        text = f"SELECT COUNT() FROM DIGITALTWINS WHERE $dtId = 'qfresh' AND Seats = {value}"
        assert run(wire, text) == [{"COUNT": 1}]
