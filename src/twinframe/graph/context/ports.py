"""The port by which use cases run functions on a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from twinframe.storage.base import GraphSession, WriteFunction

T = TypeVar("T")


class GraphRunner(Protocol):
    """Runs reads and writes on one store; each call raises the errors of the function."""

    async def read(self, function: Callable[[GraphSession], T]) -> T:
        """Run point reads."""

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Run at once, in one snapshot, a read that ends within this many steps of the store's
        engine.

        None: it did not end; a `scan` of the same gives the result or the error.
        """

    async def write(self, function: WriteFunction[T]) -> T:
        """Run one write function; when it returns its change is as durable as the store
        promises.
        """

    async def scan(
        self,
        function: Callable[[GraphSession], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Run reads that may take long, in one snapshot that ends after `timeout` seconds."""

    async def scan_early(
        self,
        function: Callable[[GraphSession, Callable[[T], None]], T],
        timeout: float,  # noqa: ASYNC109  (seconds; the store interrupts its own statement)
    ) -> T:
        """Like `scan`, for a function that may give its answer before its work is done.

        The answer is what the function passes to its second argument; the function continues in the
        background, and handles later errors itself.
        """
