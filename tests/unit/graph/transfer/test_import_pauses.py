"""An import beside others gives the interpreter back while it prepares; one alone never sleeps."""

from __future__ import annotations

import io

import pytest

from tests.unit.graph.conftest import World
from tests.unit.graph.transfer.test_importing import File, Importing
from twinframe.graph.transfer import lines
from twinframe.graph.transfer.importing import Importer
from twinframe.graph.transfer.progress import BEGIN


def test_all_items_come_with_a_sleep_behind_each_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(lines.time, "sleep", slept.append)
    assert list(lines.pause_for_writers(range(100), 32, 0.5)) == list(range(100))
    assert slept == [0.5] * 3
    assert list(lines.pause_for_writers(range(100), 32, 0.0)) == list(range(100))
    assert len(slept) == 3


@pytest.mark.parametrize("pause", [0.0, 0.000_001])
def test_an_import_breathes_only_where_it_pauses_for_others(
    monkeypatch: pytest.MonkeyPatch, empty: World, pause: float
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(lines.time, "sleep", slept.append)
    file = File().models()
    file.section("Twins", *(file.twin(f"t{at}") for at in range(140)))
    file.section("Relationships", *(file.edge(f"t{at}", "r", "t139") for at in range(139)))
    importing = Importing(empty.store)
    importer = Importer(importing.context)
    progress = empty.do(importer.run(io.BytesIO(file.render()), BEGIN, pause))
    assert (progress.twins, progress.relationships) == (140, 139)
    # The models behind their one piece. Each of the five chunks when it was parsed, each of the
    # three that are looked at when it was rendered, and the two of a hundred lines inside.
    assert slept == ([lines.PAUSE_SECONDS] * 11 if pause else [])
