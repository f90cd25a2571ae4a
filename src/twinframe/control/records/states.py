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

_MEANINGS: Final[Mapping[Cause, str]] = {
    Cause.CREATE: "`POST` of a resource",
    Cause.UPDATE: "`PUT` of a resource",
    Cause.REPAIR: "the provisioner found a running resource amiss",
    Cause.DELETE: "`DELETE` of a resource",
    Cause.DONE: "the provisioner has finished",
    Cause.FAILED: "the attempts are used up (`Control__MaxAttempts`), or the failure is final",
    Cause.LIFETIME: "`Control__TombstoneLifetime` has passed",
}


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


def render_states_page() -> str:
    """Render the page `docs/reference/resource-states.md`."""
    rows = [
        f"| {_shown(state)} | {cause} | {_shown(after)} | {_MEANINGS[cause]} |"
        for (state, cause), after in TRANSITIONS.items()
    ]
    return "\n".join([_INTRODUCTION, *rows, _END])


def _shown(state: State | None) -> str:
    return "(none)" if state is None else f"`{state}`"


_INTRODUCTION: Final = """# States of a resource

This page is generated from `twinframe.control.records.states`; do not edit it.

A call that the table does not allow in the present state is answered with 409. Each change is
stored together with its reason and time, and `GET .../resources/{id}/operations` shows them.

| state | cause | next state | that is |
| --- | --- | --- | --- |"""

_END: Final = """
An attempt that fails is tried again with growing pauses. A deletion is tried until it succeeds: a
resource is `terminated` only when nothing of it is left. To delete it once more while it is
`deleting` changes nothing and is answered as the first time; from `terminated` on it is 409, as is
any other change: whoever repeats a `DELETE` takes that for done. From then on its id is free again:
for its own project at once, for any other when the tombstone is gone, so that clients who still
have the address cannot be led to somebody else's resource.
"""
