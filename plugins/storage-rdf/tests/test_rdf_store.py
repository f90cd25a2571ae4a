"""The RDF store keeps the storage contract on each engine inside one process."""

from __future__ import annotations

from pathlib import Path

from twinframe.storage.base import GraphStore
from twinframe.testing.storage_contract import GraphStoreContract
from twinframe_storage_rdf.engine import Engine
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.engines.rdflib_engine import RdflibEngine
from twinframe_storage_rdf.mapping import GraphNames
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
