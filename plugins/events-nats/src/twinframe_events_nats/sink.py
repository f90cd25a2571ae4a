"""An event sink that publishes to NATS, into JetStream streams or without them.

SPEC: CloudEvents NATS binding 1.0.2, structured mode.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.errors import NoStreamResponseError

from twinframe.hooks.event_sinks.addressing import fill_template
from twinframe.hooks.event_sinks.base import (
    STRUCTURED,
    DeliveryFailed,
    DeliveryRefused,
    EventSink,
    Message,
)
from twinframe_events_nats.connection import FAILURES, build_options, leave
from twinframe_events_nats.settings import SPECIAL, NatsSettings

_ID: Final = "Nats-Msg-Id"
"""The header by which JetStream recognizes duplicates: one id within two minutes is stored once."""

_HEAD: Final = len("NATS/1.0\r\n\r\n")


class NatsSink(EventSink):
    """Publishes each event and waits for the acknowledgement of its stream."""

    def __init__(self, settings: NatsSettings) -> None:
        self._settings = settings
        self._client: Client | None = None
        self._streams: JetStreamContext | None = None
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        """Connect."""
        await self._connect()

    async def send(self, message: Message) -> None:
        """Publish; with JetStream it returns when a stream has stored it."""
        client = await self._connect()
        subject = fill_template(self._settings.subject, message, SPECIAL)
        headers = {"Content-Type": STRUCTURED}
        if message.id.isascii() and message.id.isprintable():
            # SEC: the sender of telemetry chose it; a line end would begin another header.
            headers[_ID] = f"{message.source}/{message.id}"
        _check_size(client, message.body, headers)
        try:
            if self._streams is None:
                await client.publish(subject, message.body, headers=headers)
                await client.flush(int(self._settings.timeout) or 1)
                return
            await self._streams.publish(
                subject, message.body, timeout=self._settings.timeout, headers=headers
            )
        except NoStreamResponseError as error:
            raise DeliveryFailed(
                f"No stream of JetStream takes the subject {subject}. Make one, or set "
                "Jetstream=false of the endpoint."
            ) from error
        except FAILURES as error:
            raise self._build_failure(error) from error

    async def close(self) -> None:
        """Send what is queued and disconnect."""
        async with self._lock:
            client, self._client = self._client, None
            if client is not None:
                await leave(client)

    async def _connect(self) -> Client:
        async with self._lock:
            client = self._client
            if client is not None and client.is_connected:
                return client
            self._client = None
            if client is not None:
                await leave(client)
            client = Client()
            try:
                async with asyncio.timeout(self._settings.timeout):
                    await client.connect(**build_options(self._settings))
            except FAILURES as error:
                await leave(client)
                raise self._build_failure(error) from error
            self._streams = client.jetstream() if self._settings.jetstream else None
            self._client = client
            return client

    def _build_failure(self, error: BaseException) -> DeliveryFailed:
        reason = str(error) or type(error).__name__
        told = ""
        if isinstance(error, OSError) and error.filename:  # about the operator's credentials file
            told = f"The endpoint's Credentials cannot be used: {error.strerror}."
        return DeliveryFailed(f"NATS did not take it: {reason}", told=told)


def _check_size(client: Client, body: bytes, headers: Mapping[str, str]) -> None:
    """Raise `DeliveryRefused` for a message that would make the server close the connection each
    time.

    NOTE: the library checks the size of the body, the server that of body and headers together.
    """
    size = len(body) + _HEAD + sum(len(name) + len(value) + 4 for name, value in headers.items())
    if size > client.max_payload:
        raise DeliveryRefused(
            f"The event has {size} bytes with its headers, more than the {client.max_payload} "
            "that the NATS server takes (max_payload)."
        )
