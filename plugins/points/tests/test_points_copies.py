"""Backups of points are whole, what is damaged is found, and a restore is all or nothing."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import apsw
import pytest

from tests.point_shelf import NOW, Shelf
from tests.waiting import join, start
from twinframe.errors import StorageBusy, StorageDamaged
from twinframe.storage.points import Points, SeriesPart
from twinframe_points import copies
from twinframe_points.settings import PointsSettings

START = NOW // 86_400 * 86_400_000_000


@pytest.fixture
def storage() -> str:
    """Backups are of files; those of a database are its own."""
    return "sqlite"


def fill(shelf: Shelf, count: int, value: float = 0.0) -> None:
    points = Points()
    for at in range(count):
        points.add(f"room-{at % 5}", "t", START + at * 1_000_000, value + at % 7 / 4)
        points.add(f"room-{at % 5}", "state", START + at * 1_000_000, "on" if at % 3 else "off")
    shelf.store.write(points)


def walk(shelf: Shelf) -> list[SeriesPart]:
    return list(shelf.store.walk(100))


def test_a_backup_taken_while_points_are_written_has_all_that_was_acknowledged(
    tmp_path: Path,
) -> None:
    shelf = Shelf(tmp_path / "beside", PointsSettings(keep_days=0))
    written, stop = [0], threading.Event()

    def write() -> None:
        while not stop.is_set():
            points = Points()
            points.add("w", "t", START + written[0], float(written[0]))
            shelf.store.write(points)
            written[0] += 1
            shelf.store.run_upkeep()

    thread = start(write)
    try:
        backups = []
        for number in range(5):
            known, target = written[0], tmp_path / f"copy-{number}.points"
            shelf.store.back_up(target)
            backups.append((known, target))
    finally:
        stop.set()
        join(thread)
    for known, target in backups:
        other = Shelf(tmp_path / f"of-{target.stem}")
        other.store.restore(target, 1)
        found = other.store.read_points(("w", "t"), 0, 2**60, 1_000_000)
        assert [int(value) for _, value in found] == list(range(len(found)))
        assert len(found) >= known
        assert list(other.store.verify()) == []
        other.store.close()
    shelf.store.close()


def test_a_restored_store_has_the_points_of_the_backup_alone(shelf: Shelf, tmp_path: Path) -> None:
    fill(shelf, 3000)
    shelf.drain()
    fill(shelf, 200, 3.0)
    wanted, target = walk(shelf), tmp_path / "copy"
    shelf.store.back_up(target)
    fill(shelf, 3000, 9.0)
    other = Points()
    other.add("new", "t", START, 1.0)
    shelf.store.write(other)
    shelf.store.restore(target, 1)
    assert walk(shelf) == wanted
    shelf.store.write(other)  # its old id is that of no series now
    assert list(shelf.store.read_points(("new", "t"), 0, 2**60, 10)) == [(START, 1.0)]
    shelf.drain()
    assert list(shelf.store.verify()) == []


def test_a_store_that_is_open_elsewhere_is_not_replaced(shelf: Shelf, tmp_path: Path) -> None:
    fill(shelf, 10)
    shelf.store.back_up(tmp_path / "copy")
    other = shelf.open()
    with pytest.raises(StorageBusy, match="other processes have it open"):
        other.restore(tmp_path / "copy", 0.01)
    other.close()
    assert len(walk(shelf)) == 10


def test_a_damaged_backup_is_refused_and_changes_nothing(shelf: Shelf, tmp_path: Path) -> None:
    fill(shelf, 300)
    target = tmp_path / "copy"
    shelf.store.back_up(target)
    fill(shelf, 10, 5.0)
    wanted, whole = walk(shelf), target.read_bytes()
    cases = {
        "another byte": whole[:50_000] + bytes([whole[50_000] ^ 1]) + whole[50_001:],
        "cut": whole[:-40_000],
        "no seal, no database": b"x" * 4096,
        "empty": b"",
    }
    for name, content in cases.items():
        target.write_bytes(content)
        with pytest.raises(StorageDamaged):
            shelf.store.restore(target, 1)
        assert walk(shelf) == wanted, name
    assert sorted(path.name for path in shelf.directory.iterdir() if "draft" in path.name) == []


@pytest.mark.parametrize("step", ["_prepare", "sync", "rename_durably"])
def test_an_interrupted_restore_leaves_the_old_points(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    fill(shelf, 300)
    shelf.store.back_up(tmp_path / "copy")
    fill(shelf, 10, 5.0)
    wanted = walk(shelf)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(copies, step, stop)
        with pytest.raises(KeyboardInterrupt):
            shelf.store.restore(tmp_path / "copy", 1)
    assert walk(shelf) == wanted


@pytest.mark.parametrize("table", ["block", "fresh"])
def test_verify_finds_each_flipped_bit_that_changes_a_point(shelf: Shelf, table: str) -> None:
    fill(shelf, 1000)
    shelf.drain()
    fill(shelf, 400, 3.0)
    wanted, unchanged = walk(shelf), 0
    path = shelf.directory / "points.db"
    shelf.restart()
    connection = apsw.Connection(str(path))
    row, body = connection.execute(f"SELECT id, body FROM {table}").fetchone()
    chosen = random.Random(5)
    for at in {*range(80), *(chosen.randrange(len(body)) for _ in range(40))}:
        flipped = bytearray(body)
        flipped[at] ^= 1 << chosen.randrange(8)
        connection.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (bytes(flipped), row))
        if not shelf.store.verify():
            assert walk(shelf) == wanted, at
            unchanged += 1
    assert unchanged <= 5  # bits that only fill a byte up
    connection.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (body, row))
    assert list(shelf.store.verify()) == []
    connection.execute("DELETE FROM series WHERE id = 1")
    assert "which is not there" in shelf.store.verify()[0]
    connection.close()


def test_verify_finds_a_damaged_page(shelf: Shelf) -> None:
    fill(shelf, 5000)
    shelf.drain()
    shelf.restart()
    path = shelf.directory / "points.db"
    with path.open("r+b") as file:
        file.seek(2 * 32 * 1024)
        file.write(b"\xff" * 512)
    assert shelf.store.verify()
