"""An embedded Oxigraph store, in memory or on disk, for use by this process alone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyoxigraph

from twinframe.errors import ConfigurationError, SparqlInvalid, StorageError, StorageFull
from twinframe_storage_rdf.endpoint.writing import LimitedWriter, write_rows, write_triples
from twinframe_storage_rdf.engine import Change, Engine, Question, build_timeout
from twinframe_storage_rdf.terms import Iri, Row, Term, parse_literal, render_iri
from twinframe_storage_rdf.updates import render_ask, render_change

_TURN_ROWS = 256
_MOST_LOG = 32 * 1024**2
"""The number of bytes written to the log between two flushes."""
_MOST_WRITES = 2000
"""The number of writes between two flushes: in memory, each overwritten value stays in the way."""
_ROOM_TO_OPEN: Final = 4 * 1024**2
"""The bytes that the library's own files take when a store is opened, besides its former log."""


class OxigraphEngine(Engine):
    """An Oxigraph store; `directory` None keeps all in memory.

    NOTE: a running query cannot be stopped in this process: the deadline is checked between rows.
    The store process (`engines.process`) can stop it.
    """

    dialect = None

    def __init__(self, directory: Path | None = None) -> None:
        self._directory = directory
        self._store: Any = None
        self.lock = threading.Lock()
        self._logged = 0
        self._unflushed = 0
        self._writes = 0
        self._flushing: threading.Thread | None = None
        self._unsynced = False

    def open(self) -> None:
        """Open the store. Raises `ConfigurationError` when that fails."""
        if self._store is not None:
            return  # in memory, opened a second time
        if self._directory is None:
            self._store = pyoxigraph.Store()
            return
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._store = pyoxigraph.Store(str(self._directory))
        except OSError as error:
            raise ConfigurationError(
                f"The RDF store {self._directory} cannot be opened: {error}"
            ) from error

    def close(self) -> None:
        """Close a store on disk; an in-memory store lives as long as this object."""
        if self._directory is not None:
            if self._flushing is not None:
                self._flushing.join()
            self._store = None

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """Yield the rows, decoded as they are read."""
        return _read_rows(self._run(text), deadline)

    def write_json(self, text: str, out: Any) -> None:
        """Write the rows in the SPARQL JSON results format to a file object, as they are found.

        An error that it raises ends the query.
        """
        try:
            self._run(text).serialize(out, format=pyoxigraph.QueryResultsFormat.JSON)
        except OSError as error:
            raise StorageError(f"The RDF store could not be read: {error}") from error

    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer."""
        del deadline
        return bool(self._run(text))

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query.

        NOTE: deadline and limit are checked when something is written, as the library has no other
        way to be stopped; a query that writes nothing runs on.
        """
        graphs = [pyoxigraph.NamedNode(name) for name in (question.default,) if name]
        named = [pyoxigraph.NamedNode(name) for name in (question.named,) if name]
        write_found = write_triples if question.form.makes_triples else write_rows
        out = LimitedWriter(question.limit, deadline, write)
        try:
            found = self._store.query(question.text, default_graph=graphs, named_graphs=named)
            write_found(found, question.media_type, out)
        except (SyntaxError, ValueError) as error:
            raise SparqlInvalid(f"The query cannot be read: {error}.") from error
        except OSError as error:
            raise StorageError(f"The RDF store could not be read: {error}") from error

    def commit(self, change: Change) -> bool:
        """Check the guard and apply the change, one writer at a time."""
        return self.apply(render_ask(change.guard), "".join(render_change(change)))

    def apply(self, condition: str, update: str) -> bool:
        """Run the update if the ASK `condition` holds, then sync it to disk."""
        with self.lock:
            if not self.ask(condition):
                return False
            try:
                self._store.update(update)
            except OSError as error:
                raise _build_error(error) from error
            try:
                self._sync()
            except OSError as error:
                self._unsynced = True
                raise _build_error(error) from error
            return True

    @property
    def unsynced(self) -> bool:
        """Whether readers see a write that was refused because it could not be synced."""
        return self._unsynced

    def has_room(self) -> bool:
        """Whether the disk has room for opening the store, which turns its log into a file."""
        if self._directory is None:
            return True
        logged = sum(path.stat().st_size for path in self._directory.glob("*.log"))
        disk = os.statvfs(self._directory)
        return disk.f_bavail * disk.f_frsize >= logged + _ROOM_TO_OPEN

    def back_up(self, directory: Path) -> None:
        """Copy the present state to a new directory, as hard links to immutable files."""
        try:
            self._store.backup(str(directory))
        except OSError as error:
            raise _build_error(error) from error

    def flush(self) -> None:
        """Write and sync the content of the log to the store's own files."""
        with self.lock:
            self._store.flush()
            self._unflushed = self._writes = 0

    def clear(self, graphs: Sequence[Iri]) -> None:
        """Clear the graphs in one update."""
        with self.lock:
            self._store.update(" ;\n".join(f"CLEAR SILENT GRAPH {render_iri(g)}" for g in graphs))
            self._sync()

    def _run(self, text: str) -> Any:
        try:
            return self._store.query(text)
        except OSError as error:
            raise StorageError(f"The RDF store could not be read: {error}") from error

    def _sync(self) -> None:
        # NOTE: the library never syncs its log; its plain writes are synced from here.
        if self._directory is not None:
            logged = sum(map(_sync_file, self._directory.glob("*.log")))
            self._unflushed += max(0, logged - self._logged)
            self._logged = logged
            self._writes += 1
            if self._unflushed > _MOST_LOG or self._writes >= _MOST_WRITES:
                self._unflushed = self._writes = 0
                self._start_flush(self._store)

    def _start_flush(self, store: Any) -> None:
        """Start a flush in its own thread. Writes wait only while the previous flush still runs.

        PERF: the library itself flushes when gigabytes are logged, which it holds in memory until
        then and reads again when the store is opened: 0.1 s a megabyte, against 0.02 s of a flush.
        A flush also drops the marks of deleted triples, which each read of such a key passes: one
        property written 20,000 times took 0.37 ms to read, and 0.05 ms with a flush each 2,000.
        """

        def flush() -> None:
            with suppress(OSError):  # a full disk: the next write reports it
                store.flush()

        if self._flushing is not None:
            self._flushing.join()
        self._flushing = threading.Thread(target=flush, name="twinframe-flush")
        self._flushing.start()


def _read_rows(solutions: Any, deadline: float | None) -> Iterator[Row]:
    width = range(len(solutions.variables))
    try:
        for at, solution in enumerate(solutions):
            if deadline is not None and at % _TURN_ROWS == 0 and time.monotonic() >= deadline:
                raise build_timeout()
            yield tuple([_build_term(solution[column]) for column in width])
    except OSError as error:
        raise StorageError(f"The RDF store could not be read: {error}") from error


def _build_term(found: Any) -> Term:
    if found is None:
        return None
    if isinstance(found, pyoxigraph.Literal):
        return parse_literal(found.value, found.datatype.value)
    if isinstance(found, pyoxigraph.NamedNode):
        return Iri(found.value)
    raise StorageError(f"A query gave a term that no twin graph has: {found}")


def _sync_file(path: Path) -> int:
    """Sync the file and return its size in bytes."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:  # rotated away: its content is already in a synced file
        return 0
    try:
        os.fdatasync(handle)
        return os.fstat(handle).st_size
    finally:
        os.close(handle)


def _build_error(error: OSError) -> StorageError:
    if "No space left" in str(error):
        return StorageFull("No space is left for the RDF store; nothing was changed.")
    return StorageError(f"The RDF store could not be written: {error}")
