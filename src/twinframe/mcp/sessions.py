"""The streams a worker keeps open: how many, whose, and how each comes to its end.

A stream is an answer without an end of its own. What flows in it is the transports' matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio


class TooManySessions(Exception):
    """No further stream can be opened; `text` says which limit is reached."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Session:
    """One stream. `pending` are the calls in it that were not answered yet.

    `end` ends it; a transport puts its own there if it can say more than it has said so far.
    """

    def __init__(self, rest: float | None) -> None:
        deadline = float("inf") if rest is None else anyio.current_time() + rest
        self.cancellation = anyio.CancelScope(deadline=deadline)
        self.end: Callable[[], None] = self.cancellation.cancel
        self.pending: set[str | int] = set()
        self.draining = False

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
        self._end_if_idle()

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

    def __len__(self) -> int:
        """How many streams are open."""
        return len(self._open)

    @contextmanager
    def open(self, principal: object, rest: float | None) -> Iterator[Session]:
        """A stream of `principal` that ends after `rest` seconds; None is no such end.

        Raises `TooManySessions`. The end, by time or by drain, is no error: the body is left.
        """
        if len(self._open) >= self._limit or self._draining:
            raise TooManySessions("This server has no room for another session now.")
        if self._counts[principal] >= self._limit_each:
            raise TooManySessions(
                f"You have {self._limit_each} sessions open here; close one before the next."
            )
        session = Session(rest)
        self._open.add(session)
        self._counts[principal] += 1
        try:
            with session.cancellation:
                yield session
        finally:
            self._open.discard(session)
            self._counts[principal] -= 1
            if not self._counts[principal]:
                del self._counts[principal]

    def begin_drain(self) -> None:
        """Open no more, and end each stream when nothing is pending in it."""
        self._draining = True
        for session in list(self._open):
            session.drain()
