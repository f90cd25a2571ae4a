"""Builds Arrow tables and pandas data frames of the rows of a result, a column at a time.

The kind of a column is that of all its values. Rows are JSON, so a column is of times where all of
its texts are dates, or all are times with an offset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from enum import Enum, auto
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT: Final = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)(?:\[[\w/+-]+\])?"
)
_ZONE: Final = re.compile(r"\[.*")
_NON_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""What JSON has in place of numbers that it cannot write."""
_WHOLE: Final = 2**53
"""Up to this, a double has each whole number."""
_INT64: Final = range(-(2**63), 2**63)


class Kind(Enum):
    """What all values of a column are, but for those that are missing."""

    EMPTY = auto()
    BOOLEAN = auto()
    INTEGER = auto()
    FLOAT = auto()
    DATE = auto()
    MOMENT = auto()
    TEXT = auto()
    NESTED = auto()
    MIXED = auto()


def build_table(rows: Sequence[dict[str, Any]], columns: Sequence[str], *, times: bool) -> pa.Table:
    """Return the rows as an Arrow table. Raises `ModuleNotFoundError` without pyarrow."""
    arrow = _import("pyarrow", "arrow")
    arrays = [_build_array(arrow, [row.get(name) for row in rows], times) for name in columns]
    return arrow.table(arrays, names=list(columns))


def build_frame(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], *, times: bool
) -> pd.DataFrame:
    """Return the rows as a data frame. Raises `ModuleNotFoundError` without pandas."""
    pandas = _import("pandas", "pandas")
    series = {
        name: _build_series(pandas, [row.get(name) for row in rows], times) for name in columns
    }
    return pandas.DataFrame(series, columns=list(columns), index=pandas.RangeIndex(len(rows)))


def _import(name: str, extra: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} is not installed: pip install 'twinframe[{extra}]'.", name=error.name
        ) from error


def find_kind(values: Sequence[Any], *, times: bool = True) -> Kind:
    """Return the kind of a column; without `times`, dates and moments are texts."""
    types = {type(value) for value in values}
    types.discard(type(None))
    if types <= {int, float, str} and types & {int, float} and str in types:
        texts = {value for value in values if type(value) is str}
        types -= {str} if texts <= _NON_FINITE.keys() else set()
        types |= {float} if str not in types else set()
    if not types:
        return Kind.EMPTY
    if types == {bool}:
        return Kind.BOOLEAN
    if types == {int}:
        fits = all(value is None or value in _INT64 for value in values)
        return Kind.INTEGER if fits else Kind.MIXED
    if types <= {int, float}:
        exact = all(type(value) is not int or abs(value) <= _WHOLE for value in values)
        return Kind.FLOAT if exact else Kind.MIXED
    if types == {str}:
        return _find_kind_of_texts(values) if times else Kind.TEXT
    return Kind.NESTED if types in ({dict}, {list}) else Kind.MIXED


def _find_kind_of_texts(values: Sequence[str | None]) -> Kind:
    for kind, form, parse in (
        (Kind.DATE, _DATE, date.fromisoformat),
        (Kind.MOMENT, _MOMENT, _parse_moment),
    ):
        if all(value is None or form.fullmatch(value) for value in values):
            return kind if _can_parse(values, parse) else Kind.TEXT
    return Kind.TEXT


def _can_parse(values: Sequence[str | None], parse: Callable[[str], object]) -> bool:
    try:
        for value in values:
            if value is not None:
                parse(value)
    except (ValueError, OverflowError):
        return False
    return True


def _parse_moment(text: str) -> int:
    """Return nanoseconds since 1970; `ValueError` for those that 64 bits do not hold."""
    text = _ZONE.sub("", text)
    fraction = re.search(r"\.(\d+)", text)
    digits = fraction[1] if fraction else ""
    moment = datetime.fromisoformat(text.replace(f".{digits}", "") if digits else text)
    since = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    found = (since.days * 86_400 + since.seconds) * 1_000_000_000 + int(digits.ljust(9, "0"))
    if found not in _INT64 or found == _INT64[0]:
        raise ValueError(text)
    return found


def _convert(values: Sequence[Any], kind: Kind) -> Sequence[Any]:
    """Return the values as Python has them; moments as nanoseconds since 1970."""
    match kind:
        case Kind.FLOAT:
            return [_NON_FINITE[one] if type(one) is str else one for one in values]
        case Kind.DATE:
            return [None if one is None else date.fromisoformat(one) for one in values]
        case Kind.MOMENT:
            return [None if one is None else _parse_moment(one) for one in values]
        case _:
            return values


def _build_array(arrow: Any, values: Sequence[Any], times: bool) -> Any:
    kind = find_kind(values, times=times)
    found = _convert(values, kind)
    match kind:
        case Kind.NESTED:
            try:
                return arrow.array(found)
            except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
                return _build_texts(arrow, values)
        case Kind.MIXED:
            return _build_texts(arrow, values)
        case _:
            return arrow.array(found, _find_type(arrow, kind))


def _find_type(arrow: Any, kind: Kind) -> Any:
    types = {
        Kind.EMPTY: arrow.null(),
        Kind.BOOLEAN: arrow.bool_(),
        Kind.INTEGER: arrow.int64(),
        Kind.FLOAT: arrow.float64(),
        Kind.DATE: arrow.date32(),
        Kind.MOMENT: arrow.timestamp("ns", tz="UTC"),
        Kind.TEXT: arrow.string(),
    }
    return types[kind]


def _build_texts(arrow: Any, values: Sequence[Any]) -> Any:
    texts = [None if value is None else orjson.dumps(value).decode() for value in values]
    return arrow.array(texts, arrow.string())


def _build_series(pandas: Any, values: Sequence[Any], times: bool) -> Any:
    kind = find_kind(values, times=times)
    found, has_gaps = _convert(values, kind), None in values
    match kind:
        case Kind.BOOLEAN:
            return pandas.Series(found, dtype="boolean" if has_gaps else "bool")
        case Kind.INTEGER:
            return pandas.Series(found, dtype="Int64" if has_gaps else "int64")
        case Kind.FLOAT:
            return pandas.Series(found, dtype="float64")
        case Kind.DATE:
            return pandas.Series(found, dtype="datetime64[s]")
        case Kind.MOMENT:
            moments = pandas.Series(found, dtype="Int64")
            return pandas.to_datetime(moments, unit="ns", utc=True)
        case Kind.TEXT:
            return pandas.Series(found, dtype="str")
        case _:
            return pandas.Series(found, dtype="object")
