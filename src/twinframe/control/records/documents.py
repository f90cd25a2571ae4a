"""The objects of the control plane as values, and their conversion to records.

All times are nanoseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter

from twinframe.control.records import kinds
from twinframe.control.records.actors import ActorKind, Principal
from twinframe.control.records.scopes import Scope, ScopeType
from twinframe.storage.control import ControlSession, ControlTransaction, Key, Record, RecordKind


class HasId(Protocol):
    """A value that can be stored as a record: it has an id of its kind."""

    @property
    def id(self) -> str: ...


T = TypeVar("T", bound=HasId)


@dataclass(frozen=True, slots=True)
class Organization:
    """A tenant, with projects and custom roles."""

    id: str
    name: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class Project:
    """A part of an organization, with resources; it never moves to another organization."""

    id: str
    organization_id: str
    name: str
    created_at: int
    updated_at: int


@dataclass(frozen=True, slots=True)
class User:
    """A known caller. `id` is the subject; `email` is empty until one was verified.

    `email_shown` is when they last showed it.
    """

    id: str
    email: str
    kind: ActorKind
    first_seen: int
    last_seen: int
    email_shown: int = 0


@dataclass(frozen=True, slots=True)
class CustomRole:
    """A named set of permissions of an organization. `role` is its id within the organization."""

    role: str
    organization_id: str
    name: str
    permissions: tuple[str, ...]
    created_at: int
    updated_at: int

    @property
    def id(self) -> str:
        """The id of the record: roles of two organizations may have the same id."""
        return build_role_key(self.organization_id, self.role)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A role of a principal at a scope. `principal_kind` is `email` until the invitation is
    accepted.

    `organization_id` and `project_id` contain the scope; empty where there is none.
    """

    id: str
    scope_type: ScopeType
    scope_id: str
    organization_id: str
    project_id: str
    principal_kind: Literal["subject", "email"]
    principal: str
    role: str
    expires_at: int | None
    created_at: int
    created_by: str

    @property
    def scope(self) -> Scope:
        """The scope at which the role is held."""
        return Scope(self.scope_type, self.scope_id)

    @property
    def grantee(self) -> Principal:
        """The principal that holds it."""
        return Principal(self.principal_kind, self.principal)

    def holds(self, now: int) -> bool:
        """Return whether it has not expired."""
        return self.expires_at is None or self.expires_at > now


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One change: its actor, action, target and request, and the object before and after."""

    id: str
    at: int
    actor: str
    actor_email: str
    actor_kind: ActorKind
    request_id: str
    action: str
    target: str
    organization_id: str
    project_id: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """The answer to a request with an Idempotency-Key. `fingerprint` distinguishes requests."""

    id: str
    fingerprint: str
    answer: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class Retired:
    """The mark of an id that is not reused."""

    id: str
    at: int


def build_role_key(organization_id: str, role: str) -> str:
    """Build the name of a custom role in assignments. Built-in ones are named by their id alone."""
    return f"{organization_id}/{role}"


def build_holder(scope: Scope, principal: Principal) -> str:
    """Join scope and principal to one key. NOTE: a scope contains no `|`, so it is unambiguous."""
    return f"{scope.key}|{principal.key}"


def build_reach_key(scope_type: ScopeType, project_id: str, principal: Principal) -> str:
    """Build the key of a principal's roles at all scopes of a type; of resources, in one
    project.
    """
    inside = f":{project_id}" if scope_type == "resource" else ""
    return f"{scope_type}{inside}|{principal.key}"


def build_object(value: object) -> dict[str, Any]:
    """Convert a value to a JSON object, for the audit log."""
    found: dict[str, Any] = orjson.loads(orjson.dumps(asdict(value)))  # type: ignore[call-overload]  # always a dataclass
    return found


class Table(Generic[T]):
    """Converts values of one kind to records and reads and writes them."""

    def __init__(
        self, kind: RecordKind, type_: type[T], keys: Callable[[T], Mapping[str, Key]]
    ) -> None:
        self.kind = kind.name
        self._adapter: TypeAdapter[T] = TypeAdapter(type_)
        self._keys = keys

    def build_record(self, value: T, version: int = 0) -> Record:
        """Build the record of `value`."""
        return Record(self.kind, value.id, orjson.dumps(value), self._keys(value), version)

    def parse_record(self, record: Record) -> T:
        """Parse the value of a record."""
        return self._adapter.validate_json(record.body)

    def parse_body(self, body: str | bytes) -> T:
        """Parse the value of a record's body."""
        return self._adapter.validate_json(body)

    def parse_all(self, records: Iterable[Record]) -> tuple[T, ...]:
        """Parse the values of records."""
        return tuple(self.parse_record(record) for record in records)

    def read(self, session: ControlSession, record_id: str) -> T | None:
        """Return the value of this id, or None."""
        record = session.read(self.kind, record_id)
        return None if record is None else self.parse_record(record)

    def insert(self, transaction: ControlTransaction, value: T) -> None:
        """Store a new value. Raises `RecordConflict` if its id or unique keys are taken."""
        transaction.insert(self.build_record(value))

    def replace(self, transaction: ControlTransaction, value: T) -> None:
        """Replace the stored value of the same id, which must exist."""
        stored = transaction.read(self.kind, value.id)
        transaction.update(self.build_record(value, 0 if stored is None else stored.version))


def _build_assignment_keys(value: Assignment) -> Mapping[str, Key]:
    return {
        "holder": build_holder(value.scope, value.grantee),
        "place": build_reach_key(value.scope_type, value.project_id, value.grantee),
        "role": value.role,
        "scope": value.scope.key,
        "principal": value.grantee.key,
        "organization": value.organization_id or None,
        "project": value.project_id or None,
        "expires": value.expires_at,
    }


ORGANIZATIONS: Final = Table(kinds.ORGANIZATION, Organization, lambda value: {})
PROJECTS: Final = Table(
    kinds.PROJECT, Project, lambda value: {"organization": value.organization_id}
)
USERS: Final = Table(
    kinds.USER,
    User,
    lambda value: {"email": value.email or None, "last_seen": value.last_seen},
)
ROLES: Final = Table(
    kinds.ROLE,
    CustomRole,
    lambda value: {"organization": value.organization_id, "name": value.name},
)
ASSIGNMENTS: Final = Table(kinds.ASSIGNMENT, Assignment, _build_assignment_keys)
AUDIT: Final = Table(
    kinds.AUDIT,
    AuditEntry,
    lambda value: {
        "organization": value.organization_id or None,
        "project": value.project_id or None,
        "target": value.target,
        "actor": value.actor,
    },
)
KEPT_ANSWERS: Final = Table(
    kinds.IDEMPOTENCY, KeptAnswer, lambda value: {"expires": value.expires_at}
)
RETIRED: Final = Table(kinds.RETIRED, Retired, lambda value: {})
