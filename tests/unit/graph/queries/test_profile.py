"""PROFILE runs a query and answers its plan with the rows and times of the operators."""

from __future__ import annotations

import re
from typing import Any, cast

import orjson
import pytest

from tests.unit.graph.conftest import find_engine
from twinframe.errors import LimitExceeded, QueryInvalid, QueryTimeout
from twinframe.query.plan import profile
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import FLOOR, ROOM

ROOMS = 12
FIGURE = re.compile(r"  \[(?:unknown|[\d,]+ rows?, [\d,.]+ ms)\]$", re.MULTILINE)


@pytest.fixture
def triples_on_disk() -> bool:
    """Queries are to be stopped here."""
    return True


@pytest.fixture
def rooms(world: Any) -> Any:
    """Rooms r0 to r11 with their numbers as temperatures, each related to the next; a floor."""
    for n in range(ROOMS):
        world.put(f"r{n}", ROOM, name=f"n{n}", temperature=float(n))
    for n in range(ROOMS - 1):
        world.relate(f"r{n}", "next", f"r{n + 1}")
    world.put("floor", FLOOR, level=1)
    return world


def ask(world: Any, text: str, **query: Any) -> dict[str, Any]:
    settings = Settings.model_validate({"Query": query})
    page = world.do(type(world)(world.store, settings).graph.queries.run(text))
    assert page.continuation_token is None
    (row,) = page.rows
    return cast("dict[str, Any]", orjson.loads(row))


def counts_all(world: Any) -> bool:
    """Whether the rows of each operator are known, of the plan as it is optimized."""
    return not has_engine(world) or "sqlite" in type(world.store).__module__


def has_engine(world: Any) -> bool:
    return not isinstance(world.store, MemoryStore)


OPERATORS = {
    "MATCH (a:Room)-->(b)-->(c) WHERE a.temperature > 3.5 RETURN c.name AS n": (
        "Project 6, Match 6, Unit 1"
    ),
    "MATCH (a) WITH a, a.temperature AS t WHERE t >= 8 RETURN count(*) AS n": (
        "Aggregate 1, Filter 4, Project 13, Match 13, Unit 1"
    ),
    "MATCH (a:Room) OPTIONAL MATCH (a)-->(b) RETURN a.name AS a ORDER BY a DESC SKIP 2 LIMIT 5": (
        "Limit 5, Skip 5, Sort 7, Project 12, OptionalMatch 12, Match 12, Unit 1"
    ),
    "MATCH (a:Room) RETURN a.name AS n LIMIT 2": "Limit 2, Project 2, Match 2, Unit 1",
    "MATCH (a:Room) RETURN 1 AS x UNION ALL MATCH (f:Floor) RETURN 2 AS x": (
        "Union 13, Project 12, Match 12, Unit 1, Project 1, Match 1, Unit 1"
    ),
    "UNWIND [1, 2, 2] AS x WITH DISTINCT x MATCH (:Room)-[*1..2]->(b) RETURN count(b) AS n": (
        "Aggregate 1, Match 42, Distinct 2, Unwind 3, Unit 1"
    ),
    "MATCH (a:Nope) RETURN a": "Match 0, Unit 1",
    "RETURN 1 AS n": "Project 1, Unit 1",
    "SELECT T.name FROM DIGITALTWINS T WHERE T.temperature < 3 ORDER BY T.name": (
        "Project 3, Sort 3, Match 3, Unit 1"
    ),
}


@pytest.mark.parametrize("text", OPERATORS)
def test_each_operator_has_its_rows(rooms: Any, text: str) -> None:
    row = ask(rooms, f"PROFILE {text}")
    expected = [one.split(" ") for one in OPERATORS[text].split(", ")]
    assert str(row["rows"]) == expected[0][1]
    assert row["rows"] == row["operators"][0]["rows"]
    found = [[one["operator"], str(one["rows"])] for one in row["operators"]]
    if not counts_all(rooms) and len(found) != len(expected):
        return  # the store has a plan of its own
    for one, other in zip(found, expected, strict=True):
        assert one == other or (not counts_all(rooms) and one == [other[0], "None"])


def test_the_plan_is_that_of_explain(rooms: Any) -> None:
    text = "MATCH (a:Room)-->(b) WHERE a.temperature > 3 RETURN b.name AS n ORDER BY n LIMIT 4"
    explained, profiled = ask(rooms, f"EXPLAIN {text}"), ask(rooms, f"PROFILE {text}")
    assert [*profiled] == [*explained, "engine", "rows", "milliseconds"]
    lines = profiled["plan"].splitlines()
    assert sum(FIGURE.search(line) is not None for line in lines) == 1 + len(profiled["operators"])
    assert FIGURE.sub("", profiled["plan"]) == explained["plan"]
    assert lines[0].startswith("Result n  [4 rows, ")
    for one, other in zip(profiled["operators"], explained["operators"], strict=True):
        assert (one.pop("milliseconds") or 0) >= 0
        assert one.pop("rows") != 0
        assert one.pop("note") is None or has_engine(rooms)
        assert one == other
    for one, other in zip(profiled["pushed"], explained["pushed"], strict=True):
        assert one.pop("rows") >= 4
        assert one.pop("milliseconds") <= profiled["milliseconds"]
        for joins in one["joins"]:
            for join in joins:
                del join["counted"]
        assert one == other


def test_the_engine_is_the_one_that_answered(rooms: Any) -> None:
    engine = find_engine(rooms.store)
    whole = ask(rooms, "PROFILE MATCH (a:Room) RETURN a.name AS n")
    assert whole["engine"] == ("evaluator" if engine is None else engine.name)
    split = ask(rooms, "PROFILE MATCH (a:Room) RETURN toString(rand()) + a.name AS n")
    assert split["rows"] == ROOMS
    assert split["engine"] == ("evaluator" if engine is None else f"{engine.name}+evaluator")
    ended = ask(rooms, "PROFILE UNWIND [1, 2] AS x RETURN rand() AS r")
    assert ended["engine"] == "evaluator"
    assert ended["pushed"] == []


def test_a_query_is_run_beyond_its_pages(rooms: Any) -> None:
    text = "MATCH (a), (b) RETURN a.name AS a, b.name AS b ORDER BY a, b"
    page = rooms.do(rooms.graph.queries.run(text, None, None, 100))
    rows = len(page.rows)
    while page.continuation_token is not None:
        page = rooms.do(rooms.graph.queries.run(None, None, page.continuation_token))
        rows += len(page.rows)
    assert ask(rooms, f"PROFILE {text}", PageSize=2)["rows"] == rows == (ROOMS + 1) ** 2


def test_rows_are_counted_of_the_present_graph(rooms: Any) -> None:
    text = "PROFILE MATCH (a:Room)-->(b) RETURN count(*) AS n"
    assert ask(rooms, text)["operators"][1]["rows"] == ROOMS - 1
    rooms.relate("r0", "again", "r5")
    assert ask(rooms, text)["operators"][1]["rows"] == ROOMS


def test_the_joins_have_the_rows_counted_beside_those_estimated(rooms: Any) -> None:
    if "sqlite" not in type(rooms.store).__module__:
        pytest.skip("only SQLite orders joins by estimates")
    text = "MATCH (a:Room)-->(b:Room)-->(c) WHERE a.name = 'n3' RETURN a.name AS a, c.name AS c"
    (part,) = ask(rooms, f"PROFILE {text}")["pushed"]
    (joins,) = part["joins"]
    assert [join["counted"] for join in joins] == [1] * len(joins)
    assert len(joins) == 5
    grouped = "MATCH (a:Room)-->(b) MATCH (c)-->(b) MATCH (d)-->(b) RETURN count(*) AS n"
    (part,) = ask(rooms, f"PROFILE {grouped}")["pushed"]
    assert [join["counted"] for joins in part["joins"] for join in joins][-1] == ROOMS - 1
    inner = "MATCH (a) WHERE EXISTS { MATCH (a)-->(b) MATCH (b)-->(c) RETURN c } RETURN a"
    (part,) = ask(rooms, f"PROFILE {inner}")["pushed"]
    assert {join["counted"] for joins in part["joins"] for join in joins} == {None}


def test_what_is_counted_apart_says_so(rooms: Any) -> None:
    text = "PROFILE MATCH (a) WITH a, a.name AS n WHERE n > '' MATCH (a)-->(b) RETURN n LIMIT 3"
    row = ask(rooms, text)
    notes = [one["note"] for one in row["operators"]]
    assert notes[0] is None
    assert (set(notes) == {None}) == (not has_engine(rooms))
    assert ("evaluator" in row["engine"]) or profile.COUNTED_ALL in notes


def test_rows_that_depend_on_another_row_are_counted_where_that_can_be(rooms: Any) -> None:
    text = (
        "PROFILE MATCH (a:Room) CALL (a) { MATCH (a)-->(b) RETURN b ORDER BY b.name LIMIT 1 } "
        "RETURN b.name AS n"
    )
    row = ask(rooms, text)
    assert row["rows"] == ROOMS - 1
    for one in row["operators"]:
        assert one["rows"] is not None or one["note"].startswith("Unknown")


def test_rows_that_could_not_be_counted_in_time_are_unknown(
    rooms: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def give_out(_self: Any, *_given: Any) -> None:
        raise QueryTimeout("late")

    monkeypatch.setattr(profile._Run, "_read_count", give_out)
    row = ask(rooms, "PROFILE MATCH (a:Room) WITH a.name AS n WHERE n > 'n5' RETURN count(n) AS n")
    assert row["rows"] == row["operators"][0]["rows"] == 1
    if has_engine(rooms):
        late = [one for one in row["operators"] if one["note"] is not None]
        assert {(one["rows"], one["milliseconds"]) for one in late} <= {(None, None)}
        assert not counts_all(rooms) or len(late) == len(row["operators"]) - 2
    if has_engine(rooms) and late:
        assert all("Query__Timeout" in one["note"] for one in late)
        assert "[unknown]" in row["plan"]


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a), (b), (c), (d), (e), (f), (g), (h) RETURN count(*) AS n",
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN sum(sin(x) + y) AS n",
    ],
)
def test_the_time_of_a_profiled_query_is_bounded(rooms: Any, text: str) -> None:
    with pytest.raises((QueryTimeout, LimitExceeded), match=r"Query__Timeout|Query__MaxRows"):
        ask(rooms, f"PROFILE {text}", Timeout=0.1, MaxRows=10_000_000)


def test_the_limits_of_the_query_hold(rooms: Any) -> None:
    text = "PROFILE UNWIND range(1, 99) AS x WITH x, rand() AS r ORDER BY r RETURN x"
    with pytest.raises(LimitExceeded, match="Query__MaxRows"):
        ask(rooms, text, MaxRows=50)
    assert ask(rooms, text, MaxRows=500)["rows"] == 99
    with pytest.raises(LimitExceeded, match="Query__MaxHops"):
        ask(rooms, "PROFILE MATCH (a)-[*]->(b) RETURN a", MaxHops=4)


def test_an_error_of_the_query_is_its_answer(rooms: Any) -> None:
    with pytest.raises(QueryInvalid, match="column 20"):
        ask(rooms, "PROFILE RETURN 1 + nn AS x")
    with pytest.raises(QueryInvalid):
        ask(rooms, "PROFILE MATCH (a:Room) RETURN a.name - 1 AS n")
