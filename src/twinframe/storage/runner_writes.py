"""The writing thread of a process, which writes all waiting functions as one batch."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from time import perf_counter, time
from typing import Generic, Protocol, TypeVar, cast

from twinframe.errors import StorageBusy, TwinframeError
from twinframe.runtime.instruments.base import Commit, Instruments, Write
from twinframe.storage.base import Outcome, StoreTraits

T = TypeVar("T")
X = TypeVar("X")
X_co = TypeVar("X_co", covariant=True)


class WritingStore(Protocol[X_co]):
    """The required interface of a store with transactions `X`: `GraphStore`, `ControlStore`."""

    @property
    def traits(self) -> StoreTraits:
        """Only `largest_batch` is used here."""

    def write(self, functions: Sequence[Callable[[X_co], object]], /) -> Sequence[Outcome[object]]:
        """Run each write function atomically and commit all that succeeded together."""


class PendingWrite(Generic[X]):
    """A write function, the future of its caller, and whether it may still be withdrawn.

    `commit` is its batch, if there are instruments.
    """

    __slots__ = ("_claim", "_started", "alone", "commit", "deadline", "function", "future")

    def __init__(
        self,
        function: Callable[[X], object],
        future: asyncio.Future[object],
        deadline: float,
        *,
        alone: bool = False,
    ) -> None:
        self.function = function
        self.future = future
        self.deadline = deadline
        self.alone = alone
        self.commit: Commit | None = None
        # PERF: the one that pops the item has it; a list's pop is atomic, a lock would cost more.
        self._claim: list[None] = [None]
        self._started = False

    def claim(self) -> bool:
        """Return whether the caller, as the first one, decides the fate of the function."""
        try:
            self._claim.pop()
        except IndexError:
            return False
        return True

    def is_open(self) -> bool:
        """Whether it was neither started nor withdrawn."""
        return bool(self._claim)

    def start(self, transaction: X) -> object:
        """Run in the store, perhaps more than once; raise `StorageBusy` when it was withdrawn."""
        if not self._started:
            if not self.claim():
                raise StorageBusy("The write was withdrawn before its turn came.")
            self._started = True
        try:
            return self.function(transaction)
        except TwinframeError as error:
            # NOTE: its objects would stay with the error until its whole batch is written: 128
            # refused patches of large twins kept 400 MB.
            raise error.with_traceback(None) from error.__cause__


async def _await_outcome(pending: PendingWrite[X], instruments: Instruments) -> object:
    """Return the outcome of a write function, and report it to the instruments."""
    started, ticks, code = time(), perf_counter(), ""
    try:
        return await pending.future
    except TwinframeError as error:
        code = error.code
        raise
    except BaseException as error:
        code = type(error).__name__
        raise
    finally:
        instruments.note_write(Write(started, perf_counter() - ticks, pending.commit, code))


def fail_future(future: asyncio.Future[T], error: BaseException) -> None:
    """Set `error` in the awaiting caller's future, unless it was cancelled."""
    if future.done():
        return
    if isinstance(error, StopIteration):  # asyncio refuses it in a future
        translated = RuntimeError(f"The work raised {error!r}.")
        translated.__cause__ = error
        error = translated
    future.set_exception(error)


class WriteThread(Generic[X]):
    """Runs write functions in their order of arrival, at most the store's `largest_batch` a commit.

    `limit` functions may wait, each for `wait` seconds; `key` is the setting of that limit.
    `instruments` receive data about each function and each batch. Everything but `_serve` and what
    it calls runs on the event loop, so that only the queue and each function's claim are shared
    with the thread.
    """

    def __init__(
        self,
        store: WritingStore[X],
        *,
        limit: int,
        wait: float,
        key: str,
        instruments: Instruments | None = None,
    ) -> None:
        self._store = store
        self._instruments = instruments
        self._largest = store.traits.largest_batch
        self._limit = limit
        self._wait = wait
        self._key = key
        self._queue: SimpleQueue[PendingWrite[X] | None] = SimpleQueue()
        self._next: PendingWrite[X] | None = None
        self._accepted: deque[PendingWrite[X]] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._ended: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def run(self, function: Callable[[X], T], *, alone: bool = False) -> T:
        """Queue `function`; return its result once it is committed.

        With `alone` it is a batch of its own: it may wait, and others need not wait with it.
        """
        loop = self._loop or self._start()
        if self._closed:
            raise StorageBusy("The service is stopping and takes no more writes.")
        if len(self._accepted) >= self._limit:
            raise StorageBusy(f"{self._limit} writes wait already ({self._key}); try again.")
        future: asyncio.Future[object] = loop.create_future()
        pending = PendingWrite(function, future, loop.time() + self._wait, alone=alone)
        self._accepted.append(pending)
        self._queue.put(pending)
        if self._timer is None:
            self._timer = loop.call_at(pending.deadline, self._withdraw_late)
        try:
            if self._instruments is not None:
                return cast("T", await _await_outcome(pending, self._instruments))
            return cast("T", await future)
        except asyncio.CancelledError:
            pending.claim()
            raise

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits or is being written."""
        return not self._accepted

    @property
    def depth(self) -> int:
        """The number of functions that wait or are being written."""
        return len(self._accepted)

    async def close(self) -> None:
        """Write accepted functions and end the thread."""
        self._closed = True
        if self._thread is None or self._ended is None:
            return
        self._queue.put(None)
        await asyncio.shield(self._ended)
        self._thread.join()
        if self._timer is not None:
            self._timer.cancel()

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        self._thread = threading.Thread(
            target=self._serve, args=(loop,), name="twinframe-write", daemon=True
        )
        self._thread.start()
        return loop

    def _withdraw_late(self) -> None:
        """Withdraw functions that have waited too long; one timer serves all."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._timer = None
        for pending in self._accepted:
            if pending.deadline > now:
                self._timer = loop.call_at(pending.deadline, self._withdraw_late)
                return
            if pending.claim():
                late = f"The write did not get its turn in {self._wait:g} s; try again."
                fail_future(pending.future, StorageBusy(late))

    def _settle(
        self, count: int, written: Sequence[tuple[PendingWrite[X], Outcome[object]]]
    ) -> None:
        for _ in range(count):  # batches end in the order in which functions were accepted
            self._accepted.popleft()
        for pending, outcome in written:
            if outcome.error is None:
                if not pending.future.done():
                    pending.future.set_result(outcome.result)
            else:
                fail_future(pending.future, outcome.error)

    # --- in the writing thread --------------------------------------------------------------

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        going = True
        try:
            while going:
                batch, going = self._collect()
                if batch:
                    loop.call_soon_threadsafe(self._settle, len(batch), self._write(batch))
                del batch  # an idle thread keeps no documents alive
            loop.call_soon_threadsafe(self._end)
        except RuntimeError:  # the loop was closed without `close`: there is no waiter left
            return

    def _collect(self) -> tuple[list[PendingWrite[X]], bool]:
        """Return the waiting functions, after waiting for a first; and whether more may come."""
        batch: list[PendingWrite[X]] = []
        pending = self._next or self._queue.get()
        self._next = None
        while pending is not None:
            if pending.alone and batch:
                self._next = pending
                return batch, True
            batch.append(pending)
            if pending.alone or len(batch) == self._largest:
                return batch, True
            try:
                pending = self._queue.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _write(
        self, batch: Sequence[PendingWrite[X]]
    ) -> Sequence[tuple[PendingWrite[X], Outcome[object]]]:
        wanted = [pending for pending in batch if pending.is_open()]
        if not wanted:
            return ()
        started, ticks = time(), perf_counter()
        try:
            outcomes = self._store.write([pending.start for pending in wanted])
        except Exception as error:  # noqa: BLE001  (the job runner survives whatever a store does)
            outcomes = [Outcome(error=error)] * len(wanted)
        if self._instruments is not None:
            failed = sum(outcome.error is not None for outcome in outcomes)
            commit = Commit(len(wanted), failed, started, perf_counter() - ticks)
            for pending in wanted:
                pending.commit = commit
            self._instruments.note_commit(commit)
        return list(zip(wanted, outcomes, strict=True))

    def _end(self) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
