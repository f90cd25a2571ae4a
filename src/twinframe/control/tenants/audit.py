"""The audit log of changes, written in the transaction of each change and never modified; reads are
not logged.

SEC: an entry belongs to the organization it happened in, whose id is never reused.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Final

from twinframe.control.records.actors import Actor
from twinframe.control.records.context import ControlContext
from twinframe.control.records.documents import AUDIT, AuditEntry, build_object
from twinframe.control.records.listing import FIRST, Listed, Slice, find_page
from twinframe.control.records.scopes import Scope, ScopePath
from twinframe.control.tenants.access import reads_everything, require_permission
from twinframe.errors import ControlNotFound
from twinframe.storage.control import (
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Order,
    equal,
)

_NEWEST: Final = Order("version", descending=True)


@dataclass(frozen=True, slots=True)
class AuditTrail:
    """Records the changes of one write function. Made again in each run of it."""

    transaction: ControlTransaction
    actor: Actor
    now: int

    def add(
        self,
        action: str,
        target: str,
        where: ScopePath,
        *,
        before: object | None = None,
        after: object | None = None,
    ) -> None:
        """Add an entry: `action` such as `projects/create`, `target` such as `project:campus`.

        `before` and `after` are the object as a dataclass; None where there is none.
        """
        entry = AuditEntry(
            id=uuid.uuid4().hex,
            at=find_time(self.transaction, self.now),
            actor=self.actor.subject,
            actor_email=self.actor.email,
            actor_kind=self.actor.kind,
            request_id=self.actor.request_id,
            action=action,
            target=target,
            organization_id=where.organization_id,
            project_id=where.project_id,
            before=None if before is None else build_object(before),
            after=None if after is None else build_object(after),
        )
        AUDIT.insert(self.transaction, entry)


@dataclass(frozen=True, slots=True)
class AuditLine:
    """An entry as read. `position` grows with each; pages continue before a position."""

    position: int
    entry: AuditEntry


def find_time(session: ControlSession, now: int) -> int:
    """Return the time of a change made now, never before the last one that was logged.

    The clock may have been set back since, also while the service was down.
    """
    last = AUDIT.find_first(session, order=_NEWEST)
    return now if last is None else max(now, last.at)


class AuditLog:
    """Reads the audit log, the newest entry first."""

    def __init__(self, context: ControlContext) -> None:
        self._context = context

    async def list(
        self, actor: Actor, scope: Scope, wanted: Slice = FIRST, *, before: int | None = None
    ) -> Listed[AuditLine]:
        """List entries of a scope and the scopes in it, only those before a position if one is
        given.

        Those of the platform itself are at `PLATFORM`. Needs `audit/read` at the scope; at the
        platform that includes the logs of deleted organizations.
        """
        now = self._context.clock()

        def read(session: ControlSession) -> Listed[AuditLine]:
            conditions = _build_conditions(session, actor, scope, now)
            total = session.count(AUDIT.kind, conditions)
            if before is not None:
                conditions.append(Condition("version", Comparison.BELOW, before))
            records, part = find_page(session, AUDIT.kind, conditions, wanted, _NEWEST)
            lines = tuple(AuditLine(each.version, AUDIT.parse_record(each)) for each in records)
            return Listed(lines, total, part)

        return await self._context.runner.read(read)


def _build_conditions(
    session: ControlSession, actor: Actor, scope: Scope, now: int
) -> list[Condition]:
    try:
        path = require_permission(session, actor, scope, "audit/read", now).path
    except ControlNotFound:
        if scope.type != "organization" or not reads_everything(session, actor, "audit/read", now):
            raise
        return [equal("organization", scope.id)]
    conditions = [equal("organization", path.organization_id or None)]
    if path.project_id:
        conditions.append(equal("project", path.project_id))
    if scope.type in ("resource", "service"):
        conditions.append(equal("target", scope.key))
    return conditions
