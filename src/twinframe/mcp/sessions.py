"""The streams a worker keeps open: how many, whose, and how each comes to its end.

A stream is an answer without an end of its own. What flows in it is the transports' matter.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from twinframe.web.exchange import Message, Receive

_LEFT: Message = {"type": "http.disconnect"}
_PATIENCE = 1.0  # seconds that streams get to close what they hold

MOST_PENDING = 32
MOST_UNREAD = 8
"""Calls of one stream under way, and answers that its client has not read, before others wait.

PERF: an answer that cannot go out takes 0.4 MB at 48 KiB of text; without an end to it, a client
that posts and does not read took 1 GB in 9 s.
"""


class TooManySessions(Exception):
    """No further stream can be opened; `text` says which limit is reached."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class TooManyCalls(Exception):
    """A stream has no room for another call, and got none while the call waited."""

    def __init__(self) -> None:
        super().__init__(
            f"This session has {MOST_PENDING} calls under way, or answers that you have not read "
            "from its stream. Read them, then call again."
        )


class Session:
    """One stream, of the hosted graph `graph` or, empty, of the service's own.

    `pending` are the calls in it that were not answered yet.

    `end` ends it where all is said; a transport that holds back what is not sent yet puts its own
    there.
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
        """Room for a call that is on its way in. `TooManyCalls` after so many seconds without."""
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
        """While an answer goes out: as long as it takes its client to read what was before."""
        self._unread += 1
        try:
            yield
        finally:
            self._unread -= 1
            self._room.set()

    def cut(self) -> None:
        """End it now: for what serves it, its client has left."""
        self._cut.set()

    def drain(self) -> None:
        """End as soon as no call is pending."""
        self.draining = True
        self._end_if_idle()

    def begin(self, call: str | int) -> None:
        """A call has come."""
        self.pending.add(call)

    def finish(self, call: str | int) -> None:
        """The answer to a call is out, or the call was given up."""
        self.pending.discard(call)
        self._room.set()
        self._end_if_idle()

    def listen(self, receive: Receive) -> Receive:
        """An ASGI `receive` that also says that the client has left when the stream is cut.

        NOTE: transports close what they hold when a client leaves; cancelled, they do not.
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
        """How many are open."""
        return len(self._open)

    @contextmanager
    def open(self, principal: object, rest: float | None) -> Iterator[Session]:
        """A stream of `principal` that is cut after `rest` seconds; None is no such end.

        Nobody (None) has no limit of his own: all who are not asked would share it.
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
        """Cut what is left, and let it close what it holds."""
        self.begin_drain()
        for session in list(self._open):
            session.cut()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await self._empty.wait()
