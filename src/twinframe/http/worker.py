"""The gunicorn worker class: uvicorn on uvloop with the guarded protocol, bound to its arbiter.

Its limits are those of the application it serves.
"""

from __future__ import annotations

import asyncio
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Protocol, cast

import uvloop
from gunicorn.arbiter import Arbiter
from uvicorn.config import Config
from uvicorn.server import Server
from uvicorn_worker import UvicornWorker  # type: ignore[import-untyped]  # ships no types

from twinframe.http.server.protocol import build_protocol
from twinframe.runtime.heap import HeapTrimmer
from twinframe.runtime.memory import MemoryAccount
from twinframe.runtime.process import set_up_process
from twinframe.settings import ServerSettings

_TICKS_A_LOOK = 10  # of 0.1 s each, uvicorn's
_TICKS_A_TRIM = 30
_HEAP_GROWTH = 32 * 1024**2


class ServedApplication(Protocol):
    """The part of the application that the worker needs: its limits and its drain."""

    server: ServerSettings
    memory: MemoryAccount

    def begin_drain(self) -> None:
        """Mark the service as not ready; requests already accepted are finished."""


class DrainingServer(Server):
    """uvicorn's server that starts the application's drain before it stops accepting.

    It also stops when the parent of its process is no longer `parent`: the arbiter is gone.
    """

    def __init__(self, config: Config, begin_drain: Callable[[], None], parent: int) -> None:
        super().__init__(config)
        self._begin_drain = begin_drain
        self._parent = parent
        self._notified = -math.inf
        self._trimmer = HeapTrimmer(_HEAP_GROWTH)

    async def on_tick(self, counter: int) -> bool:
        # NOTE: the signal of the parent's death is sent once; it is lost if it comes while handlers
        # are being exchanged at the start.
        if counter % _TICKS_A_LOOK == 0 and os.getppid() != self._parent:
            self.should_exit = True
        if counter % _TICKS_A_TRIM == 0 and self._trimmer.is_due():
            threading.Thread(target=self._trimmer.trim, name="trim", daemon=True).start()
        self._choose_notice(counter)
        return await super().on_tick(counter)

    def _choose_notice(self, counter: int) -> None:
        """Let the base class notify the arbiter that the worker is alive only when that is due.

        NOTE: uvicorn measures the interval by the wall clock. If the clock is set back, it would
        stop notifying for as long, and the arbiter would kill each worker.
        """
        now = time.monotonic()
        is_due = now - self._notified > self.config.timeout_notify
        self.last_notified = -math.inf if is_due else math.inf
        if is_due and counter % _TICKS_A_LOOK == 0:
            self._notified = now

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._begin_drain()
        await super().shutdown(sockets)


class GuardedLoop(uvloop.Loop):
    """An event loop whose TLS listeners have time-outs for handshakes and shutdowns."""

    def __init__(self, server: ServerSettings) -> None:
        super().__init__()
        self._server = server

    async def create_server(  # type: ignore[override]  # passes on arguments unchecked
        self, *args: Any, ssl: Any = None, **kwargs: Any
    ) -> asyncio.AbstractServer:
        """As in the base class, with the time-outs of a request's head and of an answer."""
        if ssl is not None:
            kwargs["ssl_handshake_timeout"] = self._server.header_timeout
            kwargs["ssl_shutdown_timeout"] = self._server.write_timeout
        return await super().create_server(*args, ssl=ssl, **kwargs)


class Worker(UvicornWorker):  # type: ignore[misc]  # its base has no types
    """`worker_class = "twinframe.http.worker:Worker"`; the application is `ServedApplication`."""

    # SEC: httptools, never h11 (request smuggling with CL and TE). Forwarding headers are not
    # trusted: links behind a proxy come from `Server__PublicUrl`.
    CONFIG_KWARGS: ClassVar[dict[str, Any]] = {
        "http": "httptools",
        "ws": "none",
        "interface": "asgi3",
        "lifespan": "on",
        "access_log": False,
        "proxy_headers": False,
        "server_header": False,
    }

    def init_process(self) -> None:
        """Exit when the arbiter does: an orphan would serve in parallel with its successors."""
        set_up_process(self.ppid, signal.SIGTERM)
        super().init_process()

    def init_signals(self) -> None:
        """Reset signals as the base class does, but ignore INT.

        NOTE: uvicorn stops at INT and then raises it again, so the arbiter would warn about each
        worker at Ctrl-C. The arbiter has the signal, too, and stops its workers.
        """
        super().init_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> None:
        """Serve until a stop signal."""
        application = cast("ServedApplication", self.wsgi)
        with asyncio.Runner(loop_factory=partial(GuardedLoop, application.server)) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        application = cast("ServedApplication", self.wsgi)
        self.config.app = self.wsgi
        self.config.http = build_protocol(application.server, application.memory)
        self.config.timeout_graceful_shutdown = max(1, int(application.server.graceful_timeout))
        server = DrainingServer(self.config, application.begin_drain, self.ppid)
        self._install_sigquit_handler()
        await server.serve(sockets=self.sockets)
        if not server.started:
            sys.exit(Arbiter.WORKER_BOOT_ERROR)
