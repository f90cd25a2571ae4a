"""Threads that run reads, each with its own session, behind one bounded queue."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar, cast

from twinframe.errors import StorageBusy, StorageError, StorageMoved
from twinframe.storage.base import GraphSession, GraphStore
from twinframe.storage.runner_writes import fail_future

T = TypeVar("T")

_NICE: Final = 10
_PATIENCE: Final = 0.5
_SPARES: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class PendingRead:
    """A read and the future of its caller; `deadline` is of `time.monotonic`, None is none."""

    read: Callable[[GraphSession], Any]
    future: asyncio.Future[Any]
    deadline: float | None


class _Again(StorageMoved):
    """The read was cut by a move of the graph before it had an answer."""

    def __init__(self) -> None:
        super().__init__("The graph was moved to another database meanwhile; try again.")


class ReadLine:
    """The reads that wait for a thread; `newest_too` takes the newest and the oldest in turn.

    SEC: hundreds of clients that read at the same moment would else have others wait for all of
    them. In turn, a read that comes later waits for two or three, and none waits for ever.
    """

    def __init__(self, *, newest_too: bool) -> None:
        self._reads: deque[PendingRead] = deque()
        self._signals: SimpleQueue[None] = SimpleQueue()  # one a read, and one an end
        self._newest_too = newest_too
        self._newest_next = False

    def __len__(self) -> int:
        return len(self._reads)

    def put(self, read: PendingRead) -> None:
        """Add a read."""
        self._reads.append(read)
        self._signals.put(None)

    def end(self) -> None:
        """Give None to one of those that take, when no read is left."""
        self._signals.put(None)

    def take(self) -> PendingRead | None:
        """Wait for a read, or for the end."""
        self._signals.get()
        return self._pop()

    def take_waiting(self) -> PendingRead | None:
        """Return a read that waits, or None."""
        try:
            self._signals.get_nowait()
        except Empty:
            return None
        read = self._pop()
        if read is None:
            self.end()  # for a thread that is not a spare one
        return read

    def _pop(self) -> PendingRead | None:
        try:
            if self._newest_next:
                self._newest_next = False
                return self._reads.pop()
            self._newest_next = self._newest_too
            return self._reads.popleft()
        except IndexError:
            return None


class ReadThreads:
    """A number of threads, started with the first read, and spare ones while those are blocked.

    NOTE: a read that waits while every thread has been busy with the same work for half a second
    gets a spare thread, at most eight: a few runaway queries do not stop all others.

    PERF: `niced` threads give way to the event loop and the writer: with eight clients that scan
    without pause, point reads then keep their rate, and lose most of it otherwise.
    """

    def __init__(
        self,
        store: GraphStore,
        *,
        name: str,
        count: int,
        limit: int,
        niced: bool,
        newest_too: bool = False,
        ahead: int | None = None,
    ) -> None:
        """`ahead`: how many results may wait for the event loop before the threads pause."""
        self._store = store
        self._name = name
        self._count = count
        self._limit = limit
        self._niced = niced
        self._line = ReadLine(newest_too=newest_too)
        self._room = threading.Semaphore(ahead) if ahead is not None else None
        self._open = 0
        self._threads: list[threading.Thread] = []
        self._ended: asyncio.Future[None] | None = None
        self._running = count
        self._closed = False
        self._lock = threading.Lock()
        self._sessions: dict[PendingRead, tuple[GraphSession, float]] = {}
        # NOTE: a timer keeps the read, and so its result, until it fires or is cancelled.
        self._alarms: dict[PendingRead, asyncio.TimerHandle] = {}
        self._reliefs: dict[PendingRead, asyncio.TimerHandle] = {}

    async def run(
        self,
        read: Callable[[GraphSession], T],
        timeout: float | None = None,  # noqa: ASYNC109  (interrupts the statement, not the await)
    ) -> T:
        """Run `read` in one of the threads; with `timeout` inside a snapshot with that deadline."""
        return await self._submit(read, timeout, asyncio.get_running_loop().create_future())

    async def run_early(
        self,
        read: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (interrupts the statement, not the await)
    ) -> T:
        """Like `run`; `read` may pass its answer to its second argument and then continue."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        is_published = False

        def publish(answer: T) -> None:
            nonlocal is_published
            is_published = True
            loop.call_soon_threadsafe(self._publish, future, answer)

        def repeat(session: GraphSession) -> T:
            try:
                return read(session, publish)
            except StorageMoved:
                if is_published:
                    raise
                raise _Again from None

        return await self._submit(repeat, timeout, future)

    async def _submit(
        self,
        read: Callable[[GraphSession], T],
        timeout: float | None,  # noqa: ASYNC109  (interrupts the statement, not the await)
        future: asyncio.Future[T],
    ) -> T:
        loop = asyncio.get_running_loop()
        if self._closed:
            raise StorageBusy("The service is stopping and takes no more reads.")
        if self._open >= self._limit + self._count:
            raise StorageBusy(
                f"{self._limit} queries wait already (Storage__QueryQueue); try again."
            )
        if not self._threads:
            self._start(loop)
        deadline = None if timeout is None else time.monotonic() + timeout
        self._open += 1
        pending = PendingRead(read, future, deadline)
        if timeout is not None:
            # NOTE: a statement checks its deadline only at intervals.
            self._alarms[pending] = loop.call_later(timeout, self._interrupt, pending)
        self._line.put(pending)
        if self._open > self._running:
            self._reliefs[pending] = loop.call_later(_PATIENCE, self._relieve, loop, pending)
        try:
            return await future
        except asyncio.CancelledError:
            self._interrupt(pending)
            raise

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or runs."""
        return not self._open

    @property
    def waiting(self) -> int:
        """The number of reads that wait for a thread."""
        return len(self._line)

    @property
    def running(self) -> int:
        """The number of running reads with a deadline, also those past their answer."""
        return len(self._sessions)

    async def close(self) -> None:
        """Finish accepted reads and end the threads."""
        self._closed = True
        if self._ended is None:
            return
        for _ in range(self._count):
            self._line.end()
        self._interrupt_answered()
        await asyncio.shield(self._ended)
        for thread in self._threads:
            thread.join()

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ended = loop.create_future()
        for number in range(self._count):
            name = f"twinframe-{self._name}-{number}"
            self._start_thread(loop, name, self._line.take)

    def _start_thread(
        self,
        loop: asyncio.AbstractEventLoop,
        name: str,
        take: Callable[[], PendingRead | None],
    ) -> None:
        thread = threading.Thread(target=self._serve, args=(loop, take), name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _relieve(self, loop: asyncio.AbstractEventLoop, pending: PendingRead | None) -> None:
        """Start a spare thread if `pending` (None: anything) waits while all others are blocked."""
        with self._lock:
            starts = [start for _, start in self._sessions.values()]
            if pending is None:
                is_waiting = bool(self._line)
            else:
                is_waiting = pending not in self._sessions and not pending.future.done()
        if self._closed or not is_waiting:
            if pending is not None:
                self._reliefs.pop(pending, None)
            return
        are_held_up = len(starts) >= self._running and time.monotonic() - max(starts) >= _PATIENCE
        if are_held_up and self._running < self._count + _SPARES:
            self._running += 1
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            self._start_thread(loop, f"twinframe-{self._name}-spare", self._line.take_waiting)
        timer = loop.call_later(_PATIENCE, self._relieve, loop, pending)
        if pending is not None:
            self._reliefs[pending] = timer

    def _settle(self, pending: PendingRead, result: object, error: BaseException | None) -> None:
        self._open -= 1
        for timers in (self._alarms, self._reliefs):
            timer = timers.pop(pending, None)
            if timer is not None:
                timer.cancel()
        if error is not None:
            fail_future(pending.future, error)
        elif not pending.future.done():
            pending.future.set_result(result)
        if self._room is not None:
            # NOTE: not at once: the caller, who writes the answer, runs before it.
            asyncio.get_running_loop().call_soon(self._room.release)

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        self._running -= 1
        if not self._closed and bool(self._line):
            # NOTE: it came when a spare thread had checked for the last time but still counted.
            loop.call_later(_PATIENCE, self._relieve, loop, None)
        if not self._running and self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _publish(self, future: asyncio.Future[T], answer: T) -> None:
        if not future.done():
            future.set_result(answer)
        if self._closed:
            self._interrupt_answered()

    def _interrupt_answered(self) -> None:
        """Stop reads that continue after their answer: the service ends."""
        with self._lock:
            answered = [one for one in self._sessions if one.future.done()]
        for pending in answered:
            self._interrupt(pending)

    def _interrupt(self, pending: PendingRead) -> None:
        """Stop a read that has timed out or whose caller is gone, if it runs."""
        with self._lock:  # NOTE: so that it cannot hit the next read of the same session
            running = self._sessions.get(pending)
            if running is not None:
                running[0].interrupt()

    # --- in the threads -----------------------------------------------------------------------

    def _serve(
        self, loop: asyncio.AbstractEventLoop, take: Callable[[], PendingRead | None]
    ) -> None:
        if self._niced and sys.platform == "linux":  # elsewhere priorities are of processes only
            # NOTE: one step below the process's own: raising it again needs a privilege.
            present = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), min(present + _NICE, 19))
        try:
            self._serve_session(loop, take)
            loop.call_soon_threadsafe(self._end, loop)
        except RuntimeError:  # the loop was closed without `close`: there is no waiter left
            return

    def _serve_session(
        self, loop: asyncio.AbstractEventLoop, take: Callable[[], PendingRead | None]
    ) -> None:
        session: GraphSession | None = None
        try:
            while (pending := take()) is not None:
                result: object = None
                error: BaseException | None = None
                if self._room is not None:
                    self._room.acquire()
                try:
                    if session is None:
                        session = self._store.session()
                    result = self._run(session, pending)
                except Exception as raised:  # noqa: BLE001  (the job runner survives any read)
                    error = raised
                    if isinstance(raised, StorageError) and session is not None:
                        session.close()  # an I/O error may stick to a session
                        session = None
                loop.call_soon_threadsafe(self._settle, pending, result, error)
                del pending, result, error  # an idle thread keeps no answer alive
        finally:
            if session is not None:
                session.close()

    def _run(self, session: GraphSession, pending: PendingRead) -> object:
        try:
            return self._run_once(session, pending)
        except _Again:
            return self._run_once(session, pending)

    def _run_once(self, session: GraphSession, pending: PendingRead) -> object:
        if pending.future.cancelled():
            return None
        if pending.deadline is None:
            try:
                return cast("object", pending.read(session))
            except StorageMoved:
                return cast("object", pending.read(session))
        if time.monotonic() >= pending.deadline:
            raise StorageBusy(
                "The query waited for a free thread until its time was over; try again."
            )
        with session.snapshot(pending.deadline):
            with self._lock:
                self._sessions[pending] = session, time.monotonic()
            try:
                # NOTE: cancelled before it could be interrupted, or interrupted from here on.
                return None if pending.future.cancelled() else pending.read(session)
            finally:
                with self._lock:
                    del self._sessions[pending]
