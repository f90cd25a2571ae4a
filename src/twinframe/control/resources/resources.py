"""The use cases of resources: create, list, read, update, delete, and their history.

Each runs inside a transaction of the caller, which adds the access check, the audit entry and the
stored answer. The provisioner does the provisioning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from twinframe.control.records.documents import PROJECTS
from twinframe.control.records.listing import Listed, Slice, merge_page
from twinframe.control.records.states import Cause, ResourceState, find_next
from twinframe.control.resources.documents import (
    RECONCILE_ITEMS,
    RESOURCES,
    Goal,
    Operation,
    Resource,
)
from twinframe.control.resources.operations import (
    forget_operations,
    list_operations,
    open_operation,
    supersede,
)
from twinframe.control.resources.reconcile_items import set_goal
from twinframe.control.resources.requests import (
    ResourceChange,
    ResourceDraft,
    parse_settings_document,
)
from twinframe.control.tenants.access import ReadableScopes
from twinframe.control.tenants.audit import find_time
from twinframe.errors import (
    ControlConflict,
    ControlNotFound,
    ErrorDetail,
    InvalidArgument,
    ValidationFailed,
)
from twinframe.errors.nearest import render_hint
from twinframe.hooks.resource_types.base import ResourceTypeRegistry
from twinframe.model.clock import Clock, read_clock
from twinframe.storage.control import (
    MOST_VALUES,
    Comparison,
    Condition,
    ControlSession,
    ControlTransaction,
    Order,
    equal,
    one_of,
)

NOUN: Final = "resource"

OnGone: TypeAlias = Callable[[ControlTransaction, Resource], None]
"""Called in the transaction in which a resource becomes `terminated`."""


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """The requested resources: of a type, of a status, or of these ids; None is any.

    Without a status, tombstones are left out.
    """

    type: str | None = None
    status: ResourceState | None = None
    ids: Collection[str] | None = None


class Resources:
    """The operations on resources, each within the transaction or session of its caller."""

    def __init__(self, types: ResourceTypeRegistry, clock: Clock = read_clock) -> None:
        self._types = types
        self._clock = clock

    def create(
        self, transaction: ControlTransaction, project_id: str, draft: ResourceDraft, actor: str
    ) -> Resource:
        """Record a new resource and queue its provisioning.

        Raises `ControlNotFound` without the project and `ControlConflict` for a taken id: ids are
        host names, so only one project has each, until the tombstone is gone.
        """
        project = PROJECTS.require(transaction, project_id)
        self._free_id(transaction, project_id, draft.id)
        now = find_time(transaction, self._clock())
        resource = Resource(
            id=draft.id,
            incarnation=draft.incarnation,
            organization_id=project.organization_id,
            project_id=project_id,
            name=draft.name,
            type=draft.type,
            sku=draft.sku,
            status=ResourceState.CREATING,
            settings_json=draft.settings_json,
            created_at=now,
            updated_at=now,
        )
        RESOURCES.insert(transaction, resource)
        self._ask(transaction, resource, None, Goal.CREATE, actor, "creation was asked for")
        return resource

    def update(
        self,
        transaction: ControlTransaction,
        project_id: str,
        resource_id: str,
        change: ResourceChange,
        actor: str,
    ) -> Resource:
        """Record a change and queue it for provisioning.

        Raises `StateConflict` unless the resource is running or in error, `ValidationFailed` for
        settings that its type refuses or cannot change.
        """
        stored = self.read(transaction, project_id, resource_id)
        status = find_next(resource_id, stored.status, Cause.UPDATE)
        _check_fixed(stored, change)
        if change.settings_json is not None:
            self._check_settings(stored, change.settings_json)
        resource = replace(
            stored,
            name=stored.name if change.name is None else change.name,
            sku=stored.sku if change.sku is None else change.sku,
            settings_json=change.settings_json or stored.settings_json,
            status=status,
            error_message="",
            updated_at=max(self._clock(), stored.updated_at),
        )
        RESOURCES.replace(transaction, resource)
        self._ask(
            transaction, resource, stored.status, Goal.UPDATE, actor, "a change was asked for"
        )
        return resource

    def repair(
        self, transaction: ControlTransaction, resource_id: str, incarnation: str, reason: str
    ) -> bool:
        """Queue a running resource for repair; return whether it still was that one and running."""
        stored = RESOURCES.read(transaction, resource_id)
        if (
            stored is None
            or stored.incarnation != incarnation
            or stored.status is not ResourceState.RUNNING
        ):
            return False
        resource = replace(
            stored,
            status=find_next(resource_id, stored.status, Cause.REPAIR),
            updated_at=max(self._clock(), stored.updated_at),
        )
        RESOURCES.replace(transaction, resource)
        self._ask(transaction, resource, stored.status, Goal.REPAIR, "provisioner", reason)
        return True

    def delete(
        self, transaction: ControlTransaction, project_id: str, resource_id: str, actor: str
    ) -> Resource:
        """Queue the removal of a resource.

        Repeating changes nothing; raises `StateConflict` once removed.
        """
        stored = self.read(transaction, project_id, resource_id)
        status = find_next(resource_id, stored.status, Cause.DELETE)
        if status is stored.status:
            return stored
        supersede(transaction, resource_id, self._clock())
        resource = replace(
            stored,
            status=status,
            error_message="",
            updated_at=max(self._clock(), stored.updated_at),
        )
        RESOURCES.replace(transaction, resource)
        self._ask(
            transaction, resource, stored.status, Goal.DELETE, actor, "deletion was asked for"
        )
        return resource

    def read(self, session: ControlSession, project_id: str, resource_id: str) -> Resource:
        """Return the resource, or its tombstone.

        Raises `ControlNotFound`, also for other projects.
        """
        found = RESOURCES.read(session, resource_id)
        if found is None or found.project_id != project_id:
            raise ControlNotFound(NOUN, resource_id)
        return found

    def list(
        self, session: ControlSession, project_id: str, wanted: ResourceFilter, part: Slice
    ) -> Listed[Resource]:
        """List the requested resources of a project, by id."""
        conditions = self._build_conditions(project_id, wanted)
        # NOTE: the store takes a limited number of ids at once.
        sets = [[*conditions, *lot] for lot in _build_lots(wanted.ids)]
        total = sum(session.count(RESOURCES.kind, each) for each in sets)
        found, given = merge_page(session, RESOURCES.kind, sets, part)
        return Listed(RESOURCES.parse_all(found), total, given)

    def list_across(
        self,
        session: ControlSession,
        places: ReadableScopes,
        wanted: ResourceFilter,
        part: Slice,
    ) -> Listed[Resource]:
        """List the requested resources of these places, whatever their project, by id."""
        conditions = self._build_filter(wanted)
        if wanted.status != ResourceState.TERMINATED:
            # NOTE: only resources that are not terminated have a text there.
            conditions = [*conditions, Condition("present", Comparison.AT_LEAST, "")]
        sets = [[*conditions, *lot] for lot in _list_lots(places)]
        total = sum(session.count(RESOURCES.kind, each) for each in sets)
        found, given = merge_page(session, RESOURCES.kind, sets, part)
        return Listed(RESOURCES.parse_all(found), total, given)

    def list_operations(
        self, session: ControlSession, project_id: str, resource_id: str, part: Slice
    ) -> Listed[Operation]:
        """List the history of a resource, the latest operation first. Raises `ControlNotFound`."""
        self.read(session, project_id, resource_id)
        return list_operations(session, resource_id, part)

    def _build_conditions(self, project_id: str, wanted: ResourceFilter) -> Sequence[Condition]:
        terminated = wanted.status == ResourceState.TERMINATED
        key = "project" if terminated else "present"
        return [equal(key, project_id), *self._build_filter(wanted)]

    def _build_filter(self, wanted: ResourceFilter) -> Sequence[Condition]:
        conditions = []
        if wanted.status is not None:
            conditions.append(equal("status", wanted.status))
        if wanted.type is not None:
            kind = self._types.find(wanted.type).name
            conditions.append(equal("type", kind))
        return conditions

    def _check_settings(self, stored: Resource, text: str) -> None:
        kind = self._types.find(stored.type)
        after = kind.parse_settings(parse_settings_document(text))
        before = parse_settings_document(stored.settings_json)
        try:
            known = kind.parse_settings(before)
        except ValidationFailed:  # of an older release of the type, which allowed more
            return
        kind.check_change(known, after)

    def _free_id(self, transaction: ControlTransaction, project_id: str, resource_id: str) -> None:
        stored = RESOURCES.read(transaction, resource_id)
        if stored is None:
            return
        if stored.status is not ResourceState.TERMINATED or stored.project_id != project_id:
            # SEC: one text, whatever the id's owner and state.
            raise ControlConflict(f"The id {resource_id!r} is taken; choose another.")
        forget_operations(transaction, resource_id)
        RESOURCES.delete(transaction, resource_id)

    def _ask(
        self,
        transaction: ControlTransaction,
        resource: Resource,
        before: ResourceState | None,
        goal: Goal,
        actor: str,
        reason: str,
    ) -> None:
        now = self._clock()
        operation = open_operation(
            transaction,
            resource,
            before=before,
            goal=goal,
            actor=actor,
            reason=reason,
            now=max(now, resource.updated_at),
        )
        set_goal(
            transaction,
            resource_id=resource.id,
            incarnation=resource.incarnation,
            goal=goal,
            operation_id=operation.id,
            now=now,
        )


def parse_status(text: str) -> ResourceState:
    """Return the state of this name. Raises `InvalidArgument` with the nearest known name."""
    if text in list(ResourceState):
        return ResourceState(text)
    hint = render_hint(text, ResourceState, "There are")
    raise InvalidArgument(f"{text[:100]!r} is no status of a resource. {hint}")


def purge(transaction: ControlTransaction, *, before: int, limit: int) -> int:
    """Remove tombstones of resources that ended until `before`; return their number."""
    terminated = equal("status", ResourceState.TERMINATED)
    past = Condition("ended", Comparison.AT_MOST, before)
    found = RESOURCES.find(transaction, terminated, past, order=Order("ended"), limit=limit)
    for resource in found:
        forget_operations(transaction, resource.id)
        RECONCILE_ITEMS.delete(transaction, resource.id)
        RESOURCES.delete(transaction, resource.id)
    return len(found)


def _check_fixed(stored: Resource, change: ResourceChange) -> None:
    present = {"resource_id": stored.id, "project_id": stored.project_id, "type": stored.type}
    details = tuple(
        ErrorDetail("InvalidArgument", f"{member} is {present[member]!r} and cannot be changed.")
        for member, value in (change.fixed or {}).items()
        if value != present[member]
    )
    if details:
        raise ValidationFailed("The resource cannot be changed as described.", details=details)


def _build_lots(values: Collection[str] | None, key: str = "id") -> Iterator[Sequence[Condition]]:
    """Yield conditions on a key, lot by lot in the order of values; one lot without any for
    None.
    """
    if values is None:
        yield ()
        return
    ordered = sorted(values)
    for start in range(0, len(ordered), MOST_VALUES):
        yield (one_of(key, *ordered[start : start + MOST_VALUES]),)


def _list_lots(places: ReadableScopes) -> Iterator[Sequence[Condition]]:
    """Yield conditions of which a resource of these places meets exactly one lot."""
    if places.everywhere:
        yield ()
        return
    yield from _build_lots(places.organizations, "organization")
    yield from _build_lots(places.projects, "project")
    yield from _build_lots(places.resources)
