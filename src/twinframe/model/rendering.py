"""Renders values as JSON text for the wire.

- A node or relationship is its document.
- A path is one array, nodes and relationships alternating: `[node, relationship, node, ...]`.
- A float that JSON has no number for is a string: `"NaN"`, `"Infinity"`, `"-Infinity"`. It is not
  null, which would be another answer.
- A temporal value is a string of ISO 8601: `"2015-07-21T21:40:32.142+02:00[Europe/Stockholm]"`; one
  that was read from a document is the string in it.
- Integers stay integers over the whole 64-bit range.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from twinframe.errors import LimitExceeded
from twinframe.model.temporal.durations import Duration
from twinframe.model.temporal.instants import (
    NANOSECONDS,
    Date,
    DateTime,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
)
from twinframe.model.temporal.zones import render_offset
from twinframe.model.values import Node, Path, Relationship, Temporal, Value


def render_json(value: Value) -> bytes:
    """Render the value as JSON text in UTF-8. Raises `LimitExceeded` for more than 254 levels."""
    return _render(value)


def render_row(columns: Sequence[str], row: Sequence[Value], *, omit_null: bool = False) -> bytes:
    """Render a row as a JSON object in column order; `omit_null` leaves null columns out."""
    found = dict(zip(columns, row, strict=True))
    if omit_null:
        found = {name: value for name, value in found.items() if value is not None}
    return _render(found)


def list_members(rows: Iterable[object]) -> list[str]:
    """Return the names of the members of all objects, in the order in which they come."""
    return list(dict.fromkeys(name for row in rows if isinstance(row, dict) for name in row))


def build_json(value: Value) -> Any:
    """Convert the value to JSON types: None, bool, int, float, str, list and dict."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, Node | Relationship):
        return value.document
    match value:
        case float():
            return value if math.isfinite(value) else _name_non_finite(value)
        case list():
            return [build_json(item) for item in value]
        case dict():
            return {key: build_json(item) for key, item in value.items()}
        case Path():
            return _build_path(value)
        case _ if isinstance(value, Temporal):
            return _render_stored(value) or render_temporal(value)
        case _:
            raise TypeError(f"Not a value of the query languages: {kind.__name__}.")


def render_text(value: str | float | Temporal) -> str:
    """Render a scalar as `toString()` does: numbers in the shortest form that reads back."""
    if isinstance(value, str):
        return value
    if isinstance(value, Temporal):
        return _render_stored(value) or render_temporal(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if math.isfinite(value) else _name_non_finite(value)


def _render_stored(value: Temporal) -> str | None:
    """Return the document's text of the value; None for computed ones."""
    return None if isinstance(value, LocalTime | LocalDateTime) else value.text


def _build_path(path: Path) -> list[Any]:
    parts: list[Any] = [path.nodes[0].document]
    for crossed, node in zip(path.relationships, path.nodes[1:], strict=True):
        parts.append(crossed.document)
        parts.append(node.document)
    return parts


def _name_non_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _render(value: Any) -> bytes:
    try:
        # PERF: half of the time of `build_json`, for lists of maps a tenth.
        text = orjson.dumps(value, _build_part, orjson.OPT_PASSTHROUGH_DATACLASS)
        # NOTE: a float that JSON has no number for is written as null.
        return text if b"null" not in text else orjson.dumps(build_json(value), _build_part)
    except orjson.JSONEncodeError as error:
        raise LimitExceeded(f"A result value cannot be written as JSON: {error}.") from error


def _build_part(part: Any) -> Any:
    """Convert what JSON does not have."""
    return dict(part) if isinstance(part, Mapping) else build_json(part)


def render_temporal(value: Instant | Duration) -> str:
    """Render a temporal value as text that parses to the same value.

    Seconds are left out when they are zero, and fractions have three, six or nine digits, as in the
    openCypher TCK: `12:31`, `12:31:14.645`. Years beyond 9999 have a sign.
    """
    match value:
        case Date():
            return _render_date(value)
        case LocalTime():
            return _render_time(value)
        case Time():
            return _render_time(value.local) + render_offset(value.offset)
        case LocalDateTime():
            return _render_local(value)
        case DateTime():
            name = f"[{value.zone}]" if value.zone else ""
            return _render_local(value.local) + render_offset(value.offset) + name
        case Duration():
            return _render_duration(value)


def _render_date(value: Date) -> str:
    year, month, day = value.split()
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _render_time(value: LocalTime) -> str:
    hour, minute, second, nanosecond = value.split()
    text = f"{hour:02}:{minute:02}"
    if not second and not nanosecond:
        return text
    return f"{text}:{second:02}{_render_thousands(nanosecond)}"


def _render_thousands(nanosecond: int) -> str:
    if not nanosecond:
        return ""
    digits = f"{nanosecond:09}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _render_local(value: LocalDateTime) -> str:
    return f"{_render_date(value.date)}T{_render_time(value.time)}"


def _render_duration(value: Duration) -> str:
    sign = "-" if value.months < 0 else ""
    years, months = divmod(abs(value.months), 12)
    text = _render_amounts(sign, (years, "Y"), (months, "M"))
    text += f"{value.days}D" if value.days else ""
    clock = _render_clock(value.clock)
    if clock:
        text += f"T{clock}"
    return f"P{text or 'T0S'}"


def _render_clock(clock: int) -> str:
    sign = "-" if clock < 0 else ""
    seconds, nanosecond = divmod(abs(clock), NANOSECONDS)
    minutes, second = divmod(seconds, 60)
    text = _render_amounts(sign, (minutes // 60, "H"), (minutes % 60, "M"))
    if not second and not nanosecond:
        return text
    fraction = f".{nanosecond:09}".rstrip("0") if nanosecond else ""
    return f"{text}{sign}{second}{fraction}S"


def _render_amounts(sign: str, *amounts: tuple[int, str]) -> str:
    return "".join(f"{sign}{amount}{unit}" for amount, unit in amounts if amount)
