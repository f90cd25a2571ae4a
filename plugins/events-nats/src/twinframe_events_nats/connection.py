"""Connecting to NATS, for the sink and the source."""

from __future__ import annotations

from typing import Any, Final

import nats.errors
from nats.aio.client import Client
from nats.js.errors import APIError

from twinframe.hooks.event_sinks.trust import build_trust
from twinframe_events_nats.settings import ServerSettings

FAILURES: Final = (nats.errors.Error, APIError, TimeoutError, OSError)


def build_options(settings: ServerSettings) -> dict[str, Any]:
    """Build the options of a connection that is made once. Raises `DeliveryFailed` for files."""
    options: dict[str, Any] = {
        "servers": list(settings.servers),
        "name": "twinframe",
        "connect_timeout": settings.timeout,
        # NOTE: the event routes retry, in their own order, so the library must not resend by
        # itself.
        "allow_reconnect": False,
        "error_cb": _pass_over,
        "pending_size": 0,
    }
    if any(server.startswith(("tls://", "wss://")) for server in settings.servers):
        options["tls"] = build_trust(settings.certificate_authority)
    if settings.username:
        options["user"] = settings.username
        options["password"] = settings.password.get_secret_value()
    if settings.token.get_secret_value():
        options["token"] = settings.token.get_secret_value()
    if settings.credentials:
        options["user_credentials"] = settings.credentials
    return options


async def leave(client: Client) -> None:
    """Close a connection, which may be broken."""
    try:
        await client.close()
    except FAILURES:
        return


async def _pass_over(_error: Exception) -> None:
    """Ignore the library's error callback: errors are raised where the call is awaited."""
