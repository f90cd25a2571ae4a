"""A point read and one hop by Bolt, beside the same over HTTP, in one service with one worker.

By messages alone, by the official Python driver, by two HTTP clients and by the vendor's SDK. All
are asked in turns, and their ratios are medians. The processor time that a client itself takes is
given beside: a driver in Python may take more of it than the service.
"""

from __future__ import annotations

import http.client
import json
import socket
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import neo4j
from azure.core.pipeline.policies import SansIOHTTPPolicy
from azure.digitaltwins.core import DigitalTwinsClient

from benchmarks.http import read_processor_times
from benchmarks.report import Figure, Report
from tests.e2e.server import Server, free_port
from twinframe.bolt.framing import MAGIC, MessageReader, build_chunks
from twinframe.bolt.packstream import Packer, Structure, unpack
from twinframe.demo.tour import NoCredential

POINT = "MATCH (s:Sensor {`$dtId`: $id}) RETURN s"
HOP = "MATCH (s:Sensor {`$dtId`: $id})-[r]->(t) RETURN t.`$dtId` AS id"
_ID = "sensor-1"
_RUNS = 15
_AIM = "≥ 0.7 of GET's rate"
_LEAST = 0.7


class Messages:
    """A client of nothing but messages: RUN and PULL are sent at once, as drivers do."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = MessageReader(2**30)
        self._packer = Packer()
        self._socket.sendall(MAGIC + b"\x00\x00\x08\x05" + bytes(12))
        assert self._socket.recv(4)[3] == 5
        self._ask((0x01, {"user_agent": "bench/1"}), (0x6A, {"scheme": "none"}))

    def run(self, text: str, **parameters: object) -> list[Any]:
        """The rows of a statement."""
        return self._ask((0x10, text, parameters, {}), (0x3F, {"n": 1000}))

    def _ask(self, *messages: tuple[Any, ...]) -> list[Any]:
        data = bytearray()
        for tag, *fields in messages:
            packed = bytearray()
            self._packer.pack(packed, Structure(tag, tuple(fields)))
            data += build_chunks(bytes(packed))
        self._socket.sendall(data)
        rows, left = [], len(messages)
        while left:
            for message in self._reader.feed(self._socket.recv(65536), 1000):
                found = unpack(message)
                assert isinstance(found, Structure)
                if found.tag == 0x71:
                    rows.append(found.fields[0])
                    continue
                assert found.tag == 0x70, found
                left -= 1
        return rows


class Plain:
    """`http.client` with one kept connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)

    def get(self) -> Any:
        """The twin."""
        self._connection.request("GET", f"/digitaltwins/{_ID}?api-version=2023-10-31")
        return self._read()

    def hop(self) -> Any:
        """One hop by a query."""
        body = json.dumps({"query": HOP, "parameters": {"id": _ID}})
        headers = {"Content-Type": "application/json"}
        self._connection.request("POST", "/query?api-version=2023-10-31", body, headers)
        return self._read()

    def _read(self) -> Any:
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)


class Taken(NamedTuple):
    """Seconds of a call, and those of processor time that the client took for it."""

    seconds: float
    own: float


def measure(report: Report, data: Path, *, quick: bool) -> None:
    """Times of one call, on a service with a graph in `data`."""
    rounds = 60 if quick else 300
    port = free_port()
    environment = {
        "Storage__Sqlite__Directory": str(data),
        "Bolt__Enabled": "true",
        "Bolt__Bind": f"127.0.0.1:{port}",
        "Logging__Access": "false",
    }
    with tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
        server = opened.enter_context(Server(Path(folder), environment=environment))
        driver = opened.enter_context(neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{port}"))
        session = opened.enter_context(driver.session())
        light = opened.enter_context(httpx2.Client(base_url=server.url))
        messages, plain = Messages(port), Plain(server.port)
        vendor = DigitalTwinsClient(
            server.url, NoCredential(), authentication_policy=SansIOHTTPPolicy()
        )
        calls: dict[str, Callable[[], object]] = {
            "GET by http.client": plain.get,
            "GET by httpx2": lambda: light.get(f"/digitaltwins/{_ID}").json(),
            "GET by the vendor's SDK": lambda: vendor.get_digital_twin(_ID),
            "point read by messages": lambda: messages.run(POINT, id=_ID),
            "point read by the driver": lambda: session.run(POINT, id=_ID).single(),
            "point read by execute_query": lambda: driver.execute_query(POINT, id=_ID),
            "hop by http.client": plain.hop,
            "hop by messages": lambda: messages.run(HOP, id=_ID),
            "hop by the driver": lambda: session.run(HOP, id=_ID).data(),
        }
        for call in calls.values():
            for _ in range(20):
                call()
        taken: dict[str, list[Taken]] = {name: [] for name in calls}
        spent = dict.fromkeys(calls, 0.0)
        # NOTE: runs in turns, and the median of their ratios: others use the machine too.
        for _ in range(_RUNS):
            for name, call in calls.items():
                before = sum(read_processor_times(server).values())
                taken[name].append(_measure_run(call, rounds))
                spent[name] += sum(read_processor_times(server).values()) - before
    for name in calls:
        served = spent[name] / (_RUNS * rounds)
        own = statistics.median(one.own for one in taken[name])
        shown = f"{name}: client {own * 1e6:.0f} µs of processor, service {served * 1e6:.0f} µs"
        report.add(Figure(shown, statistics.median(one.seconds for one in taken[name]) * 1e3, "ms"))
    for ours, floor in (
        ("point read by messages", "GET by http.client"),
        ("point read by the driver", "GET by http.client"),
        ("point read by the driver", "GET by httpx2"),
        ("point read by the driver", "GET by the vendor's SDK"),
        ("point read by execute_query", "GET by the vendor's SDK"),
        ("hop by messages", "hop by http.client"),
        ("hop by the driver", "hop by http.client"),
    ):
        pairs = zip(taken[ours], taken[floor], strict=True)
        ratio = statistics.median(other.seconds / mine.seconds for mine, other in pairs)
        rates = [
            1 / statistics.median(one.seconds for one in taken[name]) for name in (ours, floor)
        ]
        shown = f"{ours}, beside {floor}"
        report.add(Figure(shown, rates[0], "/s", rates[1], ratio, _AIM, ratio >= _LEAST))


def _measure_run(call: Callable[[], object], rounds: int) -> Taken:
    """Median seconds of one call among so many in a row, and the mean of its processor time."""
    times = []
    began = time.process_time()
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return Taken(statistics.median(times), (time.process_time() - began) / rounds)
