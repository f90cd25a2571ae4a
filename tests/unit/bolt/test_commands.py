"""The administration commands that tools of Neo4j send first, and the database `system`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import neo4j
import pytest
from neo4j.exceptions import ClientError, CypherSyntaxError

from tests.unit.bolt.test_conversations import _Claims
from tests.unit.bolt.world import BoltWorld
from twinframe.access.authentication.api_keys import ApiKeyAuthenticator, ApiKeys
from twinframe.access.gate import Gate
from twinframe.bolt.connection import Connection
from twinframe.bolt.requests import Message
from twinframe.query.cypher.functions import FUNCTIONS
from twinframe.storage.memory import MemoryStore


@pytest.fixture(scope="module")
def world() -> Iterator[BoltWorld]:
    with BoltWorld(MemoryStore()) as world:
        yield world


@pytest.fixture(scope="module")
def driver(world: BoltWorld) -> Iterator[neo4j.Driver]:
    with world.connect("neo4j") as driver:
        yield driver


def ask(driver: neo4j.Driver, text: str, **given: Any) -> list[dict[str, Any]]:
    return [record.data() for record in driver.execute_query(text, given).records]


def test_databases_are_shown(driver: neo4j.Driver, world: BoltWorld) -> None:
    own, system = ask(driver, "SHOW DATABASES")
    assert (own["name"], own["currentStatus"], own["default"]) == ("neo4j", "online", True)
    assert own["address"] == world.settings.bolt.bind
    assert (system["name"], system["type"], system["home"]) == ("system", "system", False)
    assert ask(driver, "show default database") == ask(driver, "SHOW HOME DATABASE;") == [own]
    assert ask(driver, "SHOW DATABASE neo4j") == ask(driver, "SHOW DATABASE $name", name="neo4j")
    assert ask(driver, "SHOW DATABASE `nowhere`") == []


YIELDED: tuple[tuple[str, list[dict[str, Any]] | None], ...] = (
    ("SHOW DATABASES YIELD name", [{"name": "neo4j"}, {"name": "system"}]),
    ("SHOW DATABASES WHERE type = 'system'", None),
    ("SHOW DATABASES YIELD name AS n, type ORDER BY n DESC LIMIT 1 RETURN n", [{"n": "system"}]),
    ("SHOW DATABASES YIELD * WHERE name <> ' RETURN ' RETURN count(*) AS n", [{"n": 2}]),
    ("SHOW DATABASES YIELD name WHERE name = $name", [{"name": "neo4j"}]),
    ("SHOW PROCEDURES YIELD name WHERE name = 'db.labels'", [{"name": "db.labels"}]),
    ("SHOW FUNCTIONS YIELD name RETURN count(*) AS n", [{"n": len(FUNCTIONS)}]),
    ("SHOW FUNCTIONS EXECUTABLE BY CURRENT USER YIELD name, signature WHERE name = 'left'",
     [{"name": "left", "signature": "left(argument1, argument2)"}]),
    ("SHOW INDEXES", []),
    ("SHOW VECTOR INDEXES YIELD name, state", []),
    ("SHOW CONSTRAINTS", []),
    ("SHOW CURRENT USER YIELD user, home", [{"user": "", "home": "neo4j"}]),
)  # fmt: skip


@pytest.mark.parametrize(("text", "rows"), YIELDED, ids=[text for text, _ in YIELDED])
def test_a_command_has_the_clauses_of_a_query(
    driver: neo4j.Driver, text: str, rows: list[dict[str, Any]] | None
) -> None:
    found = ask(driver, text, name="neo4j")
    if rows is None:
        assert [row["name"] for row in found] == ["system"]
    else:
        assert found == rows


def test_columns_come_in_their_order(driver: neo4j.Driver) -> None:
    assert driver.execute_query("SHOW INDEXES").keys[:3] == ["id", "name", "state"]
    keys = driver.execute_query("SHOW PROCEDURES").keys
    assert keys == ["name", "description", "mode", "worksOnSystem"]
    with pytest.raises(CypherSyntaxError, match=r"no column nope.*name, type"):
        driver.execute_query("SHOW DATABASES YIELD nope")


REFUSED = (
    ("CREATE INDEX a IF NOT EXISTS FOR (n:Room) ON (n.name)", "CREATE INDEX .*indexes that it"),
    ("CREATE VECTOR INDEX a FOR (n:Room) ON n.x", "CREATE VECTOR INDEX "),
    ("create constraint FOR (n:Room) REQUIRE n.id IS UNIQUE", "CREATE CONSTRAINT .*Models say"),
    ("DROP INDEX a IF EXISTS", "DROP INDEX "),
    ("DROP CONSTRAINT a", "DROP CONSTRAINT "),
    ("CREATE DATABASE other", "CREATE DATABASE .*over HTTP"),
    ("CREATE OR REPLACE USER joe SET PASSWORD 'x'", "CREATE OR REPLACE USER "),
    ("GRANT ROLE reader TO joe", "GRANT ROLE "),
    ("TERMINATE TRANSACTIONS 'x'", "TERMINATE TRANSACTIONS "),
    ("SHOW SETTINGS", "SHOW SETTINGS .*PROCEDURES"),
)


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_other_commands_are_refused_by_name(driver: neo4j.Driver, text: str, message: str) -> None:
    with pytest.raises(ClientError, match=message) as caught:
        driver.execute_query(text)
    assert caught.value.code == "Neo.ClientError.Statement.UnsupportedAdministrationCommand"


def test_clauses_that_begin_like_a_command_are_none(driver: neo4j.Driver) -> None:
    for name in ("index", "user", "constraint"):
        made = driver.execute_query(f"CREATE {name} = (:Made) RETURN {name}").records
        assert len(made) == 1


def test_the_database_system_answers_commands_alone(driver: neo4j.Driver) -> None:
    records, summary, _ = driver.execute_query("SHOW DATABASES", database_="system")
    assert (len(records), summary.database) == (2, "system")
    with driver.session(database="system") as session:
        assert session.run("SHOW DEFAULT DATABASE").single(strict=True)["name"] == "neo4j"
        with pytest.raises(ClientError, match="answers SHOW alone"):
            session.run("MATCH (n) RETURN n").consume()
    with pytest.raises(ClientError, match="answers SHOW alone"):
        driver.execute_query("CREATE (:A)", database_="system")


def test_a_routing_driver_asks_once_for_the_database_of_its_sessions(
    world: BoltWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    routed: list[object] = []
    route = Connection._route

    async def count(self: Connection, message: Message) -> Mapping[str, object]:
        routed.append(message)
        return await route(self, message)

    monkeypatch.setattr(Connection, "_route", count)
    with world.connect("neo4j") as driver:
        for _ in range(5):
            assert driver.execute_query("RETURN 1").summary.database == "neo4j"
            with driver.session() as session:
                assert session.run("RETURN 1").consume().database == "neo4j"
    assert len(routed) == 1


def test_credentials_are_verified(tmp_path: Path) -> None:
    keys = ApiKeys(tmp_path / "keys.db")
    _, reader = keys.create("reader", ["query/read"])
    gate = Gate(ApiKeyAuthenticator(tmp_path / "keys.db"), _Claims(), lambda _: None)
    with (
        BoltWorld(MemoryStore(), gate) as world,
        world.connect("neo4j", auth=("any", reader)) as driver,
    ):
        assert driver.verify_authentication()
        assert not driver.verify_authentication(auth=("any", "nonsense"))
        (user,) = ask(driver, "SHOW CURRENT USER")
        assert user["user"]
        with driver.session(auth=("any", reader)) as session:
            assert session.run("RETURN 1").value() == [1]
