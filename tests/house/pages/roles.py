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

A role is a set of permissions. It is held by a user or service account at a scope: the platform,
an organization, a project, a resource or a service, and counts for everything that lies within.
What somebody may do at a scope is the union of the roles held there and at all it lies in.

A service is a scope for the graph that a graph service has of its own, beside those it hosts. Its
id is the service's `Authorization__ApiProvider__ResourceName`. It lies in the platform, so that
nobody has anything there but who holds a role at the platform or was granted one at
`/api/v1/services/{id}/role-assignments`. A resource of the same id is something else.

## Built-in roles
"""

_RULES = """A permission ending in `/*` covers everything below what stands before it. An
organization may define roles of its own from the permissions of this page.

## Rules

* **Nobody can grant what they do not hold**, nor for longer than they hold it, at the same scope.
  Permissions that are put into a custom role must be held at the organization, without expiry.
* **Nobody can take away what they do not hold as long.** Whoever revokes or changes somebody else's
  role needs `access/write` where it is held, and all that it gives for as long as it lasts: an
  Owner for an hour neither revokes nor shortens the role of an Owner without expiry. The rule is
  the same for every call that takes roles from others: deleting a custom role with `cascade`,
  narrowing one, deleting a project or an organization at which others hold roles. To widen a custom
  role that others hold takes `access/write` as well. `roles/write` and `projects/delete` alone
  give and take nothing. Everybody may give up a role of their own.
* **Deleting a resource** (`resources/delete`) deletes its data, and the roles at it with them.
* **An organization keeps an owner**: the last Owner whose role does not expire, and who has signed
  in, cannot be removed. So does the platform, whose first Owner `twinframe control init` makes.
* **A role may expire**; it then counts no more, and may be granted anew.
* **An invitation** is a role granted to an email. It becomes the role of who first signs in with
  it, for good: whoever has the address later gets nothing of it. Addresses are compared letter by
  letter; `A` to `Z` count as `a` to `z`. An address that Unicode folds into another one is refused
  in an invitation (400), and counts as none in a token: letters beyond ASCII that are capitals,
  full-width or compatibility forms (U+212A, `ß`, U+0131), marks that are not composed, characters
  that are not shown. Invite such a person by the subject of their tokens.
* **What one may not read is not there**: it answers as what does not exist, 404. What one may read
  but not do is 403.
* **Deleting is refused while something is held**: an organization with projects, a project with
  resources that are not terminated, a custom role that is assigned (unless `cascade` is asked for,
  which revokes it from all who hold it). Ids of deleted organizations and projects are not given
  again.
* **Who checks** for others (`access/check`) learns of the roles from the scope up to where it holds
  that permission itself; at the platform, of all.
"""

_DATA_INTRODUCTION = """A graph asks for these itself ([routes](routes.md) names the one of each
operation), and the control plane tells it who has them."""
