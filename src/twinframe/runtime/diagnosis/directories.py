"""Checks directories of data: access, file system, and free space.

Plugins use these checks for the directories of their own files.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from twinframe.runtime.diagnosis.findings import Finding, build_error, build_fine, build_warning

NETWORK: Final = frozenset(
    (
        "9p", "afs", "autofs", "ceph", "cifs", "davfs", "fuse.gcsfuse", "fuse.glusterfs",
        "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs",
        "nfs4", "smb2", "smb3", "smbfs", "virtiofs", "vboxsf", "drvfs",
    )
)  # fmt: skip
"""File systems without shared memory or without locks that work between machines."""

_VOLATILE: Final = frozenset(("tmpfs", "ramfs"))
_MOUNTS: Final = Path("/proc/self/mountinfo")
_MIB: Final = 1024 * 1024
_LEAST_ROOM: Final = 64 * _MIB
_SCARCE_ROOM: Final = 512 * _MIB
_SCARCE_INODES: Final = 1_000


def check_directory(key: str, path: Path, *, shares_memory: bool = False) -> Iterator[Finding]:
    """Check a directory of data that the setting `key` names.

    `shares_memory` says that its files need memory shared by processes, as SQLite's log does.
    """
    base = find_existing(path)
    problem = find_problem(base, path)
    if problem:
        user = os.geteuid()
        yield build_error(
            "directory",
            f"{key}={path}: {problem}",
            f"Make it and give it to the user that runs the service: "
            f"install -d -m 0700 -o {user} {path.absolute()}",
        )
        return
    if path.exists() and path.stat().st_mode & stat.S_IWOTH:
        yield build_warning(
            "directory",
            f"{key}={path}: every user of this machine may change what lies there.",
            f"chmod o-rwx {path.absolute()}",
        )
    elif _is_readable(path):
        yield build_warning(
            "directory",
            f"{key}={path}: every user of this machine may read what lies there.",
            f"chmod o-rwx {path.absolute()}",
        )
    else:
        yield build_fine("directory", f"{key}={path} can be used.")
    yield _check_file_system(key, path, base, shares_memory)
    yield from _check_room(key, base)


def check_offered(key: str, path: Path) -> Iterator[Finding]:
    """Check a directory, named by `key`, that is offered to jobs of callers."""
    if not path.is_dir():
        text = f"{key}={path} is no directory: jobs that name files there fail."
    elif not os.access(path, os.R_OK | os.X_OK):
        text = (
            f"{key}={path} cannot be read by user {os.geteuid()}: jobs that name files there fail."
        )
    else:
        yield build_fine("directory", f"{key}={path} can be read.")
        return
    yield build_warning(
        "directory", text, f"Make it, let user {os.geteuid()} read and write it, or take it out."
    )


def find_existing(path: Path) -> Path:
    """Return the directory itself, or the nearest existing one above it."""
    found = path.absolute()
    while not found.exists() and found != found.parent:
        found = found.parent
    return found


def find_problem(base: Path, path: Path) -> str:
    """Return why the directory `path` cannot be used or created below `base`; empty if it can."""
    if not base.is_dir():
        return f"{base} is no directory."
    if not os.access(base, os.W_OK | os.X_OK):
        what = "it is not writable" if base == path.absolute() else f"{base} is not writable"
        return f"{what} for user {os.geteuid()}."
    return ""


def read_file_system(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the kind of file system of `path` as the kernel names it; empty if unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found, longest = "", -1
    wanted = str(path.resolve())
    for line in lines:
        # SPEC: proc_pid_mountinfo(5): the mount point is the fifth field, the type is behind ` - `.
        left, _, right = line.partition(" - ")
        point = left.split()[4].replace("\\040", " ") if len(left.split()) > 4 else ""
        inside = wanted == point or wanted.startswith(point.rstrip("/") + "/")
        # NOTE: of two mounts at one point, the later one is visible.
        if point and inside and len(point) >= longest and right:
            found, longest = right.split()[0], len(point)
    return found


def _is_readable(path: Path) -> bool:
    """Return whether every user may read a file in a directory; new ones there are private."""
    if not path.exists() or not path.stat().st_mode & stat.S_IXOTH:
        return False
    for file in path.iterdir():
        with suppress(FileNotFoundError):
            mode = file.stat().st_mode
            if stat.S_ISREG(mode) and mode & stat.S_IROTH:
                return True
    return False


def _check_file_system(key: str, path: Path, base: Path, shares_memory: bool) -> Finding:
    kind = read_file_system(base)
    if kind in NETWORK:
        text = f"{key}={path} lies on a network file system ({kind})"
        fix = "Put it on a disk of this machine; for other machines there are backups."
        if shares_memory:
            return build_error(
                "file system", f"{text}, where a write-ahead log can be damaged.", fix
            )
        return build_warning("file system", f"{text}: its locks may not hold.", fix)
    if kind in _VOLATILE:
        return build_warning(
            "file system",
            f"{key}={path} lies in memory ({kind}): a restart of the machine takes all of it.",
            "Put it on a disk, unless that is what you want.",
        )
    return build_fine("file system", f"{key}={path} lies on {kind or 'an unknown file system'}.")


def _check_room(key: str, base: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(base).free
    text = f"{free // _MIB} MiB are free where {key} lies ({base})"
    if free < _LEAST_ROOM:
        yield build_error("disk space", f"{text}: writes are about to fail.", _MORE_ROOM)
    elif free < _SCARCE_ROOM:
        yield build_warning("disk space", f"{text}.", _MORE_ROOM)
    else:
        yield build_fine("disk space", f"{text}.")
    state = os.statvfs(base)
    if state.f_files and state.f_favail < _SCARCE_INODES:
        yield build_error(
            "disk space",
            f"{state.f_favail} files can be made where {key} lies ({base}).",
            _MORE_ROOM,
        )


_MORE_ROOM: Final = "Free some space, or move the directory to a larger disk."
