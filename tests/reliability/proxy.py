"""A proxy of one TCP address whose network can fail: it refuses, loses or holds what passes."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from types import TracebackType
from typing import Final, Literal, Self

from tests.e2e.server import free_port

Network = Literal["whole", "refusing", "holding", "losing requests", "losing answers"]

_RESET: Final = struct.pack("ii", 1, 0)
_PIECE: Final = 65536
_PREPARED: Final = re.compile(rb"P.{4}(\w+)\0COMMIT\0", re.DOTALL)


class Proxy:
    """Passes connections to `target`, a port of this machine; `port` is its own.

    The network is `set` at any time. What is held comes later. What is lost never comes: that
    begins on each connection with the next COMMIT or its answer, and then the connection has to be
    `cut`. `lost` says that it has begun on one.
    """

    def __init__(self, target: int) -> None:
        self.port = free_port()
        self._target = target
        self._network: Network = "whole"
        self._changed = threading.Condition()
        self.lost = threading.Event()
        self._open: set[socket.socket] = set()
        self._listener = socket.socket()
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", self.port))
        self._listener.listen(128)
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(30)

    def set(self, network: Network) -> None:
        """Let the network be so from now on, for connections that are open, too."""
        with self._changed:
            self._network = network
            self.lost.clear()
            self._changed.notify_all()

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        self.set("refusing")
        with self._changed:
            broken, self._open = self._open, set()
        for each in broken:
            _break(each)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self._network == "refusing":
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self._target), timeout=5)
            except OSError:
                _break(client)
                continue
            server.settimeout(None)
            for each in (client, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._open |= {client, server}
            ways: tuple[tuple[socket.socket, socket.socket, Network], ...] = (
                (client, server, "losing requests"),
                (server, client, "losing answers"),
            )
            for way in ways:
                threading.Thread(target=self._pass, args=way, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, losing: Network) -> None:
        commits, is_lost = Commits(), False
        with contextlib.suppress(OSError):
            while piece := source.recv(_PIECE):
                is_commit = commits.find(piece)
                with self._changed:
                    self._changed.wait_for(lambda: self._network != "holding", 60)
                    if is_commit and self._network == losing:
                        is_lost = True
                        self.lost.set()
                if not is_lost:
                    sink.sendall(piece)
        for each in (source, sink):
            with self._changed:
                self._open.discard(each)
            _break(each)


class Commits:
    """Finds COMMIT in what one side of a connection says.

    SPEC: PostgreSQL's protocol 3.0. It is the text of a statement, the name of one that was
    prepared, or the tag of a CommandComplete.
    """

    def __init__(self) -> None:
        self._names = [b"COMMIT\0"]

    def find(self, piece: bytes) -> bool:
        """Whether there is one in it."""
        self._names += [name + b"\0" for name in _PREPARED.findall(piece)]
        return any(name in piece for name in self._names)


def _break(connection: socket.socket) -> None:
    """Reset a connection, which a thread may be waiting for."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
