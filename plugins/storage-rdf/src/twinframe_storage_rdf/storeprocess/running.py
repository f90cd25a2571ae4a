"""What the store process runs just now, and whether it has to end for it. It ends nothing itself.

An engine's query cannot be stopped from outside: only with its process.
"""

from __future__ import annotations

import select
import socket
import threading
from dataclasses import dataclass
from typing import Final

from twinframe_storage_rdf.storeprocess.frames import Kind

GRACE: Final = 2.0
"""Seconds that a read has to end by itself, after its deadline or after its asker went."""

_LOOK: Final = 0.1
"""Seconds a request runs before it is looked whether its asker is still there."""
_GONE: Final = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL
_READS: Final = frozenset({Kind.SELECT, Kind.ASK, Kind.ANSWER, Kind.QUERY})
_ASKED_ONCE: Final = frozenset({Kind.ANSWER, Kind.BACKUP})
"""What a client does not ask the next process again."""


@dataclass(slots=True)
class _Request:
    """`time.monotonic()` moments: of its begin, its deadline, and when its asker had gone."""

    kind: Kind
    begun: float
    end: float | None
    left: float | None = None


class RunningRequests:
    """The requests that run, one a connection. Any thread may call."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._requests: dict[socket.socket, _Request] = {}

    def begin(self, connection: socket.socket, kind: Kind, milliseconds: int, now: float) -> None:
        """A request begins; 0 milliseconds: it has no deadline. `now` is of `time.monotonic()`."""
        end = now + milliseconds / 1000 if milliseconds else None
        with self._guard:
            self._requests[connection] = _Request(kind, now, end)

    def end(self, connection: socket.socket) -> None:
        """It is done. The connection is still open."""
        with self._guard:
            del self._requests[connection]

    def is_late(self, now: float) -> bool:
        """Whether a read passed its deadline by more than the grace."""
        with self._guard:
            return any(
                each.end is not None and each.end + GRACE < now for each in self._requests.values()
            )

    def is_forsaken(self, now: float) -> bool:
        """Whether a read runs on though its asker is gone, and nobody's answer would be lost.

        Reads of others that began just now, and writes, are asked again of the next process. Of
        what is not, or took long already, the end is waited for, up to the deadline of the read.
        """
        with self._guard:
            self._look(now)
            requests = self._requests.values()
            is_left = any(
                each.left is not None and each.left + GRACE < now and each.kind in _READS
                for each in requests
            )
            return is_left and not any(
                each.left is None and (each.kind in _ASKED_ONCE or each.begun + GRACE < now)
                for each in requests
            )

    def _look(self, now: float) -> None:
        """NOTE: an asker that stopped waiting, or died, has closed its side of the connection."""
        for connection, request in self._requests.items():
            if request.left is None and request.begun + _LOOK < now:
                poll = select.poll()
                poll.register(connection, select.POLLRDHUP)
                if any(events & _GONE for _, events in poll.poll(0)):
                    request.left = now
