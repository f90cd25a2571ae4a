"""The tenants' world, over each store of control records."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.control.tenants.access_world import STORES, World, build_store


@pytest.fixture(params=STORES)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """A control plane with the organization `acme` and the project `campus`."""
    world = World(build_store(request.param, tmp_path))
    world.start()
    yield world
    world.close()
