"""The reference store keeps the storage contract."""

from __future__ import annotations

from pathlib import Path

from twinframe.settings import Section
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryGraph, MemoryStore, twinframe_graph_store
from twinframe.testing.storage_contract import GraphStoreContract


class TestMemoryStore(GraphStoreContract):
    def make_store(self, place: Path) -> GraphStore:
        graphs = self.__dict__.setdefault("graphs", {})
        return MemoryStore(graphs.setdefault(place, MemoryGraph()))


def test_the_hook_gives_a_store_of_its_own() -> None:
    first = twinframe_graph_store(settings=Section(), graph="default")
    second = twinframe_graph_store(settings=Section(), graph="default")
    assert isinstance(first, MemoryStore)
    assert first.session().read_instance() != second.session().read_instance()
