"""Pauses between attempts: they grow, stay within their bounds, and are spread by chance."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twinframe.runtime.backoff import Backoff


@given(attempts=st.integers(1, 10_000), chance=st.floats(0, 1))
def test_pauses_grow_and_stay_within_their_bounds(attempts: int, chance: float) -> None:
    backoff = Backoff(1.0, 300.0)
    pause = backoff.build_pause(attempts, chance)
    assert 0.5 <= pause <= 300
    assert pause <= 2.0 ** min(attempts - 1, 60)
    assert backoff.build_pause(attempts + 1, chance) >= pause


def test_each_pause_is_so_many_times_the_one_before() -> None:
    assert [Backoff(1.0, 60.0, spread=0).build_pause(each) for each in (1, 2, 3, 7, 9_999)] == [
        1,
        2,
        4,
        60,
        60,
    ]
    assert Backoff(2.0, 60.0, growth=1.5, spread=0).build_pause(3) == 4.5
    assert Backoff(1.0, 60.0, spread=0).build_pause(0) == 1.0


def test_chance_takes_the_spread_off_a_pause_at_most() -> None:
    backoff = Backoff(8.0, 8.0, spread=0.25)
    assert (backoff.build_pause(1, 0.0), backoff.build_pause(1, 1.0)) == (6.0, 8.0)
    drawn = {backoff.build_pause(1) for _ in range(20)}
    assert len(drawn) > 1
    assert all(6.0 <= pause <= 8.0 for pause in drawn)
