"""Files with page checksums: every flipped bit is found, and nothing else changes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from twinframe.errors import StorageDamaged, StorageError
from twinframe.storage.base import GraphTransaction
from twinframe.testing.contracts.removal import BackupContract
from twinframe_storage_sqlite import verify
from twinframe_storage_sqlite.checksums import VFS, holds_checksums, load_vfs
from twinframe_storage_sqlite.files import BALLAST, keep_ballast
from twinframe_storage_sqlite.findings import list_findings
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

PAGE = 4096
FLIPS = 200


class TestBackupsWithChecksums(BackupContract):
    """Backing up and restoring is the same with checksums."""

    def make_store(self, place: Path) -> SqliteGraphStore:
        """A store of the file in `place`, which has them from the start."""
        return SqliteGraphStore(SqliteSettings(directory=str(place), checksums=True), "graph")


def build_store(place: Path, **settings: Any) -> SqliteGraphStore:
    store = SqliteGraphStore(SqliteSettings(directory=str(place), **settings), "graph")
    store.open()
    return store


def write_entries(store: SqliteGraphStore, count: int) -> None:
    def apply(transaction: GraphTransaction) -> None:
        for number in range(count):
            transaction.put_entry("test", f"entry-{number}", f"{number:08}".encode() * 40)

    (outcome,) = store.write([apply])
    assert outcome.error is None, outcome.error


def list_bad_pages(path: Path) -> list[int]:
    """Pages whose checksum is wrong, told by the VFS's own function."""
    load_vfs()
    connection = apsw.Connection(":memory:", vfs=VFS)
    content = path.read_bytes()
    pages = [content[start : start + PAGE] for start in range(0, len(content) // PAGE * PAGE, PAGE)]
    found = [
        number
        for number, page in enumerate(pages)
        if not connection.execute("SELECT verify_checksum(?)", (page,)).get
    ]
    connection.close()
    return found


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """A directory with a graph of some pages, closed."""
    store = build_store(tmp_path, checksums=True)
    write_entries(store, 1500)
    store.close()
    assert (tmp_path / "graph.db").stat().st_size > 100 * PAGE
    return tmp_path


def test_a_new_file_has_a_checksum_on_each_page(sound: Path) -> None:
    assert holds_checksums(sound / "graph.db") is True
    assert list_bad_pages(sound / "graph.db") == []


def test_a_file_keeps_its_checksums_whatever_the_setting_says(sound: Path) -> None:
    store = build_store(sound, checksums=False)
    write_entries(store, 500)
    assert list(store.verify()) == []
    store.close()
    assert list_bad_pages(sound / "graph.db") == []


def test_a_file_without_them_is_used_as_it_is(tmp_path: Path) -> None:
    build_store(tmp_path, checksums=False).close()
    store = build_store(tmp_path, checksums=True)
    write_entries(store, 10)
    store.close()
    assert holds_checksums(tmp_path / "graph.db") is False


def test_every_flipped_bit_is_found(sound: Path) -> None:
    path = sound / "graph.db"
    content = path.read_bytes()
    source = random.Random(7)
    unseen = []
    for _ in range(FLIPS):
        place = source.randrange(len(content))
        damaged = bytearray(content)
        damaged[place] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        if not is_seen(sound):
            unseen.append(place)
    assert unseen == []


def is_seen(folder: Path) -> bool:
    """Whether opening and verifying tells of damage."""
    for log in ("graph.db-wal", "graph.db-shm"):
        (folder / log).unlink(missing_ok=True)
    try:
        store = build_store(folder)
    except StorageError:
        return True
    try:
        return bool(store.verify())
    except (StorageError, apsw.Error):
        return True
    finally:
        store.close()


def test_without_them_some_flips_go_unseen(tmp_path: Path) -> None:
    """The test above can fail: the same damage in a file without checksums."""
    store = build_store(tmp_path, checksums=False)
    write_entries(store, 1500)
    store.close()
    path = tmp_path / "graph.db"
    content = path.read_bytes()
    source = random.Random(7)
    seen = 0
    for _ in range(40):
        damaged = bytearray(content)
        damaged[source.randrange(len(content))] ^= 1 << source.randrange(8)
        path.write_bytes(damaged)
        seen += is_seen(tmp_path)
    assert seen < 40


def test_a_header_that_denies_the_checksums_is_damage(sound: Path) -> None:
    path = sound / "graph.db"
    content = bytearray(path.read_bytes())
    content[20] = 0
    path.write_bytes(content)
    with pytest.raises(StorageDamaged):
        build_store(sound)


def test_a_read_of_a_damaged_page_says_so(sound: Path) -> None:
    store = build_store(sound)
    path = sound / "graph.db"
    pages = path.stat().st_size // PAGE
    with path.open("r+b") as file:
        for page in range(pages // 2, pages):
            file.seek(page * PAGE + 100)
            byte = file.read(1)[0]
            file.seek(page * PAGE + 100)
            file.write(bytes([byte ^ 4]))
    session = store.session()
    with pytest.raises(StorageDamaged, match="a page fails its checksum"):
        list(session.read_entries("test", after=None, limit=1500))
    session.close()
    store.close()


def test_a_backup_has_them_too(sound: Path, tmp_path: Path) -> None:
    store = build_store(sound)
    store.back_up(tmp_path / "copy.db")
    store.close()
    assert holds_checksums(tmp_path / "copy.db") is True
    assert list_bad_pages(tmp_path / "copy.db") == []


def test_a_graph_gets_them_by_a_restore(tmp_path: Path) -> None:
    store = build_store(tmp_path, checksums=False)
    write_entries(store, 300)
    store.back_up(tmp_path / "copy.db")
    store.close()
    assert holds_checksums(tmp_path / "copy.db") is False
    settings = SqliteSettings(directory=str(tmp_path), checksums=True)
    SqliteGraphStore(settings, "graph").restore(tmp_path / "copy.db", 5)
    assert holds_checksums(tmp_path / "graph.db") is True
    assert list_bad_pages(tmp_path / "graph.db") == []
    store = build_store(tmp_path)
    session = store.session()
    assert session.read_entry("test", "entry-299") == b"00000299" * 40
    session.close()
    assert list(store.verify()) == []
    store.close()


def test_ballast_takes_room_and_is_made_once(tmp_path: Path) -> None:
    store = build_store(tmp_path, ballast_bytes=65_536)
    store.close()
    ballast = tmp_path / BALLAST
    assert ballast.stat().st_blocks * 512 >= 65_536
    settings = SqliteSettings(directory=str(tmp_path), ballast_bytes=65_536)
    assert not [
        one for one in list_findings(settings) if one.message.startswith(str(tmp_path / BALLAST))
    ]
    ballast.unlink()
    assert [
        one.check
        for one in list_findings(settings)
        if one.message.startswith(str(tmp_path / BALLAST))
    ] == ["disk space"]
    build_store(tmp_path, ballast_bytes=65_536).close()
    assert ballast.is_file()


def test_ballast_is_not_what_fills_the_disk(tmp_path: Path) -> None:
    assert keep_ballast(tmp_path, 1 << 50) is False
    assert not (tmp_path / BALLAST).exists()


def test_an_error_of_the_disk_that_ends_a_check_is_a_finding(
    sound: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite may end the transaction by itself then."""

    def fail(connection: apsw.Connection) -> Iterator[str]:
        yield "one"
        connection.execute("ROLLBACK")
        raise apsw.IOError("disk I/O error")

    monkeypatch.setattr(verify, "_find", fail)
    store = build_store(sound)
    assert store.verify() == ["one", "the check itself ended early: disk I/O error"]
    store.close()
