"""The message format between workers and the store process on a UNIX socket.

A request is a kind, a time limit in milliseconds (0: none), a limit of the answer in bytes (0:
none) and a body; an answer is a status, the CPU time it took in nanoseconds, and a body. Rows may
come in pieces, each of which is requested. Both sides are of one release and one user.
"""

from __future__ import annotations

import enum
import socket
import struct
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from twinframe.storage.triples import QueryForm
from twinframe_storage_rdf.engine import Question
from twinframe_storage_rdf.terms import Iri

_REQUEST: Final = struct.Struct(">BQQQ")
_ANSWER: Final = struct.Struct(">BQQ")
_LENGTH: Final = struct.Struct(">Q")
_MOST_BYTES: Final = 4 * 1024**3
_CHUNK: Final = 64 * 1024


class Kind(enum.IntEnum):
    """The kind of a request. `QUERY` is a `SELECT` that may take any time and memory. `MORE` is the
    next piece of the answer that is being sent.

    Bodies: a SPARQL text; of `APPLY` `pack_pair` of ASK and update; of `ANSWER` `pack_question`; of
    `BACKUP` a directory to be created.
    """

    SELECT = 1
    ASK = 2
    APPLY = 3
    STOP = 4
    ANSWER = 5
    BACKUP = 6
    QUERY = 7
    MORE = 8


class Status(enum.IntEnum):
    """The outcome of a request.

    Bodies: results; `1` or `0` for true and false; an error text; of `REFUSED` the error's code
    before it, as `pack_pair`. `PIECE`: a part of the rows, with more to come. `LARGE`: the answer
    is over its limit, and the body is empty.
    """

    ROWS = 1
    TRUTH = 2
    ERROR = 3
    FULL = 4
    REFUSED = 6
    BUSY = 7
    PIECE = 8
    LARGE = 9


class Request(NamedTuple):
    """A request as received."""

    kind: Kind
    milliseconds: int
    most: int
    body: bytes


class Files:
    """The paths of the files in the directory of a graph."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.store = place / "store"
        self.socket = place / "socket"
        self.alive = place / "alive"
        self.starting = place / "starting"
        self.using = place / "using"
        self.log = place / "process.log"
        self.draft = place / "draft"
        self.old = place / "old"


class Disconnected(Exception):
    """The other side closed the connection."""


def send_request(
    connection: socket.socket,
    kind: Kind,
    milliseconds: int,
    body: bytes | Sequence[bytes],
    most: int = 0,
) -> None:
    """Send a request, whose body may come in pieces."""
    first, *more = (body,) if isinstance(body, bytes) else body
    length = len(first) + sum(map(len, more))
    _send(connection, _REQUEST.pack(kind, milliseconds, most, length), first)
    for piece in more:
        connection.sendall(piece)


def receive_request(connection: socket.socket) -> Request:
    """Receive the next request. Raises `Disconnected` when there is none."""
    (kind, milliseconds, most, _), body = _receive(connection, _REQUEST)
    return Request(Kind(kind), milliseconds, most, body)


def send_answer(connection: socket.socket, status: Status, nanoseconds: int, body: bytes) -> None:
    """Send an answer."""
    _send(connection, _ANSWER.pack(status, nanoseconds, len(body)), body)


def receive_answer(connection: socket.socket) -> tuple[Status, int, bytes]:
    """Receive the answer. Raises `Disconnected` when it is incomplete."""
    (status, nanoseconds, _), body = _receive(connection, _ANSWER)
    return Status(status), nanoseconds, body


def pack_pair(first: str, second: str) -> bytes:
    """Encode two texts as one body."""
    head = first.encode()
    return _LENGTH.pack(len(head)) + head + second.encode()


def pack_pieces(first: str, second: Iterable[str]) -> list[bytes]:
    """Encode the same as one body of several pieces, since the second text may be large.

    PERF: as one piece, it would need its size again at each step.
    """
    head = first.encode()
    pieces = [_LENGTH.pack(len(head)) + head]
    some: list[str] = []
    size = 0
    for text in second:
        some.append(text)
        size += len(text)
        if size >= _CHUNK:
            pieces.append("".join(some).encode())
            some, size = [], 0
    pieces.append("".join(some).encode())
    return pieces


def unpack_pair(body: bytes) -> tuple[str, str]:
    """Decode the two texts of `pack_pair`."""
    (length,) = _LENGTH.unpack_from(body)
    end = _LENGTH.size + length
    with memoryview(body) as view:
        return str(view[_LENGTH.size : end], "utf-8"), str(view[end:], "utf-8")


def pack_question(question: Question) -> bytes:
    """Encode a caller's query as a body."""
    return orjson.dumps(asdict(question), option=orjson.OPT_PASSTHROUGH_SUBCLASS, default=str)


def unpack_question(body: bytes) -> Question:
    """Decode the query of `pack_question`."""
    found = orjson.loads(body)
    for name in ("default", "named"):
        found[name] = None if found[name] is None else Iri(found[name])
    found["form"] = QueryForm(found["form"])
    return Question(**found)


def build_address(directory: int, file: Path) -> str:
    """Return the address of the socket `file` relative to a descriptor of its directory.

    NOTE: the path itself may be longer than the 107 bytes of a socket address.
    """
    return f"/proc/self/fd/{directory}/{file.name}"


def _send(connection: socket.socket, head: bytes, body: bytes) -> None:
    """Send a message. PERF: in one call, so that the other side wakes up once; most are short."""
    if len(body) < _CHUNK:
        connection.sendall(head + body)
    else:
        connection.sendall(head)
        connection.sendall(body)


def _receive(connection: socket.socket, head: struct.Struct) -> tuple[tuple[int, ...], bytes]:
    """Receive the head, which ends with the length of the body, and the body.

    NOTE: each side waits for an answer before it sends again: nothing follows the body.
    """
    start = connection.recv(_CHUNK)
    while len(start) < head.size:
        more = connection.recv(_CHUNK) if start else b""
        if not more:
            raise Disconnected
        start += more
    fields: tuple[int, ...] = head.unpack_from(start)
    length = fields[-1]
    if length > _MOST_BYTES or len(start) > head.size + length:
        raise Disconnected
    if len(start) == head.size + length:  # PERF: most messages are short
        return fields, start[head.size :]
    body = bytearray(length)
    view = memoryview(body)
    had = len(start) - head.size
    view[:had] = start[head.size :]
    view = view[had:]
    while view:
        count = connection.recv_into(view)
        if not count:
            raise Disconnected
        view = view[count:]
    return fields, bytes(body)
