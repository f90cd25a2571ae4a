"""Frozen maps behave as dictionaries that are copied at each change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinframe.storage.memory_state import FrozenMap

KEYS = st.integers(0, 600)


@given(st.lists(st.tuples(st.booleans(), KEYS), max_size=60))
def test_every_state_stays_as_it_was(changes: list[tuple[bool, int]]) -> None:
    states: list[tuple[FrozenMap[int, int], dict[int, int]]] = [(FrozenMap(), {})]
    for at, (setting, key) in enumerate(changes):
        frozen, plain = states[-1]
        if setting:
            states.append((frozen.set(key, at), {**plain, key: at}))
        elif key in plain:
            states.append((frozen.delete(key), {k: v for k, v in plain.items() if k != key}))
        else:
            with pytest.raises(KeyError):
                frozen.delete(key)
    for frozen, plain in states:
        assert dict(frozen) == plain
        assert len(frozen) == len(plain)
