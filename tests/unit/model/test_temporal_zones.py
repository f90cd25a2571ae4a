"""Time zones: rules of any year, hours that come twice or never, names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib import resources
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model.temporal_strategies import FIRST, LAST, ZONES, offsets
from twinframe.errors import QueryInvalid
from twinframe.model.temporal.calendar import CYCLE_DAYS
from twinframe.model.temporal.zones import (
    find_offset,
    parse_offset,
    parse_zone_name,
    render_offset,
    resolve_local,
)

names = st.sampled_from(ZONES)
seconds = st.one_of(
    st.integers(-(10**10), 10**10), st.integers((FIRST + 2) * 86_400, (LAST - 2) * 86_400)
)


@given(offsets)
def test_an_offset_reads_back(offset: int) -> None:
    assert parse_offset(render_offset(offset)) == offset


@given(names, st.datetimes(datetime(1800, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 # naive
def test_rules_are_those_of_the_time_zone_database(name: str, moment: datetime) -> None:
    aware = moment.replace(tzinfo=UTC, microsecond=0)
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        offset = aware.astimezone(ZoneInfo.from_file(file)).utcoffset()
    assert offset is not None
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert find_offset(name, (aware - epoch) // timedelta(seconds=1)) == offset.total_seconds()


@given(names, seconds)
def test_a_time_on_the_clocks_of_a_zone_is_an_instant_there(name: str, local: int) -> None:
    offset, shown = resolve_local(name, local)
    assert find_offset(name, shown - offset) == offset
    assert resolve_local(name, shown, offset) == (offset, shown)
    assert 0 <= shown - local <= 2 * 3600


@given(names, st.integers(8_000 * 365 * 86_400, 9_000 * 365 * 86_400), st.integers(1, 1000))
def test_rules_repeat_with_the_calendar(name: str, moment: int, cycles: int) -> None:
    later = moment + cycles * CYCLE_DAYS * 86_400
    assert find_offset(name, later) == find_offset(name, moment)


@given(names, st.integers(-(10**16), -(10**11)))
def test_before_the_year_one_clocks_showed_local_mean_time(name: str, moment: int) -> None:
    assert find_offset(name, moment) == find_offset(name, -(10**11))


@pytest.mark.parametrize(
    ("text", "seconds_east"),
    [("Z", 0), ("+18", 64_800), ("-18:00", -64_800), ("+00:00:01", 1), ("-0130", -5400)],
)
def test_an_offset_is_read_in_every_form(text: str, seconds_east: int) -> None:
    assert parse_offset(text) == seconds_east


def test_an_hour_that_comes_twice_is_the_earlier_one_unless_said_otherwise() -> None:
    twice = 1_509_244_200  # 2017-10-29T02:30 on the clocks
    assert resolve_local("Europe/Berlin", twice) == (7200, twice)
    assert resolve_local("Europe/Berlin", twice, 3600) == (3600, twice)
    assert resolve_local("Europe/Berlin", twice, 10_800) == (7200, twice)


def test_an_hour_that_never_comes_moves_on_by_the_gap() -> None:
    never = 1_490_495_400  # 2017-03-26T02:30 on the clocks
    assert resolve_local("Europe/Berlin", never) == (7200, never + 3600)


def test_names_are_read_with_blanks_and_only_from_the_list() -> None:
    assert parse_zone_name("America/Los Angeles") == "America/Los_Angeles"
    assert parse_zone_name("US/Pacific") == "US/Pacific"
    for text in ("", "europe/oslo", "Europe", "../zones", "/etc/localtime", "x" * 10_000_000):
        with pytest.raises(QueryInvalid, match="time zone") as caught:
            parse_zone_name(text)
        assert len(str(caught.value)) < 300
