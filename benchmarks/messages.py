"""Messages of a broker: how fast a service takes in what Mosquitto has kept for it."""

from __future__ import annotations

import json
import multiprocessing
import random
import shutil
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Final

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from benchmarks.report import Figure, Report
from tests.e2e.mosquitto import Mosquitto
from tests.e2e.server import Server, free_port
from tests.e2e.wire import Wire
from twinframe.testing.factories import ROOM, build_building_interfaces, build_twin_document

_TWINS: Final = 100
_CLIENTS: Final = 2
_SOURCE: Final = "Ingestion__Sources__bench__"


def measure(report: Report, *, quick: bool) -> None:
    """Take in messages of one value each, of four, and of a property."""
    if shutil.which("mosquitto", path="/usr/sbin:/usr/bin:/usr/local/sbin") is None:
        print("messages: needs Mosquitto (apt install mosquitto); passed over")
        return
    count = 10_000 if quick else 50_000
    one, four = ({f"v{at}": f"payload.v{at}" for at in range(values)} for values in (1, 4))
    rate = _measure(count, {"points": one})
    kept = rate >= 10_000
    report.add(Figure("MQTT: points, one a message", rate, "/s", aim="≥ 10,000 /s", kept=kept))
    report.add(Figure("MQTT: points, four a message", 4 * _measure(count, {"points": four}), "/s"))
    rate = _measure(count // 2, {"properties": {"temperature": "payload.v0"}})
    report.add(Figure("MQTT: properties, one a message", rate, "/s"))


def _measure(count: int, writes: dict[str, dict[str, str]]) -> float:
    """Return the messages a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broker = Mosquitto(folder, "max_queued_messages 0", "max_queued_bytes 0")
        broker.start()
        try:
            return _take_in(folder, broker.port, count, writes)
        finally:
            broker.kill()


def _take_in(folder: Path, port: int, count: int, writes: dict[str, dict[str, str]]) -> float:
    mapping = {"topic": "rooms/{twin}", "time": "payload.at", "timeUnit": "us", **writes}
    metrics = f"127.0.0.1:{free_port()}"
    environment = {
        "History__Telemetry": "all",
        "Metrics__Enabled": "true",
        "Metrics__Bind": metrics,
        _SOURCE + "Type": "mqtt",
        _SOURCE + "Host": "127.0.0.1",
        _SOURCE + "Port": str(port),
        _SOURCE + "Tls": "false",
        _SOURCE + "Mappings": json.dumps([mapping]),
    }
    with Server(folder, environment=environment) as server:
        wire = Wire(server.port)
        wire.call("POST", "/models", build_building_interfaces())
        document = build_twin_document(ROOM)
        twins = [{**document, "$dtId": f"room-{at}"} for at in range(_TWINS)]
        assert wire.call("POST", "/digitaltwins", twins)[2]["failureCount"] == 0
        wire.close()
        while "is connected" not in server.log.read_text():  # the broker keeps a session now
            time.sleep(0.05)
        server.kill()
        clients = [
            multiprocessing.Process(target=_publish, args=(port, at, count))
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


def _publish(port: int, client: int, count: int) -> None:
    chosen = random.Random(client)
    connection = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
    connection.max_inflight_messages_set(1000)
    connection.connect("127.0.0.1", port)
    connection.loop_start()
    begin = time.time_ns() // 1000 - count
    waiting: list[paho.MQTTMessageInfo] = []
    for at in range(client, count, _CLIENTS):
        values = {f"v{value}": round(chosen.gauss(21, 1), 2) for value in range(4)}
        body = json.dumps({"at": begin + at, **values}).encode()
        waiting.append(connection.publish(f"rooms/room-{at % _TWINS}", body, qos=1))
        if len(waiting) > 2000:
            waiting.pop(0).wait_for_publish()
    for one in waiting:
        one.wait_for_publish()
    connection.disconnect()
    connection.loop_stop()


def _read_taken(metrics: str) -> float:
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return sum(
        float(line.rpartition(" ")[2])
        for line in lines
        if line.startswith("twinframe_source_messages_total")
    )
