"""Writers over HTTP that keep the etags of their twins, many connections in one thread.

A tool such as `wrk` does not tell which answer belongs to which request, and so cannot know the
etag that its next one needs.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import selectors
import socket
import time
from typing import Final

_SENSOR: Final = "dtmi:com:example:bench:TemperatureSensor;1"
VALUES: Final = {"name": "New", "value": 20.5, "unit": "degreeCelsius", "maker": "Aerotec"}
TWIN: Final = {"$metadata": {"$model": _SENSOR}, **VALUES}
_BODY: Final = json.dumps(TWIN)
_ETAG: Final = re.compile(rb"(?i)\r\netag: ([^\r]+)")
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
_END: Final = b"\r\n\r\n"
_PIECE: Final = 65_536


def build_own(number: int) -> str:
    """The id of the twin that a connection patches."""
    return f"own-{number}"


class _Writer:
    """One connection, which sends the next request when it has the answer to the last."""

    def __init__(self, port: int, number: int, kind: str, run: str) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = 0
        self._kind, self._number, self._run = kind, number, run
        self._etag, self._got = "", b""

    def send(self) -> None:
        """Send the next request."""
        self.socket.sendall(self._build_put() if self._kind == "PUT" else self._build_patch())

    def receive(self) -> bool:
        """Read what came; return whether the answer is whole. Fails when it is no success."""
        self._got += self.socket.recv(_PIECE)
        head, end, body = self._got.partition(_END)
        length = _LENGTH.search(head)
        if not end or len(body) < (int(length[1]) if length else 0):
            return False
        assert head.startswith(b"HTTP/1.1 2"), self._got
        etag = _ETAG.search(head)
        assert etag, head
        self._etag, self._got = etag[1].decode("ascii"), b""
        self.answers += 1
        return True

    def _build_put(self) -> bytes:
        twin_id = f"{self._run}-{self._number}-{self.answers}"
        return _build_request("PUT", twin_id, _BODY, "application/json")

    def _build_patch(self) -> bytes:
        body = f'[{{"op":"replace","path":"/value","value":{self.answers}.5}}]'
        known = f"If-Match: {self._etag}\r\n" if self._etag else ""
        kind = "application/json-patch+json"
        return _build_request("PATCH", build_own(self._number), body, kind, known)


def _build_request(method: str, twin_id: str, body: str, kind: str, more: str = "") -> bytes:
    return (
        f"{method} /digitaltwins/{twin_id} HTTP/1.1\r\nHost: bench\r\nContent-Type: {kind}\r\n"
        f"Content-Length: {len(body)}\r\n{more}\r\n{body}"
    ).encode("ascii")


def write_for(port: int, kind: str, seconds: float, connections: int) -> tuple[float, int]:
    """Write over so many connections, from a process of its own; return the rate and the count.

    `kind` is `PUT`, each of a new twin, or `PATCH`, each but the first of a connection with the
    etag of its twin.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_write, (port, kind, seconds, connections))


def _write(port: int, kind: str, seconds: float, connections: int) -> tuple[float, int]:
    run = f"new-{os.urandom(4).hex()}"
    writers = [_Writer(port, number, kind, run) for number in range(connections)]
    with selectors.DefaultSelector() as selector:
        for writer in writers:
            selector.register(writer.socket, selectors.EVENT_READ, writer)
        began = time.perf_counter()
        end = began + seconds
        for writer in writers:
            writer.send()
        waiting = len(writers)
        while waiting:
            for key, _ in selector.select():
                if key.data.receive():
                    if time.perf_counter() < end:
                        key.data.send()
                    else:
                        waiting -= 1
        took = time.perf_counter() - began
    for writer in writers:
        writer.socket.close()
    count = sum(writer.answers for writer in writers)
    return count / took, count
