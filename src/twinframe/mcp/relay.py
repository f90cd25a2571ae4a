"""Forwards a message for a session to the worker that holds the session, over unix sockets.

The owner trusts no forwarded message: it checks the credentials as if the client had connected to
it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import stat
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from twinframe.errors import ConfigurationError
from twinframe.http.exchange import Asgi, Message, Scope
from twinframe.mcp.guard import CARRIED_KEY, REQUEST_ID_KEY, read_request_id

logger = logging.getLogger(__name__)

_WORKER = re.compile(r"[0-9a-f]{8}")
_SIZES = 8  # two lengths of four bytes: of the head, of the body
_MAX_HEAD = 256 * 1024
_MAX_IDLE = 8
_ANSWER_SECONDS = 30.0

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class OwnerGone(Exception):
    """No worker with that id answers: its sessions have ended."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A request or an answer: `head` is JSON, `body` is bytes."""

    head: dict[str, Any]
    body: bytes


class Relay:
    """This worker's socket, and the connections to those of the others.

    `directory` belongs to this service alone (mode 0700); None is a service of one worker, which
    needs no socket. `limit` bounds a body in bytes.
    """

    def __init__(self, directory: Path | None, limit: int) -> None:
        self.worker = secrets.token_hex(4)
        self._directory = directory
        self._limit = limit
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._idle: defaultdict[str, list[Connection]] = defaultdict(list)

    async def start(self, app: Asgi) -> None:
        """Listen; `app` answers messages of other workers.

        Raises `ConfigurationError` when others may write in the directory.
        """
        if self._directory is None:
            return
        check_private(self._directory)
        path = find_socket(self._directory, self.worker)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(app, reader, writer)

        self._server = await asyncio.start_unix_server(serve, path)
        path.chmod(stat.S_IRUSR | stat.S_IWUSR)

    async def stop(self) -> None:
        """Stop listening and close open connections."""
        if self._server is not None and self._directory is not None:
            self._server.close()
            find_socket(self._directory, self.worker).unlink(missing_ok=True)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connections in self._idle.values():
            for _reader, writer in connections:
                writer.close()
        self._idle.clear()

    async def forward(self, worker: str, scope: Scope, body: bytes) -> Frame:
        """Return the answer of the worker that owns the session. Raises `OwnerGone`.

        A head holds `status` and `headers` as ASGI has them.
        """
        # SEC: the id comes from the client and becomes part of a path.
        known = _WORKER.fullmatch(worker) is not None and worker != self.worker
        if not known or self._directory is None:
            raise OwnerGone
        reader, writer = await self._connect(self._directory, worker)
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                write_frame(writer, build_request(scope, body))
                await writer.drain()
                answer = await read_frame(reader, self._limit)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError) as error:
            writer.close()
            raise OwnerGone from error
        except BaseException:  # cancelled: the answer will not be read
            writer.close()
            raise
        if len(self._idle[worker]) < _MAX_IDLE:
            self._idle[worker].append((reader, writer))
        else:
            writer.close()
        return answer

    async def _connect(self, directory: Path, worker: str) -> Connection:
        idle = self._idle[worker]
        while idle:
            reader, writer = idle.pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        self._forget_ended()
        path = find_socket(directory, worker)
        try:
            return await asyncio.open_unix_connection(path)
        except OSError as error:
            self._idle.pop(worker, None)
            if isinstance(error, ConnectionRefusedError):  # its process was killed
                path.unlink(missing_ok=True)
            raise OwnerGone from error

    def _forget_ended(self) -> None:
        """Close connections that other workers have closed: one that has ended is never asked
        again.
        """
        for worker, connections in list(self._idle.items()):
            ended = [pair for pair in connections if pair[0].at_eof()]
            for pair in ended:
                connections.remove(pair)
                pair[1].close()
            if not connections:
                del self._idle[worker]

    async def _serve(
        self, app: Asgi, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  (a callback of the server runs in a task)
        self._tasks.add(task)
        with contextlib.suppress(
            OSError, asyncio.IncompleteReadError, ValueError, asyncio.CancelledError
        ):
            while True:
                write_frame(writer, await self._answer(app, await read_frame(reader, self._limit)))
                await writer.drain()
        writer.close()
        self._tasks.discard(task)

    async def _answer(self, app: Asgi, request: Frame) -> Frame:
        """Return the answer as soon as it is complete: the session continues with the next
        message.
        """
        answered: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(_run(app, request, answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await answered


async def _run(app: Asgi, request: Frame, answered: asyncio.Future[Frame]) -> None:
    head: dict[str, Any] = {}
    pieces: list[bytes] = []
    is_read = False

    async def receive() -> Message:
        nonlocal is_read
        if is_read:
            await asyncio.Event().wait()  # a message has no more parts, and its client stays
        is_read = True
        return {"type": "http.request", "body": request.body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            head["status"] = message["status"]
            head["headers"] = [
                [name.decode("latin-1"), value.decode("latin-1")]
                for name, value in message.get("headers", ())
            ]
            return
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False) and not answered.done():
            answered.set_result(Frame(head, b"".join(pieces)))

    try:
        await app(build_scope(request), receive, send)
    except Exception:  # the outermost code of a message: nothing may end the worker
        logger.exception("a relayed message failed")
    finally:
        if not answered.done():
            answered.set_exception(OSError("the message was not answered"))
            answered.exception()  # read, also when there is no waiter any more


# --- frames ---------------------------------------------------------------------------------------


def build_request(scope: Scope, body: bytes) -> Frame:
    """Build the frame of a request."""
    head = {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "scheme": scope["scheme"],
        "client": scope.get("client"),
        "headers": [
            [name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]
        ],
        "request_id": read_request_id(scope),
        "root": scope.get("root_path", ""),
        "carried": scope.get(CARRIED_KEY, {}),
    }
    return Frame(head, body)


def build_scope(request: Frame) -> Scope:
    """Build the ASGI scope of a request from its frame."""
    head = request.head
    client = head["client"]
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": head["method"],
        "scheme": head["scheme"],
        "path": head["path"],
        "raw_path": (head["root"] + head["path"]).encode(),
        "query_string": head["query"].encode("latin-1"),
        "root_path": head["root"],
        CARRIED_KEY: head["carried"],
        "headers": [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]
        ],
        "client": None if client is None else tuple(client),
        "server": None,
        REQUEST_ID_KEY: head["request_id"],
    }


def write_frame(writer: asyncio.StreamWriter, frame: Frame) -> None:
    """Write a frame."""
    head = orjson.dumps(frame.head)
    sizes = len(head).to_bytes(4, "big") + len(frame.body).to_bytes(4, "big")
    writer.write(sizes + head + frame.body)


async def read_frame(reader: asyncio.StreamReader, limit: int) -> Frame:
    """Read the next frame. Raises `ValueError` for one that is too large or no JSON."""
    sizes = await reader.readexactly(_SIZES)
    head_size, body_size = int.from_bytes(sizes[:4], "big"), int.from_bytes(sizes[4:], "big")
    if head_size > _MAX_HEAD or body_size > limit:
        raise ValueError("the frame is too large")
    head = orjson.loads(await reader.readexactly(head_size))
    return Frame(head, await reader.readexactly(body_size))


def find_socket(directory: Path, worker: str) -> Path:
    """Return the socket of the worker of that id."""
    return directory / f"{worker}.sock"


def check_private(directory: Path) -> None:
    """Raise `ConfigurationError` unless this user alone may access the directory."""
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise ConfigurationError(
            f"{directory} must be a directory of this user alone (mode 0700): who may write there "
            "could answer for another worker."
        )
