"""Tracks the open streams of a worker: their number, their owners, and how each ends.

A stream is an answer without an end of its own. The transports write its contents.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from twinframe.http.exchange import Message, Receive

_LEFT: Message = {"type": "http.disconnect"}
_PATIENCE = 1.0  # seconds that streams get to close what they hold

MOST_PENDING = 32
MOST_UNREAD = 8
"""The number of calls of one stream that may be running, or answered but not read, before others
wait.

PERF: an unsent answer takes 0.4 MB at 48 KiB of text; without a limit, a client that posts and does
not read took 1 GB in 9 s.
"""


class TooManySessions(Exception):
    """No further stream can be opened; `text` says which limit is reached."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class TooManyCalls(Exception):
    """A stream had no room for another call while the call waited."""

    def __init__(self) -> None:
        super().__init__(
            f"This session has {MOST_PENDING} calls under way, or answers that you have not read "
            "from its stream. Read them, then call again."
        )


class Session:
    """One stream, of the hosted graph `graph` or, empty, of the service's own.

    `pending` are its unanswered calls. `end` ends it when everything is sent; a transport that
    buffers output sets its own.
    """

    def __init__(self) -> None:
        self.end: Callable[[], None] = self.cut
        self.pending: set[str | int] = set()
        self.draining = False
        self.graph = ""
        self._entering = 0
        self._unread = 0
        self._cut = asyncio.Event()
        self._room = asyncio.Event()

    @property
    def is_crowded(self) -> bool:
        """Whether another call has to wait."""
        return len(self.pending) + self._entering >= MOST_PENDING or self._unread >= MOST_UNREAD

    @asynccontextmanager
    async def enter(self, seconds: float) -> AsyncIterator[None]:
        """Reserve room for an incoming call.

        Raises `TooManyCalls` after this many seconds without room.
        """
        try:
            async with asyncio.timeout(seconds):
                while self.is_crowded:
                    self._room.clear()
                    await self._room.wait()
        except TimeoutError:
            raise TooManyCalls from None
        self._entering += 1
        try:
            yield
        finally:
            self._entering -= 1
            self._room.set()

    @contextmanager
    def sending(self) -> Iterator[None]:
        """Count an answer while it is being sent, which takes until its client has read those
        before.
        """
        self._unread += 1
        try:
            yield
        finally:
            self._unread -= 1
            self._room.set()

    def cut(self) -> None:
        """End it now, as if its client had disconnected."""
        self._cut.set()

    def drain(self) -> None:
        """End as soon as no call is pending."""
        self.draining = True
        self._end_if_idle()

    def begin(self, call: str | int) -> None:
        """Record that a call has come."""
        self.pending.add(call)

    def finish(self, call: str | int) -> None:
        """Record that a call was answered, or abandoned."""
        self.pending.discard(call)
        self._room.set()
        self._end_if_idle()

    def listen(self, receive: Receive) -> Receive:
        """Return an ASGI `receive` that also reports a disconnect when the stream is cut.

        NOTE: transports release their resources when a client disconnects, but not when cancelled.
        """

        async def receive_or_end() -> Message:
            message = asyncio.ensure_future(receive())
            cut = asyncio.ensure_future(self._cut.wait())
            try:
                await asyncio.wait((message, cut), return_when=asyncio.FIRST_COMPLETED)
                return message.result() if message.done() else dict(_LEFT)
            finally:
                message.cancel()
                cut.cancel()

        return receive_or_end

    def _end_if_idle(self) -> None:
        if self.draining and not self.pending:
            self.end()


class Sessions:
    """All streams of a worker, at most `limit`, and `limit_each` of one principal."""

    def __init__(self, limit: int, limit_each: int) -> None:
        self._limit = limit
        self._limit_each = limit_each
        self._open: set[Session] = set()
        self._counts: Counter[object] = Counter()
        self._draining = False
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def count(self) -> int:
        """The number of open streams."""
        return len(self._open)

    @contextmanager
    def open(self, principal: object, rest: float | None) -> Iterator[Session]:
        """Open a stream of `principal` that is cut after `rest` seconds; None is no such end.

        An anonymous caller (None) has no limit of its own, as all anonymous callers would share it.
        Raises `TooManySessions`.
        """
        if len(self._open) >= self._limit or self._draining:
            raise TooManySessions("This server has no room for another session now.")
        if principal is not None and self._counts.get(principal, 0) >= self._limit_each:
            raise TooManySessions(
                f"You have {self._limit_each} sessions open here; close one before the next."
            )
        session = Session()
        timer = None
        if rest is not None:
            timer = asyncio.get_running_loop().call_later(rest, session.cut)
        self._open.add(session)
        self._empty.clear()
        self._counts[principal] += 1
        try:
            yield session
        finally:
            if timer is not None:
                timer.cancel()
            self._open.discard(session)
            if not self._open:
                self._empty.set()
            self._counts[principal] -= 1
            if not self._counts[principal]:
                del self._counts[principal]

    def begin_drain(self) -> None:
        """Open no more, and end each stream when nothing is pending in it."""
        self._draining = True
        for session in list(self._open):
            session.drain()

    async def stop(self) -> None:
        """Cut the remaining streams, and let them release their resources."""
        self.begin_drain()
        for session in list(self._open):
            session.cut()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._empty.wait()
