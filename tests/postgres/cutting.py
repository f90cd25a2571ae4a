"""A proxy in front of a PostgreSQL server that cuts a connection at a chosen moment."""

from __future__ import annotations

import contextlib
import select
import socket
from enum import Enum
from pathlib import Path
from typing import Final, Self

from tests.waiting import PATIENCE, start

_READY: Final = b"Z\0\0\0\x05I"


class Cut(Enum):
    """When the connection is cut, counted from the next bytes of the client."""

    BEFORE = "before"  # they do not reach the server
    AFTER = "after"  # the server has answered, and the answer does not reach the client


class CuttingProxy:
    """Listens on a TCP port, and passes on to the socket of the server; `armed` cuts once."""

    def __init__(self, server: Path) -> None:
        self._server = str(server)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.armed: Cut | None = None
        self.cuts = 0
        start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                start(self._pass_on, client)

    def _pass_on(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, contextlib.suppress(OSError):
            server.connect(self._server)
            is_cut, answer = False, b""
            # The answer to a COMMIT ends with «ready, and in no transaction».
            while not answer.endswith(_READY):
                ready, _, _ = select.select([client, server], [], [], PATIENCE)
                for source in ready or [client]:
                    data = source.recv(1 << 20)
                    if source is client and self.armed is not None:
                        is_cut, cut, self.armed = True, self.armed, None
                        self.cuts += 1
                        if cut is Cut.BEFORE:
                            return
                    if not data:
                        return
                    if source is client:
                        server.sendall(data)
                    elif is_cut:
                        answer += data
                    else:
                        client.sendall(data)
