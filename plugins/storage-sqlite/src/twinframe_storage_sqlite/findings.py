"""Checks the directory of the SQLite files for `twinframe check`, without changing a database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final

import apsw

from twinframe.errors import ConfigurationError, StorageBusy
from twinframe.runtime.diagnosis.directories import check_directory
from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning
from twinframe.runtime.diagnosis.machine import check_clock
from twinframe_storage_sqlite.connection import open_reader, verify_library
from twinframe_storage_sqlite.files import BALLAST, build_files
from twinframe_storage_sqlite.remains import Loss, find_loss
from twinframe_storage_sqlite.settings import SqliteSettings
from twinframe_storage_sqlite.using import UseLock
from twinframe_storage_sqlite.verify import find_broken_page

_LOOK_SECONDS: Final = 5.0


def list_findings(settings: SqliteSettings) -> Sequence[Finding]:
    """Check the library, the directory, and the durability of acknowledged writes."""
    directory = Path(settings.directory)
    return [
        check_library(apsw.sqlite_lib_version()),
        *check_directory("Storage__Sqlite__Directory", directory, shares_memory=True),
        *_check_files(directory),
        *_check_pages(directory, settings),
        *_check_ballast(settings),
        *_check_durability(settings),
    ]


def check_library(version: str) -> Finding:
    """Check whether several processes may share a file with this version of SQLite."""
    try:
        verify_library(version)
    except ConfigurationError as error:
        return build_error("versions", error.message)
    return build_fine("versions", f"SQLite {version}")


def _check_files(directory: Path) -> Iterator[Finding]:
    """Find files that the service cannot write although it may write to their directory."""
    if not directory.is_dir():
        return
    files = _list_files(directory)
    yield from check_clock(files[0] if files else None)


def _check_pages(directory: Path, settings: SqliteSettings) -> Iterator[Finding]:
    """Find damaged files, the last written ones first, as far as the time allows."""
    end = monotonic() + _LOOK_SECONDS
    for path in _list_files(directory):
        try:
            fault, is_whole = _look_through(path, settings, end - monotonic())
        except apsw.BusyError:
            continue  # being created or restored
        except apsw.Error as error:
            yield build_warning(
                "storage",
                f"{path} was not looked through: {error}.",
                f"Let user {os.geteuid()} read and write it, if it is a graph of this service.",
            )
            continue
        if fault:
            yield build_error(
                "storage",
                f"{path} is damaged: {fault}.",
                "Let twinframe verify say how far, then stop the service and restore a backup "
                "(twinframe restore).",
            )
        elif is_whole:
            yield build_fine("storage", f"{path} is sound in its structure.")
        else:
            text = f"{path} was not looked through: it is large. twinframe verify does."
            yield build_fine("storage", text)


def _look_through(path: Path, settings: SqliteSettings, seconds: float) -> tuple[str, bool]:
    """Check one file as `find_broken_page` does; one with a damaged header cannot even be opened.

    NOTE: the last process to close a file makes SQLite replay its log, so the log is checked first.
    """
    loss = _find_remains(path)
    if loss is not None:
        return loss.render(), True
    try:
        connection = open_reader(str(path), settings)
    except (apsw.NotADBError, apsw.CorruptError) as error:
        return str(error), True
    connection.authorizer = None  # the check is a pragma
    try:
        return find_broken_page(connection, seconds)
    finally:
        connection.close()


def _find_remains(path: Path) -> Loss | None:
    """Return what is missing in a log that nobody has open."""
    with suppress(ConfigurationError, StorageBusy):  # not a graph's name; or in use
        files = build_files(str(path.parent), path.stem)
        if files.use.exists():
            with UseLock(files.use).alone(0):
                return find_loss(files)
    return None


def _list_files(directory: Path) -> list[Path]:
    """List the databases there, the last written one first, without broken links.

    NOTE: files disappear while this runs, when the service deletes a graph.
    """
    found = []
    for path in directory.glob("*.db"):
        with suppress(FileNotFoundError):
            found.append((path.stat().st_mtime, path))
    return [path for _moment, path in sorted(found, reverse=True)]


def _check_ballast(settings: SqliteSettings) -> Iterator[Finding]:
    path = Path(settings.directory) / BALLAST
    if settings.ballast_bytes and path.parent.is_dir() and not path.is_file():
        yield build_warning(
            "disk space",
            f"{path} is gone: there is no room kept for deletions when the disk is full.",
            "It is made again at the next start, when there is ten times its room.",
        )


def _check_durability(settings: SqliteSettings) -> Iterator[Finding]:
    if settings.durability == "relaxed":
        yield build_warning(
            "durability",
            "Storage__Sqlite__Durability=relaxed: power loss may take the last writes.",
            "Set Storage__Sqlite__Durability=full, unless they can be had again.",
        )
    if settings.damaged_log == "accept":
        yield build_warning(
            "durability",
            "Storage__Sqlite__DamagedLog=accept: a damaged log is cut, and what it held is lost.",
            "Take it out again once the service has started.",
        )
