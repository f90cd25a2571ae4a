"""The catalog of hosted graphs on one machine, as files.

A provisioner writes it, graph servers read it at each request.

`graphs/<id>.<incarnation>/` is a graph's own directory: its record, its audit log,
statistics and backups. It is created before the graph's data and removed after them, so no data
exist in the storage without a record here. `served/<id>.json` defines what answers at an address.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from twinframe.control.hosting.catalog import (
    Availability,
    Catalog,
    CatalogChange,
    CatalogEntry,
    FenceLost,
    parse_entry,
    render_entry,
)
from twinframe.control.hosting.unfinished import UnfinishedMark, is_left
from twinframe.errors import InvalidArgument, StorageBusy, StorageDamaged, StorageError
from twinframe.model.ids import is_resource_id
from twinframe.runtime.files import DRAFT, rename_durably, sync, write_durably
from twinframe.runtime.locks import hold_lock

_log = logging.getLogger(__name__)

_RECORD: Final = "graph.json"
_GONE: Final = ".gone"
_STRIPES: Final = 256
_LOCK_WAIT: Final = 30.0


class FileCatalog(Catalog):
    """The catalog in `directory`, which all processes of a machine share.

    Changes are complete or not made at all, on stable storage when they return, and seen by every
    `find` that starts later.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._served = directory / "served"
        self._locks = directory / "locks"
        self._known: dict[str, tuple[tuple[int, int], CatalogEntry]] = {}

    def prepare(self) -> None:
        """Create the directories. Raises `StorageError` when that fails."""
        try:
            for folder in (self._served, self._graphs, self._locks):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(
                f"Hosting__Directory: {error.filename}: {error.strerror}."
            ) from error

    def find(self, resource_id: str) -> CatalogEntry | None:
        """Return what is served under this id now; any text is allowed.

        PERF: one `stat` of a file, which is read when it has changed.
        """
        # SEC: the id comes from clients and becomes a path.
        if not is_resource_id(resource_id):
            return None
        path = f"{self._served}/{resource_id}.json"
        try:
            state = os.stat(path)  # noqa: PTH116  (PERF: half the time of a Path's)
            seen = state.st_ino, state.st_mtime_ns
            known = self._known.get(resource_id)
            if known is not None and known[0] == seen:
                return known[1]
            entry = parse_entry(Path(path).read_bytes(), path)
        except FileNotFoundError:
            self._known.pop(resource_id, None)
            return None
        # NOTE: read after `stat`, so a change in between is noticed at the next call.
        self._known[resource_id] = seen, entry
        return entry

    def list_served(self) -> list[CatalogEntry]:
        """List everything that has an address, by id."""
        if not self._served.is_dir():
            return []
        found = []
        for name in sorted(path.stem for path in self._served.glob("*.json")):
            try:
                entry = self.find(name)
            except StorageDamaged as error:
                _log.warning("%s", error.message)  # the others are not affected
            else:
                found += [] if entry is None else [entry]
        return found

    def list_records(self) -> list[tuple[str, str]]:
        """Return id and incarnation of every graph that has anything stored."""
        if not self._graphs.is_dir():
            return []
        names = [path.name.removesuffix(_GONE) for path in self._graphs.iterdir() if path.is_dir()]
        pairs = {tuple(name.split(".", 1)) for name in names if "." in name}
        return sorted((pair[0], pair[1]) for pair in pairs)

    @contextmanager
    def changing(self, resource_id: str, incarnation: str, fence: int) -> Iterator[CatalogChange]:
        """Lock this id against all other processes.

        Raises `FenceLost` after a call with a higher fence, `StorageBusy` when another process
        holds it for long.
        """
        directory = self.build_directory(resource_id, incarnation)
        self.prepare()
        with self._hold(resource_id):
            path = directory / _RECORD
            record = _read_entry(path)
            if record is not None and fence < record.fence:
                raise FenceLost(
                    f"The graph {resource_id} is in the hands of attempt {record.fence}; attempt "
                    f"{fence} comes too late."
                )
            if record is not None and fence > record.fence:
                record = replace(record, fence=fence)
                _write_entry(path, record)
            served = self._served / f"{resource_id}.json"
            yield _FileChange(directory, served, record, _read_entry(served))

    @contextmanager
    def changing_served(self, resource_id: str) -> Iterator[CatalogChange]:
        """Like `changing`, for an operator: with the served graph and its present fence.

        Raises `InvalidArgument` when nothing is served under this id.
        """
        found = self.find(resource_id)
        if found is None:
            raise InvalidArgument(f"No graph {resource_id!r} is served here.")
        record = _read_entry(self.build_directory(resource_id, found.incarnation) / _RECORD)
        fence = found.fence if record is None else record.fence
        with self.changing(resource_id, found.incarnation, fence) as change:
            yield change

    def tidy(self) -> None:
        """Remove what processes left that ended in the middle of a change.

        Removes unfinished files, and directories whose removal had begun. Graphs with a record are
        kept for their provisioner to finish.
        """
        self.prepare()
        for path in [*self._served.glob(f"*{DRAFT}"), *self._graphs.glob(f"*/{_RECORD}{DRAFT}")]:
            resource_id = _read_owner(path, self._served)
            with self._hold(resource_id):  # it is not being written
                path.unlink(missing_ok=True)
        for directory in self._graphs.iterdir():
            if _is_left_over(directory):
                with self._hold(directory.name.split(".", 1)[0]):
                    if _is_left_over(directory):  # and it is not just about to be recorded
                        shutil.rmtree(directory, ignore_errors=True)

    @contextmanager
    def keeping(self, entry: CatalogEntry) -> Iterator[bool]:
        """Yield whether the entry is still served, and keep it unchanged inside.

        A store must be opened in here: opening it just after its removal would create it again
        without an owner.
        """
        with self._hold(entry.resource_id, shared=True):
            found = self.find(entry.resource_id)
            yield found is not None and found.identity == entry.identity

    def hold_mark(self, entry: CatalogEntry) -> UnfinishedMark:
        """Mark the graph as open by a lock on a file of its directory."""
        return UnfinishedMark(self.build_directory(entry.resource_id, entry.incarnation))

    def list_left(self) -> list[CatalogEntry]:
        """Look for marks that nobody has locked."""
        return [
            entry
            for entry in self.list_served()
            if entry.availability is not Availability.OFFLINE
            and is_left(self.build_directory(entry.resource_id, entry.incarnation))
        ]

    @contextmanager
    def _hold(self, resource_id: str, *, shared: bool = False) -> Iterator[None]:
        # NOTE: a fixed number of lock files, as a locked file must not be removed.
        digest = hashlib.blake2s(resource_id.encode(), digest_size=2).digest()
        path = self._locks / f"{int.from_bytes(digest, 'big') % _STRIPES:03d}.lock"
        with hold_lock(path, _LOCK_WAIT, shared=shared) as lock:
            if lock is None:
                raise StorageBusy(f"The hosted graph {resource_id} is being changed; try again.")
            yield


class _FileChange(CatalogChange):
    """One graph, locked for changes."""

    def __init__(
        self,
        directory: Path,
        address: Path,
        record: CatalogEntry | None,
        served: CatalogEntry | None,
    ) -> None:
        super().__init__(directory, record, served)
        self._address = address

    def begin(self, entry: CatalogEntry) -> None:
        """Write the record into a new directory."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        _write_entry(self.directory / _RECORD, entry)
        sync(self.directory.parent)
        self.record = entry

    def serve(self, entry: CatalogEntry) -> None:
        """Write record and address."""
        if self.served is not None and not self.serves_this:
            raise StorageBusy(
                f"The address of {entry.resource_id} still belongs to {self.served.incarnation}."
            )
        _write_entry(self.directory / _RECORD, entry)
        _write_entry(self._address, entry)
        self.record = self.served = entry

    def withdraw(self) -> None:
        """Remove the file of the address."""
        if self.serves_this:
            self._address.unlink(missing_ok=True)
            sync(self._address.parent)
            self.served = None

    def forget(self) -> None:
        """Remove the directory."""
        # A process that was killed in `serve` may have left it.
        self._address.with_name(self._address.name + DRAFT).unlink(missing_ok=True)
        gone = self.directory.with_name(self.directory.name + _GONE)
        shutil.rmtree(gone, ignore_errors=True)
        if self.directory.exists():
            rename_durably(self.directory, gone)
            shutil.rmtree(gone, ignore_errors=True)
        self.record = None


def _write_entry(path: Path, entry: CatalogEntry) -> None:
    try:
        write_durably(path, render_entry(entry))
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error


def _read_entry(path: Path) -> CatalogEntry | None:
    try:
        return parse_entry(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None


def _is_left_over(directory: Path) -> bool:
    return directory.name.endswith(_GONE) or (
        directory.is_dir() and not (directory / _RECORD).exists()
    )


def _read_owner(path: Path, served: Path) -> str:
    own = path.name if path.parent == served else path.parent.name
    return own.split(".", 1)[0]
