"""The tables of all permissions and built-in roles.

The page `docs/reference/roles.md` is generated from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from twinframe.access.permission_grammar import Grant, Permission, parse_grant, parse_permission
from twinframe.errors import InvalidArgument
from twinframe.errors.nearest import render_hint

CONTROL_PERMISSIONS: Final[Mapping[str, str]] = {
    "organizations/create": "create organizations (of effect at the platform alone)",
    "organizations/read": "see an organization",
    "organizations/write": "rename an organization",
    "organizations/delete": "delete an organization that holds no project",
    "projects/read": "see a project",
    "projects/write": "create projects in an organization, rename a project",
    "projects/delete": "delete a project that holds no resource",
    "resources/read": "see a resource, its settings, address and history",
    "resources/write": "create and change resources",
    "resources/delete": "delete resources and the data in them",
    "access/read": "see who holds which role",
    "access/write": "grant and revoke roles, as far as one holds them oneself",
    "access/check": "ask for the permissions of others",
    "roles/read": "see the custom roles of an organization",
    "roles/write": "define custom roles, as far as one holds their permissions oneself",
    "users/read": "see the users of the platform (of effect at the platform alone)",
    "audit/read": "read the audit log",
    "billing/read": "see prices, usage, quotas and statements",
    "billing/write": "manage billing accounts",
}
"""Permission of the control plane -> what it permits."""

DATA_PERMISSIONS: Final[Mapping[str, str]] = {
    "digitaltwins/read": "read twins and components",
    "digitaltwins/write": "create, replace and patch twins, send telemetry",
    "digitaltwins/delete": "delete twins",
    "digitaltwins/relationships/read": "read relationships",
    "digitaltwins/relationships/write": "create and change relationships",
    "digitaltwins/relationships/delete": "delete relationships",
    "models/read": "read models",
    "models/write": "upload and decommission models",
    "models/delete": "delete models",
    "query/read": "run queries",
    "query/write": "run statements that write what one may write by single requests",
    "eventroutes/read": "see event routes",
    "eventroutes/write": "create event routes",
    "eventroutes/delete": "delete event routes",
    "jobs/imports/read": "see import jobs",
    "jobs/imports/write": "start import jobs",
    "jobs/imports/cancel": "cancel import jobs",
    "jobs/imports/delete": "forget import jobs",
    "jobs/deletions/read": "see jobs that delete everything",
    "jobs/deletions/write": "delete everything in a graph",
    "workspaces/read": "open the workspaces of a graph",
    "workspaces/write": "create and change workspaces",
    "workspaces/delete": "delete workspaces",
    "auditlog/read": "read who changed a graph",
    "mcp/*": "connect assistants, which then act with the other permissions",
}
"""Permission of a graph's own API -> what it permits. `mcp/*` is required as a whole."""

OWNER: Final = "owner"


@dataclass(frozen=True, slots=True)
class BuiltInRole:
    """A role that every organization has. `permissions` are grants."""

    id: str
    name: str
    meaning: str
    permissions: tuple[str, ...]


_READER: Final = (
    "digitaltwins/read",
    "digitaltwins/relationships/read",
    "models/read",
    "query/read",
    "eventroutes/read",
    "jobs/imports/read",
    "jobs/deletions/read",
    "workspaces/read",
    "mcp/*",
)
_DATA: Final = (
    "digitaltwins/*",
    "models/*",
    "query/*",
    "eventroutes/*",
    "jobs/*",
    "workspaces/*",
    "auditlog/*",
    "mcp/*",
)
_EDITOR: Final = (
    "digitaltwins/*",
    "models/read",
    "models/write",
    "query/*",
    "eventroutes/read",
    "jobs/imports/*",
    "jobs/deletions/read",
    "workspaces/*",
    "mcp/*",
)
_CONTROL: Final = tuple(
    dict.fromkeys(f"{permission.partition('/')[0]}/*" for permission in CONTROL_PERMISSIONS)
)
_VIEWER: Final = (
    "organizations/read",
    "projects/read",
    "resources/read",
    "roles/read",
    "billing/read",
)

BUILT_IN_ROLES: Final[Mapping[str, BuiltInRole]] = {
    role.id: role
    for role in (
        # NOTE: a grantor must hold what it grants, so owners hold the data permissions too.
        BuiltInRole(OWNER, "Owner", "everything, the data of graphs included", (*_CONTROL, *_DATA)),
        BuiltInRole(
            "editor",
            "Editor",
            "manages projects and resources, but neither access nor the data of graphs",
            (*_VIEWER, "projects/write", "resources/write", "resources/delete", "access/read"),
        ),
        BuiltInRole("viewer", "Viewer", "sees projects and resources", _VIEWER),
        BuiltInRole("graph-data-owner", "Graph Data Owner", "everything in a graph", _DATA),
        BuiltInRole(
            "graph-data-editor",
            "Graph Data Editor",
            "changes twins and adds models, but deletes no model and not everything",
            _EDITOR,
        ),
        BuiltInRole("graph-data-viewer", "Graph Data Viewer", "reads and queries", _READER),
        BuiltInRole(
            "permission-checker",
            "Permission Checker",
            "for the service account of a graph server, which asks what its callers may do",
            ("access/check",),
        ),
        BuiltInRole(
            "organization-creator",
            "Organization Creator",
            "at the platform: creates organizations and so comes to own them",
            ("organizations/create",),
        ),
    )
}
"""Id -> role. A custom role has none of these ids."""

_KNOWN: Final = (*CONTROL_PERMISSIONS, *DATA_PERMISSIONS)
_WHOLE: Final = "mcp/*"
_KNOWN_PERMISSIONS: Final = tuple(parse_permission(text) for text in _KNOWN if text != _WHOLE)
_MOST: Final = 200


def parse_role_permissions(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse grants of a custom role, resolve aliases and remove duplicates. Raises
    `InvalidArgument`.

    A grant must cover an existing permission: a misspelt role would grant nothing.
    """
    found = tuple(dict.fromkeys(str(_parse_known(text)) for text in texts))
    if not 1 <= len(found) <= _MOST:
        raise InvalidArgument(f"A role has 1 to {_MOST} permissions, not {len(found)}.")
    return found


def _parse_known(text: str) -> Grant:
    grant = parse_grant(text)
    if grant is not None and (
        str(grant) == _WHOLE or any(grant.covers(each) for each in _KNOWN_PERMISSIONS)
    ):
        return grant
    wildcards = {f"{name.rpartition('/')[0]}/*" for name in _KNOWN}
    names = [*_KNOWN, *sorted(wildcards - {_WHOLE})]
    hint = render_hint(text, names, "There are", cutoff=0.5)
    raise InvalidArgument(f"{text[:200]!r} is no permission. {hint}")


@lru_cache(maxsize=1024)
def build_grants(texts: tuple[str, ...]) -> tuple[Grant, ...]:
    """Return the grants of these texts; an invalid text grants nothing."""
    return tuple(grant for grant in map(parse_grant, texts) if grant is not None)


@lru_cache(maxsize=1024)
def build_permission(text: str) -> Permission:
    """Return the permission of this name, parsed once."""
    return parse_permission(text)


def is_within(wanted: Grant, held: Grant) -> bool:
    """Return whether `held` includes all that `wanted` gives."""
    if not wanted.wildcard:
        return held.covers(Permission(wanted.segments))
    depth = len(held.segments)
    return held.wildcard and wanted.segments[:depth] == held.segments
