"""The table of states: what follows what, and that it has no dead end."""

from __future__ import annotations

import pytest

from twinframe.control.records.states import TRANSITIONS, Cause, ResourceState, find_next
from twinframe.errors import StateConflict


def test_every_state_is_reached_and_leads_to_the_end() -> None:
    reached = {after for after in TRANSITIONS.values() if after is not None}
    assert reached == set(ResourceState)
    for state in ResourceState:
        seen, todo = set(), [state]
        while todo:
            present = todo.pop()
            following = {after for (before, _), after in TRANSITIONS.items() if before is present}
            todo += [after for after in following if after is not None and after not in seen]
            seen |= following
        assert None in seen, state


def test_a_deletion_is_possible_in_every_state_but_the_last() -> None:
    for state in set(ResourceState) - {ResourceState.TERMINATED}:
        assert find_next("x", state, Cause.DELETE) is ResourceState.DELETING


@pytest.mark.parametrize("cause", [Cause.DELETE, Cause.UPDATE, Cause.REPAIR])
def test_what_is_terminated_stays_as_it_is(cause: Cause) -> None:
    with pytest.raises(StateConflict, match="'x' is terminated") as caught:
        find_next("x", ResourceState.TERMINATED, cause)
    assert caught.value.state == "terminated"


@pytest.mark.parametrize("state", ["creating", "updating", "deleting"])
def test_a_change_is_refused_naming_the_states_that_allow_it(state: str) -> None:
    with pytest.raises(StateConflict, match=rf"'x' is {state}.* running or error") as caught:
        find_next("x", ResourceState(state), Cause.UPDATE)
    assert caught.value.state == state
