"""The law of stored times: where SQL gives a key, keys are ordered as the values are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from twinframe.errors import QueryInvalid
from twinframe.model.comparison import build_order_key
from twinframe.model.temporal.parsing import parse_date, parse_date_time, parse_time
from twinframe.model.values import Value
from twinframe_storage_sqlite.compiler.guards import find_trap
from twinframe_storage_sqlite.compiler.times import render_time_key

PARSERS: dict[str, Callable[[str], Value]] = {
    "date": parse_date,
    "dateTime": parse_date_time,
    "time": parse_time,
}
DATES = st.one_of(
    st.dates().map(str),
    st.builds(
        "{:04}-{:02}-{:02}".format,
        st.integers(0, 9999),
        st.integers(0, 13),
        st.integers(0, 32),
    ),
    st.sampled_from(["0000-01-01", "9999-12-31", "1969-12-31", "20240131", "2024", "-0001-01-01"]),
)
CLOCKS = st.one_of(
    st.times().map(lambda time: time.isoformat(timespec="seconds")),
    st.builds(
        "{:02}:{:02}:{:02}".format, st.integers(0, 25), st.integers(0, 61), st.integers(0, 61)
    ),
    st.sampled_from(["10:00", "1000", "10", ""]),
)
FRACTIONS = st.one_of(
    st.just(""),
    st.from_regex(r"\.[0-9]{1,10}", fullmatch=True),
    st.sampled_from([".0", ".000000000", ".5", ".50", ",5", ".", ".5.", ".x"]),
)
ZONES = st.one_of(
    st.sampled_from(["", "Z", "z", "+00:00", "-00:00", "+18:00", "+18:01", "-18:00", "+19:00"]),
    st.sampled_from(["+0100", "+01", "+01:00:30", "[Europe/Berlin]", "+01:00[Europe/Berlin]"]),
    st.builds(
        "{}{:02}:{:02}".format, st.sampled_from("+-"), st.integers(0, 20), st.integers(0, 61)
    ),
)
TIMES = st.builds("{}{}{}".format, CLOCKS, FRACTIONS, ZONES)
TEXTS = {
    "date": DATES,
    "time": TIMES,
    "dateTime": st.builds("{}{}{}".format, DATES, st.sampled_from("TTTT t"), TIMES),
}


@pytest.fixture(scope="module")
def connection() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    yield connection
    connection.close()


def find_key(connection: apsw.Connection, kind: str, text: str) -> str | None:
    """The key that SQL gives; None where it gives none."""
    try:
        key = connection.execute(f"SELECT {render_time_key(kind, ':x')}", {"x": text}).get
    except apsw.Error as error:
        if find_trap(error) is None:
            raise
        return None
    assert isinstance(key, str)
    return key


def parse(kind: str, text: str) -> Value:
    try:
        return PARSERS[kind](text)
    except QueryInvalid:
        return None


@settings(max_examples=2_000, deadline=None)
@example(kind="dateTime", texts=("2024-01-01T00:00:00Z", "2024-01-01T01:00:00+01:00"))
@example(kind="dateTime", texts=("2024-01-01T00:00:00.10Z", "2024-01-01T00:00:00.1Z"))
@example(kind="dateTime", texts=("1969-12-31T23:59:59.9Z", "1970-01-01T00:00:00Z"))
@example(kind="time", texts=("00:30:00+01:00", "23:30:00Z"))
@example(kind="dateTime", texts=("2024-01-01T00:00:00Z\0", "2024-01-01T00:00:00Z\0x"))
@example(kind="time", texts=("10:00:00\0", "10:00:00.5\0Z"))
@example(kind="date", texts=("2024-01-01\0", "2024-01-01\0x"))
@given(
    kind=st.shared(st.sampled_from(sorted(TEXTS)), key="kind"),
    texts=st.shared(st.sampled_from(sorted(TEXTS)), key="kind").flatmap(
        lambda kind: st.tuples(TEXTS[kind], TEXTS[kind])
    ),
)
def test_keys_are_ordered_as_the_values_are(
    connection: apsw.Connection, kind: str, texts: tuple[str, str]
) -> None:
    keys = [find_key(connection, kind, text) for text in texts]
    values = [parse(kind, text) for text in texts]
    for key, value in zip(keys, values, strict=True):
        assert key is None or value is not None  # what is no time has no key
    if keys[0] is None or keys[1] is None:
        return
    orders = [build_order_key(value) for value in values]
    assert (keys[0] < keys[1], keys[0] == keys[1]) == (
        orders[0] < orders[1],
        orders[0] == orders[1],
    )


@settings(max_examples=500, deadline=None)
@given(
    moment=st.datetimes(),
    fraction=st.from_regex(r"(\.[0-9]{1,9})?", fullmatch=True),
    zone=st.one_of(
        st.sampled_from(["", "Z"]),
        st.builds(
            "{}{:02}:{:02}".format, st.sampled_from("+-"), st.integers(0, 17), st.integers(0, 59)
        ),
    ),
)
def test_the_usual_forms_have_a_key(
    connection: apsw.Connection, moment: object, fraction: str, zone: str
) -> None:
    date, time = str(moment)[:10], str(moment)[11:19]
    assert find_key(connection, "date", date)
    assert find_key(connection, "time", f"{time}{fraction}{zone}")
    assert find_key(connection, "dateTime", f"{date}T{time}{fraction}{zone}")
