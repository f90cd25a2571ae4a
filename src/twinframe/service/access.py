"""Builds access control: authenticators, permission provider, audit log and rate limits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from twinframe.access.authentication.api_keys import ApiKeyAuthenticator
from twinframe.access.authentication.port import AnyOf, Authenticator
from twinframe.access.gate import Gate, log_refusal
from twinframe.access.rates import CallerRates, Kind, SharedBuckets
from twinframe.errors import SettingsError
from twinframe.hooks.installation import Installation
from twinframe.http.line_log import AuditLog
from twinframe.service.features import TOKENS, load_part
from twinframe.settings import Settings


class AccessService:
    """The gate and its audit log as a lifespan service."""

    def __init__(self, gate: Gate, log: AuditLog | None) -> None:
        self.gate = gate
        self._log = log

    async def start(self) -> None:
        """Start the log, then fetch the issuer's keys."""
        if self._log is not None:
            self._log.start()
        await self.gate.start()

    async def stop(self) -> None:
        """Release the gate's resources, then write the rest of the log."""
        await self.gate.stop()
        if self._log is not None:
            self._log.stop()


def build_access(installation: Installation) -> AccessService | None:
    """Build the gate of an installation; None when no credentials are required.

    Raises `PluginError` or `SettingsError`. Nothing is opened before `start`.
    """
    settings = installation.settings
    check_access(settings)
    if not settings.authentication.asks:
        return None
    log = AuditLog(sys.stderr.buffer) if settings.logging.audit else None
    gate = Gate(
        build_authenticator(settings),
        installation.build_permission_provider(),
        log_refusal if log is None else log.add,
    )
    return AccessService(gate, log)


def check_access(settings: Settings) -> None:
    """Refuse to check permissions without authentication. Raises `SettingsError`."""
    if settings.authorization.enabled and not settings.authentication.asks:
        raise SettingsError(
            "Authorization__Enabled=true needs Authentication__Enabled=true: nobody's permissions "
            "can be checked as long as nobody is asked who they are."
        )


def build_authenticator(settings: Settings) -> Authenticator:
    """Build the authenticator of the enabled kinds of credentials."""
    members: list[Authenticator] = []
    if settings.authentication.takes_tokens:
        build = load_part(TOKENS).build_token_authenticator
        members.append(build(settings.authentication, list_audiences(settings)))
    if settings.authentication.takes_api_keys:
        members.append(ApiKeyAuthenticator(Path(settings.authentication.api_keys.file)))
    return members[0] if len(members) == 1 else AnyOf(members)


def list_audiences(settings: Settings) -> tuple[str, ...]:
    """List the audiences a token may name: the API's, and the MCP server's own URL."""
    named = (settings.authentication.audience, settings.mcp.resource_server_url)
    return tuple(dict.fromkeys(name for name in named if name))


def build_buckets(settings: Settings) -> SharedBuckets | None:
    """Build the buckets that the forked workers share; None if callers certainly have no rates.

    PERF: unused memory is never allocated: it costs addresses alone.
    """
    limits = settings.rate_limits
    return None if limits.enabled is False else SharedBuckets(limits.callers * len(Kind))


def build_rates(
    settings: Settings,
    buckets: SharedBuckets | None,
    on_refusal: Callable[[str], None] | None = None,
    *,
    asks: bool,
) -> CallerRates | None:
    """Build the rates of callers; None for no rates. Without `buckets`, of this process alone.

    `asks` says whether callers must authenticate: unless the settings say otherwise they have rates
    then, and only then.
    """
    enabled = settings.rate_limits.enabled
    if not (asks if enabled is None else enabled):
        return None
    shared = buckets or build_buckets(settings)
    return (
        None if shared is None else CallerRates(settings.rate_limits, shared, on_refusal=on_refusal)
    )
