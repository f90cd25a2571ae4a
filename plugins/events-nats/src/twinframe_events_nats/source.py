"""A source that reads a JetStream stream with a durable consumer.

Each opening makes a consumer that begins after what was acknowledged: the server would send what it
sent before only after a time, and behind newer messages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy, RetentionPolicy
from nats.js.errors import NotFoundError

from twinframe.hooks.event_sinks.base import DeliveryFailed
from twinframe.hooks.sources.base import (
    NO_HEADERS,
    MessageSource,
    SourceFailed,
    SourceMessage,
    Subscription,
    TopicForm,
)
from twinframe_events_nats.connection import FAILURES, build_options, leave
from twinframe_events_nats.settings import NatsSourceSettings

_WAIT: Final = 5.0
"""Seconds after which a quiet connection is looked at."""
_ACK_WAIT: Final = 3600.0
"""Seconds after which the server sends a message again over the same connection."""
_MICROSECOND: Final = 1_000_000


class NatsSource(MessageSource):
    """Messages of one stream, in its order."""

    form = TopicForm(".", "*", ">")

    def __init__(self, settings: NatsSourceSettings) -> None:
        self._settings = settings
        self._client: Client | None = None
        self._pull: JetStreamContext.PullSubscription | None = None
        self._subscription: Subscription | None = None

    async def open(self, subscription: Subscription) -> None:
        """Connect, and make the consumer of this identity anew."""
        try:
            client = self._client = await self._connect()
            streams = client.jetstream(timeout=self._settings.timeout)
            await self._check_stream(streams)
            name = await self._make_consumer(streams, subscription)
            self._pull = await streams.pull_subscribe_bind(name, self._settings.stream)
        except FAILURES as error:
            raise self._build_failure(error) from error
        self._subscription = subscription

    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        """Wait for messages. Those of other subjects of the stream are left out."""
        client, pull, wanted = self._require()
        while True:
            found = await self._fetch(client, pull, min(limit, wanted.max_messages), wanted)
            filters = [one.split(".") for one in wanted.filters]
            own = [message for message in found if _is_wanted(message.subject, filters)]
            if own:
                # With the last one, all before it are acknowledged.
                return [_build_message(message, found[-1]) for message in own]
            if found:
                await self._acknowledge(found[-1])

    async def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        """Acknowledge the last message, and so all before it."""
        last = messages[-1].receipt if messages else None
        if isinstance(last, Msg):
            await self._acknowledge(last)

    async def probe(self) -> None:
        """Connect and look at the stream."""
        try:
            client = await self._connect()
            try:
                await self._check_stream(client.jetstream(timeout=self._settings.timeout))
            finally:
                await leave(client)
        except FAILURES as error:
            raise self._build_failure(error) from error

    async def close(self) -> None:
        """Disconnect; the server keeps the consumer."""
        client, self._client, self._pull = self._client, None, None
        if client is not None:
            await leave(client)

    async def _connect(self) -> Client:
        client = Client()
        try:
            options = build_options(self._settings)
            async with asyncio.timeout(self._settings.timeout):
                await client.connect(**options)
        except DeliveryFailed as error:
            raise SourceFailed(error.message.replace("endpoint's", "source's")) from error
        except BaseException:
            await leave(client)
            raise
        return client

    async def _check_stream(self, streams: JetStreamContext) -> None:
        name = self._settings.stream
        try:
            info = await streams.stream_info(name)
        except NotFoundError as error:
            raise SourceFailed(f"NATS has no stream {name}. Make it, or set another.") from error
        if info.config.retention == RetentionPolicy.WORK_QUEUE:
            raise SourceFailed(
                f"The stream {name} of NATS is a work queue, which cannot be read again from a "
                "position. Set a stream of another retention."
            )

    async def _make_consumer(self, streams: JetStreamContext, wanted: Subscription) -> str:
        """Make a consumer that begins where the present one is; return its name.

        There are two names in turn: a crash between making one and deleting the other loses none.
        """
        stream, names = self._settings.stream, (f"{wanted.identity}-a", f"{wanted.identity}-b")
        found = [await _find_consumer(streams, stream, name) for name in names]
        floors = [-1 if info is None else _find_floor(info) for info in found]
        present = 0 if floors[0] >= floors[1] else 1
        name = names[1 - present]
        if found[1 - present] is not None:
            await streams.delete_consumer(stream, name)
        floor = floors[present]
        config = ConsumerConfig(
            durable_name=name,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE if floor > 0 else DeliverPolicy.ALL,
            opt_start_seq=floor + 1 if floor > 0 else None,
            ack_policy=AckPolicy.ALL,
            ack_wait=_ACK_WAIT,
            max_ack_pending=wanted.max_messages,
            filter_subject=wanted.filters[0] if len(wanted.filters) == 1 else None,
        )
        await streams.add_consumer(stream, config)
        if found[present] is not None:
            await streams.delete_consumer(stream, names[present])
        return name

    async def _fetch(
        self,
        client: Client,
        pull: JetStreamContext.PullSubscription,
        limit: int,
        wanted: Subscription,
    ) -> list[Msg]:
        """Wait for messages and return all that are there, of at most so many bytes."""
        found: list[Msg] = []
        room = wanted.max_bytes
        while len(found) < limit and (room >= client.max_payload or not found):
            asked = max(1, min(limit - len(found), room // client.max_payload))
            try:
                some = await pull.fetch(asked, timeout=_WAIT)
            except TimeoutError:  # that of the library is one, too
                some = []
            except FAILURES as error:
                raise self._build_failure(error) from error
            if not client.is_connected:
                raise SourceFailed("NATS gives no messages: the connection broke.")
            found += some
            room -= sum(len(message.data) for message in some)
            if found and len(some) < asked:
                break
        return found

    async def _acknowledge(self, message: Msg) -> None:
        try:
            await message.ack_sync(timeout=self._settings.timeout)
        except FAILURES as error:
            raise self._build_failure(error) from error

    def _require(self) -> tuple[Client, JetStreamContext.PullSubscription, Subscription]:
        if self._client is None or self._pull is None or self._subscription is None:
            raise SourceFailed("The NATS source is not open.")
        return self._client, self._pull, self._subscription

    def _build_failure(self, error: BaseException) -> SourceFailed:
        return SourceFailed(f"NATS gives no messages: {str(error) or type(error).__name__}")


async def _find_consumer(streams: JetStreamContext, stream: str, name: str) -> ConsumerInfo | None:
    try:
        info: ConsumerInfo = await streams.consumer_info(stream, name)
    except NotFoundError:
        return None
    return info


def _find_floor(info: ConsumerInfo) -> int:
    """Return the number of the message up to which all were acknowledged, 0 for none."""
    floor = 0 if info.ack_floor is None else info.ack_floor.stream_seq
    # NOTE: of a consumer that got nothing yet, what it begins after.
    return max(floor, (info.config.opt_start_seq or 1) - 1)


def _build_message(message: Msg, last: Msg) -> SourceMessage:
    moment = message.metadata.timestamp
    headers = message.headers
    return SourceMessage(
        message.subject,
        message.data,
        last,
        None,
        dict(headers) if headers else NO_HEADERS,
        round(moment.timestamp() * _MICROSECOND),
    )


def _is_wanted(subject: str, filters: Sequence[Sequence[str]]) -> bool:
    levels = subject.split(".")
    return any(_matches(levels, wanted) for wanted in filters)


def _matches(levels: Sequence[str], wanted: Sequence[str]) -> bool:
    if wanted[-1] == ">":
        head = wanted[:-1]
        return len(levels) > len(head) and _matches(levels[: len(head)], head) if head else True
    return len(levels) == len(wanted) and all(
        one in ("*", level) for level, one in zip(levels, wanted, strict=True)
    )
