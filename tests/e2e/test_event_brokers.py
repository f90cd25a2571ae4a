"""Events of a service to a real broker that dies in between: all arrive, in the order of twins."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.mosquitto import Mosquitto
from tests.e2e.server import Server
from tests.e2e.wire import COUNTER_MODEL, Wire, counter
from tests.waiting import PATIENCE

paho = pytest.importorskip("paho.mqtt.client", reason="needs pip install twinframe-events-mqtt")

WRITES = 40


class Subscriber:
    """Remembers the numbers that events of counters brought, across restarts of the broker."""

    def __init__(self, port: int) -> None:
        self.numbers: list[int] = []
        self._client = paho.Client(
            paho.CallbackAPIVersion.VERSION2, protocol=paho.MQTTProtocolVersion.MQTTv5
        )
        self._ready = threading.Event()
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = lambda client, *_rest: client.subscribe("twins/#", qos=1)
        self._client.on_subscribe = lambda *_rest: self._ready.set()
        self._client.on_message = lambda _client, _data, message: self._take(message.payload)
        self._client.connect_timeout = PATIENCE
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        """Wait for a subscription."""
        assert self._ready.wait(120)
        self._ready.clear()

    def close(self) -> None:
        """End it."""
        self._client.disconnect()
        self._client.loop_stop()

    def _take(self, payload: bytes) -> None:
        data = json.loads(payload)["data"]
        self.numbers.append(data["patch"][0]["value"] if "patch" in data else data["value"])


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    made = Mosquitto(tmp_path)
    made.start()
    yield made
    made.kill()


def write(wire: Wire, numbers: range) -> None:
    for number in numbers:
        assert wire.call("PUT", "/digitaltwins/one", counter(number))[0] == 200


def wait_for(subscriber: Subscriber, number: int) -> None:
    end = time.monotonic() + 120
    while number not in subscriber.numbers:
        assert time.monotonic() < end, subscriber.numbers
        time.sleep(0.02)


def test_a_broker_that_dies_misses_nothing(broker: Mosquitto, tmp_path: Path) -> None:
    endpoint = "Events__Endpoints__broker__"
    environment = {
        endpoint + "Type": "mqtt",
        endpoint + "Host": "127.0.0.1",
        endpoint + "Port": str(broker.port),
        endpoint + "Tls": "false",
        endpoint + "Topic": "twins/{key}",
        endpoint + "Retain": "true",  # so that who subscribes after the restart has the last one
        endpoint + "Timeout": "3",
        "Jobs__LookSeconds": "0.1",
    }
    subscriber = Subscriber(broker.port)
    with Server(tmp_path, environment=environment) as server:
        wire = Wire(server.port)
        assert wire.call("POST", "/models", [COUNTER_MODEL])[0] == 201
        route = {"endpointName": "broker", "filter": "subject = 'one'"}
        assert wire.call("PUT", "/eventroutes/r", route)[0] == 204
        write(wire, range(WRITES))
        wait_for(subscriber, WRITES - 1)
        broker.kill()
        write(wire, range(WRITES, 2 * WRITES))
        end = time.monotonic() + 120
        while not wire.call("GET", "/eventroutes/r/status")[2]["error"]:
            assert time.monotonic() < end
            time.sleep(0.05)
        broker.start()
        subscriber.wait_until_ready()
        wait_for(subscriber, 2 * WRITES - 1)
        while (status := wire.call("GET", "/eventroutes/r/status")[2])["behind"]:
            assert time.monotonic() < end + 30
            time.sleep(0.05)
        wire.close()
    subscriber.close()
    # The broker has acknowledged each; who was not subscribed yet has missed some of them.
    assert (status["delivered"], status["deadLetters"], status["lost"]) == (2 * WRITES, 0, 0)
    firsts = list(dict.fromkeys(subscriber.numbers))
    assert firsts[:WRITES] == list(range(WRITES))
    assert firsts == sorted(firsts)
    assert "Traceback" not in server.log.read_text(encoding="utf-8")
