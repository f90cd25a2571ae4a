"""What the other side has, and what is still on its way."""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import sys
from collections.abc import Iterator

import pytest

from twinframe.http.server.connections import is_delivered

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")


class Holding(asyncio.Transport):
    """A transport over a socket that holds so many bytes of its own."""

    def __init__(self, connection: socket.socket | None, held: int = 0) -> None:
        super().__init__({} if connection is None else {"socket": connection})
        self._held = held

    def get_write_buffer_size(self) -> int:
        return self._held


@contextlib.contextmanager
def connect() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection; the first does not block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname(), timeout=120)
        server, _ = listener.accept()
    with client, server:
        server.setblocking(False)
        yield server, client


def test_nothing_is_on_its_way_where_nothing_was_written() -> None:
    with connect() as (server, _client):
        assert is_delivered(Holding(server))


def test_what_the_transport_holds_is_not_delivered() -> None:
    with connect() as (server, _client):
        assert not is_delivered(Holding(server, held=1))


def test_what_the_kernel_holds_is_delivered_once_it_is_read() -> None:
    with connect() as (server, client):
        written = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                written += server.send(bytes(65536))
        assert not is_delivered(Holding(server))
        while written:
            piece = client.recv(min(written, 1 << 20))
            assert piece
            written -= len(piece)
        for _ in range(1000):  # the last confirmation may lag behind
            if is_delivered(Holding(server)):
                break
            select.select([], [], [], 0.01)
        assert is_delivered(Holding(server))


def test_nobody_can_say_of_what_is_closed() -> None:
    with connect() as (server, _client):
        pass
    assert not is_delivered(Holding(server))
    assert not is_delivered(Holding(None))
