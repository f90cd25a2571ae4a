"""Time zones: offsets as text, and the rules of named zones.

The rules are those of the `tzdata` distribution alone, never of the machine, so that one query has
one answer everywhere.
"""

from __future__ import annotations

import functools
import importlib.resources
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from twinframe.model.temporal.calendar import CYCLE_DAYS
from twinframe.model.temporal.failures import build_argument_error, build_name_error, shorten

SECONDS_OF_DAY = 86_400

_OFFSET = re.compile(r"([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?", re.ASCII)
_MOST_OFFSET = 18 * 3600  # SPEC: ISO 8601 names no bound; this is that of the TCK's authors
_ORDINAL_OF_1970 = 719_163  # as `datetime.toordinal` counts
_EARLIEST, _LATEST = 2, 3_652_058  # ordinals, a day inside of the range of `datetime`


def parse_offset(text: str) -> int:
    """Parse `Z`, `+hh`, `+hh:mm`, `+hhmm` or `+hh:mm:ss`, at most 18 hours, to seconds."""
    if text in {"Z", "z"}:
        return 0
    found = _OFFSET.fullmatch(text)
    if found is None:
        raise build_argument_error(
            f"{shorten(text)!r} is no offset from UTC; '+01:00' and 'Z' are."
        )
    hours, minutes, seconds = (int(part or 0) for part in found.group(2, 3, 4))
    offset = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or offset > _MOST_OFFSET:
        raise build_argument_error(f"The offset {text!r} is not within 18:00 of UTC.")
    return -offset if found.group(1) == "-" else offset


def render_offset(offset: int) -> str:
    """Render `Z`, `+hh:mm`, or `+hh:mm:ss` if there are seconds."""
    if offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    sign = "-" if offset < 0 else "+"
    text = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def parse_zone_name(text: str) -> str:
    """Return the name of an existing zone, blanks as underscores; else the nearest in an error."""
    name = text.replace(" ", "_")
    if name in _read_names():
        return name
    raise build_name_error("The time zone", text, _read_names())


def find_offset(zone: str, moment: int) -> int:
    """Return the seconds east of UTC in a named zone at `moment` seconds since 1970."""
    return _read_offset(zone, *_bring_within_rules(moment), is_local=False)


def resolve_local(zone: str, local: int, preferred: int | None = None) -> tuple[int, int]:
    """Return the offset at a local time of a named zone, and the local time itself.

    `local` is in seconds since 1970-01-01T00:00 on the zone's clocks. Where clocks are put back the
    time occurs twice: it gets the `preferred` offset if that is one of the two, else it is the
    earlier time. Where clocks are put forward it does not exist: it moves on by the gap.
    """
    day, second = _bring_within_rules(local)
    early = _read_offset(zone, day, second, is_local=True)
    if preferred is not None and find_offset(zone, local - preferred) == preferred:
        return preferred, local
    actual = find_offset(zone, local - early)
    return actual, local - early + actual


def _bring_within_rules(seconds: int) -> tuple[int, int]:
    """Return an ordinal day with the same rules as the wanted one, and the second of that day.

    NOTE: before the year 1 no zone had rules; beyond 9999 they repeat with the calendar.
    """
    days, second = divmod(seconds, SECONDS_OF_DAY)
    ordinal = days + _ORDINAL_OF_1970
    if ordinal < _EARLIEST:
        return _EARLIEST, second
    if ordinal > _LATEST:
        ordinal -= -((_LATEST - ordinal) // CYCLE_DAYS) * CYCLE_DAYS
    return ordinal, second


def _read_offset(zone: str, ordinal: int, second: int, *, is_local: bool) -> int:
    rules = _read_rules(zone)
    naive = datetime.fromordinal(ordinal) + timedelta(seconds=second)
    moment = naive.replace(tzinfo=rules)
    if not is_local:
        moment = rules.fromutc(moment)
    offset = moment.utcoffset()
    return 0 if offset is None else int(offset.total_seconds())


@functools.cache
def _read_rules(zone: str) -> ZoneInfo:
    # SEC: only names of the list come here: a name is a path inside of the distribution.
    source = importlib.resources.files("tzdata").joinpath("zoneinfo", *zone.split("/"))
    with source.open("rb") as file:
        return ZoneInfo.from_file(file, key=zone)


@functools.cache
def _read_names() -> frozenset[str]:
    text = importlib.resources.files("tzdata").joinpath("zones").read_text(encoding="ascii")
    return frozenset(text.split())
