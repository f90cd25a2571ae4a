"""An open graph with some models, in both forms, in memory and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import twinframe
from tests.unit.library.worlds import MODELS, Awaited

OPEN: dict[str, Any] = {"waiting": twinframe.open, "awaiting": Awaited}


@pytest.fixture(params=["waiting-memory", "awaiting-file"])
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A graph with the models of `worlds`."""
    form, place = request.param.split("-")
    opened: Any = OPEN[form](tmp_path / "graph.db" if place == "file" else None)
    try:
        opened.create_models(MODELS)
        yield opened
    finally:
        opened.close()
