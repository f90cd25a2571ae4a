"""Malformed requests over many sockets at once: made by changing good ones. It judges no answer."""

# ruff: noqa: E501 -- tables of odd pieces
from __future__ import annotations

import contextlib
import random
import re
import select
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

_JSON: Final = b"Content-Type: application/json\r\n"
_PATCH: Final = b"Content-Type: application/json-patch+json\r\n"
_TWIN: Final = b'{"$metadata":{"$model":"dtmi:com:example:Counter;1"},"value":7}'
_CHANGE: Final = b'[{"op":"replace","path":"/value","value":3}]'
_QUERY: Final = b'{"query":"MATCH (t:Counter) WHERE t.value > 1 RETURN t.value AS v"}'


def _build(line: bytes, body: bytes = b"", fields: bytes = b"") -> bytes:
    length = b"Content-Length: %d\r\n" % len(body) if body else b""
    return b"%b HTTP/1.1\r\nHost: a\r\n%b%b\r\n%b" % (line, fields, length, body)


SOUND: Final = (
    _build(b"GET /digitaltwins/room"),
    _build(b"GET /digitaltwins/room/relationships?continuationToken=x&api-version=2023-10-31"),
    _build(b"GET /models?dependenciesFor=dtmi:com:example:Counter;1"),
    _build(b"PUT /digitaltwins/room", _TWIN, _JSON),
    _build(b"PUT /digitaltwins/room", _TWIN, _JSON + b'If-Match: W/"x"\r\nIf-None-Match: *\r\n'),
    _build(b"PATCH /digitaltwins/room", _CHANGE, _PATCH),
    _build(b"POST /query", _QUERY, _JSON + b"max-items-per-page: 3\r\n"),
    _build(b"DELETE /digitaltwins/r%C3%BCm"),
    _build(b"POST /digitaltwins/room/telemetry", _TWIN, _JSON + b"Message-Id: 1\r\n"),
    b"PUT /digitaltwins/room HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
    + _JSON + b"\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(_TWIN), _TWIN),
    _build(b"OPTIONS /digitaltwins/room", b"", b"Origin: http://a\r\n"),
    _build(b"GET /health/live", b"", b"Connection: upgrade\r\nUpgrade: h2c\r\n"),
)  # fmt: skip
ODD: Final = (
    b"\r\n", b"\n", b"\r", b"\0", b" ", b"\t", b":", b";", b"%", b"%00", b"%FF", b"%zz", b"/", b"//",
    b"..", b"?", b"#", b"&", b"=", b"\xff", b"\xc3\xbc", b"\xed\xa0\x80", b"\x7f", b"{", b"[", b'"',
    b"\\u0000", b"\\ud800", b"-1", b"1e999", b"NaN", b"18446744073709551616", b"HTTP/0.9",
    b"HTTP/2.0", b"Content-Length: 5\r\n", b"Content-Length: -1\r\n", b"Host: b\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: xchunked\r\n", b"Expect: 100-continue\r\n",
    b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"A" * 300, b"X: " + b"y" * 9000 + b"\r\n",
    b"Authorization: Bearer x\r\n", b"traceparent: 00-x\r\n", b"Content-Encoding: gzip\r\n",
)  # fmt: skip
_STATUS: Final = re.compile(rb"HTTP/1\.1 ([0-9]{3}) ")
_OPEN_AT_ONCE: Final = 96
_PATIENCE: Final = 0.15
_CLOSES: Final = b"connection: close"


@dataclass(slots=True)
class Tally:
    """How many cases were sent, and each status that came back."""

    cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)


class Fuzzer:
    """Sends cases, one a connection, many connections at once. `seed` makes it repeatable."""

    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._dice = random.Random(seed)
        self._open: dict[int, tuple[socket.socket, bytearray]] = {}
        self._order: deque[tuple[float, int, socket.socket]] = deque()
        self._poll = select.epoll()
        self._tally = Tally()

    def run(self, cases: int, seconds: float) -> Tally:
        """Send so many, for at most so long."""
        self._tally = tally = Tally()
        end = time.monotonic() + seconds
        while tally.cases < cases and (now := time.monotonic()) < end:
            while len(self._open) < _OPEN_AT_ONCE:
                self._send(now)
            for handle, _ in self._poll.poll(0.02):
                self._receive(handle)
            self._give_up(now)
        for handle in list(self._open):
            self._close(handle)
        self._order.clear()
        return tally

    def _send(self, now: float) -> None:
        connection = socket.socket()
        connection.connect(("127.0.0.1", self._port))
        connection.setblocking(False)
        self._tally.cases += 1
        with contextlib.suppress(OSError):  # an early refusal
            connection.send(self.build_case())
        handle = connection.fileno()
        self._open[handle] = connection, bytearray()
        self._order.append((now, handle, connection))
        self._poll.register(handle, select.EPOLLIN)

    def _receive(self, handle: int) -> None:
        connection, received = self._open[handle]
        try:
            piece = connection.recv(65536)
        except OSError:
            piece = b""
        received += piece
        # NOTE: a kept connection has said all that it will; another piece may follow a case of two.
        if not piece or (_CLOSES not in received and _STATUS.search(received)):
            self._close(handle)

    def _give_up(self, now: float) -> None:
        """Close what waits for more of a request that ends here."""
        while self._order and now - self._order[0][0] > _PATIENCE:
            _, handle, connection = self._order.popleft()
            if self._open.get(handle, (None,))[0] is connection:
                self._close(handle)

    def _close(self, handle: int) -> None:
        connection, received = self._open.pop(handle)
        self._poll.unregister(handle)
        connection.close()
        for status in _STATUS.findall(received):
            self._tally.statuses[int(status)] += 1

    def build_case(self) -> bytes:
        """A sound request with one to four changes, now and then none."""
        dice = self._dice
        case = dice.choice(SOUND)
        for _ in range(int(dice.random() * 5)):
            at = int(dice.random() * (len(case) + 1))
            match int(dice.random() * 7):
                case 0 | 1:
                    case = case[:at] + dice.choice(ODD) + case[at:]
                case 2:
                    case = case[:at] + case[at + 1 + int(dice.random() * 4) :]
                case 3:
                    case = case[:at] + bytes((int(dice.random() * 256),)) + case[at + 1 :]
                case 4:
                    end = at + int(dice.random() * 30)
                    case = case[:end] + case[at:]
                case 5:
                    case = case.replace(
                        b"\r\n", dice.choice((b"\n", b"\r", b"\r\n ", b"\r\n\r\n")), 1
                    )
                case _:
                    case = case[:at] if dice.random() < 0.3 else case + dice.choice(SOUND)
        return case
