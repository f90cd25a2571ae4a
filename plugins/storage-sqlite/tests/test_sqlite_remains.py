"""Write-ahead logs that processes left behind: what lacks of them is told, what never held is not.

A log is left by a process that ends without closing, as a killed one does.
"""

from __future__ import annotations

import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.forks import CODE
from tests.waiting import run_program
from twinframe.errors import StorageDamaged, StorageError
from twinframe.runtime.diagnosis.findings import Severity
from twinframe_storage_sqlite.files import build_files
from twinframe_storage_sqlite.findings import list_findings
from twinframe_storage_sqlite.remains import find_loss
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

ENTRIES = 60
FLIPS = 60
FRAME = 24 + 4096

WRITE_AND_END = """
import os, sys
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

store = SqliteGraphStore(
    SqliteSettings(directory=sys.argv[1], checksums=sys.argv[2] == "1", durability=sys.argv[4]),
    "graph",
)
store.open()
for number in range(int(sys.argv[3])):
    def work(transaction, number=number):
        transaction.put_entry("test", f"entry-{number}", b"%08d" % number * 40)
        transaction.put_entry("large", f"entry-{number}", b"x" * 5000)
    (outcome,) = store.write([work])
    assert outcome.error is None, outcome.error
os._exit(9)
"""


def write_and_end(
    place: Path, *, checksums: bool = True, entries: int = ENTRIES, durability: str = "full"
) -> None:
    """Entries, each acknowledged in a transaction of its own; then the process is no more."""
    arguments = [str(place), str(int(checksums)), str(entries), durability]
    done = run_program([*CODE, WRITE_AND_END, *arguments], check=False)
    assert done.returncode == 9


@pytest.fixture(scope="module", params=[True, False], ids=["checksums", "no-checksums"])
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a graph whose only process was killed."""
    place = tmp_path_factory.mktemp("left") / "data"
    write_and_end(place, checksums=request.param)
    return place


@pytest.fixture
def place(left: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(left, tmp_path / "data")
    return tmp_path / "data"


def open_store(place: Path, **settings: Any) -> SqliteGraphStore:
    store = SqliteGraphStore(SqliteSettings(directory=str(place), **settings), "graph")
    store.open()
    return store


def count_entries(store: SqliteGraphStore) -> int:
    with closing(store.session()) as session:
        return len(list(session.read_entries("test", after=None, limit=ENTRIES * 2)))


def flip(path: Path, place: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1 << bit
    path.write_bytes(content)


def start_anew(place: Path) -> None:
    """As if the machine had been started since: the index is not there, nor known the boot."""
    (place / "graph.db-shm").unlink()
    (place / "graph.use.lock").write_text("another-boot settled")


def test_a_log_that_is_whole_is_played(place: Path) -> None:
    store = open_store(place)
    assert count_entries(store) == ENTRIES
    store.close()
    assert not list(place.glob("*damaged*"))


def test_each_flipped_bit_is_refused_or_has_lost_nothing(left: Path, tmp_path: Path) -> None:
    dice = random.Random(11)
    size = (left / "graph.db-wal").stat().st_size
    silent = []
    for trial in range(FLIPS):
        place = tmp_path / str(trial)
        shutil.copytree(left, place)
        at = dice.randrange(32) if trial % 10 == 0 else dice.randrange(size)
        flip(place / "graph.db-wal", at, dice.randrange(8))
        try:
            store = open_store(place)
        except StorageError:
            shutil.rmtree(place)
            continue
        if count_entries(store) != ENTRIES:
            silent.append(at)
        store.close()
    assert silent == []


def test_a_flip_in_the_middle_is_known_without_the_index_too(place: Path) -> None:
    start_anew(place)
    wal = place / "graph.db-wal"
    middle = wal.stat().st_size // 2 // FRAME * FRAME + 32
    flip(wal, middle + 1000)
    with pytest.raises(StorageDamaged, match=r"whole frames, and \d+ transactions .* cannot be"):
        open_store(place)


def cut(place: Path) -> None:
    wal = place / "graph.db-wal"
    with wal.open("r+b") as log:
        log.truncate(wal.stat().st_size // 2)


def empty(place: Path) -> None:
    (place / "graph.db-wal").write_bytes(b"")


def remove(place: Path) -> None:
    (place / "graph.db-wal").unlink()


def exchange(place: Path) -> None:
    other = place.parent / "other"
    write_and_end(other, checksums=False)
    shutil.copy(other / "graph.db-wal", place / "graph.db-wal")


@pytest.mark.parametrize("damage", [cut, empty, remove, exchange])
def test_a_log_that_lacks_what_its_index_names_is_refused(
    place: Path, damage: Callable[[Path], None]
) -> None:
    damage(place)
    with pytest.raises(StorageDamaged, match="write-ahead log"):
        open_store(place)


def test_it_is_refused_each_time_and_nothing_is_changed(place: Path) -> None:
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size - 100)  # in the last transaction: only the index tells
    before = wal.read_bytes()
    messages = set()
    for _ in range(3):
        with pytest.raises(StorageDamaged) as caught:
            open_store(place)
        messages.add(caught.value.message)
    (message,) = messages
    (kept,) = place.glob("graph.db-wal.damaged-*")
    assert wal.read_bytes() == kept.read_bytes() == before
    assert str(kept) in message
    assert "Storage__Sqlite__DamagedLog=accept" in message


def test_who_accepts_the_loss_goes_on_and_is_not_refused_again(place: Path) -> None:
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size // 2 // FRAME * FRAME + 32 + 1000)
    store = open_store(place, damaged_log="accept")
    there = count_entries(store)
    assert 0 < there < ENTRIES
    assert list(store.verify()) == []
    store.close()
    assert list(place.glob("graph.db-wal.damaged-*"))
    store = open_store(place)
    assert count_entries(store) == there
    store.close()
    store.remove(1)
    assert not list(place.glob("graph.db*"))


def test_an_accepted_log_is_cut_so_that_its_rest_proves_nothing_later(place: Path) -> None:
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size // 2 // FRAME * FRAME + 32 + 1000)
    files = build_files(str(place), "graph")
    store = open_store(place, damaged_log="accept")
    copy = place.parent / "copy"
    shutil.copytree(place, copy)
    store.close()
    assert find_loss(build_files(str(copy), "graph")) is None
    assert not files.wal.exists()


def test_a_database_that_is_further_than_the_log_is_kept(tmp_path: Path) -> None:
    """What was copied into it is newer than the frames before the damage."""
    place = tmp_path / "data"
    source = open_store(place)
    for number in range(20):
        write_entry(source, number)
    with closing(apsw.Connection(str(place / "graph.db"))) as other:
        other.execute("BEGIN; SELECT count(*) FROM meta").fetchall()  # the log is not begun anew
        with closing(apsw.Connection(str(place / "graph.db"))) as third:
            third.pragma("schema_version")
            third.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        write_entry(source, 20)
        copy = tmp_path / "copy"
        shutil.copytree(place, copy)
    source.close()
    flip(copy / "graph.db-wal", 32 + FRAME * 4 + 500)
    store = open_store(copy, damaged_log="accept")
    assert count_entries(store) == 20
    assert list(store.verify()) == []
    store.close()


def write_entry(store: SqliteGraphStore, number: int) -> None:
    def apply(transaction: Any) -> None:
        transaction.put_entry("test", f"entry-{number}", b"%08d" % number * 40)

    (outcome,) = store.write([apply])
    assert outcome.error is None, outcome.error


# --- what proves nothing --------------------------------------------------------------------------


def test_a_last_transaction_that_was_torn_is_dropped_as_ever(place: Path) -> None:
    """Its frames may have come in any order; none was acknowledged."""
    start_anew(place)
    files = build_files(str(place), "graph")
    content = bytearray(files.wal.read_bytes())
    ends = [
        start
        for start in range(32, len(content) - FRAME + 1, FRAME)
        if content[start + 8 : start + 16] == content[16:24]
        and content[start + 4 : start + 8] != bytes(4)
    ]
    torn = ends[-1] - FRAME
    assert ends[-2] < torn
    content[torn + 600 : torn + FRAME] = bytes(FRAME - 600)
    files.wal.write_bytes(content)
    assert find_loss(files) is None
    store = open_store(place)
    assert count_entries(store) == ENTRIES - 1
    store.close()


def test_frames_of_a_killed_writer_behind_those_of_the_next_prove_nothing(place: Path) -> None:
    """One that was killed before its commit held leaves frames that others overwrite in part."""
    files = build_files(str(place), "graph")
    start_anew(place)
    content = bytearray(files.wal.read_bytes())
    long = content[-5 * FRAME :]
    last = long[-FRAME:]
    # A commit with this log's salts whose sums follow from nothing before or behind it.
    last[16:24] = b"\1" * 8
    files.wal.write_bytes(bytes(content) + bytes(FRAME) + bytes(last))
    assert find_loss(files) is None
    store = open_store(place)
    assert count_entries(store) == ENTRIES
    store.close()


BEGIN_NEW_LOG_AND_END = """
import resource, signal, sys
import apsw
from twinframe_storage_sqlite.checksums import choose_vfs

connection = apsw.Connection(sys.argv[1], vfs=choose_vfs(sys.argv[1]))
connection.pragma("user_version")  # opens the log
frames, copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_FULL)
assert frames == copied > 0, (frames, copied)
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
connection.execute("CREATE TABLE killed_in_the_first_write (it)")
"""


def test_a_writer_killed_before_the_first_frame_of_a_new_log_has_lost_nothing(place: Path) -> None:
    database = place / "graph.db"
    done = run_program([*CODE, BEGIN_NEW_LOG_AND_END, str(database)], check=False)
    assert done.returncode == -signal.SIGXFSZ
    assert find_loss(build_files(place, "graph")) is None
    with closing(open_store(place)) as store:
        assert count_entries(store) == ENTRIES


def test_relaxed_durability_may_lose_the_last_writes_with_the_power(tmp_path: Path) -> None:
    place = tmp_path / "data"
    write_and_end(place, durability="relaxed")
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size // 2 // FRAME * FRAME + 32 + 1000)
    with pytest.raises(StorageDamaged):
        open_store(place, durability="relaxed")  # the machine has run ever since
    start_anew(place)
    store = open_store(place, durability="relaxed")
    assert 0 < count_entries(store) < ENTRIES
    store.close()
    assert list(place.glob("graph.db-wal.damaged-*"))


# --- who else looks -------------------------------------------------------------------------------


def test_a_log_in_use_is_not_looked_at(place: Path) -> None:
    store = open_store(place)
    flip(place / "graph.db-wal", 5000)
    other = open_store(place)
    assert count_entries(other) == ENTRIES
    other.close()
    store.close()


@pytest.fixture
def damaged(place: Path) -> Iterator[Path]:
    """A graph whose log is damaged, and whose files a look must not change."""
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size // 2)
    before = wal.read_bytes()
    yield place
    assert wal.read_bytes() == before


def test_verifying_finds_it_while_the_graph_is_served(place: Path) -> None:
    store = open_store(place)
    assert list(store.verify()) == []
    wal = place / "graph.db-wal"
    flip(wal, wal.stat().st_size // 2)
    assert [one for one in store.verify() if "of the write-ahead log is damaged" in one]
    flip(wal, 20)
    assert [one for one in store.verify() if "the head of the write-ahead log" in one]
    store.close()


def test_the_check_of_the_machine_tells_of_it_and_plays_nothing(damaged: Path) -> None:
    for _ in range(2):
        found = list_findings(SqliteSettings(directory=str(damaged)))
        assert [
            "write-ahead log" in one.message for one in found if one.severity is Severity.ERROR
        ] == [True]
