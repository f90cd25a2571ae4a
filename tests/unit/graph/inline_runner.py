"""A store runner without threads or limits, for tests of use cases."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

from twinframe.errors import TwinframeError
from twinframe.storage.base import GraphSession, GraphStore, WriteFunction

T = TypeVar("T")


class InlineRunner:
    """Runs each read and each write at once, in a batch of its own, on an open store."""

    def __init__(self, store: GraphStore, *, keeps_sessions: bool = False) -> None:
        """Sessions that are kept are opened once, and are to be closed before the store."""
        self._store = store
        self._keeps_sessions = keeps_sessions
        self._kept: list[GraphSession] = []

    def close(self) -> None:
        """Close the sessions that were kept."""
        while self._kept:
            self._kept.pop().close()

    @contextmanager
    def _open(self) -> Iterator[GraphSession]:
        session = self._kept.pop() if self._kept else self._store.session()
        try:
            yield session
        finally:
            if self._keeps_sessions:
                self._kept.append(session)
            else:
                session.close()

    async def read(self, function: Callable[[GraphSession], T]) -> T:
        """Run in a session of its own."""
        with self._open() as session:
            return function(session)

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Run in one short snapshot of a session of its own; None when that is not enough."""
        try:
            with self._open() as session, session.short_snapshot(steps, seconds):
                return read(session)
        except TwinframeError:
            return None

    async def refresh_statistics(self) -> None:
        """Ask the store at once."""
        self._store.refresh_statistics()

    async def write(self, function: WriteFunction[T], *, alone: bool = False) -> T:
        """Run as a batch of one."""
        del alone
        (outcome,) = self._store.write([function])
        if outcome.error is not None:
            raise outcome.error
        return cast("T", outcome.result)

    async def scan(
        self,
        function: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Run in one snapshot."""
        with self._open() as session, session.snapshot(time.monotonic() + timeout):
            return function(session)

    async def hold(
        self,
        read: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Run in one snapshot."""
        return await self.scan(read, timeout)

    async def scan_early(
        self,
        function: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
        *,
        quick: bool = False,
    ) -> T:
        """Run in one snapshot to the end; return the answer that was given early, if any."""
        del quick
        early: list[T] = []
        try:
            answer = await self.scan(lambda session: function(session, early.append), timeout)
        except TwinframeError:
            if not early:
                raise
            return early[0]
        return early[0] if early else answer

    def listen(self, wake: Callable[[], None]) -> bool:
        """Hear nothing: there is one process."""
        del wake
        return False

    def on_close(self, end: Callable[[], None]) -> None:
        """Do nothing: what an engine does in the background begins at more twins than here."""
