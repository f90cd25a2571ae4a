"""The RDF store keeps the storage contract on each engine inside one process."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from twinframe.storage.base import ChangeKind, GraphStore, OutboxEvent
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_rdf.differences import Differences, parse_differences, render_differences
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames, build_event_triples, read_event
from twinframe_storage_rdf.store import RdfStore


class TestOxigraphInMemory(GraphStoreContract):
    def make_store(self, place: Path) -> GraphStore:
        engines: dict[Path, Engine] = self.__dict__.setdefault("engines", {})
        engine = engines.setdefault(place, OxigraphEngine())
        return RdfStore(engine, GraphNames("default"), shared=False)


class TestRdflib(GraphStoreContract):
    def make_store(self, place: Path) -> GraphStore:
        engines: dict[Path, Engine] = self.__dict__.setdefault("engines", {})
        engine = engines.setdefault(place, RdflibEngine())
        return RdfStore(engine, GraphNames("default"), shared=False)


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        (["a", "{}"], OutboxEvent("a", b"{}", None)),
        (["a", "x", 3, ""], OutboxEvent("a", b"x", ChangeKind.TWIN_DELETED)),
        (["a", "x", 5, "r"], OutboxEvent("a", b"x", ChangeKind.RELATIONSHIP_UPDATED, "r")),
    ],
)
def test_an_event_is_read_as_it_was_stored_and_gives_the_same_triple(
    fields: list[object], event: OutboxEvent
) -> None:
    """Of an earlier release too: else its triple would not be found when it is deleted."""
    text = orjson.dumps(fields)
    assert read_event(text) == event
    (_, _, again), *_ = build_event_triples(1, event)
    assert again == text
    undone = Differences(events={1: event, 2: None})
    assert parse_differences(render_differences(undone)) == undone
