"""R24: files of each older version are brought to the newest, with a kill at each step of it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import apsw

from tests.reliability.judging import Figure, Goal, Trial, Twin, at_least, exactly
from twinframe.errors import TwinframeError
from twinframe_storage_sqlite.connection import open_writer
from twinframe_storage_sqlite.migrations import apply_migrations, load_migrations, read_version
from twinframe_storage_sqlite.settings import SqliteSettings


def judge(trial: Trial) -> Sequence[Figure]:
    """For graphs and control records: each version as start, each statement as place of death."""
    deaths = between = failed = paths = 0
    for folder in ("", "control"):
        versions = [migration.version for migration in load_migrations(folder)]
        wanted = {version: _describe(trial.folder, folder, version) for version in (0, *versions)}
        for start in (0, *versions):
            paths += 1
            died = True
            step = 0
            while died:
                path = _build(trial.folder / f"{folder}-{start}-{step}.db", folder, start)
                died = _upgrade_and_die(path, folder, step)
                deaths += died
                found = _read(path)
                between += found != wanted[found[0]]
                failed += not _finish(path, folder, wanted[versions[-1]])
                step += 1
    return [
        exactly("files between two versions", between),
        exactly("upgrades that could not be finished", failed),
        at_least("deaths", deaths, 10),
        at_least("starting versions", paths, 4),
    ]


Description = tuple[int, tuple[tuple[str, str], ...]]


def _read(path: Path) -> Description:
    """The version of a file, and its tables and indexes."""
    connection = apsw.Connection(str(path))
    rows = connection.execute(
        "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name, sql"
    )
    found = read_version(connection), tuple((str(name), str(sql)) for name, sql in rows)
    connection.close()
    return found


def _build(path: Path, folder: str, version: int) -> Path:
    """A file of an older version, with a WAL as the service has it."""
    connection = open_writer(str(path), SqliteSettings(), create=True)
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    if version:
        apply_migrations(connection, load_migrations(folder)[:version])
    connection.close()
    return path


def _describe(folder: Path, kind: str, version: int) -> Description:
    return _read(_build(folder / f"wanted-{kind}-{version}.db", kind, version))


def _upgrade_and_die(path: Path, folder: str, step: int) -> bool:
    """Bring it to the newest version in a process that is killed at its statement number `step`."""
    child = os.fork()
    if child == 0:
        connection = open_writer(str(path), SqliteSettings(), create=False)
        left = step

        def trace(*_: object) -> bool:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return True

        connection.exec_trace = trace
        apply_migrations(connection, load_migrations(folder))
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), code
    return code != 0


def _finish(path: Path, folder: str, wanted: Description) -> bool:
    """Whether the next start brings it to the newest version."""
    connection = open_writer(str(path), SqliteSettings(), create=False)
    try:
        apply_migrations(connection, load_migrations(folder))
    except (apsw.Error, TwinframeError):
        return False
    finally:
        connection.close()
    return _read(path) == wanted


GOAL = Goal(
    id="R24",
    title="upgrades",
    asked="a file of each older version opens and migrates; killed at every statement it is of "
    "the old or of a whole newer version, and the next start finishes",
    judge=judge,
    twins=(
        Twin(
            fault="migrate-without-transaction",
            seeds="migrations run without a transaction",
            breaks=("files between two versions",),
        ),
    ),
    smoke=True,
)
