"""Puts vectors of several types together: values of Python, of branches, of parts of a result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bytes, Codes, Integers, Rows
from twinframe_columns.strings import Strings, build_strings, encode, sort_texts
from twinframe_columns.vectors import (
    NULL,
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
    is_plain_number,
    narrow,
    read_rows,
    take,
)

MOST_ITEMS: Final = 8_000_000
"""Items of the lists of a frame."""


def build_vector(values: Sequence[Any]) -> Vector:
    """Build the vector of these values of Python: scalars, lists, maps, and null."""
    types = set(map(type, values)) - {type(None)}
    if types == {list}:
        return _build_lists(values)
    if types == {dict}:
        return _build_maps(values)
    kinds = np.zeros(len(values), np.uint8)
    numbers = np.zeros(len(values), np.float64)
    codes = np.zeros(len(values), np.int32)
    texts: dict[str, int] = {}
    for at, value in enumerate(values):
        kind = find_scalar_kind(value)
        kinds[at] = kind
        if kind == k.STRING:
            codes[at] = texts.setdefault(value, len(texts))
        elif kind in (k.INTEGER, k.FLOAT):
            numbers[at] = value
    strings, ranks = sort_texts(list(texts))
    return narrow(Mixed(kinds, numbers, ranks[codes] if texts else None, strings))


def _build_lists(values: Sequence[list[Any] | None]) -> Lists:
    sizes = np.array([len(one or ()) for one in values], np.int64)
    items = build_vector([item for one in values for item in one or ()])
    valid = np.array([one is not None for one in values], np.bool_)
    return Lists(np.cumsum(sizes) - sizes, sizes, items, None if valid.all() else valid)


def _build_maps(values: Sequence[dict[str, Any] | None]) -> Maps:
    present = [one for one in values if one is not None]
    names = list(dict.fromkeys(name for one in present for name in one))
    valid = np.array([one is not None for one in values], np.bool_)
    return Maps(
        {name: build_vector([one and one.get(name) for one in values]) for name in names},
        None if valid.all() else valid,
        is_partial=any(list(one) != names for one in present),
    )


def find_scalar_kind(value: Any) -> int:
    """Return the kind of null, a boolean, a number or a text; what a column cannot hold raises
    `CannotRun`.
    """
    if value is not None and type(value) not in (bool, int, float, str):
        raise CannotRun("A value that is no scalar.")
    if type(value) is float and not math.isfinite(value):
        raise CannotRun("A number that is not finite.")
    kind = k.find_kind(value)
    if kind == k.OTHER:
        raise CannotRun("An integer that no float holds.")
    return kind


def widen(vector: Vector, count: int) -> Mixed:
    """Return the values with the kind of each."""
    kinds: Bytes = np.zeros(count, np.uint8)
    match vector:
        case Mixed():
            return vector
        case Pieces():
            return widen(vector.sort(), count)
        case Constant(value=value):
            kind = find_scalar_kind(value)
            kinds[:] = kind
            if kind == k.STRING:
                strings = build_strings([encode(value)])
                return Mixed(kinds, None, np.zeros(count, np.int32), strings)
            is_number = kind in (k.INTEGER, k.FLOAT)
            return Mixed(kinds, np.full(count, float(value)) if is_number else None, None, None)
        case Numbers(is_integer=bool() as whole):
            kinds[:] = k.INTEGER if whole else k.FLOAT
        case Numbers():
            kinds = np.where(vector.is_integer, np.uint8(k.INTEGER), np.uint8(k.FLOAT))
        case Texts():
            kinds[:] = k.STRING
        case Truths():
            kinds = np.where(vector.true, np.uint8(k.TRUE), np.uint8(k.FALSE))
            if vector.known is not None:
                kinds[~vector.known] = k.NULL
            return Mixed(kinds, None, None, None)
        case Entities() | Times() | Lists() | Maps() | Paths():
            raise CannotRun("Twins, relationships, times, lists or maps beside other values.")
    if vector.valid is not None:
        kinds[~vector.valid] = k.NULL
    if isinstance(vector, Texts):
        return Mixed(kinds, None, vector.codes, vector.strings)
    return Mixed(kinds, vector.data, None, None)


def merge(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    """Return one vector of `count` rows: the values of each part at its rows, else null."""
    parts = [(places, vector) for places, vector in parts if len(places) and vector != NULL]
    if not parts:
        return NULL
    if len(parts) == 1 and len(parts[0][0]) == count and isinstance(parts[0][1], Constant):
        return parts[0][1]
    if any(isinstance(vector, Entities) for _, vector in parts):
        return _merge_entities(parts, count)
    if any(isinstance(vector, Times) for _, vector in parts):
        return _merge_times(parts, count)
    if any(isinstance(vector, Paths) for _, vector in parts):
        return _merge_paths(parts, count)
    if any(isinstance(vector, Lists) for _, vector in parts):
        return _merge_lists(parts, count)
    if any(isinstance(vector, Maps) for _, vector in parts):
        return _merge_maps(parts, count)
    if any(
        isinstance(vector, Constant) and isinstance(vector.value, list | dict)
        for _, vector in parts
    ):
        return merge([(places, _spread(vector, len(places))) for places, vector in parts], count)
    if all(isinstance(vector, Numbers) or _is_number(vector) for _, vector in parts):
        return _merge_numbers(parts, count)
    widened = [(places, widen(vector, len(places))) for places, vector in parts]
    kinds = np.zeros(count, np.uint8)
    numbers = codes = None
    for places, part in widened:
        kinds[places] = part.kinds
        if part.numbers is not None:
            numbers = np.zeros(count, np.float64) if numbers is None else numbers
            numbers[places] = part.numbers
    strings, translated = unify([part for _, part in widened])
    for (places, _), own in zip(widened, translated, strict=True):
        if own is not None:
            codes = np.zeros(count, np.int32) if codes is None else codes
            codes[places] = own
    return narrow(Mixed(kinds, numbers, codes, strings))


def _is_number(vector: Vector) -> bool:
    return isinstance(vector, Constant) and is_plain_number(vector.value)


def _merge_numbers(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    """PERF: half the time of values of any type."""
    data = np.zeros(count, np.float64)
    valid = np.zeros(count, np.bool_)
    whole = np.zeros(count, np.bool_)
    for places, vector in parts:
        if isinstance(vector, Numbers):
            data[places], own = vector.data, vector.is_integer
            valid[places] = True if vector.valid is None else vector.valid
        else:
            value = vector.value if isinstance(vector, Constant) else None
            data[places], own = value, type(value) is int
            valid[places] = True
        if own is not False:
            whole[places] = own
    is_integer = whole if valid.all() else whole[valid]
    kind = bool(is_integer[0]) if len(is_integer) and (is_integer == is_integer[0]).all() else whole
    return Numbers(data, kind, None if len(is_integer) == count else valid)


def _merge_times(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    """NOTE: of one column, whose nulls came apart."""
    codes = np.zeros(count, np.int32)
    valid = np.zeros(count, np.bool_)
    first: Times | None = None
    for places, vector in parts:
        first = vector if first is None and isinstance(vector, Times) else first
        if not isinstance(vector, Times) or first is None or vector.strings is not first.strings:
            raise CannotRun("Times beside other values.")
        codes[places] = vector.codes
        valid[places] = True if vector.valid is None else vector.valid
    if first is None:
        return NULL
    return Times(codes, first.strings, first.layout, None if valid.all() else valid)


def _merge_entities(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    rows = np.zeros(count, np.int32)
    valid = np.zeros(count, np.bool_)
    edges: set[str | None] = set()
    for places, vector in parts:
        if not isinstance(vector, Entities):
            raise CannotRun("Twins or relationships beside other values.")
        rows[places] = read_rows(vector.rows)
        valid[places] = True if vector.valid is None else vector.valid
        edges.add(vector.edges)
    if len(edges) > 1:
        raise CannotRun("Relationships of several types from several parts.")
    return Entities(rows, edges.pop(), None if valid.all() else valid)


def _spread(vector: Vector, count: int) -> Vector:
    """Return a constant list or map as the lists or maps of so many rows."""
    if not isinstance(vector, Constant) or not isinstance(vector.value, list | dict):
        return vector
    found = build_vector([vector.value])
    assert isinstance(found, Lists | Maps)  # noqa: S101  # of a list or map
    if isinstance(found, Maps):
        return Maps({name: Constant(one) for name, one in dict(vector.value).items()})
    return Lists(np.zeros(count, np.int64), np.full(count, found.sizes[0]), found.items)


def _merge_lists(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    starts, sizes = np.zeros(count, np.int64), np.zeros(count, np.int64)
    valid = np.zeros(count, np.bool_)
    inner: list[tuple[Integers, Vector]] = []
    base = 0
    for places, vector in parts:
        lists = read_lists(vector, len(places))
        total = measure_items(lists)
        sizes[places] = lists.sizes
        starts[places] = np.cumsum(lists.sizes) - lists.sizes + base
        valid[places] = True if lists.valid is None else lists.valid
        inner.append((np.arange(base, base + total), list_items(lists)))
        base += total
    return Lists(starts, sizes, merge(inner, base), None if valid.all() else valid)


def _merge_maps(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    spread = [(places, _spread(vector, len(places))) for places, vector in parts]
    valid = np.zeros(count, np.bool_)
    names: list[list[str]] = []
    for places, vector in spread:
        if not isinstance(vector, Maps):
            raise CannotRun("Maps beside other values.")
        valid[places] = True if vector.valid is None else vector.valid
        names.append(list(vector.members))
    if any(one != names[0] for one in names):
        raise CannotRun("Maps with different keys.")
    members = {
        name: merge([(at, one.members[name]) for at, one in spread if isinstance(one, Maps)], count)
        for name in names[0]
    }
    is_partial = any(isinstance(one, Maps) and one.is_partial for _, one in spread)
    return Maps(members, None if valid.all() else valid, is_partial)


def _merge_paths(parts: Sequence[tuple[Rows | Integers, Vector]], count: int) -> Vector:
    valid = np.zeros(count, np.bool_)
    paths = [(places, one) for places, one in parts if isinstance(one, Paths)]
    for places, one in paths:
        valid[places] = True if one.valid is None else one.valid
    if len(paths) < len(parts) or len({len(one.elements) for _, one in paths}) > 1:
        raise CannotRun("Paths beside other values, or of several patterns.")
    elements = tuple(
        merge([(places, one.elements[at]) for places, one in paths], count)
        for at in range(len(paths[0][1].elements))
    )
    return Paths(elements, None if valid.all() else valid)


# --- lists --------------------------------------------------------------------------------------


def read_lists(vector: Vector, count: int) -> Lists:
    """Return the vector as lists; a value of another type would be an error."""
    if vector == NULL:
        none = np.zeros(count, np.int64)
        return Lists(none, none, NULL, np.zeros(count, np.bool_))
    found = _spread(vector, count)
    if not isinstance(found, Lists):
        raise CannotRun("A list operation on what is no list.")
    return found


def measure_items(lists: Lists, most: int = MOST_ITEMS) -> int:
    """Return the number of items of all rows; raise `CannotRun` for more than `most`."""
    total = int(lists.sizes.sum())
    if total > most:
        raise CannotRun("More items than are held at once.")
    return total


def list_items(lists: Lists) -> Vector:
    """Return the items of all rows, one row after the other."""
    total = measure_items(lists)
    ends = np.cumsum(lists.sizes)
    picked = np.repeat(lists.starts - (ends - lists.sizes), lists.sizes) + np.arange(total)
    return take(lists.items, picked.astype(np.int32))


def unify(parts: Sequence[Mixed]) -> tuple[Strings | None, list[Codes | None]]:
    """Return strings that hold the texts of all, and the codes of each part in them."""
    held = [one.strings for one in parts if one.strings is not None and one.codes is not None]
    if not held:
        return None, [None] * len(parts)
    if all(one is held[0] for one in held):
        return held[0], [one.codes if one.strings is not None else None for one in parts]
    numbers: dict[str, int] = {}
    found: list[Codes | None] = []
    for one in parts:
        if one.strings is None or one.codes is None:
            found.append(None)
            continue
        is_text = one.kinds == k.STRING
        table = np.zeros(max(1, len(one.strings)), np.int32)
        table[one.codes[is_text]] = 1
        used = np.flatnonzero(table)
        texts = one.strings.read_all(used)
        table[used] = [numbers.setdefault(text, len(numbers)) for text in texts]
        found.append(np.where(is_text, table[np.where(is_text, one.codes, 0)], 0))
    strings, ranks = sort_texts(list(numbers))
    if not len(ranks):
        return strings, found
    return strings, [None if own is None else ranks[own] for own in found]
