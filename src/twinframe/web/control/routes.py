"""All operations of the control plane in one table, with the permission that each needs.

The application and its OpenAPI document are made from it; a route that does not stand here does not
exist. Permissions are those of `control.catalogue`, held at what the path (or body) names; the use
cases ask for them in the transaction of what is done.
"""

from __future__ import annotations

from typing import Final

from twinframe.web.control import resources, roles, schemas, tenants
from twinframe.web.operations import Answer, Body, Parameter, Route
from twinframe.web.service_routes import SERVICE_ROUTES, build_explorer_routes

PREFIX: Final = "/api/v1"
SIGNED_IN: Final = "signed-in"
"""Stands for a permission where a valid token with the scopes is enough: what concerns the caller
itself, and what everybody may know."""

_ORGANIZATIONS: Final = f"{PREFIX}/organizations"
_ORGANIZATION: Final = _ORGANIZATIONS + "/{organization_id}"
_ROLES: Final = _ORGANIZATION + "/roles"
_PROJECTS: Final = f"{PREFIX}/projects"
_PROJECT: Final = _PROJECTS + "/{project_id}"
_RESOURCES: Final = _PROJECT + "/resources"
_RESOURCE: Final = _RESOURCES + "/{resource_id}"
_ASSIGNMENT: Final = PREFIX + "/role-assignments/{assignment_id}"
_SCOPES: Final = (
    ("Platform", f"{PREFIX}/platform", "the platform"),
    ("Organization", _ORGANIZATION, "an organization"),
    ("Project", _PROJECT, "a project"),
    ("Resource", _RESOURCE, "a resource"),
)

_LIMIT = Parameter("limit", "query", "Most items of the page.", int)
_OFFSET = Parameter("offset", "query", "Items to pass over.", int)
_PAGE = (_LIMIT, _OFFSET)
_KEY = Parameter(
    "Idempotency-Key", "header", "A repeated request with the same key has one effect."
)
_IF_MATCH = Parameter("If-Match", "header", "`*`, or the ETag the resource must have.")
_TAG = {"ETag": "The version of the resource."}
_PLACE = {"Location": "Where it is from now on."}
_NO_CONTENT = Answer(204, "Done.")

_INVALID = "Something in the request is wrong; `details` says what."
_FORBIDDEN = "The caller sees it, but may not do this."
_MISSING = "It does not exist, or the caller may not see it."
_TAKEN = "The id or name is taken."

_READ = {400: _INVALID, 403: _FORBIDDEN, 404: _MISSING}
_CHANGE = {**_READ, 409: "The present state does not allow it."}
_CREATE = {**_READ, 409: f"{_TAKEN} Or the Idempotency-Key came with another request."}

_ORGANIZATION_ROUTES = (
    Route(
        "GET",
        _ORGANIZATIONS,
        "Organizations_List",
        "List the organizations that the caller may see",
        SIGNED_IN,
        tenants.list_organizations,
        Answer(200, "A page.", schemas.OrganizationList),
        "Organizations",
        _PAGE,
        errors={400: _INVALID},
    ),
    Route(
        "POST",
        _ORGANIZATIONS,
        "Organizations_Create",
        "Create an organization and own it",
        "organizations/create",
        tenants.create_organization,
        Answer(201, "The organization.", schemas.Organization, _PLACE),
        "Organizations",
        (_KEY,),
        Body(schemas.OrganizationForm),
        {400: _INVALID, 403: "The caller may not do this.", 409: _CREATE[409]},
    ),
    Route(
        "GET",
        _ORGANIZATION,
        "Organizations_Get",
        "Read an organization",
        "organizations/read",
        tenants.read_organization,
        Answer(200, "The organization.", schemas.Organization),
        "Organizations",
        errors=_READ,
    ),
    Route(
        "PUT",
        _ORGANIZATION,
        "Organizations_Update",
        "Rename an organization",
        "organizations/write",
        tenants.update_organization,
        Answer(200, "The organization.", schemas.Organization),
        "Organizations",
        body=Body(schemas.RenameForm),
        errors=_READ,
    ),
    Route(
        "DELETE",
        _ORGANIZATION,
        "Organizations_Delete",
        "Delete an organization that holds no project",
        "organizations/delete",
        tenants.delete_organization,
        _NO_CONTENT,
        "Organizations",
        errors=_CHANGE,
    ),
)

_PROJECT_ROUTES = (
    Route(
        "GET",
        _PROJECTS,
        "Projects_List",
        "List the projects that the caller may see",
        SIGNED_IN,
        tenants.list_projects,
        Answer(200, "A page.", schemas.ProjectList),
        "Projects",
        (*_PAGE, Parameter("organization_id", "query", "Only those of this organization.")),
        errors={400: _INVALID},
    ),
    Route(
        "POST",
        _PROJECTS,
        "Projects_Create",
        "Create a project in an organization",
        "projects/write",
        tenants.create_project,
        Answer(201, "The project.", schemas.Project, _PLACE),
        "Projects",
        (_KEY,),
        Body(schemas.ProjectForm),
        _CREATE,
    ),
    Route(
        "GET",
        _PROJECT,
        "Projects_Get",
        "Read a project",
        "projects/read",
        tenants.read_project,
        Answer(200, "The project.", schemas.Project),
        "Projects",
        errors=_READ,
    ),
    Route(
        "PUT",
        _PROJECT,
        "Projects_Update",
        "Rename a project",
        "projects/write",
        tenants.update_project,
        Answer(200, "The project.", schemas.Project),
        "Projects",
        body=Body(schemas.RenameForm),
        errors=_READ,
    ),
    Route(
        "DELETE",
        _PROJECT,
        "Projects_Delete",
        "Delete a project that holds no resource",
        "projects/delete",
        tenants.delete_project,
        _NO_CONTENT,
        "Projects",
        errors=_CHANGE,
    ),
)

_RESOURCE_ROUTES = (
    Route(
        "GET",
        _RESOURCES,
        "Resources_List",
        "List the resources of a project",
        "resources/read",
        resources.list_resources,
        Answer(200, "A page.", schemas.ResourceList),
        "Resources",
        (
            *_PAGE,
            Parameter("type", "query", "Only those of this type."),
            Parameter("status", "query", "Only those of this status; else all but `terminated`."),
        ),
        errors=_READ,
    ),
    Route(
        "POST",
        _RESOURCES,
        "Resources_Create",
        "Create a resource",
        "resources/write",
        resources.create_resource,
        Answer(201, "The resource, `creating`.", schemas.Resource, {**_TAG, **_PLACE}),
        "Resources",
        (_KEY,),
        Body(schemas.ResourceForm),
        _CREATE,
    ),
    Route(
        "GET",
        _RESOURCE,
        "Resources_Get",
        "Read a resource",
        "resources/read",
        resources.read_resource,
        Answer(200, "The resource.", schemas.Resource, _TAG),
        "Resources",
        errors=_READ,
    ),
    Route(
        "PUT",
        _RESOURCE,
        "Resources_Update",
        "Change a resource",
        "resources/write",
        resources.update_resource,
        Answer(200, "The resource, `updating`.", schemas.Resource, _TAG),
        "Resources",
        (_IF_MATCH,),
        Body(schemas.ResourceChangeForm),
        {**_CHANGE, 412: "It has changed since."},
    ),
    Route(
        "DELETE",
        _RESOURCE,
        "Resources_Delete",
        "Delete a resource and all its data",
        "resources/delete",
        resources.delete_resource,
        Answer(202, "The deletion has begun.", schemas.Deletion),
        "Resources",
        (_IF_MATCH,),
        errors={**_CHANGE, 412: "It has changed since."},
    ),
    Route(
        "GET",
        _RESOURCE + "/operations",
        "Resources_ListOperations",
        "List what was asked of a resource and what became of it",
        "resources/read",
        resources.list_operations,
        Answer(200, "A page.", schemas.OperationList),
        "Resources",
        _PAGE,
        errors=_READ,
    ),
)

_USER_ROUTES = (
    Route(
        "GET",
        f"{PREFIX}/users",
        "Users_List",
        "List all who have called",
        "users/read",
        tenants.list_users,
        Answer(200, "A page.", schemas.UserList),
        "Users",
        _PAGE,
        errors={400: _INVALID, 403: _FORBIDDEN},
    ),
    Route(
        "GET",
        f"{PREFIX}/users/me",
        "Users_Me",
        "Read who the caller is",
        SIGNED_IN,
        tenants.read_me,
        Answer(200, "The caller.", schemas.User),
        "Users",
    ),
    Route(
        "GET",
        f"{PREFIX}/users/me/role-assignments",
        "Users_MyRoleAssignments",
        "List what the caller was granted",
        SIGNED_IN,
        roles.list_own_assignments,
        Answer(200, "A page.", schemas.AssignmentList),
        "Users",
        _PAGE,
        errors={400: _INVALID},
    ),
    Route(
        "GET",
        PREFIX + "/users/{user_id}",
        "Users_Get",
        "Read a user",
        "users/read",
        tenants.read_user,
        Answer(200, "The user.", schemas.User),
        "Users",
        errors={404: _MISSING},
    ),
)

_ROLE_ROUTES = (
    Route(
        "GET",
        f"{PREFIX}/roles",
        "Roles_ListBuiltIn",
        "List the built-in roles",
        SIGNED_IN,
        roles.list_built_in_roles,
        Answer(200, "A page.", schemas.RoleList),
        "Roles",
        _PAGE,
        errors={400: _INVALID},
    ),
    Route(
        "GET",
        _ROLES,
        "Roles_List",
        "List the custom roles of an organization",
        "roles/read",
        roles.list_roles,
        Answer(200, "A page.", schemas.RoleList),
        "Roles",
        _PAGE,
        errors=_READ,
    ),
    Route(
        "POST",
        _ROLES,
        "Roles_Create",
        "Define a role of permissions that the caller holds",
        "roles/write",
        roles.create_role,
        Answer(201, "The role.", schemas.Role, _PLACE),
        "Roles",
        (_KEY,),
        Body(schemas.RoleForm),
        _CREATE,
    ),
    Route(
        "GET",
        _ROLES + "/{role_id}",
        "Roles_Get",
        "Read a custom role",
        "roles/read",
        roles.read_role,
        Answer(200, "The role.", schemas.Role),
        "Roles",
        errors=_READ,
    ),
    Route(
        "PUT",
        _ROLES + "/{role_id}",
        "Roles_Update",
        "Change a custom role for all who hold it",
        "roles/write",
        roles.update_role,
        Answer(200, "The role.", schemas.Role),
        "Roles",
        body=Body(schemas.RoleChangeForm),
        errors=_CHANGE,
    ),
    Route(
        "DELETE",
        _ROLES + "/{role_id}",
        "Roles_Delete",
        "Delete a custom role",
        "roles/write",
        roles.delete_role,
        _NO_CONTENT,
        "Roles",
        (Parameter("cascade", "query", "Take it from all who hold it.", bool),),
        errors=_CHANGE,
    ),
)


def _build_scope_routes(name: str, path: str, place: str) -> tuple[Route, ...]:
    """The operations that every scope has: its role assignments and its audit log."""
    return (
        Route(
            "GET",
            f"{path}/role-assignments",
            f"RoleAssignments_ListOf{name}",
            f"List who holds which role at {place}",
            "access/read",
            roles.list_assignments,
            Answer(200, "A page.", schemas.AssignmentList),
            "Access",
            (
                *_PAGE,
                Parameter("reach", "query", "`here`; `inherited` from above; `below`."),
            ),
            errors=_READ,
        ),
        Route(
            "POST",
            f"{path}/role-assignments",
            f"RoleAssignments_CreateAt{name}",
            f"Give a role at {place} to somebody",
            "access/write",
            roles.create_assignment,
            Answer(201, "The assignment.", schemas.Assignment, _PLACE),
            "Access",
            (_KEY,),
            Body(schemas.AssignmentForm),
            _CREATE,
        ),
        Route(
            "GET",
            f"{path}/audit-log",
            f"AuditLog_ListOf{name}",
            f"List the changes at {place} and in it",
            "audit/read",
            roles.list_audit,
            Answer(200, "A page.", schemas.AuditList),
            "Audit log",
            (*_PAGE, Parameter("before", "query", "Only entries before this position.", int)),
            errors=_READ,
        ),
    )


_ACCESS_ROUTES = (
    *(route for scope in _SCOPES for route in _build_scope_routes(*scope)),
    Route(
        "GET",
        _ASSIGNMENT,
        "RoleAssignments_Get",
        "Read an assignment; one's own needs no permission",
        "access/read",
        roles.read_assignment,
        Answer(200, "The assignment.", schemas.Assignment),
        "Access",
        errors={404: _MISSING},
    ),
    Route(
        "PUT",
        _ASSIGNMENT,
        "RoleAssignments_Update",
        "Give an assignment another expiry",
        "access/write",
        roles.update_assignment,
        Answer(200, "The assignment.", schemas.Assignment),
        "Access",
        body=Body(schemas.AssignmentChangeForm),
        errors=_CHANGE,
    ),
    Route(
        "DELETE",
        _ASSIGNMENT,
        "RoleAssignments_Delete",
        "Revoke a role; one's own needs no permission",
        "access/write",
        roles.delete_assignment,
        _NO_CONTENT,
        "Access",
        errors=_CHANGE,
    ),
    Route(
        "GET",
        f"{PREFIX}/permissions/check",
        "Permissions_Check",
        "Ask what one may do at a scope; about others with `access/check` there",
        SIGNED_IN,
        roles.check_permissions,
        Answer(200, "The permissions.", schemas.Permissions),
        "Access",
        (
            Parameter("scopeType", "query", "organization, project, resource or platform."),
            Parameter("scopeId", "query", "Its id."),
            Parameter("userId", "query", "The subject of whom is asked about; else the caller."),
        ),
        errors=_READ,
    ),
)

CONTROL_ROUTES: tuple[Route, ...] = (
    *_RESOURCE_ROUTES,
    *_ORGANIZATION_ROUTES,
    *_PROJECT_ROUTES,
    *_USER_ROUTES,
    *_ROLE_ROUTES,
    *_ACCESS_ROUTES,
    *build_explorer_routes(PREFIX, "Control"),
)
"""What is served wherever the control plane is."""

STANDALONE_ROUTES: tuple[Route, ...] = (*CONTROL_ROUTES, *SERVICE_ROUTES)
"""What a process of its own serves."""
