"""Procedures of plugins over each storage: the page on procedures is run by its own tests."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tests.plugin_example.twinframe_reach.plugin import twinframe_procedures
from tests.unit.graph.conftest import World, find_engine
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.errors import QueryInvalid
from twinframe.graph import Graph
from twinframe.model.rendering import build_json

CHAIN = (
    "MATCH (n:Room) WITH n ORDER BY n.`$dtId` WITH collect(n) AS all "
    "CALL acme.chain(all, 'relatedTo') YIELD relationship AS r "
)
REACH = (
    "MATCH (s {`$dtId`: 'r0'}) CALL acme.reachable(s, 'relatedTo', 5) YIELD node, distance "
    "RETURN node.`$dtId` AS id, distance"
)


@pytest.fixture
def graph(world: World) -> Graph:
    """The graph with procedures, and three rooms."""
    for number in range(3):
        world.put(f"r{number}")
    return Graph(
        InlineRunner(world.store),
        world.settings,
        engine=find_engine(world.store),
        clock=world.read_clock,
        scratch=world.store.scratch,
        procedures=twinframe_procedures(),
    )


def ask(graph: Graph, text: str) -> list[list[Any]]:
    statements = graph.statements
    found = asyncio.run(statements.run(statements.prepare(text, {})))
    return [[build_json(one) for one in row] for row in found.rows]


def test_clauses_see_what_a_procedure_wrote(graph: Graph) -> None:
    text = f"{CHAIN}WITH count(r) AS made MATCH (:Room)-[r:relatedTo]->() RETURN made, count(r)"
    assert ask(graph, text) == [[2, 2]]
    assert ask(graph, f"CREATE (n:Floor) WITH n {REACH}") == [["r1", 1], ["r2", 2]]
    page = asyncio.run(graph.queries.run(REACH, {}))
    rows = [orjson.loads(row) for row in page.rows]
    assert rows == [{"id": "r1", "distance": 1}, {"id": "r2", "distance": 2}]


def test_nothing_of_a_call_is_kept_where_the_statement_fails(graph: Graph) -> None:
    with pytest.raises(QueryInvalid):
        ask(graph, f"{CHAIN}WITH r.`$relationshipId` AS one RETURN toInteger([one])")
    assert ask(graph, "MATCH ()-[r]->() RETURN count(r)") == [[0]]
