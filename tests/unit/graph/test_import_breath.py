"""An import beside others gives the interpreter back while it prepares; one alone never sleeps."""

from __future__ import annotations

import io

import pytest

from tests.unit.graph.conftest import World
from tests.unit.graph.test_importing import File, Importing
from twinframe.graph.portable import breath
from twinframe.graph.portable.importing import Importer
from twinframe.graph.portable.progress import BEGIN


def test_all_items_come_with_a_sleep_behind_each_32(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(breath.time, "sleep", slept.append)
    assert list(breath.breathe(range(100), 0.5)) == list(range(100))
    assert slept == [0.5] * 3
    assert list(breath.breathe(range(100), 0.0)) == list(range(100))
    assert len(slept) == 3


@pytest.mark.parametrize("pause", [0.0, 0.000_001])
def test_an_import_breathes_only_where_it_pauses_for_others(
    monkeypatch: pytest.MonkeyPatch, empty: World, pause: float
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(breath.time, "sleep", slept.append)
    file = File().models()
    file.section("Twins", *(file.twin(f"t{at}") for at in range(70)))
    file.section("Relationships", *(file.edge(f"t{at}", "r", "t69") for at in range(69)))
    importing = Importing(empty.store)
    importer = Importer(importing.context)
    progress = empty.do(importer.run(io.BytesIO(file.render()), BEGIN, pause))
    assert (progress.twins, progress.relationships) == (70, 69)
    # Parsed, read and judged: twins three times, relationships twice.
    assert slept == ([breath.BREATH_SECONDS] * 10 if pause else [])
