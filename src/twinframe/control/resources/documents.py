"""Resources, their operations and their work as values, records and API objects.

All times are nanoseconds since 1970-01-01T00:00:00Z.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

import orjson

from twinframe.control.records.documents import Table
from twinframe.control.records.names import render_moment
from twinframe.control.records.states import ResourceState
from twinframe.hooks.resource_types.hosting import ResourceName
from twinframe.hooks.resource_types.prices import Sku
from twinframe.runtime.leases import LeaseState


class Goal(enum.StrEnum):
    """What a resource is to become: the `type` of its operations."""

    CREATE = "create"
    UPDATE = "update"
    REPAIR = "repair"
    DELETE = "delete"


class OperationStatus(enum.StrEnum):
    """The status of an operation; `superseded`: a deletion came before it was done."""

    PENDING = "pending"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource. `settings_json` is the text as it was given; `error_message` empty is none.

    `incarnation` distinguishes it from others that had its id before; `ended_at` is when it became
    `terminated`.
    """

    id: str
    incarnation: str
    organization_id: str
    project_id: str
    name: str
    type: str
    sku: Sku
    status: ResourceState
    settings_json: str
    created_at: int
    updated_at: int
    error_message: str = ""
    access_url: str = ""
    ended_at: int | None = None

    @property
    def resource_name(self) -> ResourceName:
        """Its name for resource types, outside of the control store."""
        return ResourceName(self.id, self.incarnation)


@dataclass(frozen=True, slots=True)
class Transition:
    """A change of state: when, from which to which, and why."""

    at: int
    before: ResourceState | None
    after: ResourceState
    reason: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """An ended attempt, and its outcome."""

    number: int
    at: int
    outcome: str


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a resource: its goal, actor and outcome, and the latest attempts."""

    id: str
    resource_id: str
    incarnation: str
    type: Goal
    actor: str
    status: OperationStatus
    created_at: int
    updated_at: int
    transitions: tuple[Transition, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReconcileItem(LeaseState):
    """The pending work at the resource `id`, and its holder.

    `fence` rises with each claim and each new goal, so that a number identifies one holder of one
    goal. `beat` counts the signs of life of `holder`; `due_at` None: there is no work.
    """

    id: str
    incarnation: str
    goal: Goal
    operation_id: str
    due_at: int | None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Round:
    """A periodic task that one of the provisioners runs each time its interval has passed."""

    id: str
    last_at: int


RESOURCES: Final = Table(
    "resource",
    Resource,
    {
        "organization": lambda value: value.organization_id,
        "project": lambda value: value.project_id,
        "status": lambda value: value.status,
        "type": lambda value: value.type,
        "present": lambda value: (
            None if value.status is ResourceState.TERMINATED else value.project_id
        ),
        "ended": lambda value: value.ended_at,
    },
    indexes=(
        ("organization", "id"),
        ("project", "id"),
        ("project", "status", "id"),
        ("present", "id"),
        ("present", "type", "id"),
        ("status", "ended"),
    ),
)
"""NOTE: access checks read `organization` and `project`; a project counts as empty by `status`.

`present` also holds the project while the resource is not terminated; `ended` is when it became so.
"""

OPERATIONS: Final = Table(
    "operation",
    Operation,
    {"resource": lambda value: value.resource_id},
    indexes=(("resource", "id"), ("resource", "version")),
)
"""Ids rise with time."""

RECONCILE_ITEMS: Final = Table(
    "work",
    ReconcileItem,
    {"due": lambda value: value.due_at, "held": lambda value: 1 if value.holder else 0},
    indexes=(("held", "due"),),
)
ROUNDS: Final = Table("round", Round)


def build_view(resource: Resource, *, with_url: bool = True) -> dict[str, Any]:
    """Build the API object of a resource, for `render_json`; the settings are the text as given.

    SPEC: answers to POST and PUT are without `access_url`.
    """
    view: dict[str, Any] = {
        "resource_id": resource.id,
        "project_id": resource.project_id,
        "name": resource.name,
        "type": resource.type,
        "sku": resource.sku,
        "status": resource.status,
        "settings_json": orjson.Fragment(resource.settings_json),
        "created_at": render_moment(resource.created_at),
        "updated_at": render_moment(resource.updated_at),
    }
    if resource.status is ResourceState.ERROR:
        view["error_message"] = resource.error_message
    if with_url and resource.access_url:
        view["access_url"] = resource.access_url
    return view


def build_operation_view(operation: Operation) -> dict[str, Any]:
    """Build the API object of an operation."""
    return {
        "operation_id": operation.id,
        "resource_id": operation.resource_id,
        "type": operation.type,
        "status": operation.status,
        "requested_by": operation.actor,
        "created_at": render_moment(operation.created_at),
        "updated_at": render_moment(operation.updated_at),
        "note": operation.note,
        "transitions": [
            {
                "at": render_moment(each.at),
                "from": each.before,
                "to": each.after,
                "reason": each.reason,
            }
            for each in operation.transitions
        ],
        "attempts": [
            {"number": each.number, "at": render_moment(each.at), "outcome": each.outcome}
            for each in operation.attempts
        ],
    }
