"""A service whose stored data is damaged does not start, says why in one line, and ends with 65."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import apsw
import orjson
import pytest

from tests.e2e.server import free_port
from twinframe.storage.base import GraphTransaction, TwinRecord
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.store import SqliteGraphStore

DAMAGED = 65
"""EX_DATAERR of sysexits.h."""
PAGE = 4096


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a graph with a thousand twins."""
    folder = tmp_path_factory.mktemp("sound") / "data"
    store = SqliteGraphStore(SqliteSettings(directory=str(folder)), "default")
    store.open()

    def apply(transaction: GraphTransaction) -> object:
        transaction.put_twins(
            [
                TwinRecord(f"t{at}", "dtmi:test:Thing;1", "e", orjson.dumps({"$dtId": f"t{at}"}))
                for at in range(1000)
            ]
        )
        return None

    assert [outcome.error for outcome in store.write([apply])] == [None]
    store.close()
    return folder


@pytest.fixture
def database(sound: Path, tmp_path: Path) -> Path:
    """A copy of its file, in a directory of its own."""
    shutil.copytree(sound, tmp_path / "data")
    (found,) = (tmp_path / "data").glob("default*.db")
    return found


def run(
    command: str, database: Path, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """A command over the graph; `TimeoutExpired` for a service that starts, which is killed."""
    settings = {
        "Storage__Sqlite__Directory": str(database.parent),
        "Server__Bind": f"127.0.0.1:{free_port()}",
        **(more or {}),
    }
    return subprocess.run(
        [sys.executable, "-m", "twinframe", command],
        cwd=database.parent.parent,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
    )


def break_header(database: Path) -> None:
    database.write_bytes(b"SQLitf" + database.read_bytes()[6:])


def truncate(database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: len(content) // 2])


def empty(database: Path) -> None:
    database.write_bytes(b"")


def replace_by_text(database: Path) -> None:
    database.write_text("this is no database" * 1000)


def replace_by_foreign(database: Path) -> None:
    database.unlink()
    connection = apsw.Connection(str(database))
    connection.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)").fetchall()
    connection.close()


def zero_page(database: Path, page: int = 0) -> None:
    content = bytearray(database.read_bytes())
    content[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    database.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [break_header, truncate, empty, replace_by_text, replace_by_foreign, zero_page, Path.unlink],
)
def test_a_damaged_file_ends_the_start_with_a_line_and_its_own_exit_code(
    database: Path, damage: Callable[[Path], None]
) -> None:
    damage(database)
    done = run("serve", database)
    (line,) = done.stderr.splitlines()
    assert done.returncode == DAMAGED
    assert line.startswith(f"twinframe: The storage {database} is damaged: ")


def test_a_zeroed_page_that_no_start_reads_is_found_by_verifying(database: Path) -> None:
    zero_page(database, database.stat().st_size // PAGE // 2)
    done = run("verify", database)
    assert done.returncode == 1
    assert done.stderr.startswith("twinframe: ")


def test_a_start_that_fails_for_another_reason_has_the_exit_code_of_all_others(
    database: Path,
) -> None:
    done = run("serve", database, {"Server__Bind": "0.0.0.0:1"})
    assert done.returncode == 1
    assert "Server__Bind" in done.stderr


def test_damage_beside_another_reason_is_told_by_the_exit_code(database: Path) -> None:
    break_header(database)
    done = run("serve", database, {"Server__Bind": "0.0.0.0:1"})
    assert done.returncode == DAMAGED
    assert len(done.stderr.splitlines()) == 2
