"""Who a tool is run for and whether they may: the port and its two forms. It reads no credentials.

The transports set the two context variables for each message; what they leave unset is refused.
"""

from __future__ import annotations

from contextvars import ContextVar
from time import time
from typing import Final, Protocol

from twinframe.admission.rates import CallerRates, Kind
from twinframe.authentication.gate import Audit, AuditEntry, Errand, Gate
from twinframe.errors import Unauthenticated
from twinframe.permissions.base import Caller
from twinframe.permissions.grammar import parse_permission

CURRENT_CALLER: Final[ContextVar[Caller | None]] = ContextVar("mcp_caller", default=None)
"""The authenticated caller of the present message."""

CURRENT_ERRAND: Final[ContextVar[Errand | None]] = ContextVar("mcp_errand", default=None)
"""What the present message is about, with the request's id and the client's address."""

RESOURCES_SCOPE: Final = "mcp:resources"

_OPEN: Final = "nobody is asked for credentials"


def spend_call(rates: CallerRates, kind: Kind) -> None:
    """Count one for the caller of the present message. Raises `RateExceeded`."""
    errand = CURRENT_ERRAND.get()
    rates.spend(kind, CURRENT_CALLER.get(), "" if errand is None else errand.client)


class ToolAccess(Protocol):
    """Decides on each call. `tool` is what is done, for the audit trail: `tools/call get_model`."""

    async def check(self, permission: str, tool: str) -> None:
        """Raise `PermissionMissing` (or `Unauthenticated`) unless the caller has it now."""

    async def check_scope(self, scope: str, tool: str) -> None:
        """Raise `ScopeMissing` (or `Unauthenticated`) unless the caller's token carries it."""

    async def holds(self, permission: str) -> bool:
        """Whether the caller has the permission: to offer only what may be done."""

    def note_change(self, tool: str, *, done: bool) -> None:
        """A tool that writes has ended; `done` says whether it did what it was asked."""


class GateAccess:
    """Asks the gate, with the caller that the transport left in `CURRENT_CALLER`.

    NOTE: a tool's own permission is asked for beside `mcp/*`, which alone turns no reader into a
    writer.
    """

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def check(self, permission: str, tool: str) -> None:
        """By the gate, which writes the decision down."""
        await self._gate.authorize(_require_caller(), parse_permission(permission), _errand(tool))

    async def check_scope(self, scope: str, tool: str) -> None:
        """By the gate, which writes a refusal down."""
        self._gate.check_scopes(_require_caller(), (scope,), _errand(tool))

    async def holds(self, permission: str) -> bool:
        """By the gate; nobody holds nothing."""
        caller = CURRENT_CALLER.get()
        return caller is not None and await self._gate.holds(caller, parse_permission(permission))

    def note_change(self, tool: str, *, done: bool) -> None:
        """Nothing: the gate has written its decision down."""


class OpenAccess:
    """Allows all: for `--stdio`, where the caller started the process, and without authentication.

    Each check is written to `audit`, if one is given.
    """

    def __init__(self, audit: Audit | None = None) -> None:
        self._audit = audit

    async def check(self, permission: str, tool: str) -> None:
        """Allow, and write it down."""
        if self._audit is not None:
            self._audit(AuditEntry(time(), True, "", "", _errand(tool), permission, _OPEN))

    async def check_scope(self, scope: str, tool: str) -> None:
        """Allow."""

    async def holds(self, permission: str) -> bool:
        """Always."""
        return True

    def note_change(self, tool: str, *, done: bool) -> None:
        """Nothing: the check was written down."""


def _require_caller() -> Caller:
    caller = CURRENT_CALLER.get()
    if caller is None:
        # SEC: a transport that forgot to say who calls must not run anything for nobody.
        raise Unauthenticated("a message came without a caller")
    return caller


def _errand(tool: str) -> Errand:
    errand = CURRENT_ERRAND.get()
    return Errand(tool) if errand is None else errand._replace(action=tool)
