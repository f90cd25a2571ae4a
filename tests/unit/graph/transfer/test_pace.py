"""The pace of an import: large writes alone, small ones beside others while that is fast."""

from __future__ import annotations

import pytest

from twinframe.graph.transfer.pace import LEAST_ROWS, Pace


def test_alone_all_writes_are_of_the_largest_size_without_a_rest() -> None:
    pace = Pace(500, 0.0)
    assert pace.chunks == 5
    assert [pace.advance(500, at * 9.0, 1.0) for at in range(4)] == [0.0] * 4
    assert pace.chunks == 5


def test_beside_others_fast_writes_stay_small_and_rest() -> None:
    pace, now, rests = Pace(500, 0.002), 100.0, []
    for _ in range(50):
        now += 0.001
        rests.append(pace.advance(LEAST_ROWS, now, 0.001))
        now += rests[-1]
    assert pace.chunks == 1
    assert rests[-1] == pytest.approx(0.002)
    assert max(rests) <= 0.002


def test_while_nobody_else_writes_it_rests_only_its_share_of_the_pause() -> None:
    pace = Pace(500, 0.002)
    rests = [pace.advance(LEAST_ROWS, at / 1000, 0.0001) for at in range(50)]
    assert rests == [pytest.approx(0.0004)] * 50


def test_slow_writes_grow_to_the_largest_size_and_do_not_rest() -> None:
    pace, now = Pace(500, 0.002), 100.0
    for at in range(50):
        now += 0.03
        rest = pace.advance(pace.chunks * LEAST_ROWS, now, 0.001)
        assert rest == 0.0 or at < 16  # it is known then that others write
    assert pace.chunks == 5
    while pace.chunks > 1:
        now += 0.001
        now += pace.advance(pace.chunks * LEAST_ROWS, now, 0.001)


def test_a_bound_below_a_chunk_is_one_chunk() -> None:
    assert Pace(2, 0.0).chunks == Pace(2, 1.0).chunks == 1
