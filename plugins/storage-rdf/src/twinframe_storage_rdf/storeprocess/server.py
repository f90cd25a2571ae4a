"""Serving one embedded store to the workers of a service. It knows no twin and decides nothing."""

from __future__ import annotations

import fcntl
import os
import resource
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from twinframe.errors import InputError, StorageFull, TwinframeError
from twinframe_storage_rdf.copies import mend_place, remove_leftovers
from twinframe_storage_rdf.engines.oxigraph import OxigraphEngine
from twinframe_storage_rdf.storeprocess.frames import (
    Disconnected,
    Files,
    Kind,
    Status,
    build_address,
    pack_pair,
    receive_request,
    send_answer,
    unpack_pair,
    unpack_question,
)
from twinframe_storage_rdf.storeprocess.running import RunningRequests

_STACK: Final = 128 * 1024 * 1024  # a deeply nested query needs stack, and overflow is the end
_TICK: Final = 0.1
_EXIT_STUCK: Final = 3
_EXIT_FULL: Final = 4
_EXIT_LARGE: Final = 5
_EXIT_FORSAKEN: Final = 6
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_MOST_GROWTH: Final = 1024**3
"""Bytes by which the process may grow while it runs queries of callers."""
_MOST_SIZE: Final = 4 * 1024**3
"""Bytes of address space, stacks and files among them, by which it may grow then."""


class StoreServer:
    """Serves until nobody was connected for `idle` seconds.

    A read that runs on past its deadline, or when its asker is gone, ends the process, and so does
    a caller's query that takes too much memory: there is no other way to stop it. Clients start the
    next process and ask again; nothing acknowledged is lost.
    """

    def __init__(self, files: Files, idle: float) -> None:
        self._files = files
        self._idle = idle
        self._engine = OxigraphEngine(files.store)
        self._guard = threading.Lock()
        self._connections = 0
        self._left_at = time.monotonic()
        self._running = RunningRequests()
        self._answers = 0
        self._most_pages = 0
        self._ended = threading.Event()
        self._is_full = False

    def run(self) -> None:
        """Wait for the process before this one to end, open the store and serve."""
        alive = os.open(self._files.alive, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(alive, fcntl.LOCK_EX)
        mend_place(self._files.store, self._files.old)
        remove_leftovers(self._files.place)
        self._engine.open()
        self._engine.flush()  # what a killed process wrote and did not sync is synced by this
        listener = self._listen()
        threading.stack_size(_STACK)
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        self._watch()
        with suppress(FileNotFoundError):
            self._files.socket.unlink()
        listener.close()
        with suppress(StorageFull, OSError):  # of no need, but then the next one opens at once
            self._engine.flush()
        self._engine.close()

    def _listen(self) -> socket.socket:
        directory = os.open(self._files.place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        with suppress(FileNotFoundError):
            self._files.socket.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)  # SEC: the socket is of this user alone from its first moment
        try:
            listener.bind(build_address(directory, self._files.socket))
        finally:
            os.umask(before)
        listener.listen(512)
        return listener

    def _watch(self) -> None:
        while not self._ended.wait(_TICK):
            now = time.monotonic()
            with self._guard:
                is_large = self._answers and _read_pages()[1] > self._most_pages
                idle = not self._connections and now - self._left_at > self._idle
            if self._running.is_late(now):
                _end("a query passed its deadline and does not end", _EXIT_STUCK)
            if self._running.is_forsaken(now):
                _end("a query runs on that nobody waits for", _EXIT_FORSAKEN)
            if is_large:
                _end("a query takes too much memory", _EXIT_LARGE)
            if idle:
                return

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # the listener is closed at the end
            while True:
                connection, _ = listener.accept()
                with self._guard:
                    self._connections += 1
                    if self._answers:  # the limit is on what queries take, not on the stack
                        _limit_size(resource.getrlimit(resource.RLIMIT_AS)[0] + _STACK)
                try:
                    threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
                except RuntimeError as error:  # of threads or memory; the client tries again
                    print(f"a connection is not served: {error}", file=sys.stderr, flush=True)
                    self._leave(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with suppress(Disconnected, OSError):
                while True:
                    kind, milliseconds, body = receive_request(connection)
                    begin = time.thread_time_ns()
                    self._running.begin(connection, kind, milliseconds, time.monotonic())
                    try:
                        status, answer = self._answer(kind, milliseconds, body)
                    finally:
                        self._running.end(connection)
                    send_answer(connection, status, time.thread_time_ns() - begin, answer)
                    if status is Status.FULL and self._must_reopen():
                        os._exit(_EXIT_FULL)
                    if kind is Kind.STOP:
                        self._ended.set()
        finally:
            self._leave(connection)

    def _must_reopen(self) -> bool:
        """Whether the next process has to take over, now that no room was left for a write.

        NOTE: the store takes no write again until it is reopened, which itself takes room. Until
        there is some, this process goes on to answer reads.
        """
        return self._engine.unsynced or self._engine.has_room()

    def _leave(self, connection: socket.socket) -> None:
        connection.close()
        with self._guard:
            self._connections -= 1
            self._left_at = time.monotonic()

    def _answer(self, kind: Kind, milliseconds: int, body: bytes) -> tuple[Status, bytes]:
        try:
            return self._run(kind, milliseconds, body)
        except StorageFull as error:
            return Status.FULL, error.message.encode()
        except TwinframeError as error:
            return Status.ERROR, error.message.encode()
        except (SyntaxError, ValueError) as error:
            return Status.ERROR, f"The store refused a text: {error}".encode()

    def _run(self, kind: Kind, milliseconds: int, body: bytes) -> tuple[Status, bytes]:
        match kind:
            case Kind.SELECT:
                return Status.ROWS, self._engine.select_json(body.decode())
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

    def _apply(self, condition: str, update: str) -> bool:
        if self._is_full and self._must_reopen():
            os._exit(_EXIT_FULL)  # the client asks the next process, which can write again
        try:
            return self._engine.apply(condition, update)
        except StorageFull:
            self._is_full = True
            raise

    def _run_answer(self, milliseconds: int, body: bytes) -> tuple[Status, bytes]:
        """A caller's query. Its errors are the caller's too, and so keep their code."""
        pieces: list[bytes] = []
        with self._guard:
            if not self._answers:
                size, present = _read_pages()
                self._most_pages = present + _MOST_GROWTH // _PAGE_BYTES
                _limit_size(size * _PAGE_BYTES + _MOST_SIZE)
            self._answers += 1
        try:
            self._engine.answer(
                unpack_question(body), time.monotonic() + milliseconds / 1000, pieces.append
            )
        except InputError as error:
            return Status.REFUSED, pack_pair(error.code, error.message)
        finally:
            with self._guard:
                self._answers -= 1
                if not self._answers:
                    _limit_size(resource.RLIM_INFINITY)
        return Status.ROWS, b"".join(pieces)


def _end(why: str, code: int) -> None:
    print(why, file=sys.stderr, flush=True)
    os._exit(code)


def _read_pages() -> tuple[int, int]:
    """The pages of address space and of memory that the process takes."""
    size, present, *_ = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(size), int(present)


def _limit_size(size: int) -> None:
    """Let the process end itself rather than grow beyond this size in one step.

    NOTE: memory is looked at ten times a second, in which a query may take all there is.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = hard if size == resource.RLIM_INFINITY else size
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def _build_truth(truth: bool) -> bytes:
    return b"1" if truth else b"0"
