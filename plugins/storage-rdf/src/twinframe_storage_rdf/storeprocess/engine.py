"""The client of a store process, which shares one embedded Oxigraph store between all workers of a
machine.

A client that finds no process starts one. It never opens the store itself.
"""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from twinframe.errors import (
    ConfigurationError,
    InputError,
    LimitExceeded,
    QueryTimeout,
    SparqlInvalid,
    StorageBusy,
    StorageError,
    StorageFull,
)
from twinframe.query.engine import CannotRun
from twinframe.runtime.locks import hold_lock, open_lock, wait_for_lock
from twinframe_storage_rdf.endpoint.writing import build_late_answer
from twinframe_storage_rdf.engine import Change, Engine, Question, build_timeout
from twinframe_storage_rdf.results import parse_pieces, parse_rows
from twinframe_storage_rdf.storeprocess.frames import (
    Disconnected,
    Files,
    Kind,
    Status,
    build_address,
    pack_pair,
    pack_pieces,
    pack_question,
    receive_answer,
    send_request,
    unpack_pair,
)
from twinframe_storage_rdf.terms import Iri, Row, render_iri
from twinframe_storage_rdf.updates import render_ask, render_change, render_marker_ask

_WAIT: Final = 10.0  # seconds to wait for a process to start or restart
_WRITE_WAIT: Final = 30.0
_PAUSE: Final = 0.01
_IN_USE: Final = "The graph is in use."
_CHILDREN: Final[list[subprocess.Popen[bytes]]] = []
"""Processes that this one started; kept so that it can wait for them when they end."""


@atexit.register
def leave_children() -> None:
    """Stop waiting for processes that others may use and that end by themselves.

    NOTE: a `Popen` object that is deleted while its process runs warns about it at exit.
    """
    for child in _CHILDREN:
        if child.poll() is None:
            child.returncode = 0
    _CHILDREN.clear()


class ProcessEngine(Engine):
    """The store in the directory `place`, through its process."""

    dialect = None

    def __init__(self, place: Path, idle_seconds: float, query_bytes: int = 256 * 1024**2) -> None:
        """`query_bytes` is the memory that each query of a caller may take."""
        self._files = Files(place)
        self._idle = idle_seconds
        self._query_bytes = query_bytes
        self._free: list[socket.socket] = []
        self._lock = threading.Lock()
        self._own = threading.local()
        self._directory = -1
        self._use = -1

    @property
    def files(self) -> Files:
        """The paths of the store's files."""
        return self._files

    def open(self) -> None:
        """Create the directory, mark it as used, and connect to a process."""
        place = self._files.place
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.chmod(0o700)  # SEC: the socket in it is the only access to the store
            self._directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._use = open_lock(self._files.using)
        except OSError as error:
            raise ConfigurationError(
                f"Storage__Rdf__Directory: {place} cannot be used: {error.strerror}."
            ) from error
        _lock(self._use, _WAIT, shared=True)
        self._give(self._connect(time.monotonic() + _WAIT))

    def close(self) -> None:
        """Close all connections; the process ends by itself after its last client."""
        with self._lock:
            free, self._free = self._free, []
        for connection in free:
            connection.close()
        for handle in (self._use, self._directory):
            if handle >= 0:
                os.close(handle)
        self._use = self._directory = -1

    @contextmanager
    def small_answers(self, most_bytes: int) -> Iterator[None]:
        """Raise `CannotRun` for rows of more bytes within the context and this thread.

        PERF: the process stops as soon as it has written so many: 0.1 ms for a text of 1 MB.
        """
        before, self._own.most_bytes = self._read_most(), most_bytes
        try:
            yield
        finally:
            self._own.most_bytes = before

    def select(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """Return the rows; if they are many or large, a batch at a time."""
        return self._read_rows(Kind.SELECT, text, deadline)

    def query(self, text: str, deadline: float | None = None) -> Iterator[Row]:
        """`select` in a child of the process, unless similar queries were short."""
        return self._read_rows(Kind.QUERY, text, deadline)

    def ask(self, text: str, deadline: float | None = None) -> bool:
        """The answer."""
        return self._end(*self._begin(Kind.ASK, text.encode(), deadline)) == b"1"

    def answer(self, question: Question, deadline: float, write: Callable[[bytes], object]) -> None:
        """Run a caller's query in the process, once."""
        body = pack_question(question)
        now = time.monotonic()
        connection = self._take_alive(min(deadline, now + _WAIT))
        milliseconds = max(1, round((deadline - now) * 1000))
        try:
            answer = self._request(Kind.ANSWER, body, deadline, milliseconds, connection)
        except (Disconnected, OSError) as error:
            raise StorageBusy("The store process ended while it ran the query.") from error
        write(answer)

    def read_time(self) -> int:
        """Return the time of the store process."""
        return int(getattr(self._own, "nanoseconds", 0))

    def commit(self, change: Change) -> bool:
        """Let the process check the guard and apply the change.

        If the process dies meanwhile, the next one is asked whether the change was made.
        """
        body = pack_pieces(render_ask(change.guard), render_change(change))
        end = time.monotonic() + _WRITE_WAIT
        while True:
            try:
                return self._request(Kind.APPLY, body, end, 0) == b"1"
            except (Disconnected, OSError):
                if self.ask(render_marker_ask(change), end):
                    return True

    def clear(self, graphs: Sequence[Iri]) -> None:
        """Clear the graphs in one update."""
        update = " ;\n".join(f"CLEAR SILENT GRAPH {render_iri(graph)}" for graph in graphs)
        self._request(Kind.APPLY, pack_pair("ASK {}", update), time.monotonic() + _WRITE_WAIT, 0)

    def destroy(self, names: Sequence[Iri], timeout: float) -> None:
        """Remove the directory when it is not in use. Raises `StorageBusy` if it still is."""
        del names
        if not self._files.place.is_dir():
            return
        with self.alone(timeout):
            shutil.rmtree(self._files.place)

    @contextmanager
    def alone(self, timeout: float) -> Iterator[None]:
        """Hold the store while nobody uses it. Raises `StorageBusy` after `timeout`.

        The engine is not open here, and cannot be opened meanwhile.
        """
        use = open_lock(self._files.using)
        try:
            _lock(use, timeout)
            self._directory = os.open(
                self._files.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            )
            self._stop_process()
            alive = open_lock(self._files.alive)
            try:
                _lock(alive, max(timeout, _WAIT))
                yield
            finally:
                os.close(alive)
        finally:
            os.close(use)
            self.close()

    def back_up(self, directory: Path) -> None:
        """Let the process copy its files to a new directory on the same disk."""
        try:
            connection = self._take_alive(time.monotonic() + _WAIT)
            self._request(Kind.BACKUP, str(directory.resolve()).encode(), None, 0, connection)
        except (Disconnected, OSError) as error:
            raise StorageBusy(
                "The store process ended while it made a backup; try again."
            ) from error

    # --- requests -------------------------------------------------------------------------------

    def _read_most(self) -> int:
        return int(getattr(self._own, "most_bytes", 0))

    def _read_rows(self, kind: Kind, text: str, deadline: float | None) -> Iterator[Row]:
        connection, status, answer = self._begin(kind, text.encode(), deadline)
        if status is Status.PIECE:
            return parse_pieces(self._go_on(connection, answer, deadline))
        return parse_rows(self._end(connection, status, answer))

    def _go_on(
        self, connection: socket.socket, piece: bytes, deadline: float | None
    ) -> Generator[bytes]:
        """Yield this piece of an answer and the following ones.

        If closed early, the process stops too.
        """
        status = Status.PIECE
        while status is Status.PIECE:
            try:
                yield piece
            except GeneratorExit:
                connection.close()
                raise
            try:
                status, piece = self._exchange(connection, Kind.MORE, b"", deadline)
            except TimeoutError as error:
                raise build_timeout() from error
            except (Disconnected, OSError) as error:
                if deadline is not None and time.monotonic() >= deadline:
                    raise build_timeout() from error
                raise StorageBusy(
                    "The store process ended the query while it answered; try again."
                ) from error
        yield self._end(connection, status, piece)

    def _begin(
        self, kind: Kind, body: bytes, deadline: float | None
    ) -> tuple[socket.socket, Status, bytes]:
        """Return the begin of an answer, from the next process if this one ends."""
        end, most = time.monotonic() + _WAIT, self._read_most()
        while True:
            milliseconds = 0
            if deadline is not None:
                milliseconds = max(1, round((deadline - time.monotonic()) * 1000))
                if time.monotonic() >= deadline:
                    raise build_timeout()
            try:
                connection = self._take(deadline)
                answer = self._exchange(connection, kind, body, deadline, milliseconds, most)
            except TimeoutError as error:
                raise build_timeout() from error
            except (Disconnected, OSError) as error:
                if time.monotonic() >= end:
                    raise StorageBusy("The store process ends whenever this is read.") from error
                time.sleep(_PAUSE)
            else:
                return connection, *answer

    def _request(
        self,
        kind: Kind,
        body: bytes | Sequence[bytes],
        end: float | None,
        milliseconds: int,
        connection: socket.socket | None = None,
    ) -> bytes:
        """Send a request and return the answer.

        Raises `Disconnected` or `OSError` if the process ends meanwhile.
        """
        connection = connection or self._take(end)
        try:
            status, answer = self._exchange(connection, kind, body, end, milliseconds)
        except TimeoutError as error:
            if kind is Kind.APPLY:
                raise StorageError("It is not known whether the write was made.") from error
            if kind is Kind.ANSWER:
                raise build_late_answer() from error
            raise build_timeout() from error
        return self._end(connection, status, answer)

    def _exchange(
        self,
        connection: socket.socket,
        kind: Kind,
        body: bytes | Sequence[bytes],
        end: float | None,
        milliseconds: int = 0,
        most: int = 0,
    ) -> tuple[Status, bytes]:
        """Send one request and return its answer; close the connection if none comes."""
        try:
            connection.settimeout(None if end is None else max(0.001, end - time.monotonic()))
            send_request(connection, kind, milliseconds, body, most)
            status, nanoseconds, answer = receive_answer(connection)
        except BaseException:
            connection.close()
            raise
        self._own.nanoseconds = self.read_time() + nanoseconds
        return status, answer

    def _end(self, connection: socket.socket, status: Status, answer: bytes) -> bytes:
        """Free the connection; return the last part of the answer, or raise its error."""
        self._give(connection)
        if status is Status.LARGE:
            raise CannotRun("The answer is larger than what is read here.")
        if status is Status.FULL:
            raise StorageFull(answer.decode())
        if status is Status.REFUSED:
            raise _build_refusal(*unpack_pair(answer))
        if status is Status.BUSY:
            raise StorageBusy(answer.decode())
        if status is Status.ERROR:
            raise StorageError(answer.decode())
        return answer

    def _take(self, end: float | None) -> socket.socket:
        with self._lock:
            if self._free:
                return self._free.pop()
        limit = time.monotonic() + _WAIT
        return self._connect(limit if end is None else min(limit, end))

    def _give(self, connection: socket.socket) -> None:
        with self._lock:
            self._free.append(connection)

    # --- the process ----------------------------------------------------------------------------

    def _connect(self, end: float) -> socket.socket:
        """Return a connection, to a new process if none is running."""
        while True:
            connection = self._try_connect()
            if connection is not None:
                return connection
            with hold_lock(self._files.starting, max(0.0, end - time.monotonic())) as lock:
                if lock is None:
                    raise StorageBusy(_IN_USE)
                connection = self._try_connect() or self._start(end)
            if connection is not None:
                return connection
            if time.monotonic() >= end:
                raise StorageBusy(
                    f"The store process of {self._files.place} does not come up; "
                    f"see {self._files.log}."
                )
            time.sleep(_PAUSE)

    def _take_alive(self, end: float) -> socket.socket:
        """Return a connection to a live process; that of a pooled one may have ended."""
        while True:
            connection = self._take(end)
            try:
                connection.settimeout(max(0.001, end - time.monotonic()))
                send_request(connection, Kind.ASK, 0, b"ASK {}")
                receive_answer(connection)
            except (Disconnected, OSError):
                connection.close()
                if time.monotonic() >= end:
                    raise StorageBusy("The store process does not answer.") from None
                time.sleep(_PAUSE)
            else:
                return connection

    def _try_connect(self) -> socket.socket | None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(build_address(self._directory, self._files.socket))
        except OSError:
            connection.close()
            return None
        return connection

    def _start(self, end: float) -> socket.socket | None:
        _CHILDREN[:] = [child for child in _CHILDREN if child.poll() is None]
        with self._files.log.open("ab") as log:
            child = subprocess.Popen(  # noqa: S603  (our own module)
                [
                    sys.executable,
                    "-m",
                    "twinframe_storage_rdf.storeprocess",
                    str(self._files.place.resolve()),
                    str(self._idle),
                    str(self._query_bytes),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _CHILDREN.append(child)
        while time.monotonic() < end and child.poll() is None:
            connection = self._try_connect()
            if connection is not None:
                return connection
            time.sleep(_PAUSE)
        return None

    def _stop_process(self) -> None:
        connection = self._try_connect()
        if connection is not None:
            with connection, suppress(Disconnected, OSError):
                connection.settimeout(_WAIT)
                send_request(connection, Kind.STOP, 0, b"")
                receive_answer(connection)


def _build_refusal(code: str, message: str) -> InputError:
    kinds: tuple[type[InputError], ...] = (SparqlInvalid, LimitExceeded, QueryTimeout)
    return next((kind for kind in kinds if kind.code == code), SparqlInvalid)(message)


def _lock(handle: int, timeout: float, *, shared: bool = False) -> None:
    if not wait_for_lock(handle, timeout, shared=shared):
        raise StorageBusy(_IN_USE)
