"""Temporal values from maps, text and one another, and their components."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.unit.model import temporal_strategies as values
from tests.unit.query.evaluate.temporal_queries import evaluate, show
from twinframe.errors import QueryInvalid
from twinframe.model.temporal.components import COMPONENTS, read_component
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import (
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)

KINDS = {
    Date: "date",
    LocalTime: "localtime",
    Time: "time",
    LocalDateTime: "localdatetime",
    DateTime: "datetime",
}


@given(values.instants)
def test_a_value_is_built_again_from_its_own_components(value: Instant) -> None:
    ways = [("year", "month", "day"), ("year", "ordinalDay"), ("year", "quarter", "dayOfQuarter")]
    if isinstance(value, LocalTime | Time):
        ways = [()]
    clock = ("hour", "minute", "second", "nanosecond") if not isinstance(value, Date) else ()
    zone = ("timezone",) if isinstance(value, Time) else ()
    for way in ways:
        given_fields = {
            name: read_component(value, name)
            for name in (*way, *clock, *zone)
            if name in COMPONENTS[type(value)]
        }
        if isinstance(value, DateTime):
            given_fields["timezone"] = value.zone or read_component(value, "offset")
        built = evaluate(f"{KINDS[type(value)]}($m)", m=dict(given_fields))
        if isinstance(value, DateTime) and isinstance(built, DateTime):
            # NOTE: of an hour that comes twice, components name the earlier one.
            assert built.local == value.local
        else:
            assert built == value


@given(values.instants)
def test_a_value_is_itself_under_its_own_function(value: Instant) -> None:
    kind = KINDS[type(value)]
    assert evaluate(f"{kind}($v)", v=value) == value
    assert evaluate(f"{kind}(toString($v))", v=value) == value
    base = "date" if kind == "date" else "time" if kind.endswith("time") else "datetime"
    base = "datetime" if kind.endswith("datetime") else base
    assert evaluate(f"{kind}({{{base}: $v}})", v=value) == value


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("date({year: 1817, week: 1})", "1816-12-30"),
        ("date({date: date('1816-12-31'), year: 1817, week: 2})", "1817-01-07"),
        ("date({date: date('2020-02-29'), year: 2021})", "2021-02-28"),
        ("date({date: date('2020-12-31'), week: 1, year: 2021})", "2021-01-07"),
        ("date({date: date('2015-12-31'), year: 2016, dayOfWeek: 1})", "2016-12-26"),
        ("date({date: date('2020-12-31'), quarter: 1})", "2020-03-31"),
        ("date({year: 1984, quarter: 3, dayOfQuarter: 45})", "1984-08-14"),
        ("date({date: date('2020-05-31'), dayOfQuarter: 1})", "2020-04-01"),
        ("date({date: date('2020-11-30'), month: 2})", "2020-02-29"),
        ("date({date: date('2020-05-31'), ordinalDay: 366})", "2020-12-31"),
        ("time(localtime('12:00'))", "12:00Z"),
        ("time({time: localdatetime('2015-07-21T12:00')})", "12:00Z"),
        ("time({hour: 12, timezone: '+02:05:59'})", "12:00+02:05:59"),
        ("time({time: time('12:00+01:00'), hour: 1, timezone: '-01:00'})", "23:00-01:00"),
        ("localtime({hour: 1, minute: 2, second: 3, millisecond: 4, nanosecond: 5})",
         "01:02:03.004000005"),
        ("localtime({time: localtime('01:02:03.4'), microsecond: 5})", "01:02:03.000005"),
        ("datetime({epochSeconds: 1, nanosecond: 2})", "1970-01-01T00:00:01.000000002Z"),
        ("datetime({epochMillis: -1, timezone: 'Europe/Oslo'})",
         "1970-01-01T00:59:59.999+01:00[Europe/Oslo]"),
        ("datetime.fromepoch(416779, 999999999)", "1970-01-05T19:46:19.999999999Z"),
        ("datetime.fromepochmillis(237821673987)", "1977-07-15T13:34:33.987Z"),
        ("datetime({year: 2017, month: 3, day: 26, hour: 2, timezone: 'Europe/Berlin'})",
         "2017-03-26T03:00+02:00[Europe/Berlin]"),
        ("datetime({date: date('1984-03-28'), time: time('12+02:00'), timezone: 'US/Hawaii'})",
         "1984-03-28T00:00-10:00[US/Hawaii]"),
        ("datetime({date: date('1984-03-28'), time: datetime('1984-10-11T12[Europe/Oslo]')})",
         "1984-03-28T12:00+02:00[Europe/Oslo]"),
        ("datetime({datetime: datetime('2017-10-29T02:30+01:00[Europe/Berlin]'), minute: 31})",
         "2017-10-29T02:31+01:00[Europe/Berlin]"),
        ("localdatetime({datetime: datetime('2015-07-21T21:40+02:00'), day: 1})",
         "2015-07-01T21:40"),
        ("date(localdatetime('2015-07-21T21:40'))", "2015-07-21"),
        ("duration({months: 0.75})", "P22DT19H51M49.5S"),
        ("duration({quarters: 1, weeks: 2.5, milliseconds: -1})", "P3M17DT11H59M59.999S"),
        ("duration(duration('P1D'))", "P1D"),
    ],
)  # fmt: skip
def test_values_are_built_of_components(expression: str, text: str) -> None:
    assert show(expression) == text


@pytest.mark.parametrize(
    "expression",
    [
        *("date(null)", "datetime({year: null})", "duration(null)", "duration({days: null})"),
        *("date.truncate('day', null)", "date.truncate(null, date())"),
        *("date.truncate('day', date(), {day: null})", "date.realtime(null)"),
        *("duration.between(null, date())", "datetime.fromEpoch(null, 1)", "toString(date(null))"),
        *("date(null).year", "date() + null", "null - duration('P1D')", "duration('P1D') * null"),
    ],
)
def test_null_makes_null(expression: str) -> None:
    assert evaluate(expression) is None


@pytest.mark.parametrize(
    ("expression", "part"),
    [
        ("date({})", "at least one component"),
        ("date({month: 1})", "needs year"),
        ("date({year: 2015, day: 1})", "day needs month"),
        ("date({year: 2015, month: 1, week: 1})", "do not go together"),
        ("date({year: 2015, dayOfWeek: 1})", "dayOfWeek needs week"),
        ("date({year: 2015, mont: 1})", "Did you mean 'month'"),
        ("date({year: 2015.0})", "an Integer as year, not Float"),
        ("date({year: true})", "an Integer as year, not Boolean"),
        ("date({year: 2015, hour: 1})", "'hour' does not exist"),
        ("date({year: 2015, timezone: 'Z'})", "timezone only on its own"),
        ("date({date: 1})", "a value with a date, not Integer"),
        ("date({date: localtime()})", "a value with a date, not LocalTime"),
        ("date({year: 2015, month: 0})", "month must be 1 to 12, not 0"),
        ("date({date: date(), month: 13})", "month must be 1 to 12, not 13"),
        ("date({date: date(), quarter: 5})", "quarter must be 1 to 4, not 5"),
        ("localtime({hour: 12, minute: 60})", "minute must be 0 to 59, not 60"),
        ("localtime({hour: 24})", "hour must be 0 to 23, not 24"),
        ("localtime({hour: 12, minute: 0, second: 60})", "second must be 0 to 59, not 60"),
        ("date(1)", "String, Map or temporal value, not Integer"),
        ("localtime(date())", "a value with a time of day, not Date"),
        ("localtime({minute: 1})", "minute needs hour"),
        ("localtime({hour: 1, millisecond: 1})", "a fraction of a second needs second"),
        ("localtime({hour: 1, minute: 1, second: 1, millisecond: 1, microsecond: 1000})",
         "microsecond must be 0 to 999"),
        ("localdatetime({year: 2015, hour: 1})", "needs a whole date"),
        ("localdatetime({time: localtime()})", "needs a whole date"),
        ("localdatetime({datetime: localdatetime(), date: date()})", "neither date nor time"),
        ("localdatetime(date())", "a value with a time of day"),
        ("datetime({epochSeconds: 1, year: 2015})", "goes with nanosecond and timezone alone"),
        ("datetime({epochMillis: 1, nanosecond: 1000000})", "nanosecond must be 0 to 999999"),
        ("datetime({year: 2015, timezone: 'Europe/Olso'})", "Did you mean 'Europe/Oslo'"),
        ("datetime({year: 2015, timezone: 1})", "a String as timezone"),
        ("datetime.fromEpoch(1, 'a')", "takes Integers, not String"),
        ("datetime.fromEpoch(9223372036854775807, 0)", "outside of the years"),
        ("duration({})", "at least one amount"),
        ("duration({day: 1})", "Did you mean 'days'"),
        ("duration({days: '1'})", "a Number as days, not String"),
        ("duration({days: 0.0 / 0.0})", "no amount of time"),
        ("duration({years: 9223372036854775807})", "64 bits"),
        ("duration.between(date(), 'a')", "dates, times or datetimes, not String"),
        ("date().yaer", "Did you mean 'year'"),
        ("localtime().year", "The component of a LocalTime 'year' does not exist"),
        ("date.truncate('weeks', date())", "Did you mean 'week'"),
        ("date.truncate('YEAR', date())", "Did you mean 'year'"),
        ("date.truncate('hour', date())", "'hour' does not exist"),
        ("localtime.truncate('month', localtime())", "'month' does not exist"),
        ("localdatetime.truncate('hour', date())", "a value with a time of day, not Date"),
        ("date.truncate('day', date(), {hour: 1})", "'hour' does not exist"),
        ("date.realtime('Europe/Olso')", "Did you mean 'Europe/Oslo'"),
        ("date.statement({zone: 'Z'})", "Did you mean 'timezone'"),
    ],
)  # fmt: skip
def test_what_makes_no_value_is_refused_by_name(expression: str, part: str) -> None:
    with pytest.raises(QueryInvalid) as caught:
        evaluate(expression)
    assert part in str(caught.value)
    assert caught.value.phase == "runtime"


@pytest.mark.parametrize(
    ("value", "components"),
    [
        ("date('1984-01-01')", {"year": 1984, "weekYear": 1983, "week": 52, "weekDay": 7}),
        ("localdatetime('1984-11-11T12:31:14.645876123')", {
            "quarter": 4, "month": 11, "ordinalDay": 316, "dayOfQuarter": 42, "hour": 12,
            "millisecond": 645, "microsecond": 645876, "nanosecond": 645876123,
        }),
        ("localtime('12:31:14.645')", {"millisecond": 645, "microsecond": 645000}),
        ("time('12:31-01:30')", {
            "timezone": "-01:30", "offset": "-01:30", "offsetMinutes": -90, "offsetSeconds": -5400,
        }),
        ("datetime('1984-11-11T12:31:14.645+01:00[Europe/Stockholm]')", {
            "timezone": "Europe/Stockholm", "offset": "+01:00", "epochSeconds": 469020674,
            "epochMillis": 469020674645, "minute": 31,
        }),
        ("datetime('1969-12-31T23:59:59.9Z')", {"epochSeconds": -1, "epochMillis": -100}),
        ("duration('P1Y4M10DT1H1M1.111111111S')", {
            "years": 1, "quarters": 5, "months": 16, "weeks": 1, "days": 10, "hours": 1,
            "minutes": 61, "seconds": 3661, "milliseconds": 3661111, "nanoseconds": 3661111111111,
            "quartersOfYear": 1, "monthsOfQuarter": 1, "monthsOfYear": 4, "daysOfWeek": 3,
            "minutesOfHour": 1, "secondsOfMinute": 1, "microsecondsOfSecond": 111111,
        }),
        ("duration('P-13MT-23H-59M-59.9S')", {
            "years": -1, "monthsOfYear": -1, "seconds": -86400, "nanosecondsOfSecond": 100000000,
            "hours": -24, "minutesOfHour": 0,
        }),
    ],
)  # fmt: skip
def test_components_are_read_by_name(value: str, components: dict[str, int | str]) -> None:
    names = ", ".join(f"{name}: v.{name}" for name in components)
    assert show(f"[v IN [{value}] | {{{names}}}][0]") == components


@given(values.instants, values.durations)
def test_every_component_that_is_listed_can_be_read(value: Instant, duration: Duration) -> None:
    for one in (value, duration):
        for name in COMPONENTS[type(one)]:
            assert isinstance(read_component(one, name), int | str)
