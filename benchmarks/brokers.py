"""Brokers of benchmarks' own, on loopback ports, and clients that fill them with messages."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nats
from aiokafka import AIOKafkaProducer
from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tests.e2e.mosquitto import Mosquitto
from tests.e2e.server import free_port

TWINS: Final = 100
_PATH: Final = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
_WAITING: Final = 1000


def build_bodies(client: int, clients: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield the twin and the body of each message of one of the clients."""
    chosen = random.Random(client)
    begin = time.time_ns() // 1000 - count
    for at in range(client, count, clients):
        values = {f"v{value}": round(chosen.gauss(21, 1), 2) for value in range(4)}
        yield f"room-{at % TWINS}", json.dumps({"at": begin + at, **values}).encode()


class Broker(ABC):
    """A broker that is running until `kill`."""

    name: str
    program: str
    topic: str

    @abstractmethod
    def __init__(self, folder: Path) -> None:
        """Start it, with its data in the folder."""

    @classmethod
    def is_there(cls) -> bool:
        """Return whether its program is installed."""
        return shutil.which(cls.program, path=_PATH) is not None

    @property
    @abstractmethod
    def settings(self) -> dict[str, str]:
        """The settings of a source that subscribes there."""

    @abstractmethod
    def publish(self, client: int, clients: int, count: int) -> None:
        """Send the messages of one of the clients; called in a process of its own."""

    @abstractmethod
    def kill(self) -> None:
        """End it."""


class Mqtt(Broker):
    """Mosquitto, which keeps what a session has not taken."""

    name, program, topic = "MQTT", "mosquitto", "rooms/{twin}"

    def __init__(self, folder: Path) -> None:
        self._broker = Mosquitto(folder, "max_queued_messages 0", "max_queued_bytes 0")
        self._broker.start()

    @property
    def settings(self) -> dict[str, str]:
        port = str(self._broker.port)
        return {"Type": "mqtt", "Host": "127.0.0.1", "Port": port, "Tls": "false"}

    def publish(self, client: int, clients: int, count: int) -> None:
        connection = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        connection.max_inflight_messages_set(_WAITING)
        connection.connect("127.0.0.1", self._broker.port)
        connection.loop_start()
        waiting: list[paho.MQTTMessageInfo] = []
        for twin, body in build_bodies(client, clients, count):
            waiting.append(connection.publish(f"rooms/{twin}", body, qos=1))
            if len(waiting) > 2 * _WAITING:
                waiting.pop(0).wait_for_publish()
        for one in waiting:
            one.wait_for_publish()
        connection.disconnect()
        connection.loop_stop()

    def kill(self) -> None:
        self._broker.kill()


class Nats(Broker):
    """A NATS server with a stream on disk."""

    name, program, topic = "NATS", "nats-server", "rooms.{twin}"

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        program = shutil.which(self.program, path=_PATH)
        assert program is not None
        place = ["-a", "127.0.0.1", "-p", str(self._port), "-sd", str(folder / "streams")]
        self._process = subprocess.Popen(
            [program, *place, "-js"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), timeout=1).close()
                break
            except OSError:
                assert time.monotonic() < end, "the NATS server does not listen"
                time.sleep(0.05)
        asyncio.run(self._add_stream())

    @property
    def _url(self) -> str:
        return f"nats://127.0.0.1:{self._port}"

    @property
    def settings(self) -> dict[str, str]:
        return {"Type": "nats", "Servers": json.dumps([self._url]), "Stream": "bench"}

    async def _add_stream(self) -> None:
        connection = await nats.connect(self._url)
        await connection.jetstream().add_stream(name="bench", subjects=["rooms.*"])
        await connection.close()

    def publish(self, client: int, clients: int, count: int) -> None:
        asyncio.run(self._publish(client, clients, count))

    async def _publish(self, client: int, clients: int, count: int) -> None:
        connection = await nats.connect(self._url)
        stream = connection.jetstream(timeout=60, publish_async_max_pending=_WAITING)
        for twin, body in build_bodies(client, clients, count):
            await stream.publish_async(f"rooms.{twin}", body)
        await stream.publish_async_completed()
        await connection.close()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(60)


class Kafka(Broker):
    """The mock cluster of librdkafka, in kcat: it speaks the protocol and keeps records in memory.

    It says what the source can do, and nothing of a cluster.
    """

    name, program, topic = "Kafka", "kcat", "rooms"

    def __init__(self, folder: Path) -> None:
        options = ["-X", "test.mock.num.brokers=1", "-X", "debug=mock", "-b", "mock:1"]
        log = folder / "kcat.log"
        with log.open("wb") as words:
            self._process = subprocess.Popen(
                [self.program, "-C", *options, "-t", "nothing"],
                stdout=subprocess.DEVNULL,
                stderr=words,
            )
        end = time.monotonic() + 60
        while not (found := re.search(r"bootstrap\.servers=(\S+)", log.read_text())):
            assert time.monotonic() < end, "kcat has no mock cluster"
            time.sleep(0.05)
        self._server = found[1]

    @property
    def settings(self) -> dict[str, str]:
        return {"Type": "kafka", "Servers": json.dumps([self._server]), "Tls": "false"}

    def publish(self, client: int, clients: int, count: int) -> None:
        asyncio.run(self._publish(client, clients, count))

    async def _publish(self, client: int, clients: int, count: int) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self._server, linger_ms=5) as producer:
            for twin, body in build_bodies(client, clients, count):
                await producer.send(self.topic, body, key=twin.encode())
            await producer.flush()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(60)


BROKERS: Final[tuple[type[Broker], ...]] = (Mqtt, Nats, Kafka)
