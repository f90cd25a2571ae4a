"""Messages of a real broker while the service is killed: none that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import pytest

from tests.e2e.mosquitto import Mosquitto
from tests.e2e.server import Server, free_port
from tests.e2e.wire import Json, Wire
from tests.e2e.wire_world import must
from tests.waiting import PATIENCE, join, run_program, start

MODEL = {
    "@context": "dtmi:dtdl:context;3",
    "@id": "dtmi:com:example:Room;1",
    "@type": "Interface",
    "contents": [
        {"@type": "Telemetry", "name": "count", "schema": "integer"},
        {"@type": "Property", "name": "last", "schema": "integer"},
    ],
}
START = 1_772_373_600_000
ROOMS = 5
_PAUSE = 0.002


class Broker(Protocol):
    """A running broker, the settings of a source of it, and publishing to it."""

    separator: str
    settings: Mapping[str, str]

    def send(self, topic: str, body: bytes) -> None:
        """Publish, and return when the broker has it."""

    def close(self) -> None:
        """End it."""


class Mqtt:
    separator = "/"

    def __init__(self, folder: Path) -> None:
        paho = pytest.importorskip("paho.mqtt.client", reason="needs twinframe-events-mqtt")
        self._broker = Mosquitto(folder, "max_queued_messages 0", "max_queued_bytes 0")
        self._broker.start()
        port = self._broker.port
        self.settings = {"Type": "mqtt", "Host": "127.0.0.1", "Port": str(port), "Tls": "false"}
        version = paho.MQTTProtocolVersion.MQTTv5
        self._client = paho.Client(paho.CallbackAPIVersion.VERSION2, protocol=version)
        self._client.connect_timeout = PATIENCE
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def send(self, topic: str, body: bytes) -> None:
        self._client.publish(topic, body, qos=1).wait_for_publish(PATIENCE)

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()
        self._broker.kill()


class Nats:
    separator = "."

    def __init__(self, folder: Path) -> None:
        nats = pytest.importorskip("nats", reason="needs twinframe-events-nats")
        program = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
        if program is None:
            pytest.skip("needs a NATS server: apt install nats-server")
        port = free_port()
        place = ["-a", "127.0.0.1", "-p", str(port), "-sd", str(folder / "streams"), "-js"]
        silent = subprocess.DEVNULL
        self._process = subprocess.Popen([program, *place], stdout=silent, stderr=silent)
        wait_until(lambda: is_listening(port))
        url = f"nats://127.0.0.1:{port}"
        self.settings = {"Type": "nats", "Servers": f'["{url}"]', "Stream": "ROOMS"}
        self._loop = asyncio.new_event_loop()
        self._client = self._loop.run_until_complete(nats.connect(url))
        self._streams = self._client.jetstream(timeout=PATIENCE)
        self._loop.run_until_complete(self._streams.add_stream(name="ROOMS", subjects=["rooms.>"]))

    def send(self, topic: str, body: bytes) -> None:
        self._loop.run_until_complete(self._streams.publish(topic, body, timeout=PATIENCE))

    def close(self) -> None:
        self._loop.run_until_complete(self._client.close())
        self._loop.close()
        self._process.kill()
        self._process.wait(PATIENCE)


@pytest.fixture(params=[Mqtt, Nats])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    made: Broker = request.param(tmp_path)
    yield made
    made.close()


class Counter:
    """Publishes numbered messages of rooms in turn, each acknowledged by the broker."""

    def __init__(self, broker: Broker) -> None:
        self.count = 0
        self.stopped = threading.Event()
        self._broker = broker

    def send(self, room: str, body: bytes) -> None:
        self._broker.send(self._broker.separator.join(("rooms", room, "count")), body)

    def send_numbers(self) -> None:
        """Count until it is stopped."""
        while not self.stopped.wait(_PAUSE):
            body = json.dumps({"n": self.count, "at": START + self.count})
            self.send(f"r{self.count % ROOMS}", body.encode())
            self.count += 1


def is_listening(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE):
        return True
    return False


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


def build_environment(broker: Broker) -> dict[str, str]:
    mappings = [
        {
            "topic": broker.separator.join(("rooms", "{twin}", "count")),
            "time": "payload.at",
            "timeUnit": "ms",
            "points": {"count": "payload.n"},
            "properties": {"last": "payload.n"},
        },
        {"topic": broker.separator.join(("rooms", "{twin}", "never")), "points": {"x": "payload"}},
    ]
    source = {**broker.settings, "Mappings": json.dumps(mappings)}
    return {
        "History__Telemetry": "all",
        **{f"Ingestion__Sources__building__{key}": value for key, value in source.items()},
        "Jobs__LookSeconds": "0.1",
    }


def test_a_service_that_is_killed_again_and_again_loses_no_message(
    broker: Broker, tmp_path: Path
) -> None:
    environment = build_environment(broker)
    server = Server(tmp_path, workers=2, environment=environment)

    def count_connections() -> int:
        return server.log.read_text(encoding="utf-8").count("is connected")

    publisher = Counter(broker)
    with server:
        wire = Wire(server.port)
        must(wire.call("POST", "/models", [MODEL]), 201)
        for room in range(ROOMS):
            body: Json = {"$metadata": {"$model": MODEL["@id"]}}
            must(wire.call("PUT", f"/digitaltwins/r{room}", body))
        wait_until(lambda: count_connections() == 1)
        publisher.send("nobody", b'{"n": 1}')
        publisher.send("r0", b"{")
        sending = start(publisher.send_numbers)
        for kills in range(1, 4):
            taken = len(read_series(wire, 0))
            wait_until(lambda: len(read_series(wire, 0)) > taken)  # noqa: B023  # called here
            wire.close()
            server.kill()
            server.start()
            wire = Wire(server.port)
            wait_until(lambda: count_connections() > kills)  # noqa: B023  # called here
        publisher.stopped.set()
        join(sending)
        for room in range(ROOMS):
            wanted = list(range(room, publisher.count, ROOMS))
            wait_until(lambda: read_series(wire, room)[-1:] == wanted[-1:])  # noqa: B023  # likewise
            assert read_series(wire, room) == wanted
            wait_until(lambda: read_twin(wire, room).get("last") == wanted[-1])  # noqa: B023  # likewise
            assert "sourceTime" in read_twin(wire, room)["$metadata"]["last"]
        wire.close()
        server.stop()
    log = server.log.read_text(encoding="utf-8")
    assert "Traceback" not in log
    # Of two workers, one at a time has the source; a frozen one may lose it to the other.
    assert 4 <= count_connections() < 8
    data = {"Storage__Sqlite__Directory": str(tmp_path / "data")}
    ran = run_program(
        [sys.executable, "-m", "twinframe", "check", "--json"],
        env={**os.environ, **environment, **data},
        cwd=tmp_path,
        capture_output=True,
    )
    messages = [one["message"] for one in json.loads(ran.stdout)["findings"]]
    assert [one for one in messages if "never of the source building matched none" in one]
    (refused,) = [one for one in messages if "The source building refused" in one]
    # A message that was not acknowledged before a kill comes again, and is refused again.
    assert re.search(r"DigitalTwinNotFound \d", refused)
    assert re.search(r"PayloadInvalid \d", refused)
