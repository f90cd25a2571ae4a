"""What came of the messages of sources, over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.unit.graph.inline_runner import InlineRunner
from tests.unit.http.test_events import World, call
from twinframe.graph import Graph
from twinframe.graph.ingestion.standing import Refusal, Standing
from twinframe.hooks.sources.base import SourceMessage
from twinframe.http.application import build_application
from twinframe.settings import Settings

SETTINGS = Settings.model_validate({"ingestion": {"sources": {"a": {}, "b": {}}}})


def build_world(**options: Any) -> World:
    world = World()
    world.graph = Graph(InlineRunner(world.store), SETTINGS, **options)
    world.app = build_application(world.graph, SETTINGS)
    return world


def test_each_source_is_listed_with_its_counts_and_dead_letters(connect: Any) -> None:
    world = build_world()
    standing = Standing(since="2026", messages=3, points=1, properties=2, error="It is away.")
    standing.matched["rooms/{twin}"] = 2
    message = SourceMessage("rooms/x", b"\x00{\xff" + b"x" * 1000)
    standing.add_letters([(message, Refusal("PayloadInvalid", "not JSON"))], "now", 5)
    asyncio.run(
        InlineRunner(world.store).write(lambda transaction: standing.write(transaction, "a"))
    )
    first, second = call(world, connect, "GET", "/ingestion").json["value"]
    letter = first.pop("deadLetters")[0]
    assert first == {
        "name": "a",
        "since": "2026",
        "error": "It is away.",
        "messages": 3,
        "points": 1,
        "properties": 2,
        "stale": 0,
        "refused": {"PayloadInvalid": 1},
        "matched": {"rooms/{twin}": 2},
    }
    assert letter.pop("payload") == "\ufffd{\ufffd" + "x" * 509
    assert letter == {
        "time": "now",
        "topic": "rooms/x",
        "reason": "PayloadInvalid",
        "message": "not JSON",
    }
    assert (second["name"], second["since"], second["messages"]) == ("b", None, 0)
    assert call(world, connect, "GET", "/ingestion?x=1").status == 400


def test_a_hosted_graph_shows_no_sources_of_the_service(connect: Any) -> None:
    world = build_world(host="graph.example")
    assert call(world, connect, "GET", "/ingestion").json == {"value": []}
