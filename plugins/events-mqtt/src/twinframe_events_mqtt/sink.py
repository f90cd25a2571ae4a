"""An event sink that publishes to an MQTT 5 broker, over one connection per worker that is renewed
when it breaks.
"""

from __future__ import annotations

import asyncio
from typing import Final

from twinframe.hooks.event_sinks.addressing import fill_template
from twinframe.hooks.event_sinks.base import DeliveryRefused, EventSink, Message
from twinframe_events_mqtt.connection import MqttConnection
from twinframe_events_mqtt.settings import SPECIAL, MqttSettings

_LONGEST_TOPIC: Final = 65_535


class MqttSink(EventSink):
    """Publishes each event and waits until the broker has acknowledged it."""

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._connection: MqttConnection | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Connect."""
        await self._connect()

    async def send(self, message: Message) -> None:
        """Publish; with quality of service 1 or 2 it returns when the broker has the message."""
        topic = fill_template(self._settings.topic, message, SPECIAL)
        if len(topic.encode()) > _LONGEST_TOPIC:
            raise DeliveryRefused(f"Its topic has more than {_LONGEST_TOPIC} bytes.")
        connection = await self._connect()
        await connection.publish(topic, message.body)

    async def close(self) -> None:
        """Disconnect."""
        async with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                await connection.end()

    async def _connect(self) -> MqttConnection:
        async with self._lock:
            connection = self._connection
            if connection is not None and not connection.is_broken:
                return connection
            self._connection = None
            if connection is not None:
                await connection.end()
            connection = MqttConnection(self._settings)
            await connection.begin()
            self._connection = connection
            return connection
