"""The gate in front of every use case: who calls, and may they. It knows no transport.

Deny by default: what is neither granted by a provider nor held by the credential is refused, and
each decision goes to the audit trail with its reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from time import time
from typing import Final, NamedTuple, TypeAlias

from twinframe.authentication.port import Authenticator, Headers
from twinframe.errors import PermissionMissing, ScopeMissing, Unauthenticated
from twinframe.permissions.base import API_KEY, Caller, Decision, PermissionProvider
from twinframe.permissions.grammar import Permission, decide

logger = logging.getLogger(__name__)

_UNCHECKED: Final = Decision(True, "permissions are not checked (Authorization__Enabled=false)")


class Errand(NamedTuple):
    """What a request is about, for the audit trail: `action` such as `GET /digitaltwins/a`.

    PERF: a named tuple is made in a third of the time of a frozen dataclass.
    """

    action: str
    request_id: str = ""
    client: str = ""


class AuditEntry(NamedTuple):
    """One decision: who wanted what, what it needs, and why it was allowed or refused.

    `moment` is in seconds since the epoch. `subject` is empty for callers who are not known.
    `needed` is a permission, or scopes; empty where it was about credentials.
    """

    moment: float
    allowed: bool
    subject: str
    kind: str
    errand: Errand
    needed: str
    reason: str


Audit: TypeAlias = Callable[[AuditEntry], None]
"""Takes an entry and returns at once; it never fails."""


def log_refusal(entry: AuditEntry) -> None:
    """The audit of a service whose trail is off: why somebody was not known is told all the same.

    SEC: only then. Logging waits for who reads it; a trail does not, and anybody can be refused.
    """
    if not entry.allowed and not entry.subject:
        logger.info("Refused: %s.", entry.reason, extra={"request_id": entry.errand.request_id})


class Gate:
    """Authenticates and authorizes. `provider` None checks no permissions.

    `start` and `stop` run in the process that serves.
    """

    def __init__(
        self, authenticator: Authenticator, provider: PermissionProvider | None, audit: Audit
    ) -> None:
        self._authenticator = authenticator
        self._provider = provider
        self._audit = audit

    def build_other(self, provider: PermissionProvider | None) -> Gate:
        """A gate that takes the same credentials and has the same trail, with other permissions.

        Of it, end the provider alone: the authenticator stays this gate's.
        """
        return Gate(self._authenticator, provider, self._audit)

    async def start(self) -> None:
        """Get ready to verify credentials."""
        await self._authenticator.start()

    async def stop(self) -> None:
        """Give back what verifying and asking hold."""
        await self._authenticator.stop()
        await self.close_provider()

    async def close_provider(self) -> None:
        """Give back what asking for permissions holds."""
        if self._provider is not None:
            await self._provider.close()

    async def authenticate(self, headers: Headers, errand: Callable[[], Errand]) -> Caller:
        """Who sent a request with these headers. Raises `Unauthenticated`, audited.

        `errand` is only called for a refusal.
        """
        try:
            return await self._authenticator.authenticate(headers)
        except Unauthenticated as error:
            self._audit(AuditEntry(time(), False, "", "", errand(), "", error.reason))
            raise

    def check_scopes(self, caller: Caller, scopes: tuple[str, ...], errand: Errand) -> None:
        """Raise `ScopeMissing` unless the caller's token carries all of these scopes.

        An API key has no scopes; its permissions say all it may do. SEC: its kind tells, not that
        the permissions are known: those of a token's caller are too, once it has entered.
        """
        if caller.kind == API_KEY or all(scope in caller.scopes for scope in scopes):
            return
        missing = " ".join(scope for scope in scopes if scope not in caller.scopes)
        self._write(caller, errand, missing, Decision(False, f"the scope {missing} is missing"))
        raise ScopeMissing(scopes)

    async def authorize(self, caller: Caller, needed: Permission, errand: Errand) -> None:
        """Raise `PermissionMissing` unless the caller has the permission now."""
        try:
            decision = await self._decide(caller, needed)
        except Exception as error:  # code of somebody else may do anything; the trail tells of it
            self._write(caller, errand, str(needed), _build_failure(error))
            raise
        self._write(caller, errand, str(needed), decision)
        if not decision.allowed:
            raise PermissionMissing(str(needed))

    async def admit(self, caller: Caller, needed: Permission, errand: Errand) -> Caller:
        """As `authorize`; the caller with its permissions of now, for the rest of this errand.

        PERF: a provider that keeps nothing asks its service anew each time.
        """
        caller = await self._ask(caller, lambda: errand, str(needed))
        await self.authorize(caller, needed, errand)
        return caller

    async def enter(self, caller: Caller, errand: Callable[[], Errand]) -> Caller | None:
        """The caller with the permissions it has now, so that they are asked for once a request.

        None for one without any, which is audited: to such a caller a graph among many looks like
        one that does not exist.
        """
        if self._provider is None:
            return caller
        caller = await self._ask(caller, errand, "")
        if caller.permissions:
            return caller
        self._write(caller, errand(), "", Decision(False, "no permission at all at this graph"))
        return None

    async def holds(self, caller: Caller, needed: Permission) -> bool:
        """Whether the caller has the permission now: for offering only what may be done.

        It is no decision, so it leaves no trail.
        """
        return (await self._decide(caller, needed)).allowed

    async def list_held(
        self, caller: Caller, permissions: Iterable[Permission], errand: Errand
    ) -> list[Permission]:
        """Those of the permissions that the caller has now, who is asked about once.

        As with `holds`, only a provider that breaks leaves a trail.
        """
        caller = await self._ask(caller, lambda: errand, "")
        return [one for one in permissions if await self.holds(caller, one)]

    async def _decide(self, caller: Caller, needed: Permission) -> Decision:
        if self._provider is None:
            return _UNCHECKED
        granted = caller.permissions
        if granted is None:
            granted = await self._provider.read_permissions(caller)
        return _decide(granted, needed)

    async def _ask(self, caller: Caller, errand: Callable[[], Errand], needed: str) -> Caller:
        """The caller with its permissions of now; a provider that breaks is in the trail first."""
        if self._provider is None or caller.permissions is not None:
            return caller
        try:
            granted = await self._provider.read_permissions(caller)
        except Exception as error:  # code of somebody else may do anything
            self._write(caller, errand(), needed, _build_failure(error))
            raise
        return replace(caller, permissions=granted)

    def _write(self, caller: Caller, errand: Errand, needed: str, decision: Decision) -> None:
        self._audit(
            AuditEntry(
                time(),
                decision.allowed,
                caller.subject,
                caller.kind,
                errand,
                needed,
                decision.reason,
            )
        )


def _build_failure(error: Exception) -> Decision:
    return Decision(False, f"the permission provider failed: {type(error).__name__}")


@lru_cache(maxsize=2048)
def _decide(granted: frozenset[str], needed: Permission) -> Decision:
    # PERF: callers repeat themselves; a remembered decision takes 0.3 us. It depends on nothing
    # but the two values.
    return decide(sorted(granted), needed)
