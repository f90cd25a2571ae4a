"""Power loss: what was not synced is gone or torn; everything acknowledged is there all the same.

An image of the store is taken just before a write syncs the log, or just after it was acknowledged:
of each log it has what was synced and any part of the rest. The library itself syncs its other
files. `make test-rdf-crash` takes 600 images; some here.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from twinframe.storage.base import GraphStore
from twinframe.testing.contracts.base import reading, run
from twinframe_storage_rdf.building import build_store
from twinframe_storage_rdf.engines import oxigraph
from twinframe_storage_rdf.settings import RdfSettings

IMAGES = 2 * int(os.environ.get("TWINFRAME_ROUNDS", "15"))
# Each image is opened and read whole, which takes longer the more was written before it.
MOST_OF_A_DISK = 150
COUNTING: dict[str, Any] = run_path(str(Path(__file__).with_name("counting_worker.py")))


class Disk:
    """A store whose directory loses power now and then; `is_honest` says that a sync is one."""

    def __init__(self, place: Path, *, is_honest: bool, images: int) -> None:
        self.place, self.is_honest, self.left = place, is_honest, images
        self.synced: dict[str, int] = {}
        self.acknowledged = 0
        self.found: list[tuple[int, int]] = []
        self.dice = random.Random(f"{place.name} {images}")
        self.real = os.fdatasync

    def sync(self, handle: int) -> None:
        """In the place of `fdatasync`."""
        if self.dice.random() < 0.2:
            self.lose_power()
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
        if self.is_honest:
            self.real(handle)
            self.synced[path] = os.fstat(handle).st_size

    def _copy(self, image: Path) -> None:
        """Copy the directory; anew when the library added or removed a file of it meanwhile.

        A copy takes a while: what its threads write in the middle of one would be a list of files
        with names that the copy has not, as no disk ever has it.
        """
        for _ in range(50):
            before = self._list_files()
            try:
                shutil.copytree(self.place, image)
            except shutil.Error as error:
                if not all("No such file" in str(each[2]) for each in error.args[0]):
                    raise
            else:
                if self._list_files() == before:
                    return
            shutil.rmtree(image)
        raise AssertionError("the directory never stood still")

    def _list_files(self) -> dict[str, int]:
        """The files and their bytes, but for what the library says of itself in `LOG`."""
        files = (self.place / "default" / "store").iterdir()
        return {file.name: _size_of(file) for file in files if not file.name.startswith("LOG")}

    def lose_power(self) -> None:
        """Open what would be on the disk, and note what was acknowledged and what is there."""
        if self.left <= 0:
            return
        self.left -= 1
        image = self.place.with_name("image")
        self._copy(image)
        for log in image.glob("default/store/*.log"):
            original = str(self.place / log.relative_to(image))
            kept = self.synced.get(original, 0)
            content = log.read_bytes()
            torn = content[kept : kept + self.dice.randrange(len(content) - kept + 1)]
            if torn and self.dice.random() < 0.5:
                torn = torn[:-1] + bytes([torn[-1] ^ 1])
            log.write_bytes(content[:kept] + torn)
        self.found.append((self.acknowledged, read_whole_count(image)))
        shutil.rmtree(image)


def _size_of(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return -1


def open_store(place: Path) -> GraphStore:
    """The store of the service itself, without a store process: it is the same engine."""
    store = build_store(RdfSettings(directory=str(place), in_process=True), "default")
    store.open()
    return store


def read_whole_count(place: Path) -> int:
    """The count in the store, the same in all places where it stands."""
    store = open_store(place)
    with reading(store) as session:
        counts = {COUNTING["read_count"](session, twin) for twin in ("a", "a-mirror", "shared")}
        counts.add(int(session.read_entry("count", "a") or b"0"))
        counts.add(session.read_event_bounds()[1])
        rows = session.read_events(after=0, limit=100_000)
        assert [int(event.body) for _, event in rows] == list(range(1, max(counts) + 1))
    assert len(counts) == 1, f"torn: {counts}"
    store.close()
    return counts.pop()


def lose_power_often(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count up until all images are taken; the store is there, and flushed, before the first."""
    count_up: Callable[..., int] = COUNTING["count_up"]
    store = open_store(disk.place)
    run(store, lambda transaction: count_up(transaction, "a"))
    store.close()
    store = open_store(disk.place)
    for log in disk.place.glob("default/store/*.log"):
        disk.synced[str(log)] = log.stat().st_size
    disk.acknowledged = 1
    monkeypatch.setattr(oxigraph.os, "fdatasync", disk.sync)
    while disk.left > 0:
        disk.acknowledged = run(store, lambda transaction: count_up(transaction, "a"))
        if disk.dice.random() < 0.1:
            disk.lose_power()
    monkeypatch.undo()
    store.close()


@pytest.mark.timeout(300 + 5 * IMAGES)
def test_nothing_acknowledged_is_lost_with_the_power(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Callable[[str, object], None],
) -> None:
    found: list[tuple[int, int]] = []
    for start in range(0, IMAGES, MOST_OF_A_DISK):
        most = min(MOST_OF_A_DISK, IMAGES - start)
        disk = Disk(tmp_path / f"disk-{start}", is_honest=True, images=most)
        lose_power_often(disk, monkeypatch)
        found += disk.found
    assert len(found) == IMAGES
    lost = [pair for pair in found if not pair[0] <= pair[1] <= pair[0] + 1]
    assert lost == []
    record_property("images", len(found))
    print(f"{IMAGES} images, none lost, none torn")


def test_without_the_sync_it_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test can fail: a disk that does not sync loses nearly always."""
    disk = Disk(tmp_path / "disk", is_honest=False, images=12)
    lose_power_often(disk, monkeypatch)
    assert sum(there < acknowledged for acknowledged, there in disk.found) > 6
