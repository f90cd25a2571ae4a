"""Users and service accounts: known from their first call on, invited by email before it.

Callers are authenticated already; their credentials state subject and email.
"""

from __future__ import annotations

from dataclasses import replace

from twinframe.control.records.actors import (
    Actor,
    Principal,
    find_address,
    parse_email,
    parse_subject,
)
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import ASSIGNMENTS, USERS, Assignment, User
from twinframe.control.records.listing import FIRST, Listed, Slice
from twinframe.control.records.scopes import PLATFORM, find_path
from twinframe.control.tenants.access import reads_everything, require_permission
from twinframe.control.tenants.assignments import find_holder
from twinframe.control.tenants.audit import AuditTrail
from twinframe.errors import ControlNotFound
from twinframe.storage.control import ControlSession, ControlTransaction, equal

_SEEN_AGAIN = 3600 * 1_000_000_000
"""NOTE: `last_seen` is exact to an hour, so that most requests write nothing."""


class Users:
    """The known callers of the control plane."""

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def see(self, actor: Actor) -> User:
        """Record a caller; to be called with every request, before anything else.

        A new caller becomes a user; grants to its email become that subject's, for good: a later
        owner of the address gets nothing of them. An email that cannot be compared counts as none
        (`find_address`). Raises `InvalidArgument` for a subject or email that cannot be stored.
        PERF: most calls are one read by id and one look-up.
        """
        parse_subject(actor.subject)
        email = find_address(parse_email(actor.email)) if actor.email else ""
        invited = Principal("email", email)

        def read(session: ControlSession) -> User | None:
            user = USERS.read(session, actor.subject)
            is_fresh = (
                user is not None
                and self._context.clock() - user.last_seen < _SEEN_AGAIN
                and email in ("", user.email)
                and user.kind == actor.kind
            )
            return user if is_fresh and not _find_invitations(session, invited) else None

        def apply(transaction: ControlTransaction) -> User:
            now = self._context.clock()
            before = USERS.read(transaction, actor.subject)
            if before is None:
                user = User(actor.subject, email, actor.kind, now, now, now)
                USERS.insert(transaction, user)
            else:
                user = replace(before, kind=actor.kind, last_seen=max(now, before.last_seen))
                if email:
                    user = replace(user, email=email, email_shown=now)
                USERS.replace(transaction, user)
            _clear_email(transaction, actor, email)
            for invitation in _find_invitations(transaction, invited):
                _accept(transaction, actor, invitation, now)
            return user

        runner = self._context.runner
        fresh: User | None = await runner.read(read)
        return await runner.write(apply) if fresh is None else fresh

    async def read(self, actor: Actor, subject: str) -> User:
        """Return one user: the actor itself, or with `users/read` at the platform any user."""
        now = self._context.clock()

        def read(session: ControlSession) -> User:
            found = USERS.read(session, subject)
            if found is None or (
                subject != actor.subject and not reads_everything(session, actor, "users/read", now)
            ):
                raise ControlNotFound("user", subject)
            return found

        return await self._context.runner.read(read)

    async def list(self, actor: Actor, wanted: Slice = FIRST) -> Listed[User]:
        """List all users by subject. Needs `users/read` at the platform."""
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[User]:
            require_permission(session, actor, PLATFORM, "users/read", now)
            return USERS.list_page(session, wanted)

        return await self._context.runner.read(read)


def _clear_email(transaction: ControlTransaction, actor: Actor, email: str) -> None:
    """SEC: an address belongs to the user who showed it last: invitations sent to it are not for a
    former owner.
    """
    if email:
        for user in USERS.find(transaction, equal("email", email)):
            if user.id != actor.subject:
                USERS.replace(transaction, replace(user, email=""))


def _find_invitations(session: ControlSession, invited: Principal) -> tuple[Assignment, ...]:
    if not invited.name:
        return ()
    return ASSIGNMENTS.find(session, equal("principal", invited.key))


def _accept(
    transaction: ControlTransaction, actor: Actor, invitation: Assignment, now: int
) -> None:
    """Turn an invitation into the actor's own role, or merge it with the same one: the later expiry
    counts.
    """
    subject = Principal("subject", actor.subject)
    ASSIGNMENTS.delete(transaction, invitation.id)
    accepted = replace(invitation, principal_kind="subject", principal=actor.subject)
    held = find_holder(transaction, invitation.scope, subject, invitation.role)
    if held is not None:
        if not _outlasts(invitation, held):
            accepted = held
        ASSIGNMENTS.delete(transaction, held.id)
    ASSIGNMENTS.insert(transaction, accepted)
    path = find_path(transaction, invitation.scope)
    if path is not None:
        AuditTrail(transaction, actor, now).add(
            "role-assignments/accept",
            invitation.scope.key,
            path,
            before=invitation,
            after=accepted,
        )


def _outlasts(first: Assignment, second: Assignment) -> bool:
    if second.expires_at is None:
        return False
    return first.expires_at is None or first.expires_at > second.expires_at
