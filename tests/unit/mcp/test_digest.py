"""The digest: within its budget whatever the graph, the most important kept, equal for equals."""

from __future__ import annotations

import gzip
import random
from typing import Any

import orjson
import pytest

from tests.shared import find_shared
from tests.unit.graph.conftest import World
from tests.unit.mcp.conftest import Assistant, run
from twinframe.graph.models.outlines import Outlines
from twinframe.graph.queries.overview import Counts, RelationshipCount
from twinframe.mcp.digest import DigestBuilder
from twinframe.settings import Settings
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import build_interface, build_property


@pytest.fixture(scope="module")
def ontology() -> Any:
    """A graph with the 767 interfaces of RealEstateCore, without twins."""
    path = find_shared("TWINFRAME_REC_MODELS", "data/rec-building-models.jsonl.gz")
    documents = [orjson.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    store = MemoryStore()
    store.open()
    world = World(store, Settings())
    run(world.graph.models.create_models(documents))
    return world


def invent_counts(outlines: Outlines) -> Counts:
    """Twins of 300 interfaces, and relationships as their models define them."""
    dice = random.Random(7)
    twins = {one: dice.randrange(1, 1000) for one in dice.sample([*outlines.interfaces], 300)}
    found = [
        RelationshipCount(source, relationship.name, target, dice.randrange(1, 500))
        for source in twins
        for outline, _ in outlines.list_contents(source)
        for relationship in outline.relationships
        for target in dice.sample([*twins], 2)
    ]
    return Counts(twins, tuple(found), 0.0, 0.0)


@pytest.mark.parametrize("tokens", [300, 500, 1500, 4000, 20_000])
@pytest.mark.parametrize("focus", [frozenset[str](), frozenset(["Room", "Sensor"])])
def test_a_digest_keeps_to_its_budget_and_says_what_is_missing(
    ontology: Any, tokens: int, focus: frozenset[str]
) -> None:
    outlines = run(ontology.graph.overview.read_outlines())
    counts = invent_counts(outlines)
    digest = DigestBuilder(outlines, counts, focus).build(tokens)
    assert len(digest.text.encode()) <= tokens * 4
    shown, all_ = digest.interfaces
    assert 0 < shown <= all_
    assert f"Not shown: {all_ - shown} interfaces" in digest.text or digest.complete
    again = DigestBuilder(outlines, counts, focus).build(tokens)
    assert again == digest


def test_more_budget_shows_more(ontology: Any) -> None:
    outlines = run(ontology.graph.overview.read_outlines())
    builder = DigestBuilder(outlines, invent_counts(outlines))
    sizes = [builder.build(tokens) for tokens in (300, 1000, 3000, 10_000)]
    assert sizes == sorted(sizes, key=lambda one: (one.interfaces, one.relationships))
    assert "Relationships by name:" in sizes[1].text


def test_every_interface_of_a_large_ontology_is_outlined(ontology: Any) -> None:
    outlines = run(ontology.graph.overview.read_outlines())
    assert len(outlines.interfaces) == 767
    assistant = Assistant(ontology)
    text = assistant.ask("describe_graph", max_tokens=800)["digest"]
    assert "767 stored" in text
    assert len(text.encode()) <= 3200
    found = assistant.ask("search_models", search_text="co2 level sensor", limit=5)
    assert len(found["models"]) == 5
    near = assistant.ask("describe_graph", model_filter=["AirHandlingUnit"])
    assert "AirHandlingUnit" in near["digest"]


def test_counts_of_subtypes_are_summed_and_ends_of_one_kind_are_named_by_it(world: Any) -> None:
    world.relate("room-1", "to-house", "house", "relatedTo")
    world.relate("room-1", "to-floor", "floor-1", "relatedTo")
    text = Assistant(world).ask("describe_graph")["digest"]
    # All kinds of spaces with twins: Building and Floor are named, Room is not among them.
    assert "Room -relatedTo-> Building|Floor 2" in text
    assert "Space 6" in text
    world.relate("room-1", "to-room", "room-2", "relatedTo")
    assert "Room -relatedTo-> Space 3" in Assistant(world).ask("describe_graph")["digest"]


def test_the_examples_are_queries_that_find_something(world: Any) -> None:
    assistant = Assistant(world)
    examples = assistant.ask("describe_graph")["digest"].partition("Examples:\n")[2].splitlines()
    queries = [line for line in examples if line.startswith("MATCH ")]
    assert len(queries) == 2
    for query in queries:
        told = assistant.ask("query_digital_twins", query=query)
        assert told["rows"], query
        assert "warnings" not in told


def test_names_that_are_not_unique_stand_with_their_ids(world: Any) -> None:
    other = "dtmi:org:other:Room;1"
    run(
        world.graph.models.create_models(
            [
                build_interface(
                    other,
                    [
                        build_property("odd", "string"),
                        {"@type": "Relationship", "name": "next"},
                    ],
                )
            ]
        )
    )
    world.put("o1", other)
    world.put("o2", other)
    world.relate("o1", "n", "o2", "next")
    assistant = Assistant(world)
    text = assistant.ask("describe_graph")["digest"]
    assert f"`{other}` -next-> `{other}` 1" in text
    query = next(line for line in text.splitlines() if ":next]" in line)
    assert assistant.ask("query_digital_twins", query=query)["row_count"] == 1


def test_an_empty_graph_is_described_too(store: Any) -> None:
    assistant = Assistant(World(store, Settings()))
    told = assistant.ask("describe_graph")
    assert told["digest"].startswith("0 twins of 0 interfaces (0 stored), 0 relationships.")
    assert not told["truncated"]


def test_counts_that_took_long_are_kept_for_a_while(world: Any) -> None:
    overview = world.graph.overview
    first = run(overview.count())
    assert run(overview.count()) is not first
    slow = Counts(first.twins, first.relationships, first.moment + 1000, 10.0)
    overview._counts = slow
    assert run(overview.count()) is slow


def test_a_graph_of_models_alone_shows_what_most_extend_and_what_may_be_related(
    ontology: Any,
) -> None:
    text = Assistant(ontology).ask("describe_graph")["digest"]
    lines = text.partition("Interfaces (twins with subtypes):\n")[2].split("\n")
    first = [line.split(" ")[0] for line in lines[:10]]
    assert {"Capability", "Asset", "Space", "Sensor"} <= set(first)
    assert "area.{grossArea, usableArea, rentableArea}" in text  # not names of interfaces alone
    assert "temperature.{temperatureSensor, temperatureSetpoint, temperatureDelta}" in text
    assert "dwellTime" not in text  # of a component with many members the first ones
    assert "Relationships that models define (none occurs yet):" in text
    assert "Space -hasPart-> Space" in text
    narrow = Assistant(ontology).ask("describe_graph", model_filter=["Room"])["digest"]
    assert "(twins with subtypes):\nRoom 0 extends Space" in narrow


def test_relationships_that_occur_stand_for_those_that_are_defined(world: Any) -> None:
    assert "that models define" not in Assistant(world).ask("describe_graph")["digest"]
