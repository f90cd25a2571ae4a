"""The route table of the control plane: all its operations, with the permission that each needs.

The application and its OpenAPI document are built from this table. Permissions are those of
`control.tenants.catalogue`, on the scope that the path or body names; the use cases check them in
the transaction of the operation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from twinframe.control.http import access, resources, schemas, tenants
from twinframe.control.http.billing_routes import BILLING_ROUTES
from twinframe.control.http.requests import respond
from twinframe.control.http.route_parts import (
    CHANGE,
    CREATE,
    FORBIDDEN,
    INVALID,
    KEY,
    LOCATION_HEADER,
    MISSING,
    NO_CONTENT,
    ORGANIZATION,
    PAGE,
    PREFIX,
    PROJECT,
    READ,
    RESOURCE,
)
from twinframe.http.operations import SIGNED_IN, Answer, Body, Parameter, Route
from twinframe.http.service_routes import SERVICE_ROUTES, build_explorer_routes

_ORGANIZATIONS: Final = f"{PREFIX}/organizations"
_ROLES: Final = ORGANIZATION + "/roles"
_PROJECTS: Final = f"{PREFIX}/projects"
_RESOURCES: Final = PROJECT + "/resources"
_ASSIGNMENT: Final = PREFIX + "/role-assignments/{assignment_id}"
_SCOPES: Final = (
    ("Platform", f"{PREFIX}/platform", "the platform"),
    ("Organization", ORGANIZATION, "an organization"),
    ("Project", PROJECT, "a project"),
    ("Resource", RESOURCE, "a resource"),
    ("Service", PREFIX + "/services/{service_id}", "the own graph of a service"),
)
_IF_MATCH = Parameter("If-Match", "header", "`*`, or the ETag the resource must have.")
_TAG = {"ETag": "The version of the resource."}
_STALE = {**CHANGE, 412: "It has changed since."}

_ORGANIZATION_ROUTES = (
    Route(
        f"GET {_ORGANIZATIONS}",
        "Organizations_List",
        "List the organizations that the caller may see",
        SIGNED_IN,
        tenants.list_organizations,
        Answer(200, "A page.", schemas.OrganizationList),
        "Organizations",
        PAGE,
        errors={400: INVALID},
    ),
    Route(
        f"POST {_ORGANIZATIONS}",
        "Organizations_Create",
        "Create an organization and own it",
        "organizations/create",
        tenants.create_organization,
        Answer(201, "The organization.", schemas.Organization, LOCATION_HEADER),
        "Organizations",
        (KEY,),
        Body(schemas.OrganizationForm),
        {400: INVALID, 403: "The caller may not do this.", 409: CREATE[409]},
    ),
    Route(
        f"GET {ORGANIZATION}",
        "Organizations_Get",
        "Read an organization",
        "organizations/read",
        tenants.read_organization,
        Answer(200, "The organization.", schemas.Organization),
        "Organizations",
        errors=READ,
    ),
    Route(
        f"PUT {ORGANIZATION}",
        "Organizations_Update",
        "Rename an organization",
        "organizations/write",
        tenants.update_organization,
        Answer(200, "The organization.", schemas.Organization),
        "Organizations",
        body=Body(schemas.RenameForm),
        errors=READ,
    ),
    Route(
        f"DELETE {ORGANIZATION}",
        "Organizations_Delete",
        "Delete an organization that holds no project",
        "organizations/delete",
        tenants.delete_organization,
        NO_CONTENT,
        "Organizations",
        errors=CHANGE,
    ),
)

_PROJECT_ROUTES = (
    Route(
        f"GET {_PROJECTS}",
        "Projects_List",
        "List the projects that the caller may see",
        SIGNED_IN,
        tenants.list_projects,
        Answer(200, "A page.", schemas.ProjectList),
        "Projects",
        (*PAGE, Parameter("organization_id", "query", "Only those of this organization.")),
        errors={400: INVALID},
    ),
    Route(
        f"POST {_PROJECTS}",
        "Projects_Create",
        "Create a project in an organization",
        "projects/write",
        tenants.create_project,
        Answer(201, "The project.", schemas.Project, LOCATION_HEADER),
        "Projects",
        (KEY,),
        Body(schemas.ProjectForm),
        CREATE,
    ),
    Route(
        f"GET {PROJECT}",
        "Projects_Get",
        "Read a project",
        "projects/read",
        tenants.read_project,
        Answer(200, "The project.", schemas.Project),
        "Projects",
        errors=READ,
    ),
    Route(
        f"PUT {PROJECT}",
        "Projects_Update",
        "Rename a project",
        "projects/write",
        tenants.update_project,
        Answer(200, "The project.", schemas.Project),
        "Projects",
        body=Body(schemas.RenameForm),
        errors=READ,
    ),
    Route(
        f"DELETE {PROJECT}",
        "Projects_Delete",
        "Delete a project that holds no resource",
        "projects/delete",
        tenants.delete_project,
        NO_CONTENT,
        "Projects",
        errors=CHANGE,
    ),
)

_LISTED = (
    *PAGE,
    Parameter("type", "query", "Only those of this type."),
    Parameter("status", "query", "Only those of this status; else all but `terminated`."),
)

_RESOURCE_ROUTES = (
    Route(
        f"GET {PREFIX}/resources",
        "Resources_ListAll",
        "List the resources of all projects that the caller may see",
        SIGNED_IN,
        resources.list_all_resources,
        Answer(200, "A page.", schemas.ResourceList),
        "Resources",
        _LISTED,
        errors={400: INVALID},
    ),
    Route(
        f"GET {_RESOURCES}",
        "Resources_List",
        "List the resources of a project",
        "resources/read",
        resources.list_resources,
        Answer(200, "A page.", schemas.ResourceList),
        "Resources",
        _LISTED,
        errors=READ,
    ),
    Route(
        f"POST {_RESOURCES}",
        "Resources_Create",
        "Create a resource",
        "resources/write",
        resources.create_resource,
        Answer(201, "The resource, `creating`.", schemas.Resource, {**_TAG, **LOCATION_HEADER}),
        "Resources",
        (KEY,),
        Body(schemas.ResourceForm),
        CREATE,
    ),
    Route(
        f"GET {RESOURCE}",
        "Resources_Get",
        "Read a resource",
        "resources/read",
        resources.read_resource,
        Answer(200, "The resource.", schemas.Resource, _TAG),
        "Resources",
        errors=READ,
    ),
    Route(
        f"PUT {RESOURCE}",
        "Resources_Update",
        "Change a resource",
        "resources/write",
        resources.update_resource,
        Answer(200, "The resource, `updating`.", schemas.Resource, _TAG),
        "Resources",
        (_IF_MATCH,),
        Body(schemas.ResourceChangeForm),
        _STALE,
    ),
    Route(
        f"DELETE {RESOURCE}",
        "Resources_Delete",
        "Delete a resource and all its data",
        "resources/delete",
        resources.delete_resource,
        Answer(202, "The deletion has begun.", schemas.Deletion),
        "Resources",
        (_IF_MATCH,),
        errors=_STALE,
    ),
    Route(
        f"GET {RESOURCE}/operations",
        "Resources_ListOperations",
        "List what was asked of a resource and what became of it",
        "resources/read",
        resources.list_operations,
        Answer(200, "A page.", schemas.OperationList),
        "Resources",
        PAGE,
        errors=READ,
    ),
)

_USER_ROUTES = (
    Route(
        f"GET {PREFIX}/users",
        "Users_List",
        "List all who have called",
        "users/read",
        tenants.list_users,
        Answer(200, "A page.", schemas.UserList),
        "Users",
        PAGE,
        errors={400: INVALID, 403: FORBIDDEN},
    ),
    Route(
        f"GET {PREFIX}/users/me",
        "Users_Me",
        "Read who the caller is",
        SIGNED_IN,
        tenants.read_me,
        Answer(200, "The caller.", schemas.User),
        "Users",
    ),
    Route(
        f"GET {PREFIX}/users/me/role-assignments",
        "Users_MyRoleAssignments",
        "List what the caller was granted",
        SIGNED_IN,
        access.list_own_assignments,
        Answer(200, "A page.", schemas.AssignmentList),
        "Users",
        PAGE,
        errors={400: INVALID},
    ),
    Route(
        f"GET {PREFIX}/users/{{user_id}}",
        "Users_Get",
        "Read a user",
        "users/read",
        tenants.read_user,
        Answer(200, "The user.", schemas.User),
        "Users",
        errors={404: MISSING},
    ),
)

_ROLE_ROUTES = (
    Route(
        f"GET {PREFIX}/roles",
        "Roles_ListBuiltIn",
        "List the built-in roles",
        SIGNED_IN,
        tenants.list_built_in_roles,
        Answer(200, "A page.", schemas.RoleList),
        "Roles",
        PAGE,
        errors={400: INVALID},
    ),
    Route(
        f"GET {_ROLES}",
        "Roles_List",
        "List the custom roles of an organization",
        "roles/read",
        tenants.list_roles,
        Answer(200, "A page.", schemas.RoleList),
        "Roles",
        PAGE,
        errors=READ,
    ),
    Route(
        f"POST {_ROLES}",
        "Roles_Create",
        "Define a role of permissions that the caller holds",
        "roles/write",
        tenants.create_role,
        Answer(201, "The role.", schemas.Role, LOCATION_HEADER),
        "Roles",
        (KEY,),
        Body(schemas.RoleForm),
        CREATE,
    ),
    Route(
        f"GET {_ROLES}/{{role_id}}",
        "Roles_Get",
        "Read a custom role",
        "roles/read",
        tenants.read_role,
        Answer(200, "The role.", schemas.Role),
        "Roles",
        errors=READ,
    ),
    Route(
        f"PUT {_ROLES}/{{role_id}}",
        "Roles_Update",
        "Change a custom role for all who hold it",
        "roles/write",
        tenants.update_role,
        Answer(200, "The role.", schemas.Role),
        "Roles",
        body=Body(schemas.RoleChangeForm),
        errors=CHANGE,
    ),
    Route(
        f"DELETE {_ROLES}/{{role_id}}",
        "Roles_Delete",
        "Delete a custom role",
        "roles/write",
        tenants.delete_role,
        NO_CONTENT,
        "Roles",
        (Parameter("cascade", "query", "Take it from all who hold it.", bool),),
        errors=CHANGE,
    ),
)


def _build_scope_routes(name: str, path: str, place: str) -> tuple[Route, ...]:
    """Return the routes that every scope has: its role assignments and its audit log."""
    return (
        Route(
            f"GET {path}/role-assignments",
            f"RoleAssignments_ListOf{name}",
            f"List who holds which role at {place}",
            "access/read",
            access.list_assignments,
            Answer(200, "A page.", schemas.AssignmentList),
            "Access",
            (
                *PAGE,
                Parameter("reach", "query", "`here`; `inherited` from above; `below`."),
            ),
            errors=READ,
        ),
        Route(
            f"POST {path}/role-assignments",
            f"RoleAssignments_CreateAt{name}",
            f"Give a role at {place} to somebody",
            "access/write",
            access.create_assignment,
            Answer(201, "The assignment.", schemas.Assignment, LOCATION_HEADER),
            "Access",
            (KEY,),
            Body(schemas.AssignmentForm),
            CREATE,
        ),
        Route(
            f"GET {path}/audit-log",
            f"AuditLog_ListOf{name}",
            f"List the changes at {place} and in it",
            "audit/read",
            access.list_audit,
            Answer(200, "A page.", schemas.AuditList),
            "Audit log",
            (*PAGE, Parameter("before", "query", "Only entries before this position.", int)),
            errors=READ,
        ),
    )


_ACCESS_ROUTES = (
    *(route for scope in _SCOPES for route in _build_scope_routes(*scope)),
    Route(
        f"GET {_ASSIGNMENT}",
        "RoleAssignments_Get",
        "Read an assignment; one's own needs no permission",
        "access/read",
        access.read_assignment,
        Answer(200, "The assignment.", schemas.Assignment),
        "Access",
        errors={404: MISSING},
    ),
    Route(
        f"PUT {_ASSIGNMENT}",
        "RoleAssignments_Update",
        "Give an assignment another expiry",
        "access/write",
        access.update_assignment,
        Answer(200, "The assignment.", schemas.Assignment),
        "Access",
        body=Body(schemas.AssignmentChangeForm),
        errors=CHANGE,
    ),
    Route(
        f"DELETE {_ASSIGNMENT}",
        "RoleAssignments_Delete",
        "Revoke a role; one's own needs no permission",
        "access/write",
        access.delete_assignment,
        NO_CONTENT,
        "Access",
        errors=CHANGE,
    ),
    Route(
        f"GET {PREFIX}/permissions/check",
        "Permissions_Check",
        "Ask what one may do at a scope; about others with `access/check` there",
        SIGNED_IN,
        access.check_permissions,
        Answer(200, "The permissions.", schemas.Permissions),
        "Access",
        (
            Parameter(
                "scopeType",
                "query",
                "organization, project, resource, service or platform.",
                required=True,
            ),
            Parameter("scopeId", "query", "Its id.", required=True),
            Parameter("userId", "query", "The subject of whom is asked about; else the caller."),
            Parameter(
                "graph", "query", "`service`: the own graph of a service, which is no resource."
            ),
        ),
        errors=READ,
    ),
)

_OWN_ROUTES: tuple[Route, ...] = (
    *_RESOURCE_ROUTES,
    *_ORGANIZATION_ROUTES,
    *_PROJECT_ROUTES,
    *_USER_ROUTES,
    *_ROLE_ROUTES,
    *_ACCESS_ROUTES,
    *BILLING_ROUTES,
)
CONTROL_ROUTES: tuple[Route, ...] = (
    *(replace(route, responder=respond(route.responder)) for route in _OWN_ROUTES),
    *build_explorer_routes(PREFIX, "Control"),
)
"""The routes of the control plane, in its own process or beside the data plane."""

STANDALONE_ROUTES: tuple[Route, ...] = (*CONTROL_ROUTES, *SERVICE_ROUTES)
"""The routes of the control plane's own process."""
