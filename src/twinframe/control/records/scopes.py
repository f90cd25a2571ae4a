"""Scopes, at which roles are held, and the hierarchy that contains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, assert_never, cast, get_args

from twinframe.control.records.states import ResourceState
from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint
from twinframe.storage.control import ControlSession, Record

ScopeType: TypeAlias = Literal["platform", "organization", "project", "resource", "service"]

_LONGEST_SERVICE: Final = 200


@dataclass(frozen=True, slots=True)
class Scope:
    """The platform, an organization, a project, a resource, or the own graph of a service."""

    type: ScopeType
    id: str

    @property
    def key(self) -> str:
        """The scope as a key of records and as the target of an audit entry."""
        return f"{self.type}:{self.id}"


PLATFORM: Final = Scope("platform", "platform")
"""All organizations: the operator's scope."""


@dataclass(frozen=True, slots=True)
class ScopePath:
    """A scope that exists and all that contain it: itself first, the platform last."""

    scopes: tuple[Scope, ...]

    @property
    def organization_id(self) -> str:
        """The organization that it is or is in; empty for the platform."""
        return self._find("organization")

    @property
    def project_id(self) -> str:
        """The project that it is or is in; empty if there is none."""
        return self._find("project")

    def _find(self, type_: ScopeType) -> str:
        return next((scope.id for scope in self.scopes if scope.type == type_), "")


PLATFORM_PATH: Final = ScopePath((PLATFORM,))
"""The path of the platform, which is in nothing."""


def parse_scope(scope_type: str, scope_id: str) -> Scope:
    """Return the scope of this type and id. Raises `InvalidArgument` for an unknown type."""
    known = get_args(ScopeType)
    if scope_type not in known:
        hint = render_hint(scope_type, known, "There are")
        raise InvalidArgument(f"{scope_type[:100]!r} is no type of scope. {hint}")
    return Scope(cast("ScopeType", scope_type), scope_id)


def find_path(session: ControlSession, scope: Scope) -> ScopePath | None:
    """Return the path of a scope, or None if it does not exist. One read by id.

    NOTE: organizations, projects and resources are named as their kinds of record are. A service
    has no record: it is identified by its name alone, and is in the platform.
    """
    if scope.type == "platform":
        return PLATFORM_PATH if scope == PLATFORM else None
    if scope.type == "service":
        return ScopePath((scope, PLATFORM)) if _is_service_name(scope.id) else None
    found = session.read(scope.type, scope.id)
    if found is None:
        return None
    match scope.type:
        case "organization":
            return ScopePath((scope, PLATFORM))
        case "project":
            return ScopePath((scope, _find_organization(found), PLATFORM))
        case "resource":
            project = Scope("project", str(found.keys["project"]))
            return ScopePath((scope, project, _find_organization(found), PLATFORM))
        case _:
            assert_never(scope.type)


def is_terminated(session: ControlSession, scope: Scope) -> bool:
    """Return whether the scope is the tombstone of a resource."""
    if scope.type != "resource":
        return False
    found = session.read(scope.type, scope.id)
    return found is not None and found.keys["status"] == ResourceState.TERMINATED


def _is_service_name(text: str) -> bool:
    # NOTE: keys of records join scope and principal by `|`.
    return 0 < len(text) <= _LONGEST_SERVICE and text.isprintable() and "|" not in text


def _find_organization(record: Record) -> Scope:
    return Scope("organization", str(record.keys["organization"]))
