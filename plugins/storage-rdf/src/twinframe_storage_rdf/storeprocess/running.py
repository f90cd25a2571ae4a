"""Tracks the running requests of the store process, to decide when the process must end because of
one.

An engine's query cannot be stopped from outside: only with its process.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from twinframe_storage_rdf.storeprocess.apart import is_gone
from twinframe_storage_rdf.storeprocess.frames import Kind

GRACE: Final = 2.0
"""The seconds that a read has to end by itself after its deadline or its client's disconnect."""

_LOOK: Final = 0.1
"""The seconds that a request runs before the process checks whether its client is still
connected.
"""
_READS: Final = frozenset({Kind.SELECT, Kind.ASK, Kind.ANSWER, Kind.QUERY})
_ASKED_ONCE: Final = frozenset({Kind.ANSWER, Kind.BACKUP})
"""The kinds of request that a client does not repeat at the next process."""


@dataclass(slots=True)
class _Request:
    """`time.monotonic()` moments of its begin, its deadline, and its client's disconnect.

    `apart` says that a child runs it, which is ended instead of the process.
    """

    kind: Kind
    begun: float
    end: float | None
    apart: bool
    left: float | None = None


class RunningRequests:
    """The running requests, one per connection. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._requests: dict[socket.socket, _Request] = {}

    def begin(
        self,
        connection: socket.socket,
        kind: Kind,
        milliseconds: int,
        now: float,
        *,
        apart: bool = False,
    ) -> None:
        """Record the begin of a request; 0 milliseconds: no deadline.

        `now` is of `time.monotonic()`. With `apart` a child runs the request. NOTE: after a
        standstill of the machine, a child is late before the thread that watches it could end it.
        """
        end = now + milliseconds / 1000 if milliseconds and not apart else None
        with self._guard:
            self._requests[connection] = _Request(kind, now, end, apart)

    def end(self, connection: socket.socket) -> None:
        """Record the end of a request. The connection is still open."""
        with self._guard:
            del self._requests[connection]

    @contextmanager
    def rest(self, connection: socket.socket) -> Iterator[None]:
        """Suspend the connection's request while its client is waited for."""
        with self._guard:
            request = self._requests.pop(connection)
        try:
            yield
        finally:
            with self._guard:
                self._requests[connection] = request

    def is_late(self, now: float) -> bool:
        """Return whether a read passed its deadline by more than the grace period."""
        with self._guard:
            return any(
                each.end is not None and each.end + GRACE < now for each in self._requests.values()
            )

    def is_forsaken(self, now: float) -> bool:
        """Return whether a read runs on without a client, and ending the process would lose no
        answer.

        Clients repeat writes, and reads that began just now, at the next process. For requests that
        they do not repeat, or that took long already, the process waits, up to the read's deadline.
        """
        with self._guard:
            self._look(now)
            requests = self._requests.values()
            is_left = any(
                each.left is not None
                and each.left + GRACE < now
                and each.kind in _READS
                and not each.apart
                for each in requests
            )
            return is_left and not any(
                each.left is None and (each.kind in _ASKED_ONCE or each.begun + GRACE < now)
                for each in requests
            )

    def _look(self, now: float) -> None:
        """Look for clients that are gone.

        NOTE: a client that stopped waiting, or died, has closed its side of the connection.
        """
        for connection, request in self._requests.items():
            is_due = request.left is None and request.begun + _LOOK < now
            if is_due and is_gone(connection):
                request.left = now
