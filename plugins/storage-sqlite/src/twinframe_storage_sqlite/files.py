"""The paths of one database's files, its marker, and the ballast of their directory."""

from __future__ import annotations

import logging
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from twinframe.errors import ConfigurationError

CONTROL_NAME: Final = "control"
"""The database of the control plane's records."""

_GRAPH_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,198}[a-z0-9])?")
BALLAST: Final = "ballast"
_ROOM: Final = 10
"""The file is only made if this many times its size is free, so that it does not fill the disk."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DatabaseFiles:
    """Paths of one database: the database, its write-ahead log, lock files, the marker.

    `use` is locked by every process that has the database open; `draft` is where its replacement is
    prepared. `scratch` is a directory of files that may be lost: results kept for their next pages;
    `beside` is one of durable files that others keep beside the graph.
    """

    database: Path
    wal: Path
    draft: Path
    use: Path
    writer_lock: Path
    queue: Path
    marker: Path
    scratch: Path
    beside: Path


def build_graph_files(directory: str, graph: str) -> DatabaseFiles:
    """Build the paths of the graph named `graph`.

    Raises `ConfigurationError` for an invalid name.
    """
    if graph == CONTROL_NAME:
        raise ConfigurationError(
            f"Storage__Graph={graph} is not accepted: the control plane keeps its records under "
            "that name."
        )
    return build_files(directory, graph)


def build_files(directory: str, graph: str) -> DatabaseFiles:
    """Build the paths of the database of this name.

    Raises `ConfigurationError` for an invalid name.
    """
    # SEC: the name becomes a path, hence letters, digits, `-` and `_` only.
    if not _GRAPH_NAME.fullmatch(graph):
        raise ConfigurationError(
            f"Storage__Graph={graph!r} is not accepted: 1 to 200 of a-z, 0-9, `-` and `_`, "
            "beginning and ending with a letter or digit."
        )
    base = Path(directory)
    return DatabaseFiles(
        database=base / f"{graph}.db",
        wal=base / f"{graph}.db-wal",
        draft=base / f"{graph}.db.draft",
        use=base / f"{graph}.use.lock",
        writer_lock=base / f"{graph}.turn.lock",
        queue=base / f"{graph}.queue.lock",
        marker=base / f"{graph}.initialised",
        scratch=base / f"{graph}.results",
        beside=base / f"{graph}.beside",
    )


def read_marker(marker: Path) -> str | None:
    """The instance id that the marker names, or None when there is no marker."""
    try:
        return marker.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{marker} cannot be read: {error.strerror}.") from error


def make_private(path: Path) -> None:
    """Create an empty file that only this user can read and write; leave an existing one unchanged.

    An error here is not raised: the later opening of the file reports it. SEC: SQLite gives its
    logs the mode of their database, which it creates by the umask alone.
    """
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def keep_ballast(directory: Path, size: int) -> bool:
    """Create the file `ballast` if it is missing and there is space for it; return whether it
    exists.

    It reserves disk space, for the operator to delete when the disk is full. A full disk also stops
    deletions, which have to write before they can free anything; deleting this file lets them
    continue. The service never removes it: writes would take the space at once.

    NOTE: several processes may call this at once; all of them create the same file.
    """
    path = directory / BALLAST
    with suppress(FileNotFoundError):
        if path.stat().st_size >= size:
            return True
    if size == 0 or shutil.disk_usage(directory).free < size * _ROOM:
        return False
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(handle, 0, size)  # a sparse file would reserve no space
        finally:
            os.close(handle)
    except OSError as error:
        _log.warning("%s cannot be made: %s", path, error.strerror)
        return False
    return True
