"""Generates the reference page of the states of resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twinframe.control.records.states import TRANSITIONS, Cause, ResourceState

_MEANINGS: Final[Mapping[Cause, str]] = {
    Cause.CREATE: "`POST` of a resource",
    Cause.UPDATE: "`PUT` of a resource",
    Cause.REPAIR: "the provisioner found a running resource amiss",
    Cause.DELETE: "`DELETE` of a resource",
    Cause.DONE: "the provisioner has finished",
    Cause.FAILED: "the attempts are used up (`Control__MaxAttempts`), or the failure is final",
    Cause.LIFETIME: "`Control__TombstoneLifetime` has passed",
}


def render_states_page() -> str:
    """Render the page `docs/reference/resource-states.md`."""
    rows = [
        f"| {_shown(state)} | {cause} | {_shown(after)} | {_MEANINGS[cause]} |"
        for (state, cause), after in TRANSITIONS.items()
    ]
    return "\n".join([_INTRODUCTION, *rows, _END])


def _shown(state: ResourceState | None) -> str:
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
