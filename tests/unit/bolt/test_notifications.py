"""Warnings and errors as drivers read them: which of them, where in the text, and their class."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from neo4j import GqlStatusObject
from neo4j.exceptions import Neo4jError

from tests.unit.bolt.world import FAILURE, HELLO, LOGON, PULL, RUN, SUCCESS, BoltWorld
from twinframe.storage.memory import MemoryStore

TEXT = "MATCH (n)\nWHERE n:Nowhere\nRETURN n"
MODEL: dict[str, Any] = {
    "@id": "dtmi:Room;1",
    "@type": "Interface",
    "@context": "dtmi:dtdl:context;3",
}


@pytest.fixture(scope="module")
def world() -> Iterator[BoltWorld]:
    with BoltWorld(MemoryStore(), is_open=False) as world:
        world.do(world.graph.models.create_models([MODEL]))
        yield world


def find_warnings(statuses: Any) -> list[GqlStatusObject]:
    return [one for one in statuses if one.is_notification]


def test_a_warning_says_where_it_is(world: BoltWorld) -> None:
    with world.connect() as driver:
        (warning,) = find_warnings(driver.execute_query(TEXT).summary.gql_status_objects)
    position = warning.position
    assert position is not None
    assert (position.offset, position.line, position.column) == (TEXT.index("Nowhere"), 2, 9)
    assert warning.raw_classification == "UNRECOGNIZED"


WANTED: tuple[tuple[dict[str, Any], int], ...] = (
    ({}, 1),
    ({"notifications_min_severity": "OFF"}, 0),
    ({"notifications_min_severity": "INFORMATION"}, 1),
    ({"notifications_disabled_classifications": ["UNRECOGNIZED"]}, 0),
    ({"notifications_disabled_classifications": ["DEPRECATION", "HINT"]}, 1),
)


@pytest.mark.parametrize(("asked", "count"), WANTED)
def test_a_client_gets_the_warnings_that_it_wants(
    world: BoltWorld, asked: dict[str, Any], count: int
) -> None:
    with world.connect(**asked) as driver:
        found = driver.execute_query(TEXT).summary.gql_status_objects
        assert len(find_warnings(found)) == count
    with world.connect() as driver, driver.session(**asked) as session:
        found = session.run(TEXT).consume().gql_status_objects
        assert len(find_warnings(found)) == count
        with session.begin_transaction() as begun:
            found = begun.run(TEXT).consume().gql_status_objects
            assert len(find_warnings(found)) == count
    with (
        world.connect(notifications_min_severity="OFF") as driver,
        driver.session(notifications_min_severity="WARNING") as session,
    ):
        assert find_warnings(session.run(TEXT).consume().gql_status_objects)


def test_an_older_client_gets_notifications(world: BoltWorld) -> None:
    with world.dial() as dialogue:
        assert dialogue.shake_hands(bytes.fromhex("00000405") + bytes(12))[2] == 4
        disabled = {"notifications_disabled_categories": ["HINT"]}
        assert dialogue.ask(HELLO, {"user_agent": "x", **disabled})[0] == SUCCESS
        assert dialogue.ask(LOGON, {"scheme": "none"})[0] == SUCCESS
        for extra, count in (({}, 1), ({"notifications_disabled_categories": ["UNRECOGNIZED"]}, 0)):
            assert dialogue.ask(RUN, TEXT, {}, extra)[0] == SUCCESS
            tag, found = dialogue.ask(PULL, {"n": -1})
            shown = found.get("notifications", [])
            assert (tag, len(shown)) == (SUCCESS, count)
        tag, found = dialogue.ask(RUN, TEXT, {}, {"notifications_minimum_severity": "LOUD"})
        assert tag == FAILURE
        assert "OFF, WARNING, INFORMATION" in found["message"]


def test_an_error_has_its_class_and_position(world: BoltWorld) -> None:
    text = "MATCH (n)\nRETURN n +"
    for asked, shown in (
        (text, "CLIENT_ERROR"),
        ("CREATE (:Room {seats: 'many'})", "CLIENT_ERROR"),
    ):
        with world.connect() as driver, pytest.raises(Neo4jError) as caught:
            driver.execute_query(asked)
        error = caught.value
        assert str(error.gql_raw_classification) == shown
        position = error.diagnostic_record.get("_position")
        if asked == text:
            assert position == {"offset": len(text), "line": 2, "column": 11}


def test_a_summary_says_how_long_rows_took(world: BoltWorld) -> None:
    with world.connect() as driver, driver.session(fetch_size=10) as session:
        result = session.run("UNWIND range(1, 50) AS i RETURN i")
        time.sleep(0.05)
        assert (result.consume().result_consumed_after or 0) >= 50
