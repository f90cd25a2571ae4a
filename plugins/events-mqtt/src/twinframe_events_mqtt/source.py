"""A source that subscribes at an MQTT 5 broker, under a session that the broker keeps.

A message is acknowledged when it is stored; what was not comes again with the next connection.

NOTE: the library runs a network thread of its own. It puts messages into an inbox, and waits there
while that is full; everything else runs on the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from paho.mqtt import client as paho
from paho.mqtt.enums import MQTTErrorCode
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from twinframe.hooks.event_sinks.base import DeliveryFailed
from twinframe.hooks.sources.base import (
    NO_HEADERS,
    MessageSource,
    SourceFailed,
    SourceMessage,
    Subscription,
    TopicForm,
)
from twinframe_events_mqtt.connection import build_client, find_port
from twinframe_events_mqtt.settings import MqttSourceSettings

_LONGEST_SESSION: Final = 0xFFFF_FFFE
_NO_SUBSCRIPTION: Final = 0x11


class MqttSource(MessageSource):
    """Messages of one session at a broker."""

    form = TopicForm("/", "+", "#")

    def __init__(self, settings: MqttSourceSettings) -> None:
        self._settings = settings
        self._connection: _Connection | None = None

    async def open(self, subscription: Subscription) -> None:
        """Connect with the session of this identity, and subscribe."""
        client_id = self._settings.client_id or subscription.identity
        connection = self._connection = _Connection(self._settings, client_id, subscription)
        await connection.begin(is_lasting=True)
        await connection.subscribe()

    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        """Return what has come, in the broker's order."""
        return await self._require().receive(limit)

    async def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        """Send an acknowledgement for each, in their order."""
        await asyncio.to_thread(self._require().acknowledge, messages)

    async def probe(self) -> None:
        """Connect under a name of its own, and leave."""
        nothing = Subscription((), (), "", 1, 1024)
        connection = _Connection(self._settings, f"twinframe-{uuid.uuid4().hex[:12]}", nothing)
        try:
            await connection.begin(is_lasting=False)
        finally:
            await connection.end()

    async def close(self) -> None:
        """Disconnect; the broker keeps the session."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.end()

    def _require(self) -> _Connection:
        if self._connection is None:
            raise SourceFailed("The MQTT source is not open.")
        return self._connection


class _Connection:
    """One connection, used from connecting until it breaks and never reused."""

    def __init__(
        self, settings: MqttSourceSettings, client_id: str, subscription: Subscription
    ) -> None:
        self._settings = settings
        self._subscription = subscription
        self._loop = asyncio.get_running_loop()
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._answers: dict[int, asyncio.Future[list[ReasonCode]]] = {}
        self._arrived = asyncio.Event()
        self._reason = ""
        self._inbox: deque[SourceMessage] = deque()
        self._room = threading.Condition()
        self._held = 0
        self._held_bytes = 0
        self._is_over = False
        self._is_waking = False
        try:
            self._client = build_client(settings, client_id, settings.timeout, manual_ack=True)
        except DeliveryFailed as error:
            raise SourceFailed(error.message.replace("endpoint's", "source's")) from error
        self._client.on_connect = self._on_connect
        self._client.on_connect_fail = self._on_connect_fail
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.on_subscribe = self._on_answer
        self._client.on_unsubscribe = self._on_answer

    async def begin(self, *, is_lasting: bool) -> None:
        """Connect. Raises `SourceFailed`."""
        settings, subscription = self._settings, self._subscription
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # the library's
        properties.ReceiveMaximum = subscription.max_messages
        properties.MaximumPacketSize = subscription.max_bytes
        if is_lasting:
            seconds = int(settings.session_hours * 3600)
            properties.SessionExpiryInterval = min(seconds, _LONGEST_SESSION)
        self._client.connect_async(
            settings.host,
            find_port(settings),
            settings.keepalive,
            clean_start=not is_lasting,
            properties=properties,
        )
        self._client.loop_start()
        await self._wait(self._connected)

    async def subscribe(self) -> None:
        """Subscribe to the filters, and leave the former ones. Raises `SourceFailed`."""
        subscription = self._subscription
        # NOTE: else a retained message, which may be old, would come again with each connection.
        handling = SubscribeOptions.RETAIN_SEND_IF_NEW_SUB
        options = SubscribeOptions(qos=self._settings.qos, retainHandling=handling)
        topics = [(one, options) for one in subscription.filters]
        for name, reason in zip(
            subscription.filters, await self._ask(*self._client.subscribe(topics)), strict=False
        ):
            if reason.is_failure:
                raise self._fail(f"it may not subscribe to {name}: {reason}")
        if subscription.former:
            former = list(subscription.former)
            for name, reason in zip(
                former, await self._ask(*self._client.unsubscribe(former)), strict=False
            ):
                if reason.is_failure and reason.value != _NO_SUBSCRIPTION:
                    raise self._fail(f"it may not unsubscribe from {name}: {reason}")

    async def receive(self, limit: int) -> Sequence[SourceMessage]:
        """Wait for messages. Raises `SourceFailed` once the connection broke."""
        while True:
            with self._room:
                if self._is_over:
                    raise self._fail(self._reason)
                if self._inbox:
                    count = min(limit, len(self._inbox))
                    return [self._inbox.popleft() for _ in range(count)]
                self._arrived.clear()
                self._is_waking = False
            await self._arrived.wait()

    def acknowledge(self, messages: Sequence[SourceMessage]) -> None:
        """Acknowledge. It may wait for the network thread."""
        if not self._is_over:
            for message in messages:
                if isinstance(message.receipt, int):
                    self._client.ack(message.receipt, 1)
        with self._room:
            self._held -= len(messages)
            self._held_bytes -= sum(len(message.payload) for message in messages)
            self._room.notify_all()

    async def end(self) -> None:
        """Disconnect and end the library's thread."""
        with self._room:
            self._is_over = True
            self._room.notify_all()
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)
        self._break("disconnected")

    # --- in the thread of the library -----------------------------------------------------------

    def _on_message(self, _client: paho.Client, _data: Any, message: paho.MQTTMessage) -> None:
        payload = bytes(message.payload)
        properties = message.properties
        pairs = [] if properties is None else getattr(properties, "UserProperty", [])
        arrived = SourceMessage(
            message.topic,
            payload,
            message.mid if message.qos else None,
            None,
            dict(pairs) if pairs else NO_HEADERS,
        )
        subscription = self._subscription
        with self._room:
            # Waiting here stops reading from the broker, whatever its quality of service.
            while (
                not self._is_over
                and self._held
                and (
                    self._held >= subscription.max_messages
                    or self._held_bytes + len(payload) > subscription.max_bytes
                )
            ):
                self._room.wait()
            self._held += 1
            self._held_bytes += len(payload)
            self._inbox.append(arrived)
            is_waking, self._is_waking = self._is_waking, True
        if not is_waking:
            self._hand_over(self._arrived.set)

    def _on_connect(
        self, _client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _more: Any
    ) -> None:
        self._hand_over(self._settle_connect, reason)

    def _on_connect_fail(self, client: paho.Client, _data: Any) -> None:
        client.disconnect()
        self._hand_over(self._break, "the connection was refused")

    def _on_disconnect(
        self, client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _more: Any
    ) -> None:
        client.disconnect()  # else the library would connect again by itself
        self._hand_over(self._break, str(reason))

    def _on_answer(
        self, _client: paho.Client, _data: Any, mid: int, reasons: list[ReasonCode], _more: Any
    ) -> None:
        self._hand_over(self._settle_answer, mid, reasons)

    def _hand_over(self, act: Any, *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(act, *arguments)

    # --- on the loop ----------------------------------------------------------------------------

    async def _ask(self, result: MQTTErrorCode, mid: int | None) -> list[ReasonCode]:
        if result != MQTTErrorCode.MQTT_ERR_SUCCESS or mid is None:
            raise self._fail(paho.error_string(result))
        # NOTE: the answer is passed to this loop, so it cannot come before this.
        answer: asyncio.Future[list[ReasonCode]] = self._loop.create_future()
        self._answers[mid] = answer
        await self._wait(answer)
        return answer.result()

    async def _wait(self, future: asyncio.Future[Any]) -> None:
        try:
            async with asyncio.timeout(self._settings.timeout):
                await future
        except TimeoutError:
            raise self._fail(f"no answer in {self._settings.timeout:g} s") from None

    def _settle_connect(self, reason: ReasonCode) -> None:
        if self._connected.done():
            return
        if reason.is_failure:
            self._connected.set_exception(self._fail(str(reason)))
        else:
            self._connected.set_result(None)

    def _settle_answer(self, mid: int, reasons: list[ReasonCode]) -> None:
        answer = self._answers.pop(mid, None)
        if answer is not None and not answer.done():
            answer.set_result(reasons)

    def _break(self, reason: str) -> None:
        with self._room:
            self._is_over = True
            self._reason = self._reason or reason
            self._room.notify_all()
        self._arrived.set()
        waiting: list[asyncio.Future[Any]] = [self._connected, *self._answers.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(self._fail(reason))
                future.exception()  # read here too, because nobody may wait any more

    def _fail(self, reason: str) -> SourceFailed:
        return SourceFailed(f"The MQTT broker {self._settings.host} gives no messages: {reason}.")
