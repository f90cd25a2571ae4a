"""The server of a store process: serves one embedded store to the workers of a service."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from twinframe.errors import InputError, LimitExceeded, QueryTimeout, StorageFull, TwinframeError
from twinframe.runtime.heap import HeapTrimmer, set_up_heap
from twinframe.runtime.locks import open_lock, wait_for_lock
from twinframe_storage_rdf.copies import mend_directory, remove_leftovers
from twinframe_storage_rdf.endpoint.writing import build_late_answer
from twinframe_storage_rdf.engine import build_timeout
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.storeprocess.apart import (
    Children,
    Ending,
    Report,
    ShortQueries,
    Step,
    is_gone,
)
from twinframe_storage_rdf.storeprocess.frames import (
    Disconnected,
    Files,
    Kind,
    Request,
    Status,
    build_address,
    pack_pair,
    receive_request,
    send_answer,
    unpack_pair,
    unpack_question,
)

GRACE: Final = 2.0
"""The seconds that a read has to end by itself after its deadline or its client's disconnect."""

_LOOK: Final = 0.1
"""The seconds that a request runs before the process checks whether its client is still
connected.
"""
_READS: Final = frozenset({Kind.SELECT, Kind.ASK, Kind.ANSWER, Kind.QUERY})
_ASKED_ONCE: Final = frozenset({Kind.ANSWER, Kind.BACKUP})
"""The kinds of request that a client does not repeat at the next process."""
PIECE_BYTES: Final = 128 * 1024
"""PERF: rows of this size are parsed in a millisecond, for which the client's other threads
wait.
"""
_STACK: Final = 128 * 1024 * 1024  # a deeply nested query needs stack; an overflow ends the process
_TICK: Final = 0.1
_HEAP_GROWTH: Final = 16 * 1024**2
_EXIT_STUCK: Final = 3
_EXIT_FULL: Final = 4
_EXIT_FORSAKEN: Final = 6
_LONGEST: Final = 3600.0
"""The seconds for a query without a deadline."""
_CHILDREN: Final = 16
"""The most queries of callers that run at one time; further ones wait."""
_SHARES: Final = 2
"""All queries together may take this many times the memory of one."""


@dataclass(slots=True)
class _Request:
    """`time.monotonic()` moments of its begin, its deadline, and its client's disconnect.

    `apart` says that a child runs it, which is ended instead of the process.
    """

    kind: Kind
    begun: float
    end: float | None
    apart: bool
    left: float | None = None


class RunningRequests:
    """The running requests, one per connection, to decide when the process must end because of one.

    An engine's query cannot be stopped from outside: only with its process. Thread-safe.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._requests: dict[socket.socket, _Request] = {}

    def begin(
        self,
        connection: socket.socket,
        kind: Kind,
        milliseconds: int,
        now: float,
        *,
        apart: bool = False,
    ) -> None:
        """Record the begin of a request; 0 milliseconds: no deadline.

        `now` is of `time.monotonic()`. With `apart` a child runs the request. NOTE: after a
        standstill of the machine, a child is late before the thread that watches it could end it.
        """
        end = now + milliseconds / 1000 if milliseconds and not apart else None
        with self._guard:
            self._requests[connection] = _Request(kind, now, end, apart)

    def end(self, connection: socket.socket) -> None:
        """Record the end of a request. The connection is still open."""
        with self._guard:
            del self._requests[connection]

    @contextmanager
    def rest(self, connection: socket.socket) -> Iterator[None]:
        """Suspend the connection's request while its client is waited for."""
        with self._guard:
            request = self._requests.pop(connection)
        try:
            yield
        finally:
            with self._guard:
                self._requests[connection] = request

    def is_late(self, now: float) -> bool:
        """Return whether a read passed its deadline by more than the grace period."""
        with self._guard:
            return any(
                each.end is not None and each.end + GRACE < now for each in self._requests.values()
            )

    def is_forsaken(self, now: float) -> bool:
        """Return whether a read runs on without a client, and ending would lose no answer.

        Clients repeat writes, and reads that began just now, at the next process. For requests that
        they do not repeat, or that took long already, the process waits, up to the read's deadline.
        """
        with self._guard:
            self._look(now)
            requests = self._requests.values()
            is_left = any(
                each.left is not None
                and each.left + GRACE < now
                and each.kind in _READS
                and not each.apart
                for each in requests
            )
            return is_left and not any(
                each.left is None and (each.kind in _ASKED_ONCE or each.begun + GRACE < now)
                for each in requests
            )

    def _look(self, now: float) -> None:
        """Look for clients that are gone.

        NOTE: a client that stopped waiting, or died, has closed its side of the connection.
        """
        for connection, request in self._requests.items():
            is_due = request.left is None and request.begun + _LOOK < now
            if is_due and is_gone(connection):
                request.left = now


class AnswerLarge(Exception):
    """The answer has more bytes than its client accepts."""


class Pieces:
    """File-like receiver of an answer that sends each full piece, at the client's request.

    The caller sends the last piece. Neither the store process nor its client ever has all of a
    large answer in memory.

    `report` is called with each step; `wait` with the function that sends a piece and waits for the
    next request.
    """

    def __init__(
        self,
        connection: socket.socket,
        request: Request,
        report: Report = lambda step: None,
        wait: Callable[[Callable[[], None]], None] = lambda wait: wait(),
    ) -> None:
        self._connection = connection
        self._most = request.most
        seconds = request.milliseconds / 1000
        self._end = time.monotonic() + seconds if seconds else None
        self._report = report
        self._wait = wait
        self._pieces: list[bytes] = []
        self._size = self._total = 0

    def write(self, piece: bytes) -> int:
        """Take a part.

        Raises `AnswerLarge`, `QueryTimeout`, or `Disconnected` if the client is gone.
        """
        self._pieces.append(bytes(piece))
        self._size += len(piece)
        self._total += len(piece)
        if self._most and self._total > self._most:
            raise AnswerLarge
        if self._size >= PIECE_BYTES:
            self._wait(self._send)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: a piece is sent when it is full."""

    def take_rest(self) -> bytes:
        """Return what has not been sent."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return rest

    def _send(self) -> None:
        piece = self.take_rest()
        self._report(Step.SENDS)
        try:
            send_answer(self._connection, Status.PIECE, 0, piece)
            self._report(Step.SENT)
            asked = receive_request(self._connection)
        except OSError as error:
            raise Disconnected from error
        if asked.kind is not Kind.MORE:
            raise Disconnected
        self._report(Step.ASKED)
        if self._end is not None and time.monotonic() >= self._end:
            raise build_timeout()


class StoreServer:
    """Serves until no client was connected for `idle` seconds.

    Queries of callers run in children, with `query_bytes` each: if one takes too long or too much,
    only the child ends. Any other read that runs on past its deadline, or after its client is gone,
    ends the process: there is no other way to stop it. Clients start the next process and repeat
    their requests; no acknowledged write is lost.
    """

    def __init__(self, files: Files, idle: float, query_bytes: int) -> None:
        self._files = files
        self._idle = idle
        self._engine = OxigraphEngine(files.store)
        self._guard = threading.Lock()
        self._connections = 0
        self._left_at = time.monotonic()
        self._running = RunningRequests()
        self._place = self._listener = self._alive = -1
        self._query_bytes = query_bytes
        self._children = Children(
            _CHILDREN,
            query_bytes,
            _SHARES * query_bytes,
            self._engine.lock,
            lambda: [self._listener, self._alive],
        )
        self._short = ShortQueries()
        self._ended = threading.Event()
        self._is_full = False
        self._heap = HeapTrimmer(_HEAP_GROWTH)

    def run(self) -> None:
        """Wait for the previous process to end, open the store and serve."""
        set_up_heap()
        self._place = os.open(self._files.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._alive = open_lock(self._files.alive)
        wait_for_lock(self._alive)
        mend_directory(self._files.store, self._files.old)
        remove_leftovers(self._files.place)
        self._engine.open()
        self._engine.flush()  # syncs what a killed process wrote and did not sync
        threading.stack_size(_STACK)
        listener = self._listen()
        self._watch(listener)
        with suppress(StorageFull, OSError):  # not needed, but makes the next opening fast
            self._engine.flush()
        self._engine.close()

    def _listen(self) -> socket.socket:
        """Accept connections at the socket in the directory that existed at the start.

        NOTE: by the directory's descriptor, since another directory may have its path by now.
        """
        self._unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)  # SEC: the socket belongs to this user alone from the beginning
        try:
            listener.bind(build_address(self._place, self._files.socket))
        finally:
            os.umask(before)
        listener.listen(512)
        self._listener = listener.fileno()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _unlink(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._files.socket.name, dir_fd=self._place)

    def _is_found(self) -> bool:
        """Return whether clients find the socket; only this process has a reason to remove it."""
        try:
            os.stat(self._files.socket.name, dir_fd=self._place)
        except FileNotFoundError:
            return not os.fstat(self._place).st_nlink  # the directory is gone, and the store
        return True

    def _watch(self, listener: socket.socket) -> None:
        """Wait until there are no clients any more and the socket is removed."""
        while not self._ended.wait(_TICK):
            now = time.monotonic()
            if self._heap.is_due():
                self._heap.trim()
            if not self._is_found():
                print("the socket was removed; there is a new one", file=sys.stderr, flush=True)
                listener.close()
                listener = self._listen()
            with self._guard:
                idle = not self._connections and now - self._left_at > self._idle
            if self._running.is_late(now):
                _end("a query passed its deadline and does not end", _EXIT_STUCK)
            if self._running.is_forsaken(now):
                _end("a query runs on that nobody waits for", _EXIT_FORSAKEN)
            if idle:
                break
        self._unlink()
        listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                connection, _ = listener.accept()
                with self._guard:
                    self._connections += 1
                try:
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                except RuntimeError as error:  # out of threads or memory; the client tries again
                    print(f"a connection is not served: {error}", file=sys.stderr, flush=True)
                    self._leave(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with suppress(Disconnected, OSError):
                while True:
                    self._serve_next(connection)
        finally:
            self._leave(connection)

    def _serve_next(self, connection: socket.socket) -> None:
        """Wait for a request and answer it. Nothing of it is kept while the next is awaited."""
        request = receive_request(connection)
        kind, milliseconds, _, body = request
        if kind is Kind.MORE:
            return  # a child ended after a piece, and the error was sent
        begin, start = time.thread_time_ns(), time.monotonic()
        apart = self._runs_apart(kind, body)
        self._running.begin(connection, kind, milliseconds, start, apart=apart)
        try:
            if apart:
                self._run_apart(connection, request)
                return
            rows = Pieces(connection, request, wait=self._leave_alone(connection))
            status, answer = self._answer(request, rows)
        finally:
            self._running.end(connection)
        if kind is Kind.QUERY:
            self._short.note(body.decode(), time.monotonic() - start)
        send_answer(connection, status, time.thread_time_ns() - begin, answer)
        if status is Status.FULL and self._must_reopen():
            os._exit(_EXIT_FULL)
        if kind is Kind.STOP:
            self._ended.set()

    def _must_reopen(self) -> bool:
        """Return whether the next process must take over from this one, whose disk was full.

        NOTE: the store accepts no write until it is reopened, which itself needs space. Until there
        is some, this process goes on answering reads.
        """
        return self._engine.unsynced or self._engine.has_room()

    def _leave(self, connection: socket.socket) -> None:
        connection.close()
        with self._guard:
            self._connections -= 1
            self._left_at = time.monotonic()

    def _leave_alone(self, connection: socket.socket) -> Callable[[Callable[[], None]], None]:
        """Return a function that waits for a client while its request is suspended."""

        def wait(wait: Callable[[], None]) -> None:
            with self._running.rest(connection):
                wait()

        return wait

    def _answer(self, request: Request, rows: Pieces) -> tuple[Status, bytes]:
        try:
            return self._run(request, rows)
        except AnswerLarge:
            return Status.LARGE, b""
        except QueryTimeout as error:
            return Status.REFUSED, pack_pair(error.code, error.message)
        except StorageFull as error:
            return Status.FULL, error.message.encode()
        except TwinframeError as error:
            return Status.ERROR, error.message.encode()
        except (SyntaxError, ValueError) as error:
            return Status.ERROR, f"The store refused a text: {error}".encode()

    def _run(self, request: Request, rows: Pieces) -> tuple[Status, bytes]:
        kind, milliseconds, _, body = request
        match kind:
            case Kind.SELECT | Kind.QUERY:
                self._engine.write_json(body.decode(), rows)
                return Status.ROWS, rows.take_rest()
            case Kind.ASK:
                return Status.TRUTH, _build_truth(self._engine.ask(body.decode()))
            case Kind.APPLY:
                return Status.TRUTH, _build_truth(self._apply(*unpack_pair(body)))
            case Kind.ANSWER:
                return self._run_answer(milliseconds, body)
            case Kind.BACKUP:
                self._engine.back_up(Path(body.decode()))
                return Status.TRUTH, _build_truth(True)
            case Kind.STOP:
                return Status.TRUTH, _build_truth(True)
            case Kind.MORE:
                raise AssertionError("Its answer was sent before.")

    def _apply(self, condition: str, update: str) -> bool:
        if self._is_full and self._must_reopen():
            os._exit(_EXIT_FULL)  # the client repeats it at the next process, which can write again
        self._short.note_write()
        try:
            return self._engine.apply(condition, update)
        except StorageFull:
            self._is_full = True
            raise

    # --- queries of callers ---------------------------------------------------------------------

    def _runs_apart(self, kind: Kind, body: bytes) -> bool:
        return kind is Kind.ANSWER or (
            kind is Kind.QUERY and not self._short.is_short(body.decode())
        )

    def _run_apart(self, connection: socket.socket, request: Request) -> None:
        """Let a child answer, and report a failure.

        Raises `Disconnected` when the client is gone.
        """
        kind, milliseconds, _, body = request
        begin = time.monotonic()
        deadline = begin + (milliseconds / 1000 if milliseconds else _LONGEST)

        def answer(report: Report) -> None:
            start = time.thread_time_ns()
            status, found = self._answer(request, Pieces(connection, request, report))
            report(Step.SENDS)
            send_answer(connection, status, time.thread_time_ns() - start, found)

        ending = self._children.run(connection, deadline, answer)
        if ending in ("forsaken", "cut"):
            raise Disconnected
        if ending == "answered":
            if kind is Kind.QUERY:
                self._short.note(body.decode(), time.monotonic() - begin)
            return
        if ending == "crowded":
            text = (
                f"All queries together take more than {_SHARES * self._query_bytes} bytes of "
                "memory (twice Storage__Rdf__QueryBytes), and this one the most of it; try again."
            )
            send_answer(connection, Status.BUSY, 0, text.encode())
            return
        if ending == "failed":
            send_answer(connection, Status.ERROR, 0, b"The store process could not run the query.")
            return
        error = self._build_refusal(ending, kind)
        send_answer(connection, Status.REFUSED, 0, pack_pair(error.code, error.message))

    def _build_refusal(self, ending: Ending, kind: Kind) -> InputError:
        if ending == "late":
            return build_late_answer() if kind is Kind.ANSWER else build_timeout()
        return LimitExceeded(
            f"The query takes more than {self._query_bytes} bytes of memory "
            "(Storage__Rdf__QueryBytes). Name an id or a label, bound the length of paths, or "
            "join fewer patterns."
        )

    def _run_answer(self, milliseconds: int, body: bytes) -> tuple[Status, bytes]:
        """Run a caller's query. Its errors keep their code, since they are meant for the caller."""
        pieces: list[bytes] = []
        try:
            self._engine.answer(
                unpack_question(body), time.monotonic() + milliseconds / 1000, pieces.append
            )
        except InputError as error:
            return Status.REFUSED, pack_pair(error.code, error.message)
        return Status.ROWS, b"".join(pieces)


def _end(why: str, code: int) -> None:
    print(why, file=sys.stderr, flush=True)
    os._exit(code)


def _build_truth(truth: bool) -> bytes:
    return b"1" if truth else b"0"
