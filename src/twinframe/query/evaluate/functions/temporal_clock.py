"""The functions that read the clock: `date()`, `datetime.realtime('Europe/Oslo')` and others.

SPEC: openCypher 9 (CIP2015-08-06): `transaction` and `statement` are one instant for a whole query
(which is a transaction of its own here), `realtime` is read by each call. Without a zone it is UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from twinframe.model.clock import read_clock
from twinframe.model.temporal.instants import (
    UTC,
    DateTime,
    Instant,
    Time,
    Zone,
    zone_instant,
)
from twinframe.model.values import Value
from twinframe.query.evaluate.failures import build_argument_type_error
from twinframe.query.evaluate.functions.temporal_fields import parse_fields, read_zone
from twinframe.query.evaluate.run import Run

_CUTS: Mapping[str, Callable[[DateTime], Instant]] = {
    "date": lambda moment: moment.local.date,
    "localtime": lambda moment: moment.local.time,
    "time": lambda moment: Time(moment.local.time, moment.offset),
    "localdatetime": lambda moment: moment.local,
    "datetime": lambda moment: moment,
}


def build_now(kind: str, instant: int, zone: Zone) -> Instant:
    """Return the local time of a zone at `instant` nanoseconds since 1970, as a value of `kind`."""
    return _CUTS[kind](zone_instant(instant, zone))


def find_offset_now(zone: Zone, instant: int) -> int:
    """Return the offset of a zone at an instant: all that a time without a date can keep of it."""
    return zone_instant(instant, zone).offset


def read_statement_clock(kind: str, run: Run, zone: Value = "Z") -> Value:
    """`date.statement([zone])` and `date.transaction([zone])`."""
    return None if zone is None else build_now(kind, run.read_instant(), _read(kind, zone))


def read_real_clock(kind: str, run: Run, zone: Value = "Z") -> Value:
    """`date.realtime([zone])`."""
    return None if zone is None else build_now(kind, read_clock(), _read(kind, zone))


def _read(kind: str, value: Value) -> Zone:
    """A zone as text or as `{timezone: text}`."""
    match value:
        case str():
            return read_zone(kind, value)
        case dict():
            zone = parse_fields(kind, value, {"timezone"}).zone
            return UTC if zone is None else zone
        case _:
            raise build_argument_type_error(kind, value, "a String or Map with a timezone")
