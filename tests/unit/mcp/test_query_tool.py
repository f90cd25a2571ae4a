"""`query_digital_twins` and `explain_query`: rows, budgets, going on, warnings, corrections."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.mcp.conftest import Assistant
from twinframe.testing.factories import ROOM


def test_rows_come_with_their_columns(assistant: Assistant) -> None:
    told = assistant.ask(
        "query_digital_twins",
        query="MATCH (r:Room) WHERE r.temperature > $t RETURN r.`$dtId` AS id, "
        "r.temperature AS t ORDER BY t",
        parameters={"t": 20.5},
    )
    assert told == {
        "rows": [{"id": "room-2", "t": 21.0}, {"id": "room-3", "t": 22.0}],
        "row_count": 2,
        "columns": ["id", "t"],
        "truncated": False,
        "continuation_token": None,
    }


def test_columns_are_told_also_without_rows(assistant: Assistant) -> None:
    told = assistant.ask(
        "query_digital_twins", query="MATCH (r:Room {name: '-'}) RETURN r.name AS n"
    )
    assert told["columns"] == ["n"]
    assert told["row_count"] == 0


def test_the_vendors_language_is_understood(assistant: Assistant) -> None:
    told = assistant.ask(
        "query_digital_twins", query="SELECT T.$dtId FROM DIGITALTWINS T WHERE T.level = 2"
    )
    assert told["rows"] == [{"$dtId": "floor-2"}]


def test_twins_in_rows_carry_no_times(assistant: Assistant) -> None:
    told = assistant.ask("query_digital_twins", query="MATCH (r:Room) RETURN r LIMIT 1")
    assert told["rows"][0]["r"]["$metadata"] == {"$model": ROOM}


@pytest.mark.parametrize(
    "query",
    ["MATCH (t:Twin) RETURN t.`$dtId` AS id", "MATCH (t:Twin) RETURN t.`$dtId` AS id ORDER BY id"],
)
def test_a_limit_cuts_and_the_token_alone_goes_on(assistant: Assistant, query: str) -> None:
    told = assistant.ask("query_digital_twins", query=query, limit=3)
    seen = [row["id"] for row in told["rows"]]
    while told["truncated"]:
        token = told["continuation_token"]
        told = assistant.ask("query_digital_twins", continuation_token=token, limit=3)
        assert len(told["rows"]) <= 3
        seen += [row["id"] for row in told["rows"]]
    assert sorted(seen) == sorted(
        ["house", "floor-1", "floor-2", "room-1", "room-2", "room-3", "sensor-1"]
    )


def test_the_operators_cap_is_above_the_calls(world: Any) -> None:
    assistant = Assistant(world, MaxRows=2)
    told = assistant.ask("query_digital_twins", query="MATCH (t:Twin) RETURN t", limit=1000)
    assert told["row_count"] == 2
    assert told["truncated"]


@pytest.mark.parametrize("order", ["", " ORDER BY t.`$dtId`"])
def test_bytes_cut_between_rows_and_nothing_is_lost(world: Any, order: str) -> None:
    for n in range(40):
        world.put(f"r{n:02}", ROOM, name="n" * (37 * n % 900))
    assistant = Assistant(world, MaxBytes=2048)
    told = assistant.call("query_digital_twins", query=f"MATCH (t:Room) RETURN t{order}")
    seen: list[str] = []
    while True:
        assert not told.failed, told.text
        assert len(told.text) <= 2048
        seen += [row["t"]["$dtId"] for row in told.document["rows"]]
        token = told.document["continuation_token"]
        assert told.document["truncated"] == (token is not None)
        if token is None:
            break
        told = assistant.call("query_digital_twins", continuation_token=token, limit=100)
    assert len(seen) == len(set(seen)) == 43


def test_a_long_query_takes_its_tokens_room_from_the_rows(world: Any) -> None:
    for n in range(40):
        world.put(f"r{n:02}", ROOM, name="n" * 200)
    assistant = Assistant(world, MaxBytes=8192)
    query = f"MATCH (t:Room) WHERE t.name <> '{'x' * 3000}' RETURN t"
    token, seen = None, 0
    while token is not None or not seen:
        told = assistant.call("query_digital_twins", query=query, continuation_token=token)
        assert len(told.text) <= 8192
        seen += told.document["row_count"]
        token = told.document["continuation_token"]
    assert seen == 43


def test_one_row_larger_than_an_answer_is_given_cut_down(world: Any) -> None:
    world.put("huge", ROOM, tags={f"k{n}": "v" * 300 for n in range(200)})
    assistant = Assistant(world, MaxBytes=4096)
    query = "MATCH (t:Room) RETURN t ORDER BY t.`$dtId`"
    told = assistant.call("query_digital_twins", query=query, full_values=True)
    rows, token = list(told.document["rows"]), told.document["continuation_token"]
    while token is not None:
        told = assistant.call("query_digital_twins", continuation_token=token)
        assert len(told.text) <= 4096
        rows += told.document["rows"]
        token = told.document["continuation_token"]
    assert len(rows) == 4


def test_an_unknown_name_is_a_warning_with_a_corrected_query(assistant: Assistant) -> None:
    told = assistant.ask("query_digital_twins", query="MATCH (r:Rom)\nRETURN r.nme AS n")
    assert told["rows"] == []
    assert "did you mean 'Room'" in told["warnings"][0]
    assert "(line 2, column 10)" in told["warnings"][1]
    assert told["corrected_query"] == "MATCH (r:Room)\nRETURN r.name AS n"


def test_a_corrected_model_id_stays_between_its_quotes(assistant: Assistant) -> None:
    told = assistant.ask(
        "query_digital_twins",
        query="SELECT T FROM DIGITALTWINS T WHERE IS_OF_MODEL(T, 'dtmi:com:example:Rom;1')",
    )
    assert told["corrected_query"].endswith("IS_OF_MODEL(T, 'dtmi:com:example:Room;1')")


def test_a_syntax_error_has_a_place_and_an_example_that_is_right(assistant: Assistant) -> None:
    text = assistant.fail("query_digital_twins", query="MATCH (r:Room) RETRN r")
    assert "line 1, column 16" in text
    assert "\n               ^\n" in text
    example = text.rpartition("is right: ")[2]
    assert assistant.ask("query_digital_twins", query=example)["columns"] == ["id", "inside"]
    vendors = assistant.fail("query_digital_twins", query="SELECT T FROM DIGITALTWIN T")
    assert "SELECT T.$dtId, T.name FROM DIGITALTWINS T" in vendors


def test_a_misspelt_function_is_corrected(assistant: Assistant) -> None:
    text = assistant.fail("query_digital_twins", query="MATCH (r:Room) RETURN cout(r) AS n")
    assert "Try: MATCH (r:Room) RETURN count(r) AS n" in text


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (r:Room) SET r.name = 'x' RETURN r",
        "MATCH (r:Room) DETACH DELETE r",
        "CREATE (r:Room)",
        "MERGE (r:Room {name: 'x'}) RETURN r",
    ],
)
def test_a_writing_query_is_refused_with_the_way_to_write(assistant: Assistant, query: str) -> None:
    before = assistant.world.read("room-1")
    assert "update_digital_twin" in assistant.fail("query_digital_twins", query=query)
    assert assistant.world.read("room-1") == before


def test_a_query_or_a_token_is_needed(assistant: Assistant) -> None:
    assert "needs a query, or a continuation_token" in assistant.fail("query_digital_twins")


def test_a_damaged_token_is_refused(assistant: Assistant) -> None:
    text = assistant.fail("query_digital_twins", continuation_token="abc")
    assert text.startswith("BadRequest")


def test_a_plan_is_explained_and_its_names_are_checked(assistant: Assistant) -> None:
    told = assistant.ask("explain_query", query="MATCH (r:Room) RETURN r.nme AS n")
    assert told["language"] == "cypher"
    assert "node (r:Room)" in told["plan"]
    assert "did you mean 'name'" in told["warnings"][0]
    again = assistant.ask("explain_query", query="EXPLAIN MATCH (r:Room) RETURN r.nme AS n")
    assert again["plan"] == told["plan"]
    assert "column 16" in assistant.fail("explain_query", query="MATCH (r:Room) RETRN r")


def test_a_plan_is_profiled_where_that_is_asked_for(assistant: Assistant) -> None:
    query = "MATCH (r:Room) WHERE r.temperature > 20 RETURN r.name AS n"
    told = assistant.ask("explain_query", query=query, profile=True)
    assert told["rows"] == 2
    assert told["milliseconds"] > 0
    assert told["engine"]
    assert "[2 rows, " in told["plan"]
    again = assistant.ask("explain_query", query=f"PROFILE {query}")
    assert (again["rows"], again["engine"]) == (told["rows"], told["engine"])
    assert "rows" not in assistant.ask("explain_query", query=query)


@pytest.mark.parametrize(
    ("query", "corrected"),
    [
        (
            "MATCH (r:Room) WHERE r.setPoint > 20 RETURN r.name",
            "MATCH (r:Room) WHERE r.thermostat.setPoint > 20 RETURN r.name",
        ),
        (
            "MATCH (r:Room) RETURN r.name AS name, r.setPoint AS s",
            "MATCH (r:Room) RETURN r.name AS name, r.thermostat.setPoint AS s",
        ),
        (
            "SELECT * FROM DIGITALTWINS T WHERE T.setPoint > 20",
            "SELECT * FROM DIGITALTWINS T WHERE T.thermostat.setPoint > 20",
        ),
    ],
)
def test_a_property_that_a_component_has_is_told_where_nothing_was_found(
    assistant: Assistant, query: str, corrected: str
) -> None:
    told = assistant.ask("query_digital_twins", query=query)
    assert "'setPoint' is a property of a component: write" in told["warnings"][0]
    assert told["corrected_query"] == corrected
    assistant.ask("query_digital_twins", query=corrected)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (r:Room) WHERE r.thermostat.setPoint > 99 RETURN r",
        "MATCH (r:Room) WHERE r.`thermostat` . `setPoint` > 99 RETURN r",
        "MATCH (r:Room) WHERE r.name = '-' RETURN r",
        "MATCH (r:Room) RETURN r.name AS name, coalesce(r.setPoint, 1) AS one",
        "RETURN null AS nothing",
        "RETURN '" + "." * 5000 + "' AS dots LIMIT 0",
    ],
)
def test_nothing_is_told_of_components_where_they_are_not_the_matter(
    assistant: Assistant, query: str
) -> None:
    told = assistant.ask("query_digital_twins", query=query)
    assert "warnings" not in told
    assert "corrected_query" not in told
