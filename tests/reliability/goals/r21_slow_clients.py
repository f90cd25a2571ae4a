"""R21: thousands of clients that are silent, slow, or stall; and heads, trailers without an end."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.e2e.server import Server
from tests.reliability.judging import Figure, Goal, Trial, Twin, at_most, exactly
from tests.reliability.traffic import LOST, Line, wait_for_workers
from tests.reliability.vitals import read_resident

HEAD = b"PUT /digitaltwins/x HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
STALLED = HEAD + b"Content-Length: 5000\r\n\r\n{"
ENDLESS = {
    "head": (b"GET / HTTP/1.1\r\nHost: a\r\nX: ", b"a" * 65536),
    "trailer": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"a" * 65536),
    "chunk extension": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1;", b"a" * 65536),
}


@dataclass(slots=True)
class Crowd:
    """Connections that are kept open, and those of them that send a byte now and then."""

    every: list[socket.socket] = field(default_factory=list)
    dripping: list[socket.socket] = field(default_factory=list)

    def join(self, port: int, count: int, start: bytes, *, drips: bool = False) -> None:
        """So many more clients, which begin with these bytes."""
        for _ in range(count):
            client = socket.create_connection(("127.0.0.1", port), timeout=10)
            client.sendall(start)
            client.setblocking(False)
            self.every.append(client)
            if drips:
                self.dripping.append(client)

    def drip(self) -> None:
        """One more byte from each slow one."""
        for client in self.dripping:
            with contextlib.suppress(OSError):
                client.send(b"a")

    def count_open(self) -> int:
        """Those that the server has not closed."""
        poll = select.poll()
        for client in self.every:
            poll.register(client, select.POLLIN)
        by_handle = {client.fileno(): client for client in self.every}
        for handle, _ in poll.poll(0):
            client = by_handle[handle]
            try:
                while client.recv(65536):
                    pass
            except BlockingIOError:
                continue
            except OSError:
                pass
            self.leave(client)
        return len(self.every)

    def leave(self, client: socket.socket) -> None:
        """Forget a client."""
        client.close()
        self.every.remove(client)
        if client in self.dripping:
            self.dripping.remove(client)


def judge(trial: Trial) -> Sequence[Figure]:
    """Open them all, ping meanwhile, and count who is still there 17 seconds later."""
    settings = {"Logging__Access": "false", "Server__MaxConnections": "4000"}
    if trial.fault:
        settings |= {"Server__HeaderTimeout": "600", "Server__BodyTimeout": "600"}
    many, some = trial.pick(1_000, 100), trial.pick(300, 30)
    crowd, pings, stop = Crowd(), [], threading.Event()
    with Server(trial.folder, workers=2, environment=settings) as server:
        workers = wait_for_workers(server)
        pinging = threading.Thread(target=_ping, args=(server.port, pings, stop))
        pinging.start()
        crowd.join(server.port, many, b"GET /digitaltwins/a HTTP/1.1\r\nX: ", drips=True)
        crowd.join(server.port, many, b"")
        crowd.join(server.port, some, STALLED)
        opened = time.monotonic()
        while crowd.count_open() and time.monotonic() - opened < 17:
            crowd.drip()
            time.sleep(1.0)
        took = time.monotonic() - opened
        left = crowd.count_open()
        stop.set()
        pinging.join()
        before = read_resident(workers)
        sent = max(_send_endless(server.port, *parts) for parts in ENDLESS.values())
        grown = read_resident(workers) - before
    for client in crowd.every:
        client.close()
    return [
        exactly("connections open after 17 s", left),
        at_most("seconds until all were closed", took, 17),
        trial.at_most_when_full("worst ping in ms", max(pings) * 1000, 100),
        at_most("MiB sent of what has no end", sent / 2**20, 3),
        at_most("MiB grown by it", grown / 2**20, 10),
        exactly("tracebacks", server.log.read_text(encoding="utf-8").count("Traceback")),
    ]


def _send_endless(port: int, start: bytes, piece: bytes) -> int:
    """How many bytes the server takes before it cuts the connection; at most 100 MB are sent."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        try:
            client.sendall(start)
            while sent < 100_000_000:
                sent += client.send(piece)
        except OSError:
            pass
    return sent


def _ping(port: int, pings: list[float], stop: threading.Event) -> None:
    while not stop.is_set():
        start = time.monotonic()
        try:
            line = Line(port, timeout=10)
            line.call("GET", "/health/live")
            line.close()
        except LOST:
            pings.append(10.0)
        pings.append(time.monotonic() - start)
        stop.wait(0.2)


GOAL = Goal(
    id="R21",
    title="slow and endless clients",
    asked="1,000 that send a byte a second, 1,000 silent, 300 stalled: all closed ≤ 17 s, others "
    "wait ≤ 100 ms; heads, trailers, extensions of 100 MB are cut ≤ 3 MiB, memory + < 10 MiB",
    judge=judge,
    twins=(
        Twin(
            fault="no-time-outs",
            seeds="HeaderTimeout and BodyTimeout of 600 s",
            breaks=("connections open after 17 s",),
        ),
    ),
)
