"""Messages between workers and the store process on a UNIX socket. It opens no socket.

A request is kind, milliseconds it may take (0: no bound) and a body; an answer is a status and a
body. Both sides are of one release and one user.
"""

from __future__ import annotations

import enum
import socket
import struct
from pathlib import Path
from typing import Final

_REQUEST: Final = struct.Struct(">BQQ")
_ANSWER: Final = struct.Struct(">BQ")
_LENGTH: Final = struct.Struct(">Q")
_MOST_BYTES: Final = 4 * 1024**3


class Kind(enum.IntEnum):
    """What is asked for. Bodies: a SPARQL text; of `APPLY` `pack_pair` of ASK and update."""

    SELECT = 1
    ASK = 2
    APPLY = 3
    STOP = 4


class Status(enum.IntEnum):
    """How it went. Bodies: SPARQL JSON results; `1` or `0` for true and false; an error text."""

    ROWS = 1
    TRUTH = 2
    ERROR = 3
    FULL = 4
    TIMEOUT = 5


class Files:
    """What lies in the directory of a graph."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.store = place / "store"
        self.socket = place / "socket"
        self.alive = place / "alive"
        self.starting = place / "starting"
        self.using = place / "using"
        self.log = place / "process.log"


class Disconnected(Exception):
    """The other side is gone, or was before anything came."""


def send_request(connection: socket.socket, kind: Kind, milliseconds: int, body: bytes) -> None:
    """Send a request."""
    connection.sendall(_REQUEST.pack(kind, milliseconds, len(body)))
    connection.sendall(body)


def receive_request(connection: socket.socket) -> tuple[Kind, int, bytes]:
    """The next request; `Disconnected` when there is none."""
    kind, milliseconds, length = _REQUEST.unpack(_receive(connection, _REQUEST.size))
    return Kind(kind), milliseconds, _receive(connection, length)


def send_answer(connection: socket.socket, status: Status, body: bytes) -> None:
    """Send an answer."""
    connection.sendall(_ANSWER.pack(status, len(body)))
    connection.sendall(body)


def receive_answer(connection: socket.socket) -> tuple[Status, bytes]:
    """The answer; `Disconnected` when it does not come whole."""
    status, length = _ANSWER.unpack(_receive(connection, _ANSWER.size))
    return Status(status), _receive(connection, length)


def pack_pair(first: str, second: str) -> bytes:
    """Two texts as one body."""
    head = first.encode()
    return _LENGTH.pack(len(head)) + head + second.encode()


def unpack_pair(body: bytes) -> tuple[str, str]:
    """The two texts of `pack_pair`."""
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    return body[_LENGTH.size : end].decode(), body[end:].decode()


def build_address(directory: int, file: Path) -> str:
    """The address of the socket `file` by a descriptor of its directory.

    NOTE: the path itself may be longer than the 107 bytes an address holds.
    """
    return f"/proc/self/fd/{directory}/{file.name}"


def _receive(connection: socket.socket, length: int) -> bytes:
    if length > _MOST_BYTES:
        raise Disconnected
    parts = bytearray(length)
    view = memoryview(parts)
    while view:
        count = connection.recv_into(view)
        if not count:
            raise Disconnected
        view = view[count:]
    return bytes(parts)
