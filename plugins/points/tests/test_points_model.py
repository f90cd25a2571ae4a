"""Points in any order, with restarts and upkeep between, equal a dictionary of them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.point_shelf import DAY, NOW, Shelf
from tests.storages import choose
from twinframe.storage.points import AGGREGATES, Points, PointValue, Window
from twinframe_points.columns import build_columns, pack_columns, unpack_columns

START = (NOW // 86_400 - 3) * DAY
KEYS = [("a", "t"), ("a", "u"), ("b", "t"), ("b", "x/y")]
VALUES = st.one_of(
    st.integers(-500, 500).map(lambda cents: cents / 100),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.sampled_from(["", "on", "off", "\u00e4 \U0001f321"]),
)
TIMES = st.one_of(
    st.integers(0, 20).map(lambda seconds: START + seconds * 1_000_000),
    st.integers(START - DAY, START + 2 * DAY),
)
POINT = st.tuples(st.sampled_from(KEYS), TIMES, VALUES)
STEP = st.one_of(
    st.lists(POINT, min_size=1, max_size=40),
    st.sampled_from(["upkeep", "drain", "restart"]),
)


class Model:
    """What the store should answer."""

    def __init__(self) -> None:
        self.points: dict[tuple[str, str], dict[int, PointValue]] = {}

    def write(self, points: list[tuple[tuple[str, str], int, PointValue]]) -> None:
        for key, time, value in points:
            self.points.setdefault(key, {})[time] = value

    def list(self, key: tuple[str, str], start: int, end: int) -> list[tuple[int, PointValue]]:
        found = self.points.get(key, {})
        return [(time, found[time]) for time in sorted(found) if start <= time < end]

    def build(self, key: tuple[str, str], window: Window) -> dict[int, dict[str, Any]]:
        buckets: dict[int, list[PointValue]] = {}
        for time, value in self.list(key, window.start, window.end):
            place = (time - window.start) // window.every
            buckets.setdefault(window.start + place * window.every, []).append(value)
        return {start: _aggregate(values) for start, values in buckets.items()}


def _aggregate(values: list[PointValue]) -> dict[str, Any]:
    numbers = [value for value in values if not isinstance(value, bool | str)]
    return {
        "avg": sum(numbers) / len(numbers) if numbers else None,
        "count": len(values),
        "first": values[0],
        "last": values[-1],
        "max": max(numbers, default=None),
        "min": min(numbers, default=None),
        "sum": sum(numbers),
    }


def _is_near(found: Any, wanted: Any) -> bool:
    if isinstance(found, str | bool) or isinstance(wanted, str | bool) or None in (found, wanted):
        return found is wanted or (type(found) is type(wanted) and found == wanted)
    return bool(found == pytest.approx(wanted, rel=1e-6, abs=1e-6))


def check(shelf: Shelf, model: Model) -> None:
    store = shelf.store
    window = Window(START - DAY, START + 2 * DAY, 7_000_000_000)
    for key in KEYS:
        wanted = model.list(key, START - DAY, START + 3 * DAY)
        found = list(store.read_points(key, START - DAY, START + 3 * DAY, 10_000))
        assert found == wanted
        assert [type(value) is bool for _, value in found] == [
            type(value) is bool for _, value in wanted
        ]
        paged: list[tuple[int, PointValue]] = []
        while some := store.read_points(key, paged[-1][0] + 1 if paged else 0, START + 3 * DAY, 3):
            paged += some
        assert paged == wanted
    for key, buckets in zip(KEYS, store.read_buckets(KEYS, window, AGGREGATES), strict=True):
        wanted_buckets = model.build(key, window)
        assert list(buckets.starts) == sorted(wanted_buckets)
        for name, column in zip(AGGREGATES, buckets.columns, strict=True):
            for start, value in zip(buckets.starts, column, strict=True):
                expected = wanted_buckets[start][name]
                if isinstance(expected, float) and abs(expected) > 1e300:
                    continue  # sums of such numbers depend on their order
                assert _is_near(value, expected), (name, value, expected)
    walked: dict[tuple[str, str], list[tuple[int, PointValue | None]]] = {}
    for part in store.walk(3):
        found_part = walked.setdefault((part.twin, part.path), [])
        assert len(found_part) % 3 == 0, "a part before the last is not full"
        found_part += zip(part.times, part.values, strict=True)
    wanted_all = {key: sorted(found.items()) for key, found in sorted(model.points.items())}
    assert list(walked.items()) == list(wanted_all.items())
    for moment in (START - DAY - 1, START + 5_000_000, START + DAY // 3, START + 3 * DAY):
        wanted_last = [(model.list(key, 0, moment + 1) or [None])[-1] for key in KEYS]
        assert list(store.read_last(KEYS, moment)) == wanted_last


def write(shelf: Shelf, points: list[tuple[tuple[str, str], int, PointValue]]) -> None:
    columns = Points()
    for (twin, path), time, value in points:
        columns.add(twin, path, time, value)
    shelf.store.write(columns)


def play(steps: list[Any], storage: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shelf, model = Shelf(Path(folder), storage=storage), Model()
        try:
            for step in steps:
                match step:
                    case "upkeep":
                        shelf.keep_up()
                    case "drain":
                        shelf.drain()
                    case "restart":
                        shelf.restart()
                    case _:
                        write(shelf, step)
                        model.write(step)
            check(shelf, model)
            shelf.drain()
            check(shelf, model)
            assert list(shelf.store.verify()) == []
        finally:
            shelf.store.close()


STEPS = st.lists(STEP, min_size=1, max_size=25)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_points_equal_a_dictionary(steps: list[Any]) -> None:
    play(steps, "sqlite")


@settings(max_examples=60 if choose() else 8, deadline=None)
@given(STEPS)
def test_points_in_a_database_equal_a_dictionary(steps: list[Any]) -> None:
    play(steps, "postgres")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TIMES, VALUES), min_size=1, max_size=50),
    st.integers(1, 3),
    st.booleans(),
)
def test_the_compressed_form_has_every_bit(
    rows: list[tuple[int, PointValue]], scale: int, with_series: bool
) -> None:
    series = [at % scale + 5 if with_series else 5 for at in range(len(rows))]
    times, values = [time for time, _ in rows], [value for _, value in rows]
    given_ = build_columns(series, times, values)
    found = unpack_columns(pack_columns(given_, with_series=with_series), 5)
    assert found.times.tolist() == times
    assert found.series.tolist() == series
    assert found.kinds.tolist() == given_.kinds.tolist()
    shown = found.take_values(np.arange(len(rows)))
    assert [_show(value) for value in shown] == [_show(value) for value in values]


def _show(value: PointValue | None) -> str:
    """Tell apart what compares equal: -0.0 and 0.0, 1 and True."""
    return repr(float(value)) if type(value) is int else repr(value)
