"""The JSON objects of the control plane's answers, except those of resources."""

from __future__ import annotations

from typing import Any

from twinframe.control.records.documents import Assignment, CustomRole, Organization, Project, User
from twinframe.control.records.names import render_moment
from twinframe.control.tenants.audit import AuditLine
from twinframe.control.tenants.catalogue import BuiltInRole

View = dict[str, Any]


def build_organization(value: Organization) -> View:
    """Return the JSON object of an organization."""
    return {
        "organization_id": value.id,
        "name": value.name,
        "created_at": render_moment(value.created_at),
        "updated_at": render_moment(value.updated_at),
    }


def build_project(value: Project) -> View:
    """Return the JSON object of a project."""
    return {
        "project_id": value.id,
        "organization_id": value.organization_id,
        "name": value.name,
        "created_at": render_moment(value.created_at),
        "updated_at": render_moment(value.updated_at),
    }


def build_user(value: User) -> View:
    """Return the JSON object of a user."""
    return {
        "user_id": value.id,
        "email": value.email or None,
        "kind": value.kind,
        "first_seen_at": render_moment(value.first_seen),
        "last_seen_at": render_moment(value.last_seen),
    }


def build_role(value: CustomRole) -> View:
    """Return the JSON object of a custom role."""
    return {
        "role_id": value.role,
        "organization_id": value.organization_id,
        "name": value.name,
        "permissions": list(value.permissions),
        "built_in": False,
        "description": None,
        "created_at": render_moment(value.created_at),
        "updated_at": render_moment(value.updated_at),
    }


def build_built_in_role(value: BuiltInRole) -> View:
    """Return the JSON object of a built-in role."""
    return {
        "role_id": value.id,
        "organization_id": None,
        "name": value.name,
        "permissions": list(value.permissions),
        "built_in": True,
        "description": value.meaning,
        "created_at": None,
        "updated_at": None,
    }


def build_assignment(value: Assignment) -> View:
    """Return the JSON object of an assignment.

    A custom role is given by its id in the organization.
    """
    grantee = value.grantee
    return {
        "assignment_id": value.id,
        "scope_type": value.scope_type,
        "scope_id": value.scope_id,
        "role_id": value.role.rpartition("/")[2],
        "user_id": grantee.name if grantee.kind == "subject" else None,
        "email": grantee.name if grantee.kind == "email" else None,
        "expires_at": None if value.expires_at is None else render_moment(value.expires_at),
        "created_at": render_moment(value.created_at),
        "created_by": value.created_by,
    }


def build_audit_line(line: AuditLine) -> View:
    """Return the JSON object of an audit log entry."""
    entry = line.entry
    return {
        "position": line.position,
        "at": render_moment(entry.at),
        "actor": entry.actor,
        "actor_email": entry.actor_email or None,
        "actor_kind": entry.actor_kind,
        "request_id": entry.request_id,
        "action": entry.action,
        "target": entry.target,
        "organization_id": entry.organization_id or None,
        "project_id": entry.project_id or None,
        "before": entry.before,
        "after": entry.after,
    }
