"""A graph with the models of a small building, over each store that is installed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
import pytest

from tests.postgres.server import build_prefix, share_server
from tests.storages import choose, require
from tests.unit.graph.inline_runner import InlineRunner
from twinframe.graph import Graph
from twinframe.model.clock import render_update_time
from twinframe.model.etags import parse_condition
from twinframe.query.engine import QueryEngine
from twinframe.settings import Settings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

T = TypeVar("T")
START = 1_706_702_400_000_000_000


class World:
    """A graph, its store, and a clock that moves on by a second each time it is read."""

    def __init__(self, store: GraphStore, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self._seconds = itertools.count()
        self.now = START
        engine = find_engine(store)
        self.graph = Graph(
            InlineRunner(store),
            settings,
            engine=engine,
            clock=self.read_clock,
            scratch=store.scratch,
        )

    def read_clock(self) -> int:
        self.now = START + next(self._seconds) * 1_000_000_000
        return self.now

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(coroutine)

    def stamp(self) -> str:
        """The time that the last write gave."""
        return render_update_time(self.now)

    def put(self, twin_id: str, model: str = ROOM, **members: Any) -> dict[str, Any]:
        stored = self.do(self.graph.twins.put_twin(twin_id, build_twin_document(model, **members)))
        return self.load(stored.body)

    def read(self, twin_id: str) -> dict[str, Any]:
        stored = self.do(self.graph.twins.read_twin(twin_id))
        document = self.load(stored.body)
        assert document["$etag"] == stored.etag
        return document

    def patch(self, twin_id: str, *operations: Any, if_match: str | None = None) -> dict[str, Any]:
        etag = self.do(
            self.graph.twins.patch_twin(twin_id, list(operations), parse_condition(if_match))
        )
        document = self.read(twin_id)
        assert document["$etag"] == etag
        return document

    def relate(
        self, source: str, relationship_id: str, target: str, name: str = "relatedTo", **more: Any
    ) -> dict[str, Any]:
        body = {"$relationshipName": name, "$targetId": target, **more}
        return self.load(
            self.do(self.graph.relationships.put_relationship(source, relationship_id, body)).body
        )

    @staticmethod
    def load(body: bytes) -> dict[str, Any]:
        return cast("dict[str, Any]", orjson.loads(body))


def build_sqlite(place: Path, **more: Any) -> GraphStore:
    """A SQLite store, imported by name: the core's tests may run without the plugin."""
    reason = "pip install twinframe-storage-sqlite to run the use cases over SQLite"
    pytest.importorskip("twinframe_storage_sqlite", reason=reason)
    plugin = import_module("twinframe_storage_sqlite.plugin")
    settings = plugin.twinframe_settings()(directory=str(place), **more)
    return cast("GraphStore", plugin.twinframe_graph_store(settings, "graph"))


def build_rdf(engine: str, place: Path | None) -> GraphStore:
    """A store of triples, in memory or on disk; imported by name like the other."""
    require(engine)
    plugin = import_module("twinframe_storage_rdf.plugin")
    directory = "" if place is None else str(place)
    settings = plugin.twinframe_settings()(engine=engine, directory=directory, idle_seconds=0.5)
    return cast("GraphStore", plugin.twinframe_graph_store(settings, "graph"))


def build_postgres(place: Path) -> GraphStore:
    """A store in a schema of the server of this process; imported by name like the others."""
    require("postgres")
    plugin = import_module("twinframe_storage_postgres.plugin")
    section = plugin.twinframe_settings()
    settings = section(url=share_server(), schema_=build_prefix(place), directory=str(place))
    return cast("GraphStore", plugin.twinframe_graph_store(settings, "graph", ""))


def find_engine(store: GraphStore) -> QueryEngine | None:
    """The engine that comes with the store."""
    if isinstance(store, MemoryStore):
        return None
    package = type(store).__module__.partition(".")[0]
    plugin = import_module(f"{package}.plugin")
    return cast("QueryEngine | None", plugin.twinframe_query_engine(store))


@pytest.fixture
def triples_on_disk() -> bool:
    """Whether triples are kept by a store process: slower to begin, but it can be stopped."""
    return False


@pytest.fixture(params=choose("memory", "sqlite"))
def store(
    request: pytest.FixtureRequest, tmp_path: Path, triples_on_disk: bool
) -> Iterator[GraphStore]:
    """An open, empty store, sound at the end."""
    store: GraphStore = MemoryStore()
    if request.param == "sqlite":
        store = build_sqlite(tmp_path)
    elif request.param == "postgres":
        store = build_postgres(tmp_path)
    elif request.param != "memory":
        store = build_rdf(request.param, tmp_path if triples_on_disk else None)
    store.scratch = tmp_path / "results"
    store.open()
    yield store
    assert list(store.verify()) == []
    store.close()


@pytest.fixture
def empty(store: GraphStore) -> World:
    """A graph without models."""
    return World(store, Settings())


@pytest.fixture
def world(empty: World) -> World:
    """A graph with the building's models."""
    empty.do(empty.graph.models.create_models(cast("Any", build_building_interfaces())))
    return empty
