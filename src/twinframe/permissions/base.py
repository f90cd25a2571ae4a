"""The permission seam: who a caller is, what a provider answers. It knows no token and no HTTP."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from twinframe.model.values import JsonValue

API_KEY: Final = "api key"
"""The `kind` of a caller that showed an API key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: `subject` is its stable id, `claims` what its credentials state.

    `kind` says what it showed, for the audit line. `scopes` are those of its token. `permissions`
    are those its credential itself holds (an API key): then no provider is asked; None for the
    rest. `expires` is when the credential ends, in seconds since the epoch; None is never.
    """

    subject: str
    claims: Mapping[str, JsonValue] = field(default_factory=dict, compare=False)
    kind: str = "token"
    scopes: frozenset[str] = frozenset()
    permissions: frozenset[str] | None = None
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a caller may do something, and why: for the audit line, and for a refusal's text."""

    allowed: bool
    reason: str


class PermissionProvider(ABC):
    """Says which permissions a caller has, in the form of `permissions.grammar`.

    Whatever goes wrong, a provider answers with no permissions and logs why: it never grants by
    failing, and never raises for a caller, an answer or a time-out. Drivers give it neither
    `__len__` nor `__bool__`.
    """

    @abstractmethod
    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        """The permissions of the caller at this moment; empty when none is known."""

    async def close(self) -> None:  # noqa: B027  (most providers hold nothing)
        """Give back connections. No call may be under way."""
