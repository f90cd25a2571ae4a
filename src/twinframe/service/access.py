"""Builds access control for the use cases: authenticators, the permission provider and the audit
log.
"""

from __future__ import annotations

import sys
from pathlib import Path

from twinframe.access.authentication.api_keys import ApiKeyAuthenticator
from twinframe.access.authentication.port import AnyOf, Authenticator
from twinframe.access.gate import Gate, log_refusal
from twinframe.errors import SettingsError
from twinframe.hooks.installation import Installation
from twinframe.http.line_log import AuditLog
from twinframe.service.tokens import build_token_authenticator
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
        members.append(build_token_authenticator(settings.authentication, list_audiences(settings)))
    if settings.authentication.takes_api_keys:
        members.append(ApiKeyAuthenticator(Path(settings.authentication.api_keys.file)))
    return members[0] if len(members) == 1 else AnyOf(members)


def list_audiences(settings: Settings) -> tuple[str, ...]:
    """List the audiences a token may name: the API's, and the MCP server's own URL."""
    named = (settings.authentication.audience, settings.mcp.resource_server_url)
    return tuple(dict.fromkeys(name for name in named if name))
