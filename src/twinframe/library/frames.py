"""Builds Arrow tables and pandas data frames of the rows of a result, a column at a time.

The kind of a column is that of all its values. Rows are JSON, so a column is of times where all of
its texts are dates, or all are times with an offset.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
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
WHOLE: Final = 2**53
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
    arrow = import_extra("pyarrow", "arrow")
    arrays = [_build_array(arrow, [row.get(name) for row in rows], times) for name in columns]
    return arrow.table(arrays, names=list(columns))


def build_frame(
    rows: Sequence[dict[str, Any]], columns: Sequence[str], *, times: bool
) -> pd.DataFrame:
    """Return the rows as a data frame. Raises `ModuleNotFoundError` without pandas."""
    pandas = import_extra("pandas", "pandas")
    series = {
        name: _build_series(pandas, [row.get(name) for row in rows], times) for name in columns
    }
    return pandas.DataFrame(series, columns=list(columns), index=pandas.RangeIndex(len(rows)))


def import_extra(name: str, extra: str) -> Any:
    """Import a package of an extra. Raises `ModuleNotFoundError` that names the extra."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} is not installed: pip install 'twinframe[{extra}]'.", name=error.name
        ) from error


@dataclass(slots=True)
class Survey:
    """What the values of a column have in common, as far as they were seen."""

    types: set[type] = field(default_factory=set)
    is_non_finite: bool = True
    """Whether all texts stand for numbers that JSON cannot write."""
    fits: bool = True
    """Whether all integers have 64 bits."""
    is_exact: bool = True
    """Whether doubles have all integers."""
    forms: frozenset[Kind] = frozenset({Kind.DATE, Kind.MOMENT})
    """Of which forms all texts are."""

    def add(self, values: Sequence[Any], *, times: bool = True) -> None:
        """Look at more values; without `times`, dates and moments are texts."""
        types = {type(value) for value in values}
        types.discard(type(None))
        self.types |= types
        if str in types:
            texts = [value for value in values if type(value) is str]
            self.is_non_finite = self.is_non_finite and _NON_FINITE.keys() >= {*texts}
            self.forms = frozenset(form for form in self.forms if times and _can_parse(texts, form))
        if int in types:
            whole = [value for value in values if type(value) is int]
            self.fits = self.fits and min(whole) in _INT64 and max(whole) in _INT64
            self.is_exact = self.is_exact and max(map(abs, whole)) <= WHOLE

    def find_kind(self) -> Kind:
        """Return the kind of the column."""
        types = self.types
        if types <= {int, float, str} and types & {int, float} and str in types:
            types = types - {str} | {float} if self.is_non_finite else types
        if not types:
            return Kind.EMPTY
        if types == {bool}:
            return Kind.BOOLEAN
        if types == {int}:
            return Kind.INTEGER if self.fits else Kind.MIXED
        if types <= {int, float}:
            return Kind.FLOAT if self.is_exact else Kind.MIXED
        if types == {str}:
            return next(iter(self.forms), Kind.TEXT)
        return Kind.NESTED if types in ({dict}, {list}) else Kind.MIXED


def find_kind(values: Sequence[Any], *, times: bool = True) -> Kind:
    """Return the kind of a column; without `times`, dates and moments are texts."""
    survey = Survey()
    survey.add(values, times=times)
    return survey.find_kind()


def _can_parse(texts: Sequence[str], form: Kind) -> bool:
    pattern, parse = _FORMS[form]
    if not all(map(pattern.fullmatch, texts)):
        return False
    try:
        for text in texts:
            parse(text)
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


_FORMS: Final[dict[Kind, tuple[re.Pattern[str], Callable[[str], object]]]] = {
    Kind.DATE: (_DATE, date.fromisoformat),
    Kind.MOMENT: (_MOMENT, _parse_moment),
}


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
    if kind is Kind.NESTED:
        try:
            return arrow.array(values)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
            kind = Kind.MIXED
    return build_typed(arrow, values, kind)


def build_typed(arrow: Any, values: Sequence[Any], kind: Kind, nested: Any = None) -> Any:
    """Return an array of values of a kind, of the type `nested` if that is `NESTED`."""
    match kind:
        case Kind.NESTED:
            return arrow.array(values, nested)
        case Kind.MIXED:
            return _build_texts(arrow, values)
        case _:
            return arrow.array(_convert(values, kind), find_type(arrow, kind))


def find_type(arrow: Any, kind: Kind) -> Any:
    """Return the type of a column of a kind that is not `NESTED`."""
    types = {
        Kind.EMPTY: arrow.null(),
        Kind.BOOLEAN: arrow.bool_(),
        Kind.INTEGER: arrow.int64(),
        Kind.FLOAT: arrow.float64(),
        Kind.DATE: arrow.date32(),
        Kind.MOMENT: arrow.timestamp("ns", tz="UTC"),
        Kind.TEXT: arrow.string(),
        Kind.MIXED: arrow.string(),
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
