"""An event sink that writes to Kafka: each event is a record keyed by its twin, acknowledged by all
in-sync replicas.

SPEC: CloudEvents Kafka binding 1.0.2, structured mode.
"""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTopicError, KafkaError, MessageSizeTooLargeError

from twinframe.hooks.event_sinks.addressing import fill_template
from twinframe.hooks.event_sinks.base import (
    STRUCTURED,
    DeliveryFailed,
    DeliveryRefused,
    EventSink,
    Message,
)
from twinframe_events_kafka.connection import build_options, leave
from twinframe_events_kafka.settings import KafkaSettings


class KafkaSink(EventSink):
    """Sends each event and waits for the acknowledgement of all in-sync replicas."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._producer: Any = None  # the library has no types
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Connect and read the cluster's metadata."""
        await self._connect()

    async def send(self, message: Message) -> None:
        """Send the message; returns when the failure of one broker can no longer lose the
        record.
        """
        producer = await self._connect()
        topic = fill_template(self._settings.topic, message, "/")
        try:
            async with asyncio.timeout(self._settings.timeout):
                await producer.send_and_wait(
                    topic,
                    message.body,
                    key=message.key.encode(),
                    headers=[("content-type", STRUCTURED.encode())],
                )
        except (MessageSizeTooLargeError, InvalidTopicError) as error:
            raise DeliveryRefused(f"Kafka refused it: {error}") from error
        except (KafkaError, TimeoutError, OSError) as error:
            await self._drop(producer)
            raise _build_failure(error) from error

    async def close(self) -> None:
        """Send what is queued and disconnect."""
        if self._producer is not None:
            await self._drop(self._producer)

    async def _connect(self) -> Any:
        async with self._lock:
            if self._producer is not None:
                return self._producer
            producer = AIOKafkaProducer(**self._build_options())
            try:
                async with asyncio.timeout(self._settings.timeout):
                    await producer.start()
            except (KafkaError, TimeoutError, OSError) as error:
                await leave(producer)
                raise _build_failure(error) from error
            self._producer = producer
            return producer

    async def _drop(self, producer: Any) -> None:
        """Stop a producer that failed, unless it was replaced already.

        NOTE: it may still try to send its queued records, so the next producer starts only when it
        has ended.
        """
        async with self._lock:
            if self._producer is producer:
                self._producer = None
                await leave(producer)

    def _build_options(self) -> dict[str, Any]:
        settings = self._settings
        return {
            **build_options(settings, settings.timeout),
            "acks": "all",
            "enable_idempotence": True,
            "compression_type": None if settings.compression == "none" else settings.compression,
            "max_request_size": settings.max_request_bytes,
        }


def _build_failure(error: BaseException) -> DeliveryFailed:
    reason = str(error) or type(error).__name__
    return DeliveryFailed(f"Kafka did not take it: {reason}")
