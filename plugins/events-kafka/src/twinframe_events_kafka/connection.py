"""Connecting to Kafka, for the sink and the source."""

from __future__ import annotations

import asyncio
from typing import Any

from aiokafka.errors import KafkaError

from twinframe.hooks.event_sinks.trust import build_trust
from twinframe_events_kafka.settings import ClusterSettings


def build_options(settings: ClusterSettings, timeout: float) -> dict[str, Any]:
    """Build the options that producers and consumers share. Raises `DeliveryFailed` for files."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(settings.servers),
        "client_id": "twinframe",
        "request_timeout_ms": int(timeout * 1000),
        "security_protocol": _find_protocol(settings),
    }
    if settings.tls:
        options["ssl_context"] = build_trust(settings.certificate_authority)
    if settings.username:
        options["sasl_mechanism"] = settings.mechanism
        options["sasl_plain_username"] = settings.username
        options["sasl_plain_password"] = settings.password.get_secret_value()
    return options


async def leave(client: Any) -> None:
    """Stop a producer or a consumer, which may have no connection."""
    try:
        async with asyncio.timeout(5):
            await client.stop()
    except (KafkaError, TimeoutError, OSError):
        return


def _find_protocol(settings: ClusterSettings) -> str:
    transport = "SSL" if settings.tls else "PLAINTEXT"
    return f"SASL_{transport}" if settings.username else transport
