"""Schedules a store's work: cheap point reads inline, writes in one thread, scans in others.

`StoreTraits` describes the costs of a store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from twinframe.errors import LimitExceeded, StorageError, StorageFull, TwinframeError
from twinframe.query.engine import CannotRun
from twinframe.runtime.instruments.base import Instruments, Level
from twinframe.settings import StorageSettings
from twinframe.storage.base import (
    GraphSession,
    GraphStore,
    GraphTransaction,
    Placement,
    WriteFunction,
)
from twinframe.storage.runner_reads import ReadThreads
from twinframe.storage.runner_writes import WriteThread

T = TypeVar("T")

_MOST_WAITING: Final = 4096
_LARGE_AHEAD: Final = 4
"""Large answers that may wait for the event loop: hundreds would come while it is busy."""
"""The number of reads by id that may wait: more than a worker has connections."""
_SMALL_BYTES: Final = 64 * 1024
_FULL_SECONDS: Final = 60.0


class StoreRunner:
    """The only access of a service's event loop to an open store.

    Use it from one event loop. Threads start with the first work of their kind, so a runner may be
    made before the process forks. Errors of the functions are raised unchanged where they are
    awaited. `instruments` receive data about writes and queues.
    """

    def __init__(
        self,
        store: GraphStore,
        settings: StorageSettings,
        instruments: Instruments | None = None,
    ) -> None:
        if instruments is not None and not instruments.takes_writes:
            instruments = None
        self._store = store
        self._inline: GraphSession | None = None
        self._opened = ExitStack()
        self._closed = False
        self._full_at: float | None = None
        self._ends: list[Callable[[], None]] = []
        self._told: Callable[[], None] | None = None
        self._writes: WriteThread[GraphTransaction] = WriteThread(
            store,
            limit=settings.write_queue,
            wait=settings.write_wait,
            key="Storage__WriteQueue",
            instruments=instruments,
        )
        self._scans = ReadThreads(
            store,
            name="scan",
            count=settings.query_threads,
            limit=settings.query_queue,
            niced=True,
        )
        self._quick = ReadThreads(
            store,
            name="quick",
            count=settings.query_threads,
            limit=settings.query_queue,
            niced=False,
            newest_too=True,
        )
        self._pool: ReadThreads | None = None
        if store.traits.point_reads is Placement.POOL:
            self._pool = ReadThreads(
                store,
                name="read",
                count=store.traits.point_read_threads,
                limit=_MOST_WAITING,
                niced=False,
                newest_too=True,
            )
        self._held = ReadThreads(
            store, name="held", count=settings.held_reads, limit=_MOST_WAITING, niced=False
        )
        self._large = ReadThreads(
            store, name="large", count=1, limit=_MOST_WAITING, niced=True, ahead=_LARGE_AHEAD
        )
        if instruments is not None:
            instruments.watch(self)

    def prepare(self) -> None:
        """Open what the first read on the event loop needs. Call it in any thread before that.

        PERF: 0.2 ms, ten times that on a busy machine, during which the loop would stop.
        """
        if self._pool is None and self._inline is None:
            self._open_inline()

    async def read(self, read: Callable[[GraphSession], T]) -> T:
        """Run reads by id, on the event loop itself if the store's traits say so.

        `read` must not keep the session, and may be run again if it turns out to be large: large
        reads run in a thread, one after another. Raises `StorageBusy` when too many reads wait.

        PERF: a document of 1 MB takes ten times as long as most, and its size is not known before.
        With 600 of them requested at once, other reads waited 2.2 s for triples, 0.5 s for SQLite.
        """
        if self._pool is not None:
            return await self._read_beside(self._pool, read)
        try:
            return read(self._inline or self._open_inline())
        except StorageError:
            self._close_inline()  # the next read opens a new one: a session may keep failing
            raise
        except (CannotRun, LimitExceeded):
            return await self._large.run(read)

    async def _read_beside(self, pool: ReadThreads, read: Callable[[GraphSession], T]) -> T:
        """Run the read in a thread, as `read` does on the loop."""

        def read_small(session: GraphSession) -> T:
            with session.small_reads(_SMALL_BYTES):
                return read(session)

        try:
            return await pool.run(read_small)
        except (CannotRun, LimitExceeded):
            return await self._large.run(read)

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Run a read on the event loop, in one snapshot, that is ended if it is not short.

        See `GraphSession.short_snapshot`. None says that it gave no result, for any reason: `scan`
        it, which raises the reason. A store whose point reads are not inline always returns None.
        `read` must not keep the session.
        """
        if self._pool is not None or self._closed:
            return None
        try:
            session = self._inline or self._open_inline()
            with session.short_snapshot(steps, seconds):
                return read(session)
        except StorageError:
            self._close_inline()
        except TwinframeError:
            pass
        return None

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run `function` in the next batch; returns when it is committed.

        With `alone` no other is in its batch. Raises `StorageBusy` when the queue is full or the
        function did not start within `write_wait`; then it never will. A cancelled caller withdraws
        a function that has not started.
        """
        try:
            result = await self._writes.run(function, alone=alone)
        except StorageFull:
            self._full_at = monotonic()
            raise
        self._full_at = None
        return result

    async def scan(
        self,
        read: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (interrupts the statement, not the await)
    ) -> T:
        """Run a read that may scan, in one snapshot and a niced thread, for `timeout` seconds.

        The time counts from now, waiting included: raises `QueryTimeout` when it passes while
        running, `StorageBusy` when the queue is full or it passes before.
        """
        return await self._scans.run(read, timeout)

    async def scan_early(
        self,
        read: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (interrupts the statement, not the await)
        *,
        quick: bool = False,
    ) -> T:
        """Like `scan`, for a `read` that may give its answer before its work is done.

        The answer is what it passes to its second argument; then it continues in its thread, which
        it still occupies, and its errors are not reported. `close` interrupts it.

        With `quick` it is expected to take some milliseconds, and does not wait behind others that
        may scan: it has a thread of such reads.
        """
        threads = self._quick if quick else self._scans
        return await threads.run_early(read, timeout)

    async def refresh_statistics(self) -> None:
        """Let the store find out how much there is, after much was written."""
        await asyncio.to_thread(self._store.refresh_statistics)

    async def hold(
        self,
        read: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (interrupts the statement, not the await)
    ) -> T:
        """Like `scan`, for a `read` that mostly waits: it keeps its one snapshot meanwhile.

        It has a thread of its own, of `Storage__HeldReads` of them.
        """
        return await self._held.run(read, timeout)

    def listen(self, wake: Callable[[], None]) -> bool:
        """Let `wake` be called on the event loop at writes of other processes; see `Notices`."""
        if self._closed:
            return False
        if self._told is None:
            self._told = partial(_call_soon, asyncio.get_running_loop(), wake)
        return self._store.listen(self._told)

    @property
    def is_full(self) -> bool:
        """Whether a write found no disk space within the last minute, and none has since.

        NOTE: only a write shows it: free bytes say little about quotas and reserved blocks.
        """
        return self._full_at is not None and monotonic() - self._full_at < _FULL_SECONDS

    @property
    def is_idle(self) -> bool:
        """Return whether no work is running, including background work."""
        pools = (self._writes, self._scans, self._quick, self._pool, self._large, self._held)
        return all(pool is None or pool.is_idle for pool in pools)

    def read_levels(self) -> Mapping[Level, float]:
        """Return the lengths of the queues, and the number of running queries."""
        pools = [self._scans, self._quick, self._large, *([self._pool] if self._pool else [])]
        return {
            Level.WRITES_WAITING: self._writes.depth,
            Level.READS_WAITING: sum(pool.waiting for pool in pools),
            Level.QUERIES_RUNNING: self._scans.running + self._quick.running,
        }

    def on_close(self, end: Callable[[], None]) -> None:
        """Let `close` call `end` in a thread, after all reads and writes: it may wait."""
        self._ends.append(end)

    async def close(self) -> None:
        """Finish accepted work, refuse other work, end the threads. The store stays open."""
        self._closed = True
        await self._writes.close()
        await self._scans.close()
        await self._quick.close()
        await self._large.close()
        await self._held.close()
        if self._pool is not None:
            await self._pool.close()
        self._close_inline()
        for end in self._ends:
            await asyncio.to_thread(end)

    def _open_inline(self) -> GraphSession:
        self._inline = session = self._store.session()
        self._opened.callback(session.close)
        self._opened.enter_context(session.small_reads(_SMALL_BYTES))
        return session

    def _close_inline(self) -> None:
        self._inline = None
        self._opened.close()


def _call_soon(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop was closed without `close`
        loop.call_soon_threadsafe(wake)
