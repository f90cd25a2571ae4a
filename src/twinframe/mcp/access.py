"""The port by which tools check the caller's permissions, and its two implementations.

The transports set the two context variables for each message; a missing caller is refused.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import time
from typing import Final, Protocol

from twinframe.access.gate import Audit, AuditEntry, Gate, RequestInfo
from twinframe.access.permission_grammar import parse_permission
from twinframe.access.permissions import Caller
from twinframe.access.rates import CallerRates, Kind
from twinframe.errors import Unauthenticated

CURRENT_CALLER: Final[ContextVar[Caller | None]] = ContextVar("mcp_caller", default=None)
"""The authenticated caller of the present message."""

CURRENT_REQUEST_INFO: Final[ContextVar[RequestInfo | None]] = ContextVar(
    "mcp_request_info", default=None
)
"""The facts about the present message, with the request's id and the client's address."""

RESOURCES_SCOPE: Final = "mcp:resources"

_OPEN: Final = "nobody is asked for credentials"


def spend_call(rates: CallerRates, kind: Kind) -> None:
    """Count one operation for the caller of the present message. Raises `RateExceeded`."""
    request_info = CURRENT_REQUEST_INFO.get()
    rates.spend(kind, CURRENT_CALLER.get(), "" if request_info is None else request_info.client)


class ToolAccess(Protocol):
    """Decides on each call. `tool` is the action for the audit log: `tools/call get_model`."""

    async def check(self, permission: str, tool: str) -> None:
        """Raise `PermissionMissing` (or `Unauthenticated`) unless the caller has it now."""

    async def check_scope(self, scope: str, tool: str) -> None:
        """Raise `ScopeMissing` (or `Unauthenticated`) unless the caller's token carries it."""

    async def holds(self, permission: str) -> bool:
        """Return whether the caller has the permission: to offer only permitted operations."""

    def note_change(self, tool: str, *, done: bool) -> None:
        """Record the end of a tool that writes; `done` says whether it succeeded."""


class GateAccess:
    """Uses the gate, with the caller that the transport stored in `CURRENT_CALLER`.

    NOTE: a tool's own permission is required in addition to `mcp/*`, which alone turns no reader
    into a writer.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def check(self, permission: str, tool: str) -> None:
        """Check with the gate, which logs the decision."""
        await self._gate.authorize(
            _require_caller(), parse_permission(permission), _build_request_info(tool)
        )

    async def check_scope(self, scope: str, tool: str) -> None:
        """Check with the gate, which logs a refusal."""
        self._gate.check_scopes(_require_caller(), (scope,), _build_request_info(tool))

    async def holds(self, permission: str) -> bool:
        """Ask the gate; without a caller the answer is no."""
        caller = CURRENT_CALLER.get()
        return caller is not None and await self._gate.holds(caller, parse_permission(permission))

    def note_change(self, tool: str, *, done: bool) -> None:
        """Do nothing: the gate has logged its decision."""


class OpenAccess:
    """Allows all: for `--stdio`, where the caller started the process, and without authentication.

    Each check is written to `audit`, if one is given.
    """

    def __init__(self, audit: Audit | None = None) -> None:
        self._audit = audit

    async def check(self, permission: str, tool: str) -> None:
        """Allow, and log it."""
        if self._audit is not None:
            self._audit(
                AuditEntry(time(), True, "", "", _build_request_info(tool), permission, _OPEN)
            )

    async def check_scope(self, scope: str, tool: str) -> None:
        """Allow."""

    async def holds(self, permission: str) -> bool:
        """Return True."""
        return True

    def note_change(self, tool: str, *, done: bool) -> None:
        """Do nothing: the check was logged."""


def _require_caller() -> Caller:
    caller = CURRENT_CALLER.get()
    if caller is None:
        # SEC: a transport that failed to set the caller must not run anything.
        raise Unauthenticated("a message came without a caller")
    return caller


def _build_request_info(tool: str) -> RequestInfo:
    request_info = CURRENT_REQUEST_INFO.get()
    return RequestInfo(tool) if request_info is None else request_info._replace(action=tool)
