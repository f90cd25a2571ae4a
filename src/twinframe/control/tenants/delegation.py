"""The rules for granting and revoking other users' roles, as `docs/reference/roles.md` states them.

SEC: every use case that creates, changes or ends another user's role checks them here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from twinframe.control.records.actors import Actor
from twinframe.control.records.documents import Assignment
from twinframe.control.records.scopes import find_path
from twinframe.control.tenants.access import Holdings, find_holdings, find_role_permissions
from twinframe.control.tenants.catalogue import build_grants, is_within
from twinframe.errors import GrantExceedsOwn, PermissionMissing
from twinframe.storage.control import ControlSession


def check_held(holdings: Holdings, permissions: Iterable[str], until: int | None) -> None:
    """Raise `GrantExceedsOwn` unless all of these are held until then (None: without expiry)."""
    missing = holdings.list_missing(permissions, until)
    if missing:
        raise GrantExceedsOwn(missing)


def check_revocable(
    session: ControlSession,
    actor: Actor,
    assignments: Iterable[Assignment],
    now: int,
    lost: Sequence[str] | None = None,
) -> None:
    """Check that the actor may end these assignments, or change their permissions.

    Each requires `access/write` at its scope (`PermissionMissing`) and all permissions that are
    `lost` by it, for as long as they are held (`GrantExceedsOwn`). `lost` None is all that its role
    gives. The actor's own and expired assignments require nothing.
    """
    known: dict[str, Holdings] = {}
    for each in assignments:
        if each.grantee in actor.principals or not each.holds(now):
            continue
        holdings = known.get(each.scope.key)
        if holdings is None:
            path = find_path(session, each.scope)
            if path is None:  # assignments at a removed scope have no effect
                continue
            holdings = known[each.scope.key] = find_holdings(session, path, actor.principals, now)
        if not holdings.allow("access/write"):
            raise PermissionMissing("access/write")
        taken = find_role_permissions(session, each.role) if lost is None else lost
        check_held(holdings, taken, each.expires_at)


def list_beyond(permissions: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """List those of these grants that are not covered by one of the known ones."""
    present = build_grants(tuple(known))
    return tuple(
        str(each)
        for each in build_grants(tuple(permissions))
        if not any(is_within(each, grant) for grant in present)
    )
