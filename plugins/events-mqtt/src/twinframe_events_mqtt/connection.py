"""One connection to an MQTT 5 broker, used from connecting until it breaks and never reused.

NOTE: the library runs a network thread of its own. Its callbacks are passed to the event loop,
where everything else here runs.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any, Final

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from twinframe.hooks.event_sinks.base import STRUCTURED, DeliveryFailed, DeliveryRefused
from twinframe.hooks.event_sinks.trust import build_trust
from twinframe_events_mqtt.settings import BrokerSettings, MqttSettings

_REFUSALS: Final = frozenset({0x90, 0x95, 0x99})
"""Reason codes that a retry cannot mend: topic name, packet size, payload format."""


class MqttConnection:
    """Publishes messages until the connection breaks; then every waiting call fails."""

    def __init__(self, settings: MqttSettings) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._connected: asyncio.Future[None] = self._loop.create_future()
        self._pending: dict[int, asyncio.Future[None]] = {}
        self._client = self._build_client()
        self.is_broken = False

    async def begin(self) -> None:
        """Connect. Raises `DeliveryFailed`."""
        settings = self._settings
        port = find_port(settings)
        self._client.connect_async(settings.host, port, settings.keepalive, clean_start=True)
        self._client.loop_start()
        try:
            async with asyncio.timeout(settings.timeout):
                await self._connected
        except TimeoutError:
            await self.end()
            raise self._fail(f"no answer in {settings.timeout:g} s") from None
        except DeliveryFailed:
            await self.end()
            raise

    async def publish(self, topic: str, body: bytes) -> None:
        """Publish, and return when the broker has accepted it.

        Raises `DeliveryFailed`, `DeliveryRefused`.
        """
        settings = self._settings
        info = self._client.publish(topic, body, settings.qos, settings.retain, _build_properties())
        if info.rc != MQTTErrorCode.MQTT_ERR_SUCCESS:
            raise self._fail(paho.error_string(info.rc))
        # NOTE: the acknowledgement is passed to this loop, so it cannot come before this.
        taken = self._pending[info.mid] = self._loop.create_future()
        try:
            async with asyncio.timeout(settings.timeout):
                await taken
        except TimeoutError:
            self.is_broken = True
            raise self._fail(f"not acknowledged in {settings.timeout:g} s") from None
        finally:
            self._pending.pop(info.mid, None)

    async def end(self) -> None:
        """Disconnect and end the library's thread."""
        self.is_broken = True
        self._client.disconnect()
        await asyncio.to_thread(self._client.loop_stop)
        self._break("disconnected")

    # --- in the thread of the library -----------------------------------------------------------

    def _on_connect(
        self, _client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _more: Any
    ) -> None:
        self._hand_over(self._settle_connect, reason)

    def _on_publish(
        self, _client: paho.Client, _data: Any, mid: int, reason: ReasonCode, _more: Any
    ) -> None:
        self._hand_over(self._settle_publish, mid, reason)

    def _on_disconnect(
        self, client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _more: Any
    ) -> None:
        client.disconnect()  # else the library would connect again by itself
        self._hand_over(self._break, str(reason))

    def _on_connect_fail(self, client: paho.Client, _data: Any) -> None:
        client.disconnect()
        self._hand_over(self._break, "the connection was refused")

    def _hand_over(self, act: Any, *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(act, *arguments)
        except RuntimeError:  # the loop is closed: there is no waiting call left
            return

    # --- on the loop ----------------------------------------------------------------------------

    def _settle_connect(self, reason: ReasonCode) -> None:
        if self._connected.done():
            return
        if reason.is_failure:
            self._connected.set_exception(self._fail(str(reason)))
        else:
            self._connected.set_result(None)

    def _settle_publish(self, mid: int, reason: ReasonCode) -> None:
        taken = self._pending.get(mid)
        if taken is None or taken.done():
            return
        if not reason.is_failure:
            taken.set_result(None)
        elif reason.value in _REFUSALS:
            taken.set_exception(
                DeliveryRefused(f"The MQTT broker {self._settings.host} refused it: {reason}.")
            )
        else:
            taken.set_exception(self._fail(str(reason)))

    def _break(self, reason: str) -> None:
        self.is_broken = True
        waiting = [self._connected, *self._pending.values()]
        for future in waiting:
            if not future.done():
                future.set_exception(self._fail(reason))
                future.exception()  # read here too, because the waiting callers may all have gone

    def _fail(self, reason: str) -> DeliveryFailed:
        return DeliveryFailed(f"The MQTT broker {self._settings.host} did not take it: {reason}.")

    def _build_client(self) -> paho.Client:
        settings = self._settings
        name = f"{settings.client_id or 'twinframe'}-{uuid.uuid4().hex[:12]}"
        client = build_client(settings, name, settings.timeout)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_publish = self._on_publish
        client.on_disconnect = self._on_disconnect
        return client


def build_client(
    settings: BrokerSettings, client_id: str, timeout: float, *, manual_ack: bool = False
) -> paho.Client:
    """Build a client that connects once. Raises `DeliveryFailed` for files of TLS."""
    client = paho.Client(
        CallbackAPIVersion.VERSION2,
        client_id=client_id,
        protocol=MQTTProtocolVersion.MQTTv5,
        reconnect_on_failure=False,
        manual_ack=manual_ack,
    )
    client.connect_timeout = timeout
    if settings.username:
        client.username_pw_set(settings.username, settings.password.get_secret_value())
    if settings.tls:
        client.tls_set_context(
            build_trust(settings.certificate_authority, settings.certificate, settings.key)
        )
    return client


def find_port(settings: BrokerSettings) -> int:
    """Return the port of the broker."""
    return settings.port or (8883 if settings.tls else 1883)


def _build_properties() -> Properties:
    """SPEC: CloudEvents MQTT binding 1.0.2: the content type denotes structured mode."""
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]  # the library's
    properties.ContentType = STRUCTURED
    return properties
