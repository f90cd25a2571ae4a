"""What the use cases need of the runner of a store. It does not place work on threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from twinframe.storage.base import GraphSession, Work

T = TypeVar("T")


class StoreRunner(Protocol):
    """Runs reads and writes on one store; each call raises what the function raised."""

    async def read(self, function: Callable[[GraphSession], T]) -> T:
        """Run point reads."""

    def read_short(self, read: Callable[[GraphSession], T], steps: int, seconds: float) -> T | None:
        """Run at once, in one snapshot, what ends behind so many steps of the store's engine.

        None: nothing came of it, and why is told by a `scan` of the same.
        """

    async def write(self, work: Work[T]) -> T:
        """Run one work; on return its change is as durable as the store promises."""

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

        What the function calls its second argument with is the answer; it goes on in the
        background, and errors after that are its own to handle.
        """
