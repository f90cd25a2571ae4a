"""The clock, truncation, arithmetic, aggregates and text of temporal values in queries."""

from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.model import temporal_strategies as values
from tests.unit.query.evaluate.temporal_queries import ask, evaluate, show
from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_order_key
from twinframe.model.temporal.components import DATE_UNITS, TIME_UNITS, truncate_date, truncate_time
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import (
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from twinframe.query.cypher.functions import FUNCTIONS as KNOWN
from twinframe.query.evaluate.functions.temporal import FUNCTIONS

INSTANTS = ("date", "localtime", "time", "localdatetime", "datetime")


def test_every_temporal_function_is_computed() -> None:
    assert {one.name for one in KNOWN if one.group == "Temporal"} == set(FUNCTIONS)


# --- the clock ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", INSTANTS)
def test_the_clock_stands_still_within_a_query(kind: str) -> None:
    text = f"UNWIND range(1, 500) AS n RETURN DISTINCT {kind}(), {kind}.transaction()"
    [[now, transaction]] = ask(text)
    assert now == transaction
    assert evaluate(f"{kind}() = {kind}.statement()") is True


def test_the_real_clock_goes_on_within_a_query() -> None:
    text = "UNWIND range(1, 500) AS n RETURN count(DISTINCT datetime.realtime()) > 1 AS several"
    assert ask(text) == [[True]]
    assert evaluate("datetime.realtime() < datetime.realtime()") is True


def test_the_clock_tells_the_time() -> None:
    before = time.time_ns()
    now = evaluate("datetime()")
    assert isinstance(now, DateTime)
    assert before <= now.instant <= time.time_ns()
    assert now.offset == 0
    assert evaluate("timestamp() = datetime().epochMillis") is True


@pytest.mark.parametrize("clock", ["", ".transaction", ".statement", ".realtime"])
def test_the_clock_is_read_in_the_zone_asked_for(clock: str) -> None:
    zone = "{timezone: 'Pacific/Kiritimati'}"
    [[there, here]] = ask(f"RETURN datetime{clock}({zone}) AS a, datetime.realtime('-02:00') AS b")
    assert there.endswith("+14:00[Pacific/Kiritimati]")
    assert here.endswith("-02:00")
    assert evaluate(f"time{clock}({zone}).offset") == "+14:00"
    days = f"duration.inDays(date{clock}({{timezone: 'Z'}}), date{clock}({zone})).days"
    assert evaluate(f"{days} IN [0, 1]") is True


# --- truncation ---------------------------------------------------------------------------------


# NOTE: the units that the very first dates lie in begin before all dates.
BEGUN = Date(values.FIRST + 2 * 366_000)


@given(values.dates.filter(lambda value: value > BEGUN), st.sampled_from(sorted(DATE_UNITS)))
def test_a_truncated_date_is_the_first_of_its_unit(value: Date, unit: str) -> None:
    start = truncate_date(value, unit)
    assert start <= value
    assert truncate_date(start, unit) == start
    assert truncate_date(Date(start.days - 1), unit) < start


@pytest.mark.parametrize("unit", ["millennium", "century", "decade"])
def test_a_unit_that_begins_before_all_dates_is_refused(unit: str) -> None:
    with pytest.raises(QueryInvalid, match="begins before the year") as caught:
        evaluate("date.truncate($u, date('-999999999-01-01'))", u=unit)
    assert caught.value.kind == "ArithmeticError"


@pytest.mark.parametrize("unit", ["year", "weekYear", "quarter", "month", "week", "day"])
def test_the_first_date_is_the_first_of_every_other_unit(unit: str) -> None:
    first = "-999999999-01-01"
    assert show("date.truncate($u, date($d))", u=unit, d=first) == first


@given(values.local_times, st.sampled_from(sorted(TIME_UNITS)))
def test_a_truncated_time_is_the_first_of_its_unit(value: LocalTime, unit: str) -> None:
    start = truncate_time(value, unit)
    assert start <= value
    assert truncate_time(start, unit) == start


@given(
    values.date_times.filter(lambda value: value.local.date > BEGUN),
    st.sampled_from(sorted(DATE_UNITS | TIME_UNITS)),
)
def test_a_truncated_datetime_stays_in_its_zone(value: DateTime, unit: str) -> None:
    cut = evaluate("datetime.truncate($u, $v)", u=unit, v=value)
    assert isinstance(cut, DateTime)
    assert cut.zone == value.zone
    local = evaluate("localdatetime.truncate($u, $v)", u=unit, v=value)
    assert isinstance(local, LocalDateTime)
    assert abs(cut.local.nanoseconds - local.nanoseconds) <= 3600 * 10**9  # a gap of the clocks


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("date.truncate('millennium', date('2017-10-11'), {day: 2})", "2000-01-02"),
        ("date.truncate('century', date('-0001-10-11'))", "-0100-01-01"),
        ("date.truncate('weekYear', date('1984-01-01'), {day: 5})", "1983-01-05"),
        ("date.truncate('week', date('1984-10-11'), {dayOfWeek: 2})", "1984-10-09"),
        ("localtime.truncate('millisecond', time('12:31:14.645876123+01:00'), {nanosecond: 2})",
         "12:31:14.645000002"),
        ("localtime.truncate('microsecond', localtime('12:31:14.645876123'), {nanosecond: 2})",
         "12:31:14.645876002"),
        ("time.truncate('hour', time('12:31-01:00'), {timezone: '+01:00'})", "12:00+01:00"),
        ("time.truncate('day', localdatetime('1984-10-11T12:31'))", "00:00Z"),
        ("localdatetime.truncate('day', date('1984-10-11'), {nanosecond: 2})",
         "1984-10-11T00:00:00.000000002"),
        ("datetime.truncate('year', localdatetime('1984-10-11T12:31'), {timezone: 'Europe/Oslo'})",
         "1984-01-01T00:00+01:00[Europe/Oslo]"),
        ("datetime.truncate('month', datetime('1984-10-11T12:31[Europe/Oslo]'))",
         "1984-10-01T00:00+01:00[Europe/Oslo]"),
        ("datetime.truncate('hour', datetime('2017-10-29T02:30+01:00[Europe/Berlin]'))",
         "2017-10-29T02:00+01:00[Europe/Berlin]"),
    ],
)  # fmt: skip
def test_components_replace_what_was_truncated(expression: str, text: str) -> None:
    assert show(expression) == text


def test_without_a_value_now_is_truncated() -> None:
    assert evaluate("date.truncate('month') = date.truncate('month', date())") is True
    assert evaluate("datetime.truncate('day') = datetime.truncate('day', datetime())") is True


# --- arithmetic ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("date('1984-10-11') + duration('P1M')", "1984-11-11"),
        ("duration('P1M') + date('1984-10-11')", "1984-11-11"),
        ("date('1984-03-31') - duration('P1M')", "1984-02-29"),
        ("localtime('12:31:14') - duration('PT12H31M15S')", "23:59:59"),
        ("duration('P1DT1H') + duration('P2M')", "P2M1DT1H"),
        ("duration('P1D') - duration('PT1H')", "P1DT-1H"),
        ("duration('P12Y5M14DT16H12M70.000000001S') / 2", "P6Y2M22DT13H21M8S"),
        ("duration('P12Y5M14DT16H12M70.000000001S') * 0.5", "P6Y2M22DT13H21M8S"),
        ("2 * duration('P1DT1S')", "P2DT2S"),
        ("duration('P1DT1S') * 0.1", "PT2H24M0.1S"),
        ("'at ' + localtime('12:00')", "at 12:00"),
        ("duration('P1D') + '!'", "P1D!"),
        ("[date('2015-01-01')] + date('2015-01-02')", ["2015-01-01", "2015-01-02"]),
        ("toString(datetime('2015-07-21T21:40[Europe/Oslo]'))",
         "2015-07-21T21:40+02:00[Europe/Oslo]"),
    ],
)  # fmt: skip
def test_operators_take_temporal_values(expression: str, text: str | list[str]) -> None:
    assert show(expression) == text


@pytest.mark.parametrize(
    "expression",
    [
        *("date() + 1", "date() + date()", "date() - date()", "duration('P1D') - date()"),
        *("date() * 2", "duration('P1D') * duration('P1D')", "1 / duration('P1D')"),
        *("duration('P1D') * true", "duration('P1D') % 2", "duration('P1D') ^ 2"),
        *("toInteger(date())", "sqrt(duration('P1D'))", "[1, 2][date()]", "sum(date())"),
        *("avg(date())", "stDev(duration('P1D'))", "size(date())"),
    ],
)
def test_operators_refuse_other_pairs(expression: str) -> None:
    with pytest.raises(QueryInvalid):
        evaluate(expression)


def test_a_duration_is_not_divided_by_zero() -> None:
    for zero in ("0", "0.0"):
        with pytest.raises(QueryInvalid, match="by zero"):
            evaluate(f"duration('P1D') / {zero}")


@given(values.instants, values.instants)
def test_comparisons_of_queries_are_the_order_of_values(left: Instant, right: Instant) -> None:
    comparable = type(left) is type(right)
    less = build_order_key(left) < build_order_key(right)
    assert evaluate("$a < $b", a=left, b=right) is (less if comparable else None)
    assert evaluate("$a = $b", a=left, b=right) is (left == right)
    assert evaluate("$a >= $b", a=left, b=right) is (not less if comparable else None)


# --- aggregates, grouping, order ----------------------------------------------------------------


def test_durations_are_summed_and_averaged() -> None:
    text = "UNWIND [duration('P1M'), null, duration('P2DT1S')] AS d RETURN sum(d), avg(d)"
    assert ask(text) == [["P1M2DT1S", "P16DT5H14M33.5S"]]


@pytest.mark.parametrize("mixed", ["[duration('P1D'), 1]", "[1, duration('P1D')]"])
@pytest.mark.parametrize("name", ["sum", "avg"])
def test_durations_and_numbers_are_not_summed_together(name: str, mixed: str) -> None:
    with pytest.raises(QueryInvalid, match="Durations, not"):
        ask(f"UNWIND {mixed} AS d RETURN {name}(d)")


@given(st.lists(values.small_durations, min_size=1, max_size=20))
def test_the_mean_of_durations_is_as_long_as_their_sum_by_their_number(
    durations: list[Duration],
) -> None:
    total = evaluate("reduce(s = duration('PT0S'), d IN $d | s + d)", d=list(durations))
    found = evaluate("reduce(s = duration('PT0S'), d IN $d | s + d) / size($d)", d=list(durations))
    assert isinstance(total, Duration)
    assert isinstance(found, Duration)
    [whole], [mean] = (build_order_key(total)[1:2], build_order_key(found)[1:2])
    assert math.isclose(whole / len(durations), mean, abs_tol=1, rel_tol=1e-12)


def test_temporal_values_are_sorted_grouped_and_told_apart() -> None:
    listed = (
        "[datetime('2015-07-21T12:00+02:00'), date('2015-07-22'), datetime('2015-07-21T10:00Z'),"
        " date('20150722'), '2015-07-21', date('2015-W30-2')]"
    )
    text = f"UNWIND {listed} AS x WITH x, count(*) AS n ORDER BY x RETURN collect([x, n])"
    assert ask(text) == [
        [
            [
                ["2015-07-21T10:00Z", 1],
                ["2015-07-21T12:00+02:00", 1],
                ["2015-07-21", 1],
                ["2015-07-22", 2],
                ["2015-07-21", 1],
            ]
        ]
    ]
    assert ask(f"UNWIND {listed} AS x RETURN min(x), max(x)") == [
        ["2015-07-21T10:00Z", "2015-07-21"]
    ]


def test_times_without_zone_take_none_and_times_with_one_keep_it() -> None:
    found = evaluate("[time('12:00+01:00'), localtime('12:00')]")
    assert found == [Time(LocalTime(12 * 3600 * 10**9), 3600), LocalTime(12 * 3600 * 10**9)]
