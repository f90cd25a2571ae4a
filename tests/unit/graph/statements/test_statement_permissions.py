"""Statements and permissions: what one changes is what its text was asked permission for.

The statements are made of reading parts, writing clauses and subqueries around them. What they
change is found by comparing the graph before and after, not by what they count.
"""

from __future__ import annotations

import asyncio
from contextlib import closing
from itertools import product
from typing import Any, Final, NamedTuple

import neo4j
import orjson
import pytest
from neo4j.exceptions import ClientError

from tests.unit.bolt.world import BoltWorld
from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.conftest import Client
from tests.unit.http.test_access import ACCESS, ClaimedPermissions, NamedCaller
from twinframe.access.authentication.port import Authenticator, Headers
from twinframe.access.gate import Gate
from twinframe.access.permission_grammar import decide, parse_permission
from twinframe.access.permissions import Caller
from twinframe.control.tenants.catalogue import BUILT_IN_ROLES
from twinframe.graph import Graph
from twinframe.graph.statements.statements import PERMISSIONS, WRITE
from twinframe.http.application import build_application
from twinframe.query.writing.port import Effect
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore

OPEN: Final = {"graph": {"open_": True}}
START: Final = (
    "CREATE (a:Floor {level: 1})-[:part {since: 1}]->(b:Room {level: 2}), (c:Floor {level: 3}), "
    "(b)-[:near]->(c)"
)
NOTHING_READ: Final = (
    "CREATE (:Floor {level: 7})",
    "CREATE (:Floor)-[:part]->(:Room)",
    "MERGE (x:Floor {level: 1})",
    "MERGE (x:Floor {level: 8}) ON CREATE SET x.level = 9",
    "MERGE (x:Floor {level: 1}) ON MATCH SET x.level = 10",
    "MERGE (x:Floor {level: 1})-[:part]->(y:Room {level: 2})",
    "MERGE (x:Floor {level: 1}) MERGE (x)-[:part]->(y:Room {level: 12})",
)
WITH_NODE: Final = (
    "SET n.level = 5",
    "SET n += {level: 6}",
    "SET n = {level: 6}",
    "SET n:Tall",
    "REMOVE n.level",
    "REMOVE n:Floor",
    "DETACH DELETE n",
    "CREATE (n)-[:part]->(:Room)",
    "CREATE (n)-[:part]->(n)",
    "MERGE (n)-[:part]->(:Room {level: 11})",
    "WITH n AS z SET z.level = 5",
    "WITH [n] AS all UNWIND all AS z DETACH DELETE z",
    "WITH {kept: n} AS m DETACH DELETE m.kept",
    "SET n.level = 5 WITH n MATCH (o:Room) DETACH DELETE o",
)
WITH_RELATIONSHIP: Final = (
    "SET e.since = 2",
    "SET e += {since: 3}",
    "REMOVE e.since",
    "DELETE e",
    "WITH [e] AS all UNWIND all AS z DELETE z",
    "DELETE e WITH n DETACH DELETE n",
    "SET n.level = e.since",
)
NODES: Final = ("MATCH (n:Floor)", "UNWIND [1, 3] AS i MATCH (n:Floor {level: i})")
EDGES: Final = ("MATCH (n)-[e:part]->(m)", "MATCH (n)-[e]-(m)")


def build_statements() -> list[str]:
    found = [*NOTHING_READ]
    found += [f"CALL {{ {clause} }} RETURN 1 AS one" for clause in NOTHING_READ[:3]]
    for reads, clauses in ((NODES, WITH_NODE), (EDGES, WITH_RELATIONSHIP)):
        for read, clause in product(reads, clauses):
            found.append(f"{read} {clause}")
            names = "n" if clauses is WITH_NODE else "n, e, m"
            if read is reads[0] and not clause.startswith("WITH"):
                found.append(f"{read} CALL {{ WITH {names} {clause} }} RETURN count(*) AS rows")
                found.append(f"{read} CALL {{ WITH {names} {clause} }} IN TRANSACTIONS OF 2 ROWS")
    return found


STATEMENTS: Final = build_statements()
ALL: Final = {WRITE, *PERMISSIONS.values()}


class State(NamedTuple):
    """All documents of a graph, and the position of its last change."""

    twins: dict[str, bytes]
    relationships: dict[tuple[str, str], bytes]
    position: int


def read_state(store: Any) -> State:
    with closing(store.session()) as session, session.snapshot():
        twins = {one.twin_id: one.body for one in session.iterate_twins()}
        edges = {
            (one.source_id, one.relationship_id): one.body
            for one in session.iterate_relationships()
        }
        return State(twins, edges, session.read_event_bounds()[1])


def find_effects(before: State, after: State) -> set[Effect]:
    """What happened between two states."""
    found = set()
    for name, write, delete in (
        ("twins", Effect.WRITE_NODES, Effect.DELETE_NODES),
        ("relationships", Effect.WRITE_RELATIONSHIPS, Effect.DELETE_RELATIONSHIPS),
    ):
        old, new = getattr(before, name), getattr(after, name)
        if old.keys() - new.keys():
            found.add(delete)
        if any(old.get(key) != body for key, body in new.items()):
            found.add(write)
    return found


class World:
    """An open graph of three nodes and two relationships, behind HTTP."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.store.open()
        settings = Settings.model_validate({**OPEN, **ACCESS})
        self.graph = Graph(InlineRunner(self.store), settings)
        gate = Gate(NamedCaller(), ClaimedPermissions(), lambda _: None)
        self.client = Client(build_application(self.graph, settings, gate=gate))
        asyncio.run(self.run(START))
        self.before = read_state(self.store)

    async def run(self, text: str) -> None:
        await self.graph.statements.run(self.graph.statements.prepare(text, {}))

    def send(self, path: str, text: str, granted: set[str], **more: Any) -> Any:
        caller = {"x-caller": " ".join(["ann", *sorted(granted)])}
        return self.client.send("POST", path, orjson.dumps({"query": text, **more}), caller)

    @property
    def is_unchanged(self) -> bool:
        return read_state(self.store) == self.before


@pytest.mark.parametrize("text", STATEMENTS)
def test_what_a_statement_changes_is_what_its_text_needs(text: str) -> None:
    world = World()
    needs = world.graph.statements.prepare(text, {}).needs
    asyncio.run(world.run(text))
    done = {PERMISSIONS[effect] for effect in find_effects(world.before, read_state(world.store))}
    assert done <= set(needs)
    assert WRITE in needs


def test_the_statements_do_all_that_there_are_permissions_for() -> None:
    done: set[Effect] = set()
    for text in STATEMENTS:
        world = World()
        asyncio.run(world.run(text))
        done |= find_effects(world.before, read_state(world.store))
    assert done == set(Effect) - {Effect.READ}


@pytest.mark.parametrize("text", STATEMENTS)
def test_each_needed_permission_is_needed_and_no_other(text: str) -> None:
    world = World()
    needs = set(world.graph.statements.prepare(text, {}).needs)
    for missing in ALL:
        for rehearse in (True, False) if missing in needs else (True,):
            answer = world.send("/cypher", text, ALL - {missing}, rehearse=rehearse)
            assert answer.status == (403 if missing in needs else 200), (missing, answer.body)
            assert world.is_unchanged
    assert world.send("/query", text, ALL).status == 400
    assert world.send("/query", text, {"query/read"}).status == 400
    assert world.is_unchanged


@pytest.mark.parametrize("role", BUILT_IN_ROLES.values(), ids=BUILT_IN_ROLES)
def test_a_role_runs_what_its_permissions_cover(role: Any) -> None:
    world = World()
    for text in (*NOTHING_READ, *(f"{NODES[0]} {clause}" for clause in WITH_NODE)):
        needs = world.graph.statements.prepare(text, {}).needs
        may = all(decide(role.permissions, parse_permission(need)).allowed for need in needs)
        answer = world.send("/cypher", text, set(role.permissions), rehearse=True)
        assert answer.status == (200 if may else 403), text
        assert world.is_unchanged


class Passwords(Authenticator):
    """Takes the password of a Bolt client for the permissions of its caller, with blanks."""

    async def authenticate(self, headers: Headers) -> Caller:
        (password,) = [value.decode() for name, value in headers if name == b"x-api-key"]
        return Caller("ann", {"permissions": password.split()})


@pytest.mark.parametrize("missing", sorted(ALL))
def test_over_bolt_each_needed_permission_is_needed(missing: str) -> None:
    gate = Gate(Passwords(), ClaimedPermissions(), lambda _: None)
    with BoltWorld(MemoryStore(), gate) as world:
        with world.connect(auth=("ann", " ".join(sorted(ALL)))) as driver:
            driver.execute_query(START)
        before = read_state(world.store)
        with world.connect(auth=("ann", " ".join(sorted(ALL - {missing})))) as driver:
            for text in (*NOTHING_READ, *(f"{NODES[0]} {clause}" for clause in WITH_NODE)):
                if missing in world.graph.statements.prepare(text, {}).needs:
                    check_refused(driver, text)
        assert read_state(world.store) == before


def check_refused(driver: neo4j.Driver, text: str) -> None:
    with driver.session() as session:
        for run in (session.run, lambda text: session.execute_write(lambda tx: tx.run(text))):
            with pytest.raises(ClientError) as caught:
                run(text).consume()
            assert caught.value.code == "Neo.ClientError.Security.Forbidden", text
