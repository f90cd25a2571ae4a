"""Backups, restores and removals of files: cut off anywhere, beside writers, from odd sources."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from tests.forks import CODE
from tests.waiting import join, run_program, start
from twinframe.errors import StorageDamaged
from twinframe.testing.contracts.base import put, reading
from twinframe.testing.factories import build_twin_record
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

_DYING = """
import os, sys
from pathlib import Path
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

left = int(sys.argv[4])
for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir"):
    def dying(*args, _call=getattr(os, name), **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return _call(*args, **options)
    setattr(os, name, dying)
store = SqliteGraphStore(SqliteSettings(directory=sys.argv[1]), "graph")
if sys.argv[2] == "remove":
    store.remove(1)
else:
    store.restore(Path(sys.argv[3]), 1)
"""


def build_store(folder: Path) -> SqliteGraphStore:
    return SqliteGraphStore(SqliteSettings(directory=str(folder)), "graph")


def fill(folder: Path, *twins: str) -> None:
    store = build_store(folder)
    store.open()
    put(store, *(build_twin_record(twin) for twin in twins))
    store.close()


def read_twins(folder: Path) -> set[str]:
    store = build_store(folder)
    store.open()
    try:
        assert list(store.verify()) == []
        with reading(store) as session:
            return {str(node.document["$dtId"]) for node in session.scan_nodes(None)}
    finally:
        store.close()


def leave_log_behind(folder: Path, twin: str) -> None:
    """A process that dies with its last write in the log alone."""
    code = (
        "import os, sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from test_sqlite_copies import build_store, put, build_twin_record\n"
        "store = build_store(Path(sys.argv[1])); store.open()\n"
        "put(store, build_twin_record(sys.argv[3])); os._exit(0)"
    )
    here = str(Path(__file__).parent)
    run_program([*CODE, code, str(folder), here, twin], check=True)
    assert (folder / "graph.db-wal").stat().st_size


@pytest.mark.parametrize("step", ["restore", "remove"])
def test_what_is_cut_off_anywhere_leaves_the_old_or_the_new_and_can_be_done_again(
    step: str, tmp_path: Path
) -> None:
    source, copy = tmp_path / "source", tmp_path / "copy"
    fill(source, "new")
    store = build_store(source)
    store.open()
    store.back_up(copy)
    store.close()
    start = tmp_path / "start"
    fill(start, "old")
    leave_log_behind(start, "late")
    deaths = 0
    for count in range(40):
        folder = shutil.copytree(start, tmp_path / str(count))
        done = run_program([*CODE, _DYING, str(folder), step, str(copy), str(count)])
        deaths += done.returncode == 9
        assert done.returncode in (0, 9)
        old = {"old", "late"}
        found = read_twins(folder) if (folder / "graph.db").exists() else set()
        assert found in ((old, {"new"}) if step == "restore" else (old, set()))
        if step == "restore":
            build_store(folder).restore(copy, 1)
            assert read_twins(folder) == {"new"}
        else:
            build_store(folder).remove(1)
            assert list(folder.iterdir()) == []
        if done.returncode == 0:
            break
    assert deaths >= 5


def test_a_backup_made_while_others_write_is_sound_and_holds_what_was_there_before(
    tmp_path: Path,
) -> None:
    store, writer = build_store(tmp_path), build_store(tmp_path)
    store.open()
    writer.open()
    put(store, *(build_twin_record(f"first-{number}") for number in range(500)))
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        while not stop.is_set():
            put(writer, build_twin_record(f"later-{len(written)}"))
            written.append(1)

    thread = start(write)
    try:
        for round_ in range(5):
            before = len(written)
            target = tmp_path / f"copy-{round_}"
            store.back_up(target)
            after = len(written) + 1
            other = tmp_path / f"other-{round_}"
            build_store(other).restore(target, 1)
            twins = read_twins(other)
            later = {name for name in twins if name.startswith("later-")}
            assert len(twins) - len(later) == 500
            assert later == {f"later-{number}" for number in range(len(later))}  # no gap
            assert before <= len(later) <= after
    finally:
        stop.set()
        join(thread)
        store.close()
        writer.close()


def test_logs_that_dead_processes_left_are_neither_played_nor_left(tmp_path: Path) -> None:
    folder, copy = tmp_path / "graph", tmp_path / "copy"
    fill(folder, "a")
    store = build_store(folder)
    store.open()
    store.back_up(copy)
    store.close()
    for name in ("graph.db", "graph.db.draft"):
        for ending in ("-journal", "-wal", "-shm"):
            (folder / f"{name}{ending}").write_bytes(b"of another time" * 100)
    store.restore(copy, 1)
    assert read_twins(folder) == {"a"}
    for name in ("graph.db", "graph.db.draft"):
        for ending in ("-journal", "-wal", "-shm"):
            (folder / f"{name}{ending}").write_bytes(b"of another time" * 100)
    store.remove(1)
    assert list(folder.iterdir()) == []


def damage_index(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM meta WHERE key = 'instance'").fetchall()
    connection.close()


def make_foreign(path: Path) -> None:
    path.unlink()
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE t (x)").fetchall()
    connection.close()


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("harm", [damage_index, make_foreign, cut])
def test_a_backup_that_is_not_sound_is_refused_and_the_graph_stays(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    folder, copy = tmp_path / "graph", tmp_path / "copy"
    fill(folder, "a")
    store = build_store(folder)
    store.open()
    store.back_up(copy)
    store.close()
    harm(copy)
    with pytest.raises(StorageDamaged):
        build_store(folder).restore(copy, 1)
    assert read_twins(folder) == {"a"}
    assert not (folder / "graph.db.draft").exists()


def test_a_file_that_is_no_backup_is_refused_in_words_that_say_so(tmp_path: Path) -> None:
    folder, text = tmp_path / "graph", tmp_path / "notes.txt"
    fill(folder, "a")
    text.write_text("a list of what to buy\n" * 100)
    with pytest.raises(StorageDamaged, match=r"notes.txt is damaged: it is no backup, or was cut"):
        build_store(folder).restore(text, 1)
    assert read_twins(folder) == {"a"}


def test_a_process_that_was_killed_has_nothing_open_any_more(tmp_path: Path) -> None:
    fill(tmp_path, "a")
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[2])\n"
        "from test_sqlite_copies import build_store\n"
        "store = build_store(Path(sys.argv[1])); store.open()\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    here = str(Path(__file__).parent)
    process = subprocess.Popen(
        [*CODE, code, str(tmp_path), here],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin, process.stdout:
        assert process.stdout.readline() == b"open\n"
        with pytest.raises(Exception, match="other processes have it open"):
            build_store(tmp_path).remove(0.1)
        process.send_signal(signal.SIGKILL)
        process.wait(120)
    build_store(tmp_path).remove(1)
    assert list(tmp_path.iterdir()) == []
