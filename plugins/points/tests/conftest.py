"""Point stores in directories of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.point_shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    """An empty store."""
    shelf = Shelf(tmp_path / "beside")
    yield shelf
    shelf.store.close()
