"""Reads vectors as values of Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bools
from twinframe_columns.times import read_values as read_times
from twinframe_columns.vectors import (
    Constant,
    Entities,
    Lists,
    Maps,
    Mixed,
    Numbers,
    Paths,
    Pieces,
    Texts,
    Times,
    Truths,
    Vector,
)


def read_scalars(vector: Vector, count: int) -> list[Any]:
    """Return the values of a vector that has no twins, relationships, lists or maps."""
    match vector:
        case Constant():
            return [vector.value] * count
        case Numbers():
            return blank(read_numbers(vector), vector.valid)
        case Texts():
            return blank(_read_texts(vector), vector.valid)
        case Times():
            return read_times(vector)
        case Pieces():
            return read_scalars(vector.sort(), count)
        case Truths():
            return blank(vector.true.tolist(), vector.known)
        case Mixed():
            return _read_mixed(vector)
        case Entities() | Lists() | Maps() | Paths():
            raise CannotRun("Twins, relationships, lists or maps as scalars.")


def blank(values: list[Any], valid: Bools | None) -> list[Any]:
    """Set null where it is not valid."""
    if valid is not None:
        for at in np.flatnonzero(~valid).tolist():
            values[at] = None
    return values


def read_numbers(vector: Numbers) -> list[Any]:
    """Return integers and floats, whatever is valid."""
    whole = vector.is_integer
    if whole is True:
        whole_values: list[Any] = vector.data.astype(np.int64).tolist()
        return whole_values
    values: list[Any] = vector.data.tolist()
    if whole is not False:
        for at in np.flatnonzero(whole).tolist():
            values[at] = int(values[at])
    return values


def _read_texts(vector: Texts) -> list[Any]:
    if not len(vector.strings):
        return [None] * len(vector.codes)
    codes = vector.codes if vector.valid is None else np.where(vector.valid, vector.codes, 0)
    if len(codes) < max(64, len(vector.strings) // 4):
        return vector.strings.read_all(codes)
    # PERF: each text is read once, however many rows have it.
    is_used = np.zeros(len(vector.strings), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    if len(used) * 2 > len(codes):
        return vector.strings.read_all(codes)
    places = np.zeros(len(vector.strings), np.int64)
    places[used] = np.arange(len(used))
    texts = vector.strings.read_all(used)
    return [texts[at] for at in places[codes].tolist()]


def _read_mixed(vector: Mixed) -> list[Any]:
    kinds = vector.kinds
    if (kinds >= k.MAP).any():
        raise CannotRun("Lists, maps and large integers as scalars.")
    values: list[Any] = [None] * len(kinds)
    _fill(values, kinds == k.TRUE, [True] * len(kinds))
    _fill(values, kinds == k.FALSE, [False] * len(kinds))
    is_number = (kinds == k.INTEGER) | (kinds == k.FLOAT)
    if vector.numbers is not None and is_number.any():
        places = np.flatnonzero(is_number)
        found = read_numbers(Numbers(vector.numbers[places], kinds[places] == k.INTEGER))
        _fill(values, is_number, found)
    is_text = kinds == k.STRING
    if vector.codes is not None and vector.strings is not None and is_text.any():
        _fill(values, is_text, vector.strings.read_all(vector.codes[is_text]))
    return values


def _fill(values: list[Any], holds: Bools, found: list[Any]) -> None:
    for at, value in zip(np.flatnonzero(holds).tolist(), found, strict=False):
        values[at] = value
