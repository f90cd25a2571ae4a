"""The wire forms of times."""

from __future__ import annotations

import re

import pytest

from twinframe.model.clock import (
    build_steady_clock,
    read_clock,
    render_update_time,
    render_upload_time,
)

MOMENT = 1_706_702_400_000_000_000


@pytest.mark.parametrize(
    ("offset", "update", "upload"),
    [
        (0, "2024-01-31T12:00:00.0000000Z", "2024-01-31T12:00:00+00:00"),
        (123_456_789, "2024-01-31T12:00:00.1234567Z", "2024-01-31T12:00:00.1234567+00:00"),
        (120_000_000, "2024-01-31T12:00:00.1200000Z", "2024-01-31T12:00:00.12+00:00"),
        (999_999_999, "2024-01-31T12:00:00.9999999Z", "2024-01-31T12:00:00.9999999+00:00"),
        (100, "2024-01-31T12:00:00.0000001Z", "2024-01-31T12:00:00.0000001+00:00"),
    ],
)
def test_a_moment_has_two_forms(offset: int, update: str, upload: str) -> None:
    assert render_update_time(MOMENT + offset) == update
    assert render_upload_time(MOMENT + offset) == upload


def test_the_clock_gives_a_moment_of_now() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:]{8}\.\d{7}Z", render_update_time(read_clock()))


def test_a_steady_clock_stands_still_where_the_wall_clock_jumps_back() -> None:
    moments = [5, 7, 3, 6, 8]
    clock = build_steady_clock(lambda: moments.pop(0))
    assert [clock() for _ in range(5)] == [5, 7, 7, 7, 8]
