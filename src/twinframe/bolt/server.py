"""The listener of Bolt: connections of a worker, their limits in bytes, number and time.

All workers of a service listen at the same address (SO_REUSEPORT).
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import ssl
from collections import deque
from contextlib import suppress
from typing import Final, cast

from twinframe.bolt.connection import BoltService, Connection
from twinframe.bolt.framing import (
    CHOICE_BYTES,
    HANDSHAKE_BYTES,
    MAGIC,
    MANIFEST,
    REFUSAL,
    MessageReader,
    Version,
    build_manifest,
    choose_version,
    parse_choice,
)
from twinframe.bolt.requests import FIRST_BYTES, is_pull, is_reset
from twinframe.bolt.websocket import FIRST, WebSocketTransport
from twinframe.errors import ConfigurationError, TwinframeError
from twinframe.http.server.connections import ConnectionTable, read_address
from twinframe.http.server.side_listener import open_socket
from twinframe.runtime.memory import MemoryAccount, Part

_log: Final = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.5
_FREE_BYTES: Final = 16 * 1024
"""The bytes of a message that are not charged to the memory account."""
_MOST_WAITING: Final = 64
"""The messages of a client that wait for an earlier one; it is read no further meanwhile."""
_WRITE_BYTES: Final = 256 * 1024
"""The bytes that wait for a client before no more rows are made."""
_UNSENT_BYTES: Final = 64 * 1024
"""The bytes of answers that are collected before they are sent."""
_SHARE: Final = 8
"""The messages after which other connections have their turn."""
_BYTES_A_TIMEOUT: Final = 1024 * 1024


class BoltServer:
    """The connections of a worker, as a service with `start` and `stop`."""

    def __init__(
        self,
        service: BoltService,
        memory: MemoryAccount,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`context` is for TLS; None is plain TCP."""
        settings = service.settings
        most = settings.max_connections_per_address or settings.max_connections * 3 // 4
        self.service = service
        self.memory = memory
        self.table: ConnectionTable[BoltProtocol] = ConnectionTable(max(most, 1))
        self.is_draining = False
        self._context = context
        self._connections: set[BoltProtocol] = set()
        self._numbers = itertools.count(1)
        self._server: asyncio.Server | None = None
        self._sweeping: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        """The port that it listens on."""
        sockets = () if self._server is None else self._server.sockets
        return cast("int", sockets[0].getsockname()[1]) if sockets else 0

    async def start(self) -> None:
        """Start listening. Raises `ConfigurationError` if the address cannot be bound."""
        settings = self.service.settings
        loop = asyncio.get_running_loop()
        is_tls = self._context is not None
        try:
            self._server = await loop.create_server(
                lambda: BoltProtocol(self),
                sock=open_socket(settings.bind),
                ssl=self._context,
                ssl_handshake_timeout=settings.login_timeout if is_tls else None,
                ssl_shutdown_timeout=settings.write_timeout if is_tls else None,
            )
        except OSError as error:
            reason = error.strerror or error
            raise ConfigurationError(f"Bolt__Bind={settings.bind}: {reason}.") from error
        self._sweep(loop)

    def begin_drain(self) -> None:
        """Take no new connections, and close those that have nothing open; others follow."""
        self.is_draining = True
        if self._server is not None:
            self._server.close()
        for one in tuple(self._connections):
            one.close_if_idle()

    async def stop(self) -> None:
        """Close all connections; open transactions are rolled back."""
        self.begin_drain()
        if self._sweeping is not None:
            self._sweeping.cancel()
        serving = [one.end() for one in tuple(self._connections)]
        await asyncio.gather(
            *[task for task in serving if task is not None], return_exceptions=True
        )

    def join(self, one: BoltProtocol, now: float) -> bool:
        """Count a connection; return False if there is no slot for it."""
        self._connections.add(one)
        is_full = len(self._connections) > self.service.settings.max_connections
        return not self.is_draining and self.table.join(one, now, full=is_full)

    def leave(self, one: BoltProtocol) -> None:
        """Forget a closed connection."""
        self._connections.discard(one)
        self.table.leave(one)

    def build_name(self) -> str:
        """Return a name for one more connection."""
        return f"bolt-{os.getpid()}-{next(self._numbers)}"

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """PERF: one timer for all connections instead of one or two a message."""
        now = loop.time()
        for one in tuple(self._connections):
            one.check_time(now)
        self._sweeping = loop.call_later(_LOOK_SECONDS, self._sweep, loop)


class BoltProtocol(asyncio.Protocol):
    """One connection: its handshake, its messages in order, and its answers as they are taken.

    SEC: before the login it holds 8 KiB at most. No more than 64 messages wait, and nothing is read
    or made for a client that does not take its answers.
    """

    def __init__(self, server: BoltServer) -> None:
        self.address = ""
        self._server = server
        self._settings = server.service.settings
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | WebSocketTransport
        self._web: WebSocketTransport | None = None
        self._handshake = bytearray()
        self._offers_list = False
        self._reader = MessageReader(FIRST_BYTES)
        self._waiting: deque[bytes | TwinframeError] = deque()
        self._waiting_bytes = 0
        self._resets = 0
        self._unsent = bytearray()
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._wake: asyncio.Future[None] | None = None
        self._resumed: asyncio.Future[None] | None = None
        self._held = server.memory.hold(Part.REQUESTS)
        self._is_reading = True
        self._is_interruptible = False
        self._is_interrupted = False
        self._is_busy = False
        self._since = self._message_since = self._loop.time()

    # --- the transport --------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is a slot."""
        self._transport = found = cast("asyncio.Transport", transport)
        self.address = read_address(transport)
        found.set_write_buffer_limits(high=_WRITE_BYTES)
        if not self._server.join(self, self._loop.time()):
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes of the handshake, then of messages."""
        if self._web is not None:
            data = self._web.receive(data)
        if self._connection is None:
            self._handshake += data
            self._shake_hands()
        else:
            self._read_messages(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Roll back what is open."""
        self._server.leave(self)
        self._held.release()
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_exception(ConnectionError("The client has gone."))
            self._resumed.exception()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """Make no more rows: the client takes none."""
        self._resumed = self._loop.create_future()

    def resume_writing(self) -> None:
        """Go on."""
        if self._resumed is not None and not self._resumed.done():
            self._resumed.set_result(None)
        self._resumed = None

    # --- the handshake --------------------------------------------------------------------------

    def _shake_hands(self) -> None:
        received = self._handshake
        if not self._offers_list:
            if self._web is None and FIRST.startswith(received[: len(FIRST)]):
                if len(received) >= len(FIRST):
                    self._open_web_socket()
                return
            if not MAGIC.startswith(received[: len(MAGIC)]):
                self._transport.abort()  # not this protocol
                return
            if len(received) < HANDSHAKE_BYTES:
                return
            proposals = bytes(received[len(MAGIC) : HANDSHAKE_BYTES])
            del received[:HANDSHAKE_BYTES]
            if MANIFEST not in [proposals[at : at + 4] for at in range(0, len(proposals), 4)]:
                version = choose_version(proposals)
                self._transport.write(REFUSAL if version is None else version.encode())
                self._begin(version)
                return
            self._offers_list = True
            self._transport.write(build_manifest())
        if len(received) >= CHOICE_BYTES:
            choice = bytes(received[:CHOICE_BYTES])
            del received[:CHOICE_BYTES]
            self._begin(parse_choice(choice))

    def _open_web_socket(self) -> None:
        transport, service = cast("asyncio.Transport", self._transport), self._server.service
        self._transport = self._web = WebSocketTransport(transport, service.origins)
        received = bytes(self._handshake)
        self._handshake.clear()
        self.data_received(received)

    def _begin(self, version: Version | None) -> None:
        if version is None:
            self._transport.close()
            return
        service, name = self._server.service, self._server.build_name()
        self._connection = Connection(service, version, self, name, self.address)
        self._task = self._loop.create_task(self._serve(self._connection), name=name)
        rest = bytes(self._handshake)
        self._handshake.clear()
        if rest:
            self._read_messages(rest)

    # --- messages in ----------------------------------------------------------------------------

    def _read_messages(self, data: bytes) -> None:
        now = self._loop.time()
        was_within = self._reader.is_within
        found: list[bytes | TwinframeError] = []
        try:
            found += self._reader.feed(data, _MOST_WAITING - len(self._waiting))
            self._charge()
        except TwinframeError as error:
            found.append(error)
            self._reader.clear()
        if found or not was_within:
            self._message_since = now
        for one in found:
            self._waiting.append(one)
            if isinstance(one, bytes):
                self._waiting_bytes += len(one)
                self._resets += is_reset(one)
        if found and self._wake is not None and not self._wake.done():
            self._wake.set_result(None)
        if self._resets and self._is_interruptible and self._task is not None:
            self._is_interruptible, self._is_interrupted = False, True
            self._task.cancel()
        most = self._reader.most
        is_full = len(self._waiting) >= _MOST_WAITING or self._waiting_bytes > most
        if is_full and self._is_reading:
            self._is_reading = False
            self._transport.pause_reading()

    def _charge(self) -> None:
        """Charge what is held; raises if that is more than there is."""
        size = self._reader.held + self._waiting_bytes
        more = (size if size > _FREE_BYTES else 0) - self._held.size
        if more > 0:
            self._held.grow(more)
        elif more < 0:
            self._held.shrink(-more)

    async def _serve(self, connection: Connection) -> None:
        """Answer the messages one by one."""
        task, count = cast("asyncio.Task[None]", asyncio.current_task()), 0
        try:
            while connection.is_open:
                if not self._waiting:
                    await self._wait_for_message(connection)
                    continue
                message = self._take()
                if self._unsent and not is_pull(message):
                    self._flush()  # what is answered may take long
                if isinstance(message, TwinframeError):
                    await connection.refuse(message)
                    break
                self._is_interruptible = not is_reset(message) and not self._resets
                try:
                    await connection.handle(message, interrupted=self._resets > 0)
                except asyncio.CancelledError:
                    if not self._is_interrupted or self._transport.is_closing():
                        raise
                    task.uncancel()
                    connection.answer_interrupted()
                self._is_interruptible = self._is_interrupted = False
                if self._resumed is not None:
                    await self.drain()
                count += 1
                if self._waiting and count % _SHARE == 0:
                    await asyncio.sleep(0)
        except ConnectionError:
            self._transport.abort()
        except asyncio.CancelledError:
            self._transport.abort()  # the client has gone, the service stops, or its graph does
        except Exception:  # noqa: BLE001  (the outermost code of a connection)
            _log.exception("A connection failed.")
            self._transport.abort()
        finally:
            self._is_busy = False
            await connection.close()
            self._flush()
            self._transport.close()

    async def _wait_for_message(self, connection: Connection) -> None:
        self._flush()
        self._is_busy = False
        self._since = self._loop.time()
        if self._server.is_draining and connection.is_idle:
            raise ConnectionError("The service stops.")
        self._wake = self._loop.create_future()
        try:
            await self._wake
        finally:
            self._wake = None
        self._is_busy = True

    def _take(self) -> bytes | TwinframeError:
        message = self._waiting.popleft()
        if isinstance(message, bytes):
            self._waiting_bytes -= len(message)
            self._resets -= is_reset(message)
        if not self._is_reading and not self._waiting:
            self._is_reading = True
            self._transport.resume_reading()
            self._read_messages(b"")
        elif self._held.size:
            with suppress(TwinframeError):  # it only becomes less
                self._charge()
        return message

    # --- answers out ----------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        """Send bytes, without waiting.

        PERF: the answers of RUN and PULL, which come in one packet, are sent as one: each `send`
        takes as long as making a small answer.
        """
        self._unsent += data
        if len(self._unsent) > _UNSENT_BYTES:
            self._flush()

    def _flush(self) -> None:
        data = bytes(self._unsent)
        self._unsent.clear()
        if data and not self._transport.is_closing():
            self._transport.write(data)

    async def drain(self) -> None:
        """Wait while the client takes nothing. Raises `ConnectionError` if that is for too long."""
        self._flush()
        left = self._transport.get_write_buffer_size()
        while (resumed := self._resumed) is not None:
            await asyncio.wait((resumed,), timeout=self._settings.write_timeout)
            if resumed.done():
                resumed.result()
                continue
            now = self._transport.get_write_buffer_size()
            if now >= left:
                raise ConnectionError("The client does not take its answer.")
            left = now

    def allow_large(self) -> None:
        """Admit messages of the full size: the client has logged in."""
        self._reader.most = self._settings.max_message_bytes

    # --- limits ---------------------------------------------------------------------------------

    def check_time(self, now: float) -> None:
        """Close the connection if its client is too slow."""
        settings, connection = self._settings, self._connection
        if connection is None or not connection.is_logged_in:
            if now - self._since > settings.login_timeout and not self._is_busy:
                self._transport.abort()
        elif self._reader.is_within and self._is_reading:
            allowed = settings.message_timeout * (1 + self._reader.held / _BYTES_A_TIMEOUT)
            if now - self._message_since > allowed:
                self._transport.abort()
        elif not self._is_busy and now - self._since > settings.idle_timeout:
            self._transport.close()

    def read_patience(self, now: float) -> float:
        """Return the seconds without a request; negative if one is answered or something open."""
        if self._is_busy or (self._connection is not None and not self._connection.is_idle):
            return -1.0
        return now - self._since

    def give_way(self) -> None:
        """Close the connection, since others need its slot."""
        self._transport.abort()

    def close_if_idle(self) -> None:
        """Close the connection if nothing is open; otherwise it closes when that has ended."""
        if self.read_patience(self._loop.time()) >= 0:
            self._transport.close()

    def end(self) -> asyncio.Task[None] | None:
        """Close the connection; return the task that ends what is open."""
        self._transport.abort()
        if self._task is not None:
            self._task.cancel()
        return self._task
