"""Which files are opened, which are refused, and with what one-line reason."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from pydantic import ValidationError

from tests.waiting import run_program
from twinframe.errors import ConfigurationError, StorageBusy, StorageDamaged, TwinframeError
from twinframe.storage.writer_lock import WriterLock
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_sqlite.checksums import holds_checksums
from twinframe_storage_sqlite.connection import verify_library
from twinframe_storage_sqlite.files import build_files
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import APPLICATION_ID, SqliteGraphStore


def build_store(place: Path) -> SqliteGraphStore:
    return SqliteGraphStore(SqliteSettings(directory=str(place)), "graph")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The directory of a closed graph with a thousand twins."""
    store = build_store(tmp_path)
    store.open()
    put(store, *(build_twin_record(f"twin{number}", text="x" * 50) for number in range(1000)))
    store.close()
    return tmp_path


def open_expecting(place: Path, error: type[TwinframeError]) -> str:
    store = build_store(place)
    with pytest.raises(error) as caught:
        store.open()
    assert "\n" not in caught.value.message
    return caught.value.message


def test_a_new_graph_has_our_mark_in_its_header_and_a_wal(tmp_path: Path) -> None:
    store = build_store(tmp_path / "made" / "below")
    store.open()
    connection = apsw.Connection(str(store.files.database))
    assert connection.pragma("application_id") == APPLICATION_ID
    assert connection.pragma("journal_mode") == "wal"
    connection.close()
    store.close()


def test_a_new_graph_lies_in_its_file_before_its_marker_is_written(tmp_path: Path) -> None:
    store = build_store(tmp_path)
    store.open()
    copy = tmp_path / "copy.db"
    shutil.copyfile(store.files.database, copy)  # without the write-ahead log
    connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    instance = connection.execute("SELECT value FROM meta WHERE key = 'instance'").get
    connection.close()
    assert store.files.marker.read_text().strip() == instance
    store.close()


def test_opening_again_finds_the_same_instance_and_twins(filled: Path) -> None:
    instances = set()
    for _ in range(2):
        store = build_store(filled)
        store.open()
        with reading(store) as session:
            instances.add(session.read_instance())
            assert session.has_twin("twin999")
        store.close()
    assert len(instances) == 1
    assert len(instances.pop().secret) == 32


def damage_header(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(b"SQLitf" + content[6:])


def truncate(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // 2])


def empty(database: Path) -> None:
    database.write_bytes(b"")


def fill_with_text(database: Path) -> None:
    database.write_text("this is no database" * 1000)


def replace_by_foreign(database: Path) -> None:
    database.unlink()
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)").fetchall()
    connection.close()


@pytest.mark.parametrize(
    "damage", [damage_header, truncate, empty, fill_with_text, replace_by_foreign, Path.unlink]
)
def test_a_damaged_file_is_refused_with_a_reason_and_not_changed(
    filled: Path, damage: Callable[[Path], None]
) -> None:
    database = build_files(str(filled), "graph").database
    damage(database)
    before = database.read_bytes() if database.exists() else None
    message = open_expecting(filled, StorageDamaged)
    assert str(database) in message
    assert (database.read_bytes() if database.exists() else None) == before


def test_a_file_that_cannot_be_opened_is_told_with_who_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = build_files(str(tmp_path), "graph").database
    database.mkdir()
    message = open_expecting(tmp_path, ConfigurationError)
    assert str(database) in message
    assert f"let user {os.geteuid()} read and write it" in message
    database.rmdir()
    database.write_bytes(b"")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert holds_checksums(database) is None


def test_a_zeroed_page_is_found_by_verifying(filled: Path) -> None:
    database = build_files(str(filled), "graph").database
    content = bytearray(database.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = bytes(4096)
    database.write_bytes(content)
    store = build_store(filled)
    store.open()
    findings = store.verify()
    store.close()
    assert findings


def test_a_database_of_another_graph_is_refused_by_the_marker(filled: Path) -> None:
    other = SqliteGraphStore(SqliteSettings(directory=str(filled)), "other")
    other.open()
    other.close()
    shutil.copyfile(other.files.database, build_files(str(filled), "graph").database)
    assert "graph.initialised" in open_expecting(filled, StorageDamaged)


def test_a_graph_whose_marker_was_never_written_is_accepted_and_gets_one(filled: Path) -> None:
    marker = build_files(str(filled), "graph").marker
    before = marker.read_text()
    marker.unlink()
    store = build_store(filled)
    store.open()
    store.close()
    assert marker.read_text() == before


def test_a_file_of_a_newer_release_is_refused(filled: Path) -> None:
    connection = apsw.Connection(str(build_files(str(filled), "graph").database))
    connection.execute("PRAGMA user_version = 9999").fetchall()
    connection.close()
    assert "9999" in open_expecting(filled, ConfigurationError)


def test_a_directory_that_cannot_be_made_is_a_configuration_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert "Directory" in open_expecting(tmp_path / "file" / "below", ConfigurationError)


@pytest.mark.parametrize("version", ["3.40.1", "3.7.0", "3.51.2", "3.51.2.1"])
def test_an_old_sqlite_library_is_refused(version: str) -> None:
    with pytest.raises(ConfigurationError, match=r"3\.51\.3"):
        verify_library(version)


@pytest.mark.parametrize("version", ["3.51.3", "3.54.1", "4.0.0", apsw.sqlite_lib_version()])
def test_a_current_sqlite_library_is_accepted(version: str) -> None:
    verify_library(version)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_network_file_system_is_refused_before_a_file_is_made_there(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "twinframe_storage_sqlite.connection.read_file_system"
    monkeypatch.setattr(where, lambda _: kind)
    message = open_expecting(tmp_path / "data", ConfigurationError)
    assert kind in message
    assert "Storage__Sqlite__Directory" in message
    assert not list(tmp_path.rglob("*.db*"))


@pytest.mark.parametrize("name", ["default", "a", "graph-2_x", "0", "a" * 64])
def test_graph_names_become_file_names(name: str) -> None:
    assert build_files("var", name).database == Path("var") / f"{name}.db"


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", "a\\b", "A", "a.b", "-a", "a-", "a" * 201, "a\n", "\0", "é"]
)
def test_other_graph_names_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError):
        build_files("var", name)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00 nonsense"])
def test_a_marker_that_names_no_instance_is_told(filled: Path, content: bytes) -> None:
    build_files(str(filled), "graph").marker.write_bytes(content)
    assert "but graph.initialised names '" in open_expecting(filled, StorageDamaged)


def test_a_marker_that_cannot_be_read_is_told(filled: Path) -> None:
    marker = build_files(str(filled), "graph").marker
    marker.unlink()
    marker.mkdir()
    message = open_expecting(filled, ConfigurationError)
    assert message == f"{marker} cannot be read: Is a directory."


def test_an_empty_directory_setting_is_no_place() -> None:
    with pytest.raises(ValidationError, match="at least 1 character"):
        SqliteSettings(directory="")


_OPEN_UNPRIVILEGED = """
import os, sys
from twinframe.errors import ConfigurationError
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.checksums import load_vfs
from twinframe_storage_sqlite.store import APPLICATION_ID, SqliteGraphStore
load_vfs()  # while the interpreter's own files may be read
if os.getuid() == 0:
    os.setresuid(65534, 65534, 65534)
try:
    SqliteGraphStore(SqliteSettings(directory=sys.argv[1]), "graph").open()
except ConfigurationError as error:
    print(error.message)
"""


def test_a_database_that_may_only_be_read_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder:  # below a directory that anyone may enter
        place = Path(folder)
        store = build_store(place)
        store.open()
        store.close()
        files = build_files(folder, "graph")
        place.chmod(0o777)
        files.database.chmod(0o444)
        for lock in (files.writer_lock, files.queue, files.use):
            lock.chmod(0o666)
        files.marker.chmod(0o644)
        ended = run_program(
            [sys.executable, "-c", _OPEN_UNPRIVILEGED, folder], capture_output=True, text=True
        )
    assert ended.stdout == (
        f"{files.database} cannot be opened for writing: give this user the right to it.\n"
    ), ended.stderr


def test_a_sound_graph_is_opened_while_another_process_has_the_turn(filled: Path) -> None:
    files = build_files(str(filled), "graph")
    other = WriterLock(files.writer_lock, files.queue)
    store = SqliteGraphStore(SqliteSettings(directory=str(filled), turn_timeout=0.05), "graph")
    with other.hold(1):
        store.open()
        with reading(store) as session:
            assert session.read_twin("twin7") is not None
    put(store, build_twin_record("later"))
    store.close()
    other.close()


def test_a_graph_that_has_to_be_made_waits_for_its_turn(tmp_path: Path) -> None:
    files = build_files(str(tmp_path), "graph")
    other = WriterLock(files.writer_lock, files.queue)
    store = SqliteGraphStore(SqliteSettings(directory=str(tmp_path), turn_timeout=0.05), "graph")
    with other.hold(1), pytest.raises(StorageBusy):
        store.open()
    assert not files.database.exists()
    other.close()
