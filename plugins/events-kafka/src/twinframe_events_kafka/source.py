"""A source that reads topics of Kafka as the one member of a consumer group.

The offsets of a batch are committed when it is stored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, NoReturn

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from twinframe.hooks.event_sinks.base import DeliveryFailed
from twinframe.hooks.sources.base import (
    NO_HEADERS,
    MessageSource,
    SourceFailed,
    SourceMessage,
    Subscription,
    TopicForm,
)
from twinframe_events_kafka.connection import build_options, leave
from twinframe_events_kafka.settings import KafkaSourceSettings

_WAIT: Final = 5000
"""Milliseconds after which a quiet cluster is asked for a sign of life."""
_FAILURES: Final = (KafkaError, TimeoutError, OSError)


class _Receipt(NamedTuple):
    partition: TopicPartition
    offset: int


class KafkaSource(MessageSource):
    """Records of the topics of a subscription, those of a partition in its order."""

    form = TopicForm(".", "*", "")

    def __init__(self, settings: KafkaSourceSettings) -> None:
        self._settings = settings
        self._consumer: Any = None  # the library has no types

    async def open(self, subscription: Subscription) -> None:
        """Join the group, and read what it has not committed."""
        self._consumer = await self._start(
            group_id=self._settings.group or subscription.identity,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_bytes=subscription.max_bytes,
            max_poll_records=subscription.max_messages,
        )
        filters = subscription.filters
        if any("*" in one for one in filters):
            self._consumer.subscribe(pattern=_build_pattern(filters))
        else:
            self._consumer.subscribe(list(filters))

    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        """Wait for records."""
        consumer = self._require()
        try:
            while not (found := await consumer.getmany(timeout_ms=_WAIT, max_records=limit)):
                async with asyncio.timeout(self._settings.timeout):
                    await consumer.topics()  # else a cluster that is away would look quiet
        except _FAILURES as error:
            _fail(error)
        return [
            _build_message(partition, record)
            for partition, records in found.items()
            for record in records
        ]

    async def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        """Commit the offsets behind these records."""
        offsets: dict[TopicPartition, int] = {}
        for message in messages:
            if isinstance(message.receipt, _Receipt):
                offsets[message.receipt.partition] = message.receipt.offset + 1
        try:
            async with asyncio.timeout(self._settings.timeout):
                await self._require().commit(offsets)
        except _FAILURES as error:
            _fail(error)

    async def probe(self) -> None:
        """Connect without joining a group."""
        consumer = await self._start()
        await leave(consumer)

    async def close(self) -> None:
        """Leave the cluster; it keeps what was committed."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await leave(consumer)

    async def _start(self, **options: Any) -> Any:
        try:
            common = build_options(self._settings, self._settings.timeout)
        except DeliveryFailed as error:
            raise SourceFailed(error.message.replace("endpoint's", "source's")) from error
        consumer = AIOKafkaConsumer(**common, **options)
        try:
            async with asyncio.timeout(self._settings.timeout):
                await consumer.start()
        except _FAILURES as error:
            await leave(consumer)
            _fail(error)
        return consumer

    def _require(self) -> Any:
        if self._consumer is None:
            raise SourceFailed("The Kafka source is not open.")
        return self._consumer


def _build_pattern(filters: Sequence[str]) -> str:
    levels = (
        [re.escape(one) if one != "*" else r"[^.]+" for one in each.split(".")] for each in filters
    )
    return "^(?:" + "|".join(r"\.".join(each) for each in levels) + ")$"


def _build_message(partition: TopicPartition, record: Any) -> SourceMessage:
    headers = record.headers
    return SourceMessage(
        record.topic,
        record.value or b"",
        _Receipt(partition, record.offset),
        None if record.key is None else record.key.decode("utf-8", "replace"),
        {name: value.decode("utf-8", "replace") for name, value in headers}
        if headers
        else NO_HEADERS,
        record.timestamp * 1000,
    )


def _fail(error: BaseException) -> NoReturn:
    reason = str(error) or type(error).__name__
    raise SourceFailed(f"Kafka gives no messages: {reason}") from error
