"""Hypothesis strategies of temporal values. It tests nothing."""

from __future__ import annotations

from hypothesis import strategies as st

from twinframe.model.temporal.calendar import LEAST_YEAR, MOST_YEAR, build_day
from twinframe.model.temporal.durations import Duration, build_duration
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    NANOSECONDS_OF_DAY,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    zone_local,
)

ZONES = ("Europe/Stockholm", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")

FIRST, LAST = build_day(LEAST_YEAR, 1, 1), build_day(MOST_YEAR, 12, 31)

days = st.one_of(
    st.integers(-800_000, 3_000_000),  # the years that people write
    st.integers(FIRST + 2, LAST - 2),  # NOTE: a zone may move the day by one
)
offsets = st.one_of(
    st.just(0),
    st.integers(-72, 72).map(lambda quarters: quarters * 900),
    st.integers(-64_800, 64_800),
)
nanoseconds = st.one_of(
    st.integers(0, 86_399).map(lambda seconds: seconds * NANOSECONDS),
    st.integers(0, NANOSECONDS_OF_DAY - 1),
)

dates: st.SearchStrategy[Date] = days.map(Date)
local_times: st.SearchStrategy[LocalTime] = nanoseconds.map(LocalTime)
times: st.SearchStrategy[Time] = st.builds(Time, local_times, offsets)
local_date_times: st.SearchStrategy[LocalDateTime] = st.builds(LocalDateTime, dates, local_times)
date_times: st.SearchStrategy[DateTime] = st.builds(
    zone_local, local_date_times, st.one_of(offsets, st.sampled_from(ZONES))
)
instants: st.SearchStrategy[Instant] = st.one_of(
    dates, local_times, times, local_date_times, date_times
)
whole = st.one_of(st.integers(-100, 100), st.integers(-(2**40), 2**40))
durations: st.SearchStrategy[Duration] = st.builds(
    build_duration, whole, whole, st.one_of(whole, st.integers(-(2**70), 2**70))
)
small_durations: st.SearchStrategy[Duration] = st.builds(
    build_duration,
    st.integers(-5000, 5000),
    st.integers(-5000, 5000),
    st.integers(-(10**15), 10**15),
)
