"""The gate in front of every use case: authenticates and authorizes callers over any transport.

Deny by default: what is neither granted by a provider nor held by the credential is refused. Each
decision is written to the audit log with its reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from time import time
from typing import Final, NamedTuple, TypeAlias

from twinframe.access.authentication.port import Authenticator, Headers
from twinframe.access.permission_grammar import Permission, decide
from twinframe.access.permissions import API_KEY, Caller, Decision, Known, PermissionProvider
from twinframe.errors import PermissionMissing, ScopeMissing, Unauthenticated

logger = logging.getLogger(__name__)

_MOST_DECISIONS: Final = 64
_UNCHECKED: Final = Decision(True, "permissions are not checked (Authorization__Enabled=false)")


class RequestInfo(NamedTuple):
    """Facts about a request for the audit log: `action` such as `GET /digitaltwins/a`.

    PERF: a named tuple is made in a third of the time of a frozen dataclass.
    """

    action: str
    request_id: str = ""
    client: str = ""


class AuditEntry(NamedTuple):
    """One decision: caller, action, required permission, outcome and reason.

    `moment` is in seconds since the epoch. `subject` is empty for unauthenticated callers. `needed`
    is a permission, or scopes; empty where the decision was about credentials.
    """

    moment: float
    allowed: bool
    subject: str
    kind: str
    request_info: RequestInfo
    needed: str
    reason: str


Audit: TypeAlias = Callable[[AuditEntry], None]
"""Takes an entry and returns at once; it never fails."""


def log_refusal(entry: AuditEntry) -> None:
    """Log a failed authentication in a service whose audit log is off.

    SEC: only then. Logging may block on its reader, an audit log does not, and anybody can be
    refused.
    """
    if not entry.allowed and not entry.subject:
        logger.info(
            "Refused: %s.", entry.reason, extra={"request_id": entry.request_info.request_id}
        )


class Gate:
    """Authenticates and authorizes. With `provider` None it checks no permissions.

    `start` and `stop` run in the process that serves.
    """

    def __init__(
        self, authenticator: Authenticator, provider: PermissionProvider | None, audit: Audit
    ) -> None:
        self._authenticator = authenticator
        self._provider = provider
        self._audit = audit
        self.recall = authenticator.recall
        """Returns the caller of headers that were authenticated before (`Authenticator.recall`)."""

    def build_other(self, provider: PermissionProvider | None) -> Gate:
        """Build a gate with the same credentials and audit log, but other permissions.

        Close only its provider: the authenticator belongs to this gate.
        """
        return Gate(self._authenticator, provider, self._audit)

    async def start(self) -> None:
        """Prepare to verify credentials."""
        await self._authenticator.start()

    async def stop(self) -> None:
        """Release the resources of authenticator and provider."""
        await self._authenticator.stop()
        await self.close_provider()

    async def close_provider(self) -> None:
        """Release the resources of the permission provider."""
        if self._provider is not None:
            await self._provider.close()

    async def authenticate(
        self, headers: Headers, request_info: Callable[[], RequestInfo]
    ) -> Caller:
        """Return the caller of a request with these headers. Raises `Unauthenticated`, audited.

        `request_info` is only called for a refusal.
        """
        try:
            return await self._authenticator.authenticate(headers)
        except Unauthenticated as error:
            self._audit(AuditEntry(time(), False, "", "", request_info(), "", error.reason))
            raise

    def check_scopes(
        self, caller: Caller, scopes: tuple[str, ...], request_info: RequestInfo
    ) -> None:
        """Raise `ScopeMissing` unless the caller's token carries all of these scopes.

        An API key has no scopes, only permissions. SEC: the decision uses the kind of credential,
        not whether permissions are known: those of a token's caller are known too after `enter`.
        """
        if caller.kind == API_KEY or all(scope in caller.scopes for scope in scopes):
            return
        missing = " ".join(scope for scope in scopes if scope not in caller.scopes)
        self._write(
            caller, request_info, missing, Decision(False, f"the scope {missing} is missing")
        )
        raise ScopeMissing(scopes)

    def authorize_known(
        self, caller: Caller, needed: Permission, request_info: RequestInfo
    ) -> bool:
        """Do as `authorize`, at once, where the decision is known; else return False."""
        known = caller.decisions.get(id(needed))
        # SEC: an id is given again when its object is gone: what is known keeps its objects.
        if known is None or known.needed is not needed or known.provider is not self._provider:
            return False
        _, _, text, allowed, reason = known
        entry = time(), allowed, caller.subject, caller.kind, request_info, text, reason
        # PERF: made at each request: past the constructor in half its time.
        self._audit(tuple.__new__(AuditEntry, entry))
        if not allowed:
            raise PermissionMissing(text)
        return True

    async def authorize(
        self, caller: Caller, needed: Permission, request_info: RequestInfo
    ) -> None:
        """Raise `PermissionMissing` unless the caller has the permission now."""
        if self.authorize_known(caller, needed, request_info):
            return
        try:
            decision = await self._decide(caller, needed)
        except Exception as error:  # third-party code may raise anything; the audit log records it
            self._write(caller, request_info, str(needed), _build_failure(error))
            raise
        self._write(caller, request_info, str(needed), decision)
        if not decision.allowed:
            raise PermissionMissing(str(needed))

    async def admit(self, caller: Caller, needed: Permission, request_info: RequestInfo) -> Caller:
        """Authorize, and return the caller with its permissions for the rest of the request.

        PERF: a provider without a cache asks its service each time.
        """
        caller = await self._ask(caller, lambda: request_info, str(needed))
        await self.authorize(caller, needed, request_info)
        return caller

    async def enter(self, caller: Caller, request_info: Callable[[], RequestInfo]) -> Caller | None:
        """Return the caller with its current permissions, so that they are read once a request.

        None for a caller without any, which is audited: to such a caller a graph among many looks
        like one that does not exist.
        """
        if self._provider is None:
            return caller
        caller = await self._ask(caller, request_info, "")
        if caller.permissions:
            return caller
        self._write(
            caller, request_info(), "", Decision(False, "no permission at all at this graph")
        )
        return None

    async def holds(self, caller: Caller, needed: Permission) -> bool:
        """Return whether the caller has the permission now, to offer only permitted operations.

        It is not a decision and is not audited.
        """
        return (await self._decide(caller, needed)).allowed

    async def list_held(
        self, caller: Caller, permissions: Iterable[Permission], request_info: RequestInfo
    ) -> list[Permission]:
        """Return those of the permissions that the caller has now, reading them once.

        As with `holds`, only a failure of the provider is audited.
        """
        caller = await self._ask(caller, lambda: request_info, "")
        return [one for one in permissions if await self.holds(caller, one)]

    async def _decide(self, caller: Caller, needed: Permission) -> Decision:
        if self._provider is None:
            return _UNCHECKED
        granted = caller.permissions
        is_lasting = caller.kind == API_KEY
        if granted is None:
            is_lasting = self._provider.reads_claims_alone
            granted = await self._provider.read_permissions(caller)
        decision = _decide(granted, needed)
        if is_lasting:
            if len(caller.decisions) >= _MOST_DECISIONS:
                caller.decisions.clear()
            known = Known(needed, self._provider, str(needed), decision.allowed, decision.reason)
            caller.decisions[id(needed)] = known
        return decision

    async def _ask(
        self, caller: Caller, request_info: Callable[[], RequestInfo], needed: str
    ) -> Caller:
        """Return the caller with its current permissions; audit a failure of the provider."""
        if self._provider is None or caller.permissions is not None:
            return caller
        try:
            granted = await self._provider.read_permissions(caller)
        except Exception as error:  # third-party code may raise anything
            self._write(caller, request_info(), needed, _build_failure(error))
            raise
        return replace(caller, permissions=granted)

    def _write(
        self, caller: Caller, request_info: RequestInfo, needed: str, decision: Decision
    ) -> None:
        self._audit(
            AuditEntry(
                time(),
                decision.allowed,
                caller.subject,
                caller.kind,
                request_info,
                needed,
                decision.reason,
            )
        )


def _build_failure(error: Exception) -> Decision:
    return Decision(False, f"the permission provider failed: {type(error).__name__}")


@lru_cache(maxsize=2048)
def _decide(granted: frozenset[str], needed: Permission) -> Decision:
    # PERF: callers repeat themselves; a cached decision takes 0.3 us. It depends only on the two
    # values.
    return decide(sorted(granted), needed)
