"""Texts that are temporal values: those of one layout are ordered as their texts are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from twinframe.errors import QueryInvalid
from twinframe.model.temporal.instants import Date, DateTime, Time, zone_instant
from twinframe.model.temporal.parsing import parse_date, parse_date_time, parse_time
from twinframe.query.engine import CannotRun
from twinframe_columns.strings import Strings
from twinframe_columns.vectors import Constant, Layout, Numbers, Texts, Times, Vector

_DAY: Final = r"\d{4}-\d\d-\d\d"
_CLOCK: Final = r"\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)?"
_LAYOUTS: Final = {
    "date": re.compile(_DAY, re.ASCII),
    "dateTime": re.compile(f"{_DAY}T{_CLOCK}", re.ASCII),
    "time": re.compile(_CLOCK, re.ASCII),
}
_Parse: TypeAlias = Callable[[str], Date | DateTime | Time]
_PARSERS: Final[dict[str, _Parse]] = {
    "date": parse_date,
    "dateTime": parse_date_time,
    "time": parse_time,
}
_DAYS: Final = np.array((0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), np.int16)
_CLOCK_LIMITS: Final = ((0, 24), (3, 60), (6, 60))
_PARTS: Final[dict[str, tuple[int, int]]] = {"year": (0, 4), "month": (5, 7), "day": (8, 10)}
_CLOCK_PARTS: Final = {"hour": (0, 2), "minute": (3, 5), "second": (6, 8)}
_NANOSECONDS: Final = 10**9

Digits = npt.NDArray[np.uint8]


def read_times(texts: Texts, schema: str) -> Times:
    """Return texts as temporal values of a schema; raise `CannotRun` unless all have one layout."""
    known = texts.strings.derived
    count, layout = known.get(schema, (-1, None))
    if count != len(texts.strings):
        layout = find_layout(texts.strings, schema)
        known[schema] = len(texts.strings), layout
    if not isinstance(layout, Layout):
        raise CannotRun("Times of several layouts.")
    return Times(texts.codes, texts.strings, layout, texts.valid)


def find_layout(strings: Strings, schema: str) -> Layout | None:
    """Return the layout of all texts that rows ever had; None where they have several, or one is
    no valid time.
    """
    if schema not in _LAYOUTS or not len(strings):
        return None
    first = strings.read(0)
    if not _LAYOUTS[schema].fullmatch(first):
        return None
    layout = _build_layout(schema, first)
    if layout is None or not all(_is_laid_out(layout, one) for one in strings.read_added()):
        return None
    offsets, blob = strings.read_arrays()
    size = len(first)
    if len(offsets) == 1:
        return layout
    if not (np.diff(offsets) == size).all():
        return None
    table: Digits = blob[offsets[0] : offsets[-1]].reshape(-1, size)
    return layout if _are_laid_out(layout, table) else None


def _build_layout(schema: str, text: str) -> Layout | None:
    try:
        value = _PARSERS[schema](text)
    except QueryInvalid:
        return None
    clock = {"date": len(text), "dateTime": 11, "time": 0}[schema]
    end = min(clock + 8, len(text))
    while text[end : end + 1].isdigit() or text[end : end + 1] == ".":
        end += 1
    template = re.sub(r"\d", "0", text[:end], flags=re.ASCII) + text[end:]
    offset = 0 if isinstance(value, Date) else value.offset
    return Layout(schema, template, clock, max(0, end - clock - 9), end, offset)


def _is_laid_out(layout: Layout, text: str) -> bool:
    raw = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    return len(raw) == len(layout.template) and _are_laid_out(layout, raw.reshape(1, -1))


def _are_laid_out(layout: Layout, table: Digits) -> bool:
    for at, sign in enumerate(layout.template):
        column = table[:, at]
        if sign == "0" and at < layout.end:
            if int(column.min()) < 48 or int(column.max()) > 57:
                return False
        elif not (column == ord(sign)).all():
            return False
    if layout.schema != "date":
        for start, limit in _CLOCK_LIMITS:
            if int(_read(table, layout.clock + start, 2).max()) >= limit:
                return False
    return layout.schema == "time" or _are_days(table)


def _read(table: Digits, start: int, size: int) -> npt.NDArray[np.int16]:
    found = np.zeros(len(table), np.int16)
    for at in range(start, start + size):
        found = found * np.int16(10) + (table[:, at].astype(np.int16) - np.int16(48))
    return found


def _are_days(table: Digits) -> bool:
    years, months, days = _read(table, 0, 4), _read(table, 5, 2), _read(table, 8, 2)
    if not (years.min() >= 1 and months.min() >= 1 and months.max() <= 12 and days.min() >= 1):
        return False
    if not (days <= _DAYS[months]).all():
        return False
    years = years[(months == 2) & (days == 29)]
    return bool(((years % 4 == 0) & ((years % 100 != 0) | (years % 400 == 0))).all())


# --- reading --------------------------------------------------------------------------------------


def read_values(times: Times) -> list[Any]:
    """Return the temporal values, with their texts."""
    parse = _PARSERS[times.layout.schema]
    codes = times.codes if times.valid is None else times.codes[times.valid]
    used = np.unique(codes)
    texts = times.strings.read_all(used)
    values = {
        code: replace(parse(text), text=text)
        for code, text in zip(used.tolist(), texts, strict=True)
    }
    found = [values.get(code) for code in times.codes.tolist()]
    if times.valid is not None:
        for at in np.flatnonzero(~times.valid).tolist():
            found[at] = None
    return found


def read_part(times: Times, name: str) -> Numbers:
    """Return a component such as the year; raise `CannotRun` for those that are not its digits."""
    layout = times.layout
    place = _PARTS.get(name) if layout.schema != "time" else None
    if place is None and layout.schema != "date" and name in _CLOCK_PARTS:
        start, end = _CLOCK_PARTS[name]
        place = layout.clock + start, layout.clock + end
    if place is None:
        raise CannotRun(f"The component {name} of times.")
    start, end = place
    offsets, blob = times.strings.read_arrays()
    table: Digits = blob[offsets[0] : offsets[-1]].reshape(-1, len(layout.template))
    added = [int(one[start:end]) for one in times.strings.read_added()]
    parts = np.concatenate((_read(table, start, end - start), np.array(added, np.int16)))
    codes = times.codes if times.valid is None else np.where(times.valid, times.codes, 0)
    return Numbers(parts[codes].astype(np.float64), True, times.valid)


def as_texts(vector: Vector) -> Vector:
    """Return times as the texts they are stored as."""
    if isinstance(vector, Times):
        return Texts(vector.codes, vector.strings, vector.valid)
    return vector


def rank_constant(times: Times, constant: Constant) -> float | None:
    """Return where a temporal value stands among the ranks of the texts; None if it is of another
    type, and so neither equal nor less.

    A time of another offset is never equal; of one instant, that of the eastern offset is greater.
    """
    value, layout, strings = constant.value, times.layout, times.strings
    shift = 0
    match layout.schema, value:
        case "date", Date():
            text = _render_day(value)
        case "dateTime", DateTime():
            local = zone_instant(value.instant, layout.offset).local
            clock, more = _render_clock(layout, local.time.nanoseconds)
            text = f"{_render_day(local.date)}T{clock}"
            mine, other = (layout.offset, ""), (value.offset, value.zone or "")
            shift = 1 if more else (other > mine) - (other < mine)
        case "time", Time() if value.offset == layout.offset:
            text, more = _render_clock(layout, value.local.nanoseconds)
            shift = int(more > 0)
        case "time", Time():
            raise CannotRun("A time of another offset.")
        case _:
            return None
    rank, is_there = strings.rank_text(text)
    return rank + shift * 0.25 / (len(strings.read_added()) + 1) if is_there else rank


def _render_day(value: Date) -> str:
    year, month, day = value.split()
    if not 0 <= year <= 9999:
        raise CannotRun("A year of more than four digits.")
    return f"{year:04}-{month:02}-{day:02}"


def _render_clock(layout: Layout, nanoseconds: int) -> tuple[str, int]:
    """Return the last time of the layout that is not later, and by how much the time is."""
    seconds, rest = divmod(nanoseconds, _NANOSECONDS)
    fraction, more = divmod(rest, 10 ** (9 - layout.fraction))
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if layout.fraction:
        text += f".{fraction:0{layout.fraction}}"
    return text + layout.template[layout.end :], more


def is_temporal(value: Any) -> bool:
    """Whether a constant is a temporal value that columns may hold."""
    return isinstance(value, Date | DateTime | Time)
