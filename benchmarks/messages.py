"""Messages of brokers: how fast a service takes in what a broker has kept for it."""

from __future__ import annotations

import json
import multiprocessing
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from benchmarks.brokers import BROKERS, TWINS, Broker, Mqtt
from benchmarks.report import Figure, Report
from tests.e2e.server import Server, free_port
from tests.e2e.wire import Wire
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

_CLIENTS: Final = 2
_SOURCE: Final = "Ingestion__Sources__bench__"


def measure(report: Report, *, quick: bool) -> None:
    """Take in messages of one value each, of four, and of a property, of each broker."""
    for kind in BROKERS:
        if kind.is_there():
            _measure_broker(report, kind, 10_000 if quick else 50_000)
        else:
            print(f"messages: {kind.name} needs {kind.program}; passed over")


def _measure_broker(report: Report, kind: type[Broker], count: int) -> None:
    one, four = ({f"v{at}": f"payload.v{at}" for at in range(values)} for values in (1, 4))
    rate = _measure(kind, count, {"points": one})
    name = f"{kind.name}: points"
    if kind is Mqtt:
        kept = rate >= 10_000
        report.add(Figure(f"{name}, one a message", rate, "/s", aim="≥ 10,000 /s", kept=kept))
    else:
        report.add(Figure(f"{name}, one a message", rate, "/s"))
    rate = 4 * _measure(kind, count, {"points": four})
    report.add(Figure(f"{name}, four a message", rate, "/s"))
    rate = _measure(kind, count // 2, {"properties": {"temperature": "payload.v0"}})
    report.add(Figure(f"{kind.name}: properties, one a message", rate, "/s"))


def _measure(kind: type[Broker], count: int, writes: dict[str, dict[str, str]]) -> float:
    """Return the messages a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broker = kind(folder)
        try:
            return _take_in(folder, broker, count, writes)
        finally:
            broker.kill()


def _take_in(folder: Path, broker: Broker, count: int, writes: dict[str, dict[str, str]]) -> float:
    mapping = {"topic": broker.topic, "time": "payload.at", "timeUnit": "us", **writes}
    if "{twin}" not in broker.topic:
        mapping["twin"] = "key"
    metrics = f"127.0.0.1:{free_port()}"
    environment = {
        "History__Telemetry": "all",
        "Metrics__Enabled": "true",
        "Metrics__Bind": metrics,
        **{_SOURCE + name: value for name, value in broker.settings.items()},
        _SOURCE + "Mappings": json.dumps([mapping]),
    }
    with Server(folder, environment=environment) as server:
        wire = Wire(server.port)
        wire.call("POST", "/models", build_building_interfaces())
        document = build_twin_document(ROOM)
        twins = [{**document, "$dtId": f"room-{at}"} for at in range(TWINS)]
        assert wire.call("POST", "/digitaltwins", twins)[2]["failureCount"] == 0
        wire.close()
        while "is connected" not in server.log.read_text():  # the broker keeps a session now
            time.sleep(0.05)
        server.kill()
        clients = [
            multiprocessing.Process(target=broker.publish, args=(at, _CLIENTS, count))
            for at in range(_CLIENTS)
        ]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        server.start()
        while not (taken := _read_taken(metrics)):
            time.sleep(0.01)
        begin, first = time.perf_counter(), taken
        while taken < count:
            time.sleep(0.05)
            taken = _read_taken(metrics)
        return (count - first) / (time.perf_counter() - begin)


def _read_taken(metrics: str) -> float:
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("twinframe_source_messages_total")
    )
