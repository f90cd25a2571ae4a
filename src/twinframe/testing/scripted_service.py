"""A real HTTP server on a loopback socket that answers by a script, for tests of clients.

Answers are bytes, so a script can violate HTTP too.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Self, TypeAlias

from twinframe.model.values import JsonValue

JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A request as it came: names of `headers` in lower case, `target` as sent."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


Script: TypeAlias = Callable[[ScriptedRequest, asyncio.StreamWriter], Awaitable[None]]
"""Writes the answer to a request, or misbehaves; it may close the writer."""


def render_reply(
    body: bytes | JsonValue,
    status: str = "200 OK",
    headers: Mapping[str, str] = JSON_TYPE,
) -> bytes:
    """Render a complete HTTP/1.1 response; a body that is no bytes is written as JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Length": str(len(content))} | dict(headers)
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def always(reply: bytes) -> Script:
    """Return the script that sends these bytes to each request and keeps the connection open."""

    async def respond(_request: ScriptedRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)
        await writer.drain()

    return respond


class ScriptedService:
    """Serves while it is entered (`async with`). `requests` are all received so far.

    `script` may be replaced at any time. With `tls` it speaks HTTPS.
    """

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.script = script
        self.requests: list[ScriptedRequest] = []
        self.connections = 0
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        """Its base URL, without a slash at the end."""
        return f"{'https' if self._tls else 'http'}://localhost:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self._port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks.copy())
        for writer in self._writers:
            writer.transport.abort()
        for writer in self._writers.copy():
            with contextlib.suppress(OSError):  # however the client ended it
                await writer.wait_closed()
        await self._server.wait_closed()

    async def stop_listening(self) -> None:
        """Refuse connections from now on, as if the process were gone."""
        await self.__aexit__()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # NOTE: a client may disconnect at any point, which is what tests need.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                while not writer.is_closing():
                    request = await _read_request(reader)
                    self.requests.append(request)
                    await self.script(request, writer)
            finally:
                writer.close()


async def _read_request(reader: asyncio.StreamReader) -> ScriptedRequest:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _version = head[0].split(" ")
    fields = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _colon, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return ScriptedRequest(method, target, headers, body)
