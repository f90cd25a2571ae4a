"""Sends the rows of a read in pieces as they are made, each at the client's request.

Neither the store process nor its client ever has all of a large answer in memory.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Final

from twinframe_storage_rdf.engine import build_timeout
from twinframe_storage_rdf.storeprocess.apart import Report, Step
from twinframe_storage_rdf.storeprocess.frames import (
    Disconnected,
    Kind,
    Request,
    Status,
    receive_request,
    send_answer,
)

PIECE_BYTES: Final = 128 * 1024
"""PERF: rows of this size are parsed in a millisecond, for which the client's other threads
wait.
"""


class AnswerLarge(Exception):
    """The answer has more bytes than its client accepts."""


class Pieces:
    """File-like receiver of an answer that sends each full piece. The caller sends the last piece.

    `report` is called with each step; `wait` with the function that sends a piece and waits for the
    next request.
    """

    def __init__(
        self,
        connection: socket.socket,
        request: Request,
        report: Report = lambda step: None,
        wait: Callable[[Callable[[], None]], None] = lambda wait: wait(),
    ) -> None:
        self._connection = connection
        self._most = request.most
        seconds = request.milliseconds / 1000
        self._end = time.monotonic() + seconds if seconds else None
        self._tell = report
        self._wait = wait
        self._pieces: list[bytes] = []
        self._size = self._total = 0

    def write(self, piece: bytes) -> int:
        """Take a part.

        Raises `AnswerLarge`, `QueryTimeout`, or `Disconnected` if the client is gone.
        """
        self._pieces.append(bytes(piece))
        self._size += len(piece)
        self._total += len(piece)
        if self._most and self._total > self._most:
            raise AnswerLarge
        if self._size >= PIECE_BYTES:
            self._wait(self._send)
        return len(piece)

    def flush(self) -> None:
        """Do nothing: a piece is sent when it is full."""

    def take_rest(self) -> bytes:
        """Return what has not been sent."""
        rest = b"".join(self._pieces)
        self._pieces.clear()
        self._size = 0
        return rest

    def _send(self) -> None:
        piece = self.take_rest()
        self._tell(Step.SENDS)
        try:
            send_answer(self._connection, Status.PIECE, 0, piece)
            self._tell(Step.SENT)
            asked = receive_request(self._connection)
        except OSError as error:
            raise Disconnected from error
        if asked.kind is not Kind.MORE:
            raise Disconnected
        self._tell(Step.ASKED)
        if self._end is not None and time.monotonic() >= self._end:
            raise build_timeout()
