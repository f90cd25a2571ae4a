"""Messages of a real broker while the service is killed: none that was acknowledged is lost."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.mosquitto import Mosquitto
from tests.e2e.server import Server
from tests.e2e.wire import Json, Wire
from tests.e2e.wire_world import must
from tests.waiting import PATIENCE, join, run_program, start

paho = pytest.importorskip("paho.mqtt.client", reason="needs pip install twinframe-events-mqtt")

MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Room;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Telemetry", "name": "count", "schema": "integer"},
        {"@type": "Property", "name": "last", "schema": "integer"},
    ],
}
MAPPINGS = [
    {
        "topic": "rooms/{twin}/count",
        "time": "payload.at",
        "timeUnit": "ms",
        "points": {"count": "payload.n"},
        "properties": {"last": "payload.n"},
    },
    {"topic": "rooms/{twin}/never", "points": {"never": "payload"}},
]
START = 1_772_373_600_000
ROOMS = 5
_PAUSE = 0.002


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    made = Mosquitto(tmp_path, "max_queued_messages 0", "max_queued_bytes 0")
    made.start()
    yield made
    made.kill()


class Publisher:
    """Publishes numbered messages of rooms in turn, each acknowledged by the broker."""

    def __init__(self, port: int) -> None:
        self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTProtocolVersion.MQTTv5
        )
        self.count = 0
        self.stopped = threading.Event()
        self._client.connect_timeout = PATIENCE
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def send(self, topic: str, body: bytes) -> None:
        self._client.publish(topic, body, qos=1).wait_for_publish(PATIENCE)

    def send_numbers(self) -> None:
        """Count until it is stopped."""
        while not self.stopped.wait(_PAUSE):
            body = json.dumps({"n": self.count, "at": START + self.count})
            self.send(f"rooms/r{self.count % ROOMS}/count", body.encode())
            self.count += 1

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()


def wait_until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not check():
        assert time.monotonic() < end
        time.sleep(0.02)


def read_series(wire: Wire, room: int) -> list[int]:
    values: list[int] = []
    path = f"/digitaltwins/r{room}/series/count?from=2026-03-01T14:00:00Z"
    while path:
        page = must(wire.call("GET", path, Max_Items_Per_Page="2000"))
        values += [point["value"] for point in page["value"]]
        path = (page["nextLink"] or "").partition("/digitaltwins")[2]
        path = path and f"/digitaltwins{path}"
    return values


def read_twin(wire: Wire, room: int) -> Json:
    return must(wire.call("GET", f"/digitaltwins/r{room}"))


def build_environment(broker: Mosquitto) -> dict[str, str]:
    source = "Ingestion__Sources__building__"
    return {
        "History__Telemetry": "all",
        source + "Type": "mqtt",
        source + "Host": "127.0.0.1",
        source + "Port": str(broker.port),
        source + "Tls": "false",
        source + "Mappings": json.dumps(MAPPINGS),
        "Jobs__LookSeconds": "0.1",
    }


def test_a_service_that_is_killed_again_and_again_loses_no_message(
    broker: Mosquitto, tmp_path: Path
) -> None:
    environment = build_environment(broker)
    server = Server(tmp_path, workers=2, environment=environment)

    def count_connections() -> int:
        return server.log.read_text(encoding="utf-8").count("is connected")

    publisher = Publisher(broker.port)
    with server:
        wire = Wire(server.port)
        must(wire.call("POST", "/models", [MODEL]), 201)
        for room in range(ROOMS):
            body: Json = {"$metadata": {"$model": MODEL["@id"]}}
            must(wire.call("PUT", f"/digitaltwins/r{room}", body))
        wait_until(lambda: count_connections() == 1)
        publisher.send("rooms/nobody/count", b'{"n": 1}')
        publisher.send("rooms/r0/count", b"{")
        sending = start(publisher.send_numbers)
        for kills in range(1, 4):
            taken = len(read_series(wire, 0))
            wait_until(lambda: len(read_series(wire, 0)) > taken)  # noqa: B023  # called here
            wire.close()
            server.kill()
            server.start()
            wire = Wire(server.port)
            wait_until(lambda: count_connections() == kills + 1)  # noqa: B023  # called here
        publisher.stopped.set()
        join(sending)
        for room in range(ROOMS):
            wanted = list(range(room, publisher.count, ROOMS))
            wait_until(lambda: read_series(wire, room)[-1:] == wanted[-1:])  # noqa: B023  # likewise
            assert read_series(wire, room) == wanted
            wait_until(lambda: read_twin(wire, room).get("last") == wanted[-1])  # noqa: B023  # likewise
            assert "sourceTime" in read_twin(wire, room)["$metadata"]["last"]
        publisher.close()
        wire.close()
        server.stop()
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    assert count_connections() == 4  # of two workers, one at a time has the source
    data = {"Storage__Sqlite__Directory": str(tmp_path / "data")}
    ran = run_program(
        [sys.executable, "-m", "twinframe", "check", "--json"],
        env={**os.environ, **environment, **data},
        cwd=tmp_path,
        capture_output=True,
    )
    messages = [one["message"] for one in json.loads(ran.stdout)["findings"]]
    assert [one for one in messages if "rooms/{twin}/never of the source building matched" in one]
    (refused,) = [one for one in messages if "The source building refused" in one]
    assert "DigitalTwinNotFound 1" in refused
    assert "PayloadInvalid 1" in refused
