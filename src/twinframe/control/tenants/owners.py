"""The rule that an organization always keeps an owner."""

from __future__ import annotations

from twinframe.control.records import kinds
from twinframe.control.records.documents import ASSIGNMENTS, Assignment
from twinframe.control.tenants.catalogue import OWNER
from twinframe.errors import LastOwner
from twinframe.storage.control import Comparison, Condition, ControlSession


def check_owner_stays(session: ControlSession, before: Assignment) -> None:
    """Check the rule after an assignment was changed or deleted; `before` is its old value.

    Raises `LastOwner` when it was an ownership without expiry, of an organization or the platform,
    and none of the same is left: one without expiry, of a user who has called (an invitation may
    never be accepted, a subject may be mistyped).
    """
    if not _is_lasting(before) or before.scope_type not in ("organization", "platform"):
        return
    conditions = [
        Condition("scope", Comparison.EQUAL, before.scope.key),
        Condition("role", Comparison.EQUAL, OWNER),
        Condition("expires", Comparison.EQUAL, None),
    ]
    left = ASSIGNMENTS.parse_all(session.find(kinds.ASSIGNMENT.name, conditions))
    if not any(
        _is_lasting(each) and session.read(kinds.USER.name, each.principal) for each in left
    ):
        raise LastOwner(
            f"This is the last Owner of the {before.scope_type} whose role does not expire. Make "
            "somebody else an Owner first, who has signed in already."
        )


def _is_lasting(assignment: Assignment) -> bool:
    return (
        assignment.role == OWNER
        and assignment.expires_at is None
        and assignment.principal_kind == "subject"
    )
