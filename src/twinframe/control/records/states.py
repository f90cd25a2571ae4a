"""The state machine of resources, as one table."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

from twinframe.errors import StateConflict


class ResourceState(enum.StrEnum):
    """The `status` of a resource."""

    CREATING = "creating"
    RUNNING = "running"
    UPDATING = "updating"
    ERROR = "error"
    DELETING = "deleting"
    TERMINATED = "terminated"


class Cause(enum.StrEnum):
    """The causes of a resource's state changes."""

    CREATE = "create"
    UPDATE = "update"
    REPAIR = "repair"
    DELETE = "delete"
    DONE = "done"
    FAILED = "failed"
    LIFETIME = "lifetime"


State = ResourceState

TRANSITIONS: Final[Mapping[tuple[State | None, Cause], State | None]] = {
    (None, Cause.CREATE): State.CREATING,
    (State.CREATING, Cause.DONE): State.RUNNING,
    (State.CREATING, Cause.FAILED): State.ERROR,
    (State.CREATING, Cause.DELETE): State.DELETING,
    (State.RUNNING, Cause.UPDATE): State.UPDATING,
    (State.RUNNING, Cause.REPAIR): State.UPDATING,
    (State.RUNNING, Cause.DELETE): State.DELETING,
    (State.UPDATING, Cause.DONE): State.RUNNING,
    (State.UPDATING, Cause.FAILED): State.ERROR,
    (State.UPDATING, Cause.DELETE): State.DELETING,
    (State.ERROR, Cause.UPDATE): State.UPDATING,
    (State.ERROR, Cause.DELETE): State.DELETING,
    (State.DELETING, Cause.DELETE): State.DELETING,
    (State.DELETING, Cause.DONE): State.TERMINATED,
    (State.TERMINATED, Cause.LIFETIME): None,
}
"""State and cause -> next state. `None` is no resource: before the first and after the last."""

BUSY: Final = frozenset({State.CREATING, State.UPDATING, State.DELETING})
"""The states in which a provisioner has work to do."""


def find_next(resource_id: str, state: State, cause: Cause) -> State:
    """Return the next state. Raises `StateConflict` naming the states that would allow it."""
    found = TRANSITIONS.get((state, cause))
    if found is not None:
        return found
    if state is State.TERMINATED:
        raise StateConflict(
            f"The resource {resource_id!r} is terminated: nothing of it is left that could change.",
            state=state,
        )
    allowed = " or ".join(each for (each, by) in TRANSITIONS if by is cause and each is not None)
    raise StateConflict(
        f"The resource {resource_id!r} is {state}; {cause} is possible while it is {allowed}.",
        state=state,
    )
