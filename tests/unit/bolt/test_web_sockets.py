"""Bolt within WebSocket by hand: messages cut as a client likes, pages of others, and garbage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Event,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)

from tests.unit.bolt.world import HELLO, LOGON, PULL, RECORD, RUN, SUCCESS, BoltWorld, Dialogue
from tests.waiting import PATIENCE
from twinframe.bolt.framing import MAGIC
from twinframe.storage.memory import MemoryStore

PROPOSALS = MAGIC + b"\x00\x08\x08\x05" + bytes(12)


@pytest.fixture(scope="module")
def world() -> Iterator[BoltWorld]:
    with BoltWorld(MemoryStore()) as world:
        yield world


class Page:
    """The client's end: a page of `origin`, or a program without one."""

    def __init__(self, world: BoltWorld, origin: str = "") -> None:
        self.socket = world.dial().socket
        self._web = WSConnection(ConnectionType.CLIENT)
        headers = [(b"origin", origin.encode())] if origin else []
        self.send(Request(host="localhost", target="/", extra_headers=headers))

    def close(self) -> None:
        self.socket.close()

    def send(self, event: Event) -> None:
        self.socket.sendall(self._web.send(event))

    def read(self) -> Event | None:
        """The next event; None at the end of the connection."""
        while True:
            for event in self._web.events():
                return event
            data = self.socket.recv(65536)
            if not data:
                return None
            self._web.receive_data(data)

    # --- as the socket of a dialogue

    def sendall(self, data: bytes) -> None:
        """Send in two messages, the first of two frames."""
        half, last = len(data) // 2, len(data) - 1
        self.send(BytesMessage(data=data[:half], message_finished=False))
        self.send(BytesMessage(data=data[half:last]))
        self.send(BytesMessage(data=data[last:]))

    def recv(self, size: int) -> bytes:
        event = self.read()
        if isinstance(event, BytesMessage):
            assert len(event.data) <= size
            return bytes(event.data)
        return b""


@pytest.mark.parametrize("origin", ["", "https://viewer.example"])
def test_messages_come_cut_as_the_client_likes(world: BoltWorld, origin: str) -> None:
    with closing(Page(world, origin)) as page:
        assert isinstance(page.read(), AcceptConnection)
        page.sendall(PROPOSALS)
        assert page.recv(4).hex() == "00000805"
        page.send(Ping(payload=b"here"))
        assert page.read() == Pong(payload=b"here")
        connection: Any = page
        dialogue = Dialogue(connection)
        assert dialogue.ask(HELLO, {"user_agent": "test/1"})[0] == SUCCESS
        assert dialogue.ask(LOGON, {"scheme": "none"})[0] == SUCCESS
        assert dialogue.ask(RUN, "RETURN $x", {"x": "x" * 5000}, {})[0] == SUCCESS
        assert dialogue.ask(PULL, {"n": -1}) == (RECORD, ["x" * 5000])
        assert dialogue.read()[0] == SUCCESS
        page.send(CloseConnection(code=1000))
        assert isinstance(page.read(), CloseConnection)
        assert page.read() is None


def test_a_page_of_another_origin_is_refused(world: BoltWorld) -> None:
    with closing(Page(world, "https://elsewhere.example")) as page:
        found = page.read()
        assert isinstance(found, RejectConnection)
        assert found.status_code == 403


def test_text_messages_are_refused(world: BoltWorld) -> None:
    with closing(Page(world)) as page:
        assert isinstance(page.read(), AcceptConnection)
        page.send(TextMessage(data="hello"))
        found = page.read()
        assert isinstance(found, CloseConnection)
        assert found.code == 1003


@pytest.mark.parametrize("head", ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "GET nonsense\r\n\r\n"])
def test_plain_http_is_told_what_the_port_is(world: BoltWorld, head: str) -> None:
    with world.dial() as plain:
        plain.socket.sendall(head.encode())
        answer = b""
        while data := plain.socket.recv(4096):
            answer += data
        assert answer.startswith(b"HTTP/1.1 4")
        assert b"speaks Bolt" in answer


def test_a_client_that_does_not_end_its_request_is_closed() -> None:
    with BoltWorld(MemoryStore(), login_timeout=0.2) as world, world.dial() as slow:
        slow.socket.settimeout(PATIENCE)
        slow.socket.sendall(b"GET / HTTP/1.1\r\n")
        assert slow.receive(1) == b""


@settings(
    deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200), is_open=st.booleans())
def test_garbage_harms_nobody(world: BoltWorld, data: bytes, is_open: bool) -> None:
    with closing(Page(world)) as page, suppress(ConnectionError):  # it may end before all is sent
        if is_open:
            page.read()
            page.sendall(PROPOSALS)
        page.socket.sendall(data)
        page.socket.shutdown(1)
        while page.socket.recv(4096):
            pass
    assert not world.failures
    assert world.memory.used == 0
