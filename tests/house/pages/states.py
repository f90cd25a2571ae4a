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

A call that the table does not list for the present state is answered with 409. Each change is
stored with its reason and time; `GET .../resources/{id}/operations` returns them.

| state | cause | next state | that is |
| --- | --- | --- | --- |"""

_END: Final = """
A failed attempt is repeated, at growing intervals. A deletion is repeated until it succeeds: a
resource becomes `terminated` only when nothing of it is left. Another `DELETE` of a resource
that is `deleting` changes nothing and gets the same answer as the first. A `terminated` resource
answers 409 to `DELETE` and to every other change; a client that repeats a `DELETE` may take 409
for done.

The id of a terminated resource is free again: at once for its own project, and for other
projects after `Control__TombstoneLifetime`. Clients that still have the address are therefore
not led to the resource of somebody else.
"""
