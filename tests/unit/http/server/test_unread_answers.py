"""What an answer is charged that its client takes slowly."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvloop
from uvicorn.config import Config
from uvicorn.server import ServerState

from tests.waiting import PATIENCE
from twinframe.http.exchange import Receive, Scope, Send
from twinframe.http.server.protocol import build_protocol
from twinframe.http.whole_answer import find_cycle, write_whole
from twinframe.runtime.memory import MemoryAccount, Part
from twinframe.settings import ServerSettings

SIZE = 3_000_000
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def answer(_scope: Scope, _receive: Receive, send: Send) -> None:
    """The application: one large body."""
    cycle = find_cycle(send)
    assert cycle is not None
    length = (b"content-length", b"%d" % SIZE)
    assert write_whole(cycle, 200, [length], bytes(SIZE))


def test_an_answer_is_charged_whole_until_its_client_has_taken_it() -> None:
    memory, made = MemoryAccount(4 * SIZE), []
    build = build_protocol(ServerSettings(), memory)

    async def run() -> None:
        config = Config(answer, log_config=None, lifespan="off", interface="asgi3")
        config.load()

        def connect() -> Any:
            made.append(build(config=config, server_state=ServerState(), app_state={}))
            return made[-1]

        # NOTE: there is little room for the answer on its way, so that most of it waits here.
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
        server = await asyncio.get_running_loop().create_server(connect, sock=listener)
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        client.connect(listener.getsockname())
        reader, writer = await asyncio.open_connection(sock=client, limit=16384)
        writer.write(GET)
        received, unsent = len(await reader.read(1)), SIZE
        while not 0 < unsent < SIZE // 8:
            piece = await reader.read(65536)
            assert piece
            received += len(piece)
            unsent = made[0].transport.get_write_buffer_size()
        assert memory.read_held(Part.ANSWERS) == SIZE
        while received < SIZE:
            piece = await reader.read(65536)
            assert piece
            received += len(piece)
        assert not memory.read_held(Part.ANSWERS)
        writer.transport.abort()
        server.close()

    async def run_in_time() -> None:
        async with asyncio.timeout(PATIENCE):
            await run()

    uvloop.run(run_in_time())
