"""The objects of the control plane as values, and their conversion to records.

All times are nanoseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

import orjson
from pydantic import TypeAdapter

from twinframe.control.records.actors import ActorKind, Principal
from twinframe.control.records.listing import BY_ID, Listed, Slice, find_page
from twinframe.control.records.scopes import Scope, ScopeType
from twinframe.errors import ControlNotFound
from twinframe.storage.control import (
    Condition,
    ControlSession,
    ControlTransaction,
    Key,
    Order,
    Record,
    RecordKind,
)


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
    """The records of one kind: their declaration, and the conversion of its values.

    `keys` returns the value of each key by its name. `unique` and `indexes` are as in `RecordKind`.
    """

    def __init__(
        self,
        kind: str,
        type_: type[T],
        keys: Mapping[str, Callable[[T], Key]] | None = None,
        *,
        unique: tuple[tuple[str, ...], ...] = (),
        indexes: tuple[tuple[str, ...], ...] = (),
    ) -> None:
        self.kind = kind
        self._keys = keys or {}
        self.declaration = RecordKind(kind, tuple(self._keys), unique, indexes)
        self._adapter: TypeAdapter[T] = TypeAdapter(type_)

    def build_record(self, value: T, version: int = 0) -> Record:
        """Build the record of `value`."""
        keys = {name: read(value) for name, read in self._keys.items()}
        return Record(self.kind, value.id, orjson.dumps(value), keys, version)

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

    def require(self, session: ControlSession, record_id: str, shown_id: str = "") -> T:
        """Return the value of this id. Raises `ControlNotFound`, which names `shown_id`."""
        found = self.read(session, record_id)
        if found is None:
            raise ControlNotFound(self.kind.replace("_", " "), shown_id or record_id)
        return found

    def find(
        self,
        session: ControlSession,
        *conditions: Condition,
        order: Order = BY_ID,
        limit: int | None = None,
    ) -> tuple[T, ...]:
        """Return the values that meet all conditions."""
        return self.parse_all(session.find(self.kind, conditions, order=order, limit=limit))

    def find_first(
        self, session: ControlSession, *conditions: Condition, order: Order = BY_ID
    ) -> T | None:
        """Return the first value that meets all conditions, or None."""
        return next(iter(self.find(session, *conditions, order=order, limit=1)), None)

    def list_page(
        self, session: ControlSession, wanted: Slice, *conditions: Condition, order: Order = BY_ID
    ) -> Listed[T]:
        """List the wanted part of the values that meet all conditions."""
        records, part = find_page(session, self.kind, conditions, wanted, order)
        return Listed(self.parse_all(records), session.count(self.kind, conditions), part)

    def insert(self, transaction: ControlTransaction, value: T) -> None:
        """Store a new value. Raises `RecordConflict` if its id or unique keys are taken."""
        transaction.insert(self.build_record(value))

    def replace(self, transaction: ControlTransaction, value: T) -> None:
        """Replace the stored value of the same id, which must exist."""
        stored = transaction.read(self.kind, value.id)
        transaction.update(self.build_record(value, 0 if stored is None else stored.version))

    def put(self, transaction: ControlTransaction, value: T) -> None:
        """Store the value, in place of one of the same id if there is one."""
        if transaction.read(self.kind, value.id) is None:
            self.insert(transaction, value)
        else:
            self.replace(transaction, value)

    def delete(self, transaction: ControlTransaction, record_id: str) -> None:
        """Delete the value of this id, if it exists."""
        transaction.delete(self.kind, record_id)


ORGANIZATIONS: Final = Table("organization", Organization)
PROJECTS: Final = Table(
    "project",
    Project,
    {"organization": lambda value: value.organization_id},
    indexes=(("organization", "id"),),
)
USERS: Final = Table(
    "user",
    User,
    {"email": lambda value: value.email or None, "last_seen": lambda value: value.last_seen},
)
ROLES: Final = Table(
    "role",
    CustomRole,
    {"organization": lambda value: value.organization_id, "name": lambda value: value.name},
    unique=(("organization", "name"),),
    indexes=(("organization", "id"),),
)
"""Custom roles only; the built-in ones are in `catalogue`."""

ASSIGNMENTS: Final = Table(
    "assignment",
    Assignment,
    {
        "holder": lambda value: build_holder(value.scope, value.grantee),
        "place": lambda value: build_reach_key(value.scope_type, value.project_id, value.grantee),
        "role": lambda value: value.role,
        "scope": lambda value: value.scope.key,
        "principal": lambda value: value.grantee.key,
        "organization": lambda value: value.organization_id or None,
        "project": lambda value: value.project_id or None,
        "expires": lambda value: value.expires_at,
    },
    unique=(("holder", "role"),),
    indexes=(
        ("scope", "id"),
        ("scope", "role"),
        ("organization", "id"),
        ("project", "id"),
        ("organization", "role"),
    ),
)
"""`holder` is scope and principal in one text: a check is one look-up of at most eight of them.

`place` is type of scope (with the project, if it is a resource) and principal: the roles of a
principal at many scopes are one look-up too. NOTE: with two keys, the query planner might choose
the less selective index.
"""

AUDIT: Final = Table(
    "audit",
    AuditEntry,
    {
        "organization": lambda value: value.organization_id or None,
        "project": lambda value: value.project_id or None,
        "target": lambda value: value.target,
        "actor": lambda value: value.actor,
    },
    indexes=(
        ("organization", "version"),
        ("organization", "project", "version"),
        ("organization", "project", "target", "version"),
    ),
)
KEPT_ANSWERS: Final = Table("idempotency", KeptAnswer, {"expires": lambda value: value.expires_at})
"""The id is a digest of caller and key."""

RETIRED: Final = Table("retired", Retired)
"""Ids of deleted organizations and projects, which are never reused."""
