"""One Bolt server for each storage, whose graph is empty before each test."""

from __future__ import annotations

from collections.abc import Iterator

import neo4j
import pytest

from tests.storages import choose
from tests.unit.bolt.world import BoltWorld, build_store


@pytest.fixture(scope="session", params=choose("memory", "sqlite", "rdflib"))
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BoltWorld]:
    """A server with short limits of time for transactions."""
    store = build_store(request.param, tmp_path_factory.mktemp("bolt"))
    with BoltWorld(store) as world:
        yield world


@pytest.fixture
def world(served: BoltWorld) -> BoltWorld:
    """The server, over an empty graph."""
    served.clear()
    return served


@pytest.fixture
def driver(world: BoltWorld) -> Iterator[neo4j.Driver]:
    """The official driver."""
    with world.connect() as driver:
        yield driver
