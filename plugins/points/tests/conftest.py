"""Point stores in places of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.point_shelf import Shelf
from tests.storages import choose


@pytest.fixture(params=choose("sqlite", "postgres"))
def storage(request: pytest.FixtureRequest) -> str:
    """Where points are: in a file, or in the database of the graph."""
    return str(request.param)


@pytest.fixture
def shelf(tmp_path: Path, storage: str) -> Iterator[Shelf]:
    """An empty store."""
    shelf = Shelf(tmp_path / "beside", storage=storage)
    yield shelf
    shelf.store.close()


@pytest.fixture
def file_shelf(tmp_path: Path) -> Iterator[Shelf]:
    """An empty store in a file."""
    shelf = Shelf(tmp_path / "beside")
    yield shelf
    shelf.store.close()
