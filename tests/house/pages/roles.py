"""Generates the reference page of roles and permissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from twinframe.control.tenants.catalogue import (
    BUILT_IN_ROLES,
    CONTROL_PERMISSIONS,
    DATA_PERMISSIONS,
    build_grants,
    is_within,
)


def render_roles_page() -> str:
    """Render the page `docs/reference/roles.md`."""
    lines = [_INTRODUCTION, "| role | id | what for | permissions |", "| --- " * 4 + "|"]
    for role in BUILT_IN_ROLES.values():
        shown = ", ".join(f"`{each}`" for each in role.permissions)
        lines.append(f"| {role.name} | `{role.id}` | {role.meaning} | {shown} |")
    lines += ["", _RULES, "## Permissions of the control plane", ""]
    lines += _render_permissions(CONTROL_PERMISSIONS)
    lines += ["", "## Permissions of a graph", "", _DATA_INTRODUCTION, ""]
    lines += _render_permissions(DATA_PERMISSIONS)
    return "\n".join([*lines, ""])


def _render_permissions(table: Mapping[str, str]) -> Iterable[str]:
    yield from ("| permission | lets one | built-in roles that give it |", "| --- | --- | --- |")
    for name, meaning in table.items():
        (wanted,) = build_grants((name,))
        given = [
            role.name
            for role in BUILT_IN_ROLES.values()
            if any(is_within(wanted, held) for held in build_grants(role.permissions))
        ]
        yield f"| `{name}` | {meaning} | {', '.join(given)} |"


_INTRODUCTION = """# Roles and permissions

This page is generated from the tables in the code; do not edit it.

A role is a set of permissions. A user or service account holds it at a scope: the platform, an
organization, a project, a resource or a service. It applies to everything inside this scope.
What a caller may do at a scope is the union of the roles held at this scope and at all scopes
that contain it.

A service is the scope of the graph that a graph service has of its own, besides the graphs that
it hosts. Its id is the service's `Authorization__ApiProvider__ResourceName`. It is directly
inside the platform: only roles at the platform, and roles granted at
`/api/v1/services/{id}/role-assignments`, apply there. A resource with the same id is something
else.

## Built-in roles
"""

_RULES = """A permission that ends in `/*` covers everything below the part before it. An
organization may define roles of its own from the permissions of this page.

## Rules

* **Nobody can grant what they do not hold** at the same scope, nor for longer than they hold it.
  To put a permission into a custom role, you must hold it at the organization, without expiry.
* **Nobody can take away what they do not hold for as long.** To revoke or change somebody else's
  role, you need `access/write` where it is held, and all its permissions for as long as it
  lasts: an Owner for an hour cannot revoke or shorten the role of an Owner without expiry. The
  same rule applies to every call that takes roles from others: deleting a custom role with
  `cascade`, narrowing one, deleting a project or an organization at which others hold roles. To
  widen a custom role that others hold, you also need `access/write`. `roles/write` and
  `projects/delete` alone neither give nor take anything. Everybody may give up a role of their
  own.
* **Deleting a resource** (`resources/delete`) deletes its data and the roles held at it.
* **An organization keeps an owner**: the last Owner who has signed in and whose role does not
  expire cannot be removed. The same applies to the platform, whose first Owner
  `twinframe control init` creates.
* **A role may expire.** It then has no effect, and may be granted again.
* **An invitation** is a role granted to an email address. The first user who signs in with this
  address gets the role for good; later users of the address do not. Addresses are compared
  letter by letter, and `A` to `Z` equal `a` to `z`. An address that Unicode folds into another
  one is refused in an invitation (400) and ignored in a token: letters beyond ASCII that are
  capitals, full-width or compatibility forms (U+212A, `ß`, U+0131), marks that are not composed,
  invisible characters. Invite such a person by the subject of their tokens.
* **What a caller may not read does not exist** for them: the answer is 404. What they may read
  but not do is 403.
* **Deleting is refused while something depends on the object**: an organization with projects, a
  project with resources that are not terminated, a custom role that is assigned (unless
  `cascade` is set, which revokes it from all who hold it). Ids of deleted organizations and
  projects are not used again.
* **A caller that checks for others** (`access/check`) learns about roles from the scope up to
  the one where it holds that permission itself; at the platform, about all.
"""

_DATA_INTRODUCTION = """The graph service checks these ([Routes](routes.md) has the permission of
each operation). It asks the control plane who has them."""
