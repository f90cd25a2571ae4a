"""Upkeep loses nothing that is due to stay, also when it is killed or overtaken."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.forks import CODE
from tests.point_shelf import DAY, NOW, Shelf
from tests.waiting import PATIENCE, Threads
from twinframe.errors import LimitExceeded, StorageDamaged, StorageError, StorageFull
from twinframe.storage.points import Points, Window
from twinframe_points import compaction
from twinframe_points.compaction import Overtaken
from twinframe_points.file import PointsFile
from twinframe_points.keeper import Keeper
from twinframe_points.settings import PointsSettings
from twinframe_points.store import FilePointStore

START = (NOW // 86_400 - 1) * DAY
KEY = ("room-1", "temperature")


def build(times: Any, value: float = 0.0, twins: int = 1) -> Points:
    points = Points()
    for at in times:
        for twin in range(1, twins + 1):
            points.add(f"room-{twin}", "temperature", START + at, value + at % 100 / 4)
    return points


def read(shelf: Shelf, key: tuple[str, str] = KEY) -> list[tuple[int, Any]]:
    return list(shelf.store.read_points(key, 0, START + 10 * DAY, 1_000_000))


def list_kinds(shelf: Shelf) -> tuple[int, int]:
    """Return the rows of fresh points and the blocks."""
    with shelf.store._tables.reading() as session:
        fresh, blocks = (
            session.read(f"SELECT count(*) FROM {table}")[0][0] for table in ("@fresh", "@block")
        )
    return fresh, blocks


def test_many_small_writes_become_few_rows_and_then_blocks(shelf: Shelf) -> None:
    for at in range(200):
        shelf.store.write(build([at * 1_000_000], twins=3))
        shelf.keep_up()
    fresh, blocks = list_kinds(shelf)
    assert fresh <= 40
    shelf.drain()
    assert list_kinds(shelf) == (0, 3)
    assert len(read(shelf)) == 200
    assert blocks <= 3


def test_an_interrupted_drain_changes_no_answer_and_is_done_again(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf.store.write(build(range(0, 300_000_000, 1_000_000), twins=4))
    shelf.drain()
    shelf.store.write(build(range(500_000, 300_000_000, 1_500_000), 7.0, twins=4))
    wanted = [read(shelf, (f"room-{twin}", "temperature")) for twin in range(1, 5)]
    monkeypatch.setattr(compaction, "_GROUP_SERIES", 1)
    written = compaction._write_group
    calls = 0

    def stop(*arguments: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Overtaken
        written(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "_write_group", stop)
        shelf.now += 1000
        shelf.store.run_upkeep()
    assert list_kinds(shelf)[0] == 1  # the fresh row is still there, beside two newer blocks
    assert [read(shelf, (f"room-{twin}", "temperature")) for twin in range(1, 5)] == wanted
    shelf.store.write(build([0], 99.0))
    shelf.drain()
    assert list_kinds(shelf) == (0, 4)
    wanted[0][0] = (START, 99.0)
    assert [read(shelf, (f"room-{twin}", "temperature")) for twin in range(1, 5)] == wanted


def test_two_stores_that_keep_up_the_same_file_lose_nothing(shelf: Shelf) -> None:
    other = shelf.open()
    model: dict[int, float] = {}
    chosen = random.Random(7)
    try:
        for _ in range(120):
            at, value = chosen.randrange(50) * 1_000_000, float(chosen.randrange(100))
            store = chosen.choice((shelf.store, other))
            points = Points()
            points.add(*KEY, START + at, value)
            store.write(points)
            model[START + at] = value
            if chosen.random() < 0.3:
                shelf.now += 700
            for each in (shelf.store, other):
                if chosen.random() < 0.6:
                    each.run_upkeep()
            assert read(shelf) == sorted(model.items())
    finally:
        other.close()


def test_days_are_removed_by_age_and_by_bytes_and_others_stay(tmp_path: Path, storage: str) -> None:
    shelf = Shelf(tmp_path, PointsSettings(keep_days=5, keep_bytes=0), storage)
    first = shelf.now // 86_400
    points = Points()
    for day in range(first - 9, first + 1):
        for second in range(0, 3600, 10):
            points.add("a", "t", day * DAY + second * 1_000_000, float(day))
    points.add("gone", "t", (first - 9) * DAY, 1.0)
    shelf.store.write(points)
    shelf.drain()
    days = {time // DAY for time, _ in shelf.store.read_points(("a", "t"), 0, 2**60, 100_000)}
    assert days == set(range(first - 5, first + 1))
    assert shelf.store.list_paths("gone") == []
    shelf.store.close()
    shelf.settings = PointsSettings(keep_bytes=1)
    shelf.store = shelf.open()
    shelf.keep_up()
    assert list(shelf.store.read_points(("a", "t"), 0, 2**60, 10)) == []
    again = Points()
    again.add("gone", "t", first * DAY, 2.0)  # its id was forgotten
    shelf.store.write(again)
    assert list(shelf.store.read_points(("gone", "t"), 0, 2**60, 10)) == [(first * DAY, 2.0)]
    shelf.store.close()


def test_a_series_that_another_process_removed_gets_a_new_id(tmp_path: Path, storage: str) -> None:
    shelf = Shelf(tmp_path, PointsSettings(keep_days=1), storage)
    other = shelf.open()
    points = build([0])
    shelf.store.write(points)
    shelf.now += 10 * 86_400
    while other.run_upkeep():
        pass
    assert other.list_paths("room-1") == []
    late = Points()
    late.add(*KEY, shelf.now * 1_000_000, 3.0)
    shelf.store.write(late)  # its process still knew the old id
    assert list(other.read_points(KEY, 0, 2**60, 10)) == [(shelf.now * 1_000_000, 3.0)]
    other.close()
    shelf.store.close()


def test_points_of_realistic_noise_take_at_most_four_bytes(shelf: Shelf) -> None:
    chosen = random.Random(3)
    shelf.store.write(build([0]))
    shelf.drain()
    empty = measure(shelf)
    count = 0
    for twin in range(100):
        value = 21.0
        points = Points()
        for second in range(0, 86_400, 42):
            value += chosen.gauss(0, 0.05)
            jitter = chosen.randrange(400_000)
            points.add(f"r{twin}", "t", START + second * 1_000_000 + jitter, round(value, 2))
        shelf.store.write(points)
        count += len(points.times)
    shelf.drain()
    assert (measure(shelf) - empty) / count <= 4.0


def measure(shelf: Shelf) -> int:
    with shelf.store._tables.reading() as session:
        return shelf.store.measure_used(session)


def test_a_full_disk_refuses_the_write_and_keeps_what_is_there(file_shelf: Shelf) -> None:
    file_shelf.store.write(build([0]))
    connection = file_shelf.store._tables._writes[True].connection
    pages = connection.pragma("page_count")
    connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    chosen = random.Random(1)
    large = Points()
    for at in range(30_000):
        large.add(f"x{at}", "t", START + at, chosen.random())
    with pytest.raises(StorageFull):
        file_shelf.store.write(large)
    assert file_shelf.store.list_paths("x1") == []
    assert read(file_shelf) == [(START, 0.0)]
    connection.execute("PRAGMA max_page_count = 1000000").fetchall()
    file_shelf.store.write(large)
    assert len(file_shelf.store.read_points(("x7", "t"), 0, 2**60, 10)) == 1


def test_damaged_points_are_reported_as_such(shelf: Shelf) -> None:
    shelf.store.write(build(range(50)))
    with shelf.store._tables.writing() as session:
        session.run("UPDATE @fresh SET body = ?", (b"\1\1",))
    with pytest.raises(StorageDamaged, match="damaged"):
        read(shelf)


def test_much_of_a_window_is_read_in_pieces(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinframe_points.reading.MOST_POINTS", 3000)
    monkeypatch.setattr("twinframe_points.reading._SHORTEST", 1000)
    points = Points()
    times = [START + at * 7_000_000 for at in range(20_000)]
    for time_ in times:
        points.add(*KEY, time_, float(time_ % 11))
    shelf.store.write(points)
    shelf.drain()
    window = Window(START, START + 2 * DAY, DAY // 10)
    (buckets,) = shelf.store.read_buckets([KEY], window, ("count", "first", "last", "sum"))
    assert sum(buckets.columns[0]) == len(times)
    for start, first, last in zip(buckets.starts, *buckets.columns[1:3], strict=True):
        inside = [one for one in times if start <= one < start + window.every]
        assert (first, last) == (inside[0] % 11, inside[-1] % 11)
    assert [time_ for time_, _ in read(shelf)] == times


def test_several_that_open_a_new_file_at_once_wait_for_each_other(tmp_path: Path) -> None:
    everyone = threading.Barrier(4)

    def open_it(directory: Path) -> None:
        file = PointsFile(directory, PointsSettings())
        everyone.wait(PATIENCE)
        file.open().close()
        file.close()

    with Threads(4) as pool:
        for at in range(20):
            list(pool.map(open_it, [tmp_path / str(at)] * 4))


WRITER = """
import sys
from pathlib import Path
from twinframe.storage.points import Points
from twinframe_points.settings import PointsSettings
from twinframe_points.compaction import Overtaken
from twinframe_points.store import FilePointStore

now = [float(sys.argv[3])]
store = FilePointStore(Path(sys.argv[1]), PointsSettings(), lambda: now[0])
name, at = sys.argv[2], 0
while True:
    points = Points()
    for _ in range(50):
        points.add(name, "t", int(now[0]) // 86400 * 86400_000_000 + at % 4000, float(at))
        at += 1
    store.write(points)
    print(at, flush=True)
    now[0] += 90
    store.run_upkeep()
"""


def test_acknowledged_points_survive_a_kill_of_any_writer(tmp_path: Path) -> None:
    chosen = random.Random(11)
    acknowledged: dict[str, int] = {}
    for round_ in range(6):
        writers = []
        for worker in range(2):
            name = f"w{round_}-{worker}"
            arguments = [*CODE, WRITER, str(tmp_path), name, str(NOW)]
            writers.append((name, subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)))
        for name, writer in writers:
            assert writer.stdout is not None
            for _ in range(chosen.randrange(5, 60)):
                acknowledged[name] = int(writer.stdout.readline())
            os.kill(writer.pid, signal.SIGKILL)
        for name, writer in writers:
            assert writer.stdout is not None
            for line in writer.stdout.read().splitlines():
                acknowledged[name] = int(line)
            writer.stdout.close()
            writer.wait(PATIENCE)
    shelf = Shelf(tmp_path)
    for _ in range(2):
        for name, count in acknowledged.items():
            found = dict(shelf.store.read_points((name, "t"), 0, 2**60, 1_000_000))
            # NOTE: values rise; one that was written but not acknowledged may have replaced them.
            for moment, value in _list_last(count).items():
                assert found[moment] >= value, name
        shelf.drain()
    shelf.store.close()


def _list_last(count: int) -> dict[int, float]:
    """Return the points of a writer after so many, by time: the last one written at each."""
    now, found = float(NOW), {}
    for at in range(count):
        if at and at % 50 == 0:
            now += 90
        found[int(now) // 86_400 * 86_400_000_000 + at % 4000] = float(at)
    return found


def test_a_lower_limit_of_bytes_removes_the_oldest_days_and_a_higher_one_nothing(
    tmp_path: Path, storage: str
) -> None:
    shelf = Shelf(tmp_path, PointsSettings(keep_bytes=10**9), storage)
    chosen = random.Random(4)
    for day in range(5):
        points = Points()
        for at in range(20_000):
            moment = START - day * DAY + at * 1_000_000
            points.add(f"x{at % 20}", "t", moment, chosen.random())
        shelf.store.write(points)
    shelf.drain()
    shelf.store.limit_bytes(2 * 10**9)
    shelf.keep_up()
    assert len({time // DAY for time, _ in read(shelf, ("x1", "t"))}) == 5
    shelf.store.limit_bytes(500_000)
    shelf.keep_up()
    days = {time // DAY for time, _ in read(shelf, ("x1", "t"))}
    assert START // DAY in days
    assert 0 < len(days) < 5
    assert measure(shelf) <= 500_000
    shelf.store.limit_bytes(None)
    assert not shelf.store.run_upkeep()
    shelf.store.close()


def build_many(count: int) -> Points:
    chosen = random.Random(6)
    points = Points()
    day = (int(time.time()) // 86_400 - 1) * DAY
    for at in range(count):
        points.add(f"x{at % 9}", "t", day + at * 1_000_000, chosen.random())
    return points


def keep_up(store: FilePointStore) -> None:
    while store.run_upkeep():
        pass


def test_many_points_become_blocks_in_a_process_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = PointsSettings(keep_days=7)
    keeper = Keeper(tmp_path, settings.model_dump_json())
    store = FilePointStore(tmp_path, settings, keeper=keeper)
    points = build_many(60_000)
    store.write(points)
    wanted = list(store.walk(1000))
    assert store.run_upkeep()
    assert keeper._process is not None
    keep_up(store)
    assert keeper._process is None  # it ends with what there is to do
    assert list(store.walk(1000)) == wanted
    assert (store.read_figures().blocks > 50, store.read_figures().waiting) == (True, 0)
    # Killed, it says so, and the next one goes on.
    store.write(points)
    monkeypatch.setattr("twinframe_points.keeper._MODULE", "twinframe_points.missing")
    with pytest.raises(StorageError, match="ended before it was done"):
        store.run_upkeep()
    monkeypatch.undo()
    keep_up(store)
    assert store.read_figures().waiting == 0
    assert list(store.walk(1000)) == wanted
    store.close()


def test_closing_the_store_ends_the_process(tmp_path: Path) -> None:
    keeper = Keeper(tmp_path, PointsSettings().model_dump_json())
    store = FilePointStore(tmp_path, PointsSettings(), keeper=keeper)
    for _ in range(2):
        store.write(build_many(60_000))
    assert store.run_upkeep()
    process = keeper._process
    assert process is not None
    store.close()
    assert process.poll() is not None


def test_the_longest_path_has_its_points(shelf: Shelf) -> None:
    chosen, points = random.Random(5), Points()
    paths = ["".join(chr(chosen.randrange(0x10000, 0x1F000)) for _ in range(1024)) for _ in "12"]
    for value, path in enumerate(paths):
        points.add("r", path, START, float(value))
    shelf.store.write(points)
    shelf.restart()
    shelf.store.write(points)
    for value, path in enumerate(paths):
        assert read(shelf, ("r", path)) == [(START, float(value))]
    assert list(shelf.store.list_paths("r")) == sorted(paths)


def test_long_texts_are_bounded_while_they_are_read(shelf: Shelf) -> None:
    points = Points()
    for at in range(20):
        points.add(*KEY, START + at * 1_000_000, str(at) * 2000)
    shelf.store.write(points)
    shelf.drain()
    assert len(shelf.store.read_points(KEY, 0, START + DAY, 99, 9000)) == 5
    assert len(shelf.store.read_points(KEY, 0, START + DAY, 99, 0)) == 2
    seconds = Window(START, START + 20_000_000, 1_000_000)
    for name in ("first", "last"):
        with pytest.raises(LimitExceeded, match="more than 30000 bytes"):
            shelf.store.read_buckets([KEY, KEY], seconds, [name], 30_000)
        whole = Window(START, START + DAY, DAY)
        (found,) = shelf.store.read_buckets([KEY], whole, [name], 5000)
        assert found.columns == [["0" * 2000] if name == "first" else ["19" * 2000]]
