"""Runs reads and writes of an event loop on a control store: writes in one thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from twinframe.errors import StorageBusy, StorageError
from twinframe.storage.base import Placement
from twinframe.storage.control import (
    ControlSession,
    ControlStore,
    ControlTransaction,
    ControlWriteFunction,
)
from twinframe.storage.runner_writes import WriteThread

T = TypeVar("T")


class ControlRunner:
    """The only access of a service's event loop to an open control store.

    Use it from one event loop; the writing thread starts with the first write. At most
    `write_queue` writes wait, each at most `write_wait` seconds. Errors of the functions are raised
    unchanged where they are awaited.
    """

    def __init__(
        self, store: ControlStore, *, write_queue: int = 4096, write_wait: float = 5.0
    ) -> None:
        self._store = store
        self._inline: ControlSession | None = None
        self._closed = False
        self._writes: WriteThread[ControlTransaction] = WriteThread(
            store, limit=write_queue, wait=write_wait, key="Control__WriteQueue"
        )

    async def read(self, read: Callable[[ControlSession], T]) -> T:
        """Run reads on the event loop itself, or in a thread if the store's traits say so.

        All of them see one state of the records. `read` must not keep the session.
        """
        if self._closed:
            raise StorageBusy("The service is stopping and takes no more reads.")
        if self._store.traits.point_reads is Placement.POOL:
            return await asyncio.to_thread(self._read_apart, read)
        try:
            session = self._inline or self._open_inline()
            with session.snapshot():
                return read(session)
        except StorageError:
            self._close_inline()  # the next read opens a new one: a session may keep failing
            raise

    async def write(self, function: ControlWriteFunction[T]) -> T:
        """Run `function` in the next batch; returns when it is committed.

        Raises `StorageBusy` when the queue is full or the function did not start within
        `write_wait`; then it never will. A cancelled caller withdraws a function that has not
        started.
        """
        return await self._writes.run(function)

    async def close(self) -> None:
        """Finish accepted writes, refuse others, end the thread. The store stays open."""
        self._closed = True
        await self._writes.close()
        self._close_inline()

    def _read_apart(self, read: Callable[[ControlSession], T]) -> T:
        session = self._store.session()
        try:
            with session.snapshot():
                return read(session)
        finally:
            session.close()

    def _open_inline(self) -> ControlSession:
        self._inline = self._store.session()
        return self._inline

    def _close_inline(self) -> None:
        if self._inline is not None:
            self._inline.close()
            self._inline = None
