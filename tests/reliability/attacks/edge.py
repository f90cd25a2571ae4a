"""Attacks on the HTTP edge: bodies, heads, connections, answers that nobody takes."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tests.reliability.attacks.attack import Attack, Target

MIB: Final = 1024 * 1024
GET_LARGE: Final = b"GET /digitaltwins/large%d HTTP/1.1\r\nHost: a\r\n\r\n"
GET_SMALL: Final = b"GET /digitaltwins/t1 HTTP/1.1\r\nHost: a\r\n\r\n"


def _build_post(path: str, size: int, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"Content-Length: {size}\r\n{more}\r\n"
    ).encode()


def _build_query(text: str, rows: int = 200) -> bytes:
    body = json.dumps({"query": text}).encode()
    return _build_post("/query", len(body), f"max-items-per-page: {rows}\r\n") + body


class Crowd:
    """Connections that one thread keeps: each sends its bytes as it can, and reads nothing."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._open: dict[int, tuple[socket.socket, memoryview]] = {}
        self._poll = select.poll()

    def join(self, data: bytes, *, deaf: bool = False) -> None:
        """One more, which sends this. One that is `deaf` has room for little of an answer."""
        client = socket.socket()
        if deaf:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(5)
        try:
            client.connect(("127.0.0.1", self._target.port))
        except OSError:
            client.close()
            self._target.answers[0] += 1
            return
        client.setblocking(False)
        self._open[client.fileno()] = (client, memoryview(data))
        self._poll.register(client, select.POLLOUT)

    def send(self, seconds: float) -> None:
        """Send what can be sent, for so long or until all is."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(len(rest) for _, rest in self._open.values()):
            for handle, _ in self._poll.poll(100):
                client, rest = self._open[handle]
                if not len(rest):
                    self._poll.modify(client, 0)
                    continue
                try:
                    sent = client.send(rest[:65536])
                except BlockingIOError:
                    continue
                except OSError:
                    self._leave(client)
                    continue
                self._open[handle] = (client, rest[sent:])

    def drip(self, data: bytes) -> None:
        """A little more from each."""
        for client, _ in list(self._open.values()):
            with contextlib.suppress(BlockingIOError):
                try:
                    client.send(data)
                except (BrokenPipeError, ConnectionResetError):
                    self._leave(client)

    def __len__(self) -> int:
        return len(self._open)

    def leave(self) -> None:
        """All of them go."""
        for client, _ in list(self._open.values()):
            with contextlib.suppress(OSError):
                self._target.answers[_read_status(client)] += 1
            self._leave(client)

    def _leave(self, client: socket.socket) -> None:
        del self._open[client.fileno()]
        self._poll.unregister(client)
        client.close()


def _read_status(client: socket.socket) -> int:
    """The status of what has arrived by now; 0 where nothing has."""
    try:
        start = client.recv(64)
    except BlockingIOError:
        return 0
    return int(start[9:12]) if start.startswith(b"HTTP/1.1 ") else 0


def _crowd(
    pieces: Callable[[], Iterator[bytes]], *, deaf: bool = False, drip: bytes = b""
) -> Callable[[Target], None]:
    """Clients that send each its piece, and then nothing, or `drip` again and again."""

    def run(target: Target) -> None:
        crowd = Crowd(target)
        for data in pieces():
            crowd.join(data, deaf=deaf)
        while target.lasts():
            crowd.send(0.5)
            crowd.drip(drip)
            time.sleep(0.05)
        crowd.leave()

    return run


# --- bodies and heads that do not end -------------------------------------------------------------


def _list_uploads(count: int, size: int) -> Iterator[bytes]:
    data = _build_post("/models", size) + b"[" + b" " * (size - 2)
    return (data for _ in range(count))


def _list_chunked() -> Iterator[bytes]:
    head = (
        b"POST /models HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    data = head + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 200
    return (data for _ in range(100))


def _list_heads(count: int, more: bytes = b"") -> Iterator[bytes]:
    return (b"GET / HTTP/1.1\r\nHost: a\r\n" + more + b"X: " for _ in range(count))


def _connect_often(target: Target) -> None:
    def act() -> None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", target.port), timeout=5).close()

    target.repeat(act, clients=8)


# --- JSON -----------------------------------------------------------------------------------------


def _post(path: str, body: bytes, clients: int = 4) -> Callable[[Target], None]:
    """Clients that send a body again and again."""
    return lambda target: target.repeat(lambda: target.call("POST", path, body), clients)


def _put(body: bytes, clients: int = 4) -> Callable[[Target], None]:
    return lambda target: target.repeat(
        lambda: target.call("PUT", "/digitaltwins/put", body), clients
    )


def _fill(piece: bytes, size: int, start: bytes = b"[", end: bytes = b"]") -> bytes:
    return start + piece * (size // len(piece)) + end


_JSON: Final[Sequence[tuple[str, str, bytes]]] = (
    ("empty arrays", "/models", _fill(b"[],", 12 * MIB, end=b"[]]")),
    ("empty objects", "/digitaltwins", _fill(b"{},", 12 * MIB, end=b"{}]")),
    ("numbers", "/models", _fill(b"1.5,", 15 * MIB, end=b"1]")),
    ("commas", "/models", _fill(b",", 15 * MIB)),
    ("brackets that open", "/models", b"[" * (15 * MIB)),
    ("brackets that close", "/models", b"]" * (15 * MIB)),
    ("blanks", "/models", _fill(b" ", 15 * MIB)),
    ("one text of escapes", "/models", _fill(b"\\n", 15 * MIB, b'["', b'"]')),
    ("one text of escaped characters", "/models", _fill(b"\\u00e9", 15 * MIB, b'["', b'"]')),
    ("one wide text", "/models", _fill("😀".encode(), 15 * MIB, b'["', b'"]')),
    ("quotes", "/models", b'"' * (15 * MIB)),
    ("small texts", "/digitaltwins", _fill(b'"ab",', 15 * MIB, end=b'""]')),
    ("one object of many members", "/models", b"[{%b}]" % b",".join(
        b'"k%d":%d' % (number, number) for number in range(900_000))),
    ("a number of 15 MB", "/models", b"[" + b"9" * (15 * MIB) + b"]"),
    ("deep arrays", "/models", _fill(b"[" * 60 + b"]" * 60 + b",", 12 * MIB, end=b"1]")),
    ("what ends too early", "/digitaltwins", _fill(b'{"$dtId":"a","text":"xxxxxxxx"},', 15 * MIB)),
    ("no UTF-8 at the end", "/models", _fill(b"a", 15 * MIB, b'["', b'\xff"]')),
)  # fmt: skip


def _build_bulk() -> bytes:
    """A thousand twins of 15 KB."""
    model = {"$model": "dtmi:com:example:Large;1"}
    twins = [
        {"$dtId": f"bulk{number}", "$metadata": model, "text": "y" * 15_000}
        for number in range(1000)
    ]
    return json.dumps(twins).encode()


def _build_entries() -> bytes:
    """A twin of 20,000 entries, as far apart as its body may be long."""
    entries = b",".join(b'"k%d":\n   "v"' % number for number in range(20_000))
    model = b'{"$metadata":{"$model":"dtmi:com:example:Large;1"},"entries":{%b}}'
    return model % entries


# --- answers that nobody takes --------------------------------------------------------------------


def _repeat(data: bytes, count: int) -> Callable[[], Iterator[bytes]]:
    return lambda: (data for _ in range(count))


def _list_readers_of_large() -> Iterator[bytes]:
    return (GET_LARGE % (number % 200) for number in range(600))


_PAGE: Final = _build_query("SELECT * FROM DIGITALTWINS T WHERE T.text != ''")
_SORTED: Final = _build_query("MATCH (t:Large) RETURN t ORDER BY t.`$dtId` DESC")
_SLOW: Final = _build_query("UNWIND range(1, 100000000) AS x RETURN sum(x)")
_FOLLOW: Final = (
    b"GET /events?lastEventId=0 HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n"
)

ATTACKS: Final = (
    Attack(
        "uploads without a last byte",
        _crowd(lambda: _list_uploads(150, 15 * MIB), drip=b" "),
        seconds=6.0,
    ),
    Attack("uploads of a mebibyte without a last byte", _crowd(lambda: _list_uploads(900, MIB))),
    Attack("small uploads without a last byte", _crowd(lambda: _list_uploads(1500, 15_000))),
    Attack("uploads in chunks without an end", _crowd(_list_chunked), seconds=4.0),
    Attack("2,200 slow heads", _crowd(lambda: _list_heads(2200), drip=b"a"), seconds=4.0),
    Attack(
        "large heads without an end",
        _crowd(lambda: _list_heads(1800, b"Y: " + b"y" * 7000 + b"\r\n")),
        seconds=4.0,
    ),
    Attack(
        "heads of many fields without an end",
        _crowd(lambda: _list_heads(1800, b"".join(b"F%d: 1\r\n" % n for n in range(95)))),
    ),
    Attack("2,500 silent connections", _crowd(lambda: (b"" for _ in range(2500)))),
    Attack("connections that come and go", _connect_often),
    *(Attack(f"JSON: {name}", _post(path, body)) for name, path, body in _JSON),
    Attack("many clients with JSON of 64 KB", _post("/models", _fill(b"[],", 64_000), 24)),
    Attack("many clients with JSON of 200 KB", _post("/models", _fill(b"[],", 200_000), 24)),
    Attack("queries of a mebibyte", _post("/query", _fill(b"[],", MIB), 16)),
    Attack("queries of 15 MB", _post("/query", _fill(b"[],", 15 * MIB))),
    Attack("twins of 15 MB", _put(_fill(b'"k":1,', 15 * MIB, b"{", b'"k":1}'))),
    Attack("twins of many entries", _put(_build_entries())),
    Attack("a thousand twins of 15 KB at once", _post("/digitaltwins", _build_bulk(), 3)),
    Attack(
        "pages of large twins that nobody reads", _crowd(_repeat(_PAGE, 20), deaf=True), seconds=4.0
    ),
    Attack("200 pages of large twins that nobody reads", _crowd(_repeat(_PAGE, 200), deaf=True)),
    Attack(
        "sorted pages of large twins that nobody reads",
        _crowd(_repeat(_SORTED, 20), deaf=True),
        seconds=4.0,
    ),
    Attack("600 large twins that nobody reads", _crowd(_list_readers_of_large, deaf=True)),
    Attack(
        "large twins one behind another that nobody reads",
        _crowd(_repeat(b"".join(GET_LARGE % n for n in range(200)) * 4, 100), deaf=True),
    ),
    Attack(
        "4,000 requests behind a slow one",
        _crowd(_repeat(_SLOW + GET_SMALL * 4000, 200), deaf=True),
        seconds=4.0,
    ),
    Attack("followers of events that read nothing", _crowd(_repeat(_FOLLOW, 150), deaf=True)),
)
