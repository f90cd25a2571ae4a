"""The interface of permission providers: the caller they are asked about and the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final, NamedTuple

from twinframe.model.values import JsonValue

API_KEY: Final = "api key"
"""The `kind` of a caller that used an API key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller: `subject` is its stable id, `claims` are those of its credentials.

    `kind` is the kind of its credential, for the audit line. `scopes` are those of its token.
    `permissions` are those that its credential itself holds (an API key), for which no provider is
    asked; None for other kinds. `expires` is when the credential expires, in seconds since the
    epoch; None is never. `name` is what people call it, if that is not the subject. `decisions`
    belongs to the gate: what holds as long as this object.
    """

    subject: str
    claims: Mapping[str, JsonValue] = field(default_factory=dict, compare=False)
    kind: str = "token"
    scopes: frozenset[str] = frozenset()
    permissions: frozenset[str] | None = None
    expires: float | None = None
    name: str = field(default="", compare=False)
    decisions: dict[int, Known] = field(init=False, default_factory=dict, compare=False, repr=False)

    @property
    def shown(self) -> str:
        """The name for people, such as in the history."""
        return self.name or self.subject


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a caller may do something, and why: for the audit line, and for a refusal's text."""

    allowed: bool
    reason: str


class PermissionProvider(ABC):
    """Returns the permissions of a caller, in the form of `access.permission_grammar`.

    On any failure a provider returns no permissions and logs why: it never grants by failing, and
    never raises for a caller, an answer or a time-out. Drivers give it neither `__len__` nor
    `__bool__`.
    """

    reads_claims_alone: ClassVar[bool] = False
    """Whether the answer depends on nothing but the caller's claims.

    PERF: the gate then decides once for each permission while a verified token is remembered.
    """

    @abstractmethod
    async def read_permissions(self, caller: Caller) -> frozenset[str]:
        """Return the permissions of the caller at this moment; empty when none is known."""

    async def close(self) -> None:  # noqa: B027  (most providers hold nothing)
        """Close connections. No call may be running."""


class Known(NamedTuple):
    """A decision that holds as long as a caller's object: the permission, by whom, and its name."""

    needed: object
    provider: PermissionProvider | None
    text: str
    allowed: bool
    reason: str
