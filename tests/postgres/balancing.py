"""A load balancer of the tests' own: a connection goes to the next node that says it is ready."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import socket
import threading
import time
from collections.abc import Sequence
from typing import Final, Self

from tests.waiting import PATIENCE, join, start

LOOK_SECONDS: Final = 0.05
"""The time between two looks at the readiness of a node."""


class Balancer:
    """Passes TCP connections at `port` on to the nodes with these ports, in turn.

    Like any balancer it asks each node whether it is ready, and takes another where none listens.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.ports: Sequence[int] = ()
        self._ready: Sequence[int] = ()
        self._turn = itertools.count()
        self._ending = threading.Event()
        self._looking = start(self._look)
        start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._ending.set()
        self._listener.close()
        join(self._looking)

    def has(self, port: int) -> bool:
        """Whether new connections go to this port, too."""
        return port in self._ready

    def _look(self) -> None:
        while not self._ending.is_set():
            self._ready = [port for port in self.ports if _is_ready(port)]
            self._ending.wait(LOOK_SECONDS)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                start(self._pass_on, client)

    def _pass_on(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), self._connect() as node:
            back = start(_copy, node, client)
            _copy(client, node)
            join(back)

    def _connect(self) -> socket.socket:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ready = self._ready
            if ready:
                with contextlib.suppress(OSError):
                    port = ready[next(self._turn) % len(ready)]
                    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            time.sleep(LOOK_SECONDS)
        raise OSError("no node is ready")


def _is_ready(port: int) -> bool:
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        asking.request("GET", "/health/ready")
        return asking.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asking.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy until the source ends, and tell the target so."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
