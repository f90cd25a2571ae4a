"""A Bolt server over an open graph, in a thread of the test; and its bytes by hand."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Coroutine, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import neo4j

from tests.unit.graph.conftest import build_postgres, build_rdf, build_sqlite, find_engine
from tests.waiting import PATIENCE
from twinframe.access.gate import Gate
from twinframe.bolt.connection import BoltService
from twinframe.bolt.framing import MAGIC, MessageReader, build_chunks
from twinframe.bolt.graphs import OwnDatabase, Ran
from twinframe.bolt.packstream import Structure, unpack
from twinframe.bolt.server import BoltServer
from twinframe.bolt.values import pack_value
from twinframe.graph import Graph
from twinframe.runtime.memory import MemoryAccount
from twinframe.settings import GraphSettings, QuerySettings, Settings
from twinframe.settings.bolt import BoltSettings
from twinframe.storage.base import GraphStore
from twinframe.storage.memory import MemoryStore
from twinframe.storage.runner import StoreRunner

T = TypeVar("T")

_PAGE = 500
"""Rows of a result beyond these are in a file."""

HELLO, GOODBYE, RESET, RUN, BEGIN = 0x01, 0x02, 0x0F, 0x10, 0x11
COMMIT, ROLLBACK, DISCARD, PULL, ROUTE, LOGON, LOGOFF = 0x12, 0x13, 0x2F, 0x3F, 0x66, 0x6A, 0x6B
SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F


def build_store(storage: str, folder: Path) -> GraphStore:
    """A closed store of this kind."""
    match storage:
        case "memory":
            return MemoryStore()
        case "sqlite":
            return build_sqlite(folder)
        case "postgres":
            return build_postgres(folder)
        case _:
            return build_rdf(storage, None if storage == "rdflib" else folder)


class BoltWorld(AbstractContextManager["BoltWorld"]):
    """A server on a free port; `limits` are settings of it."""

    def __init__(
        self,
        store: GraphStore,
        gate: Gate | None = None,
        query: Mapping[str, Any] | None = None,
        context: ssl.SSLContext | None = None,
        *,
        is_open: bool = True,
        **limits: Any,
    ) -> None:
        self.store = store
        self.memory = MemoryAccount()
        self.ran: list[Ran] = []
        self.loop = asyncio.new_event_loop()
        self.failures: list[Mapping[str, Any]] = []
        self.loop.set_exception_handler(lambda _, about: self.failures.append(about))
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._gate = gate
        self._context = context
        self.settings = Settings(
            graph=GraphSettings(open_=is_open),
            query=QuerySettings(**(query or {})),
            bolt=BoltSettings(enabled=True, bind="127.0.0.1:0", **limits),
        )

    def __enter__(self) -> Self:
        self.store.open()
        self._thread.start()
        self.do(self._start())
        return self

    async def _start(self) -> None:
        settings, store = self.settings, self.store
        self.runner = StoreRunner(store, settings.storage)
        engine, scratch = find_engine(store), store.scratch
        self.graph = Graph(self.runner, settings, engine=engine, scratch=scratch)
        own = OwnDatabase(self.graph, self._gate, settings.bolt.database)
        service = BoltService(
            settings.bolt,
            own,
            self._gate,
            None,
            (),
            "Neo4j/5.26.0",
            _PAGE,
            ("https://viewer.example",),
            None,
            lambda _, ran: self.ran.append(ran),
        )
        if self._gate is not None:
            await self._gate.start()
        self.server = BoltServer(service, self.memory, self._context)
        await self.server.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.do(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()
        self.store.close()
        assert not self.failures

    async def _stop(self) -> None:
        await self.server.stop()
        await self.runner.close()
        if self._gate is not None:
            await self._gate.stop()

    def do(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run on the server's loop."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def clear(self) -> None:
        """Delete all nodes."""
        statements = self.graph.statements
        self.do(statements.run(statements.prepare("MATCH (n) DETACH DELETE n", {})))

    def connect(self, scheme: str = "bolt", **options: Any) -> neo4j.Driver:
        """The official driver."""
        uri = f"{scheme}://127.0.0.1:{self.server.port}"
        return neo4j.GraphDatabase.driver(uri, telemetry_disabled=True, **options)

    def dial(self) -> Dialogue:
        """A connection by hand, before its handshake."""
        return Dialogue(socket.create_connection(("127.0.0.1", self.server.port), PATIENCE))


class Dialogue:
    """Messages by hand over one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._reader = MessageReader(2**30)
        self._found: list[bytes] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.socket.close()

    def shake_hands(self, proposals: bytes = b"\x00\x08\x08\x05" + bytes(12)) -> bytes:
        """Propose versions, and return the answer."""
        self.socket.sendall(MAGIC + proposals)
        return self.receive(4)

    def receive(self, size: int) -> bytes:
        """Return so many bytes, or fewer at the end of the connection."""
        found = b""
        while len(found) < size and (more := self.socket.recv(size - len(found))):
            found += more
        return found

    def send(self, tag: int, *fields: object) -> None:
        """Send a message."""
        buffer = bytearray()
        pack_value(buffer, Structure(tag, fields))
        self.socket.sendall(build_chunks(bytes(buffer)))

    def read(self) -> tuple[int, Any]:
        """Return the tag of the next message and its field; (0, None) at the end."""
        while not self._found:
            data = self.socket.recv(65536)
            if not data:
                return 0, None
            self._found += self._reader.feed(data, 2**30)
        found = unpack(self._found.pop(0))
        assert isinstance(found, Structure)
        return found.tag, found.fields[0] if found.fields else None

    def ask(self, tag: int, *fields: object) -> tuple[int, Any]:
        """Send a message, and return the answer."""
        self.send(tag, *fields)
        return self.read()

    def log_in(self, **auth: object) -> Self:
        """Shake hands and log in."""
        assert self.shake_hands() == b"\x00\x00\x08\x05"
        assert self.ask(HELLO, {"user_agent": "test/1"})[0] == SUCCESS
        assert self.ask(LOGON, auth or {"scheme": "none"})[0] == SUCCESS
        return self
