"""Values of an expression for all rows at once, and the operations on them.

Each class holds values of one type, with nulls. What it cannot hold, and what would be an error in
one of the rows, raises `CannotRun`: another engine then answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

from twinframe.query.engine import CannotRun
from twinframe_columns import kinds as k
from twinframe_columns.column import Column
from twinframe_columns.heap import Heap
from twinframe_columns.kinds import Bools, Bytes, Codes, Floats, Integers, Rows
from twinframe_columns.strings import Strings, build_strings


@dataclass(frozen=True, slots=True)
class Constant:
    """One value for all rows: null, a boolean, a number, a text, or a list of these."""

    value: Any


@dataclass(frozen=True, slots=True)
class Numbers:
    """Integers and floats; `is_integer` is for all rows or for each. `valid` None: none is null."""

    data: Floats
    is_integer: bool | Bools
    valid: Bools | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts by their codes."""

    codes: Codes
    strings: Strings
    valid: Bools | None = None


@dataclass(frozen=True, slots=True)
class Pieces:
    """Texts by their numbers in a heap, in which equal ones may have several."""

    numbers: Codes
    heap: Heap
    valid: Bools | None = None

    def sort(self) -> Texts:
        """Return the same texts with one code for equal ones."""
        numbers = self.numbers
        if self.valid is not None:
            numbers = np.where(self.valid, numbers, 0)
        if not len(self.heap):
            return Texts(np.zeros(len(numbers), np.int32), build_strings([b""]), self.valid)
        strings, codes = self.heap.ordered
        return Texts(codes[numbers], strings, self.valid)


@dataclass(frozen=True, slots=True)
class Layout:
    """What all texts of a column have in common: their schema, their signs and their offset."""

    schema: str
    template: str
    clock: int
    """Where the hours are."""
    fraction: int
    """Digits of a second's fraction."""
    end: int
    """Where what is the same in all begins: the offset, if any."""
    offset: int
    """Seconds east of UTC."""


@dataclass(frozen=True, slots=True)
class Times:
    """Temporal values by the codes of their texts, which are ordered as the values are."""

    codes: Codes
    strings: Strings
    layout: Layout
    valid: Bools | None = None


@dataclass(frozen=True, slots=True)
class Truths:
    """Booleans; `known` None: none is null. What is not known is not true."""

    true: Bools
    known: Bools | None = None


@dataclass(frozen=True, slots=True)
class Mixed:
    """Values of several kinds, as they are in their columns."""

    kinds: Bytes
    numbers: Floats | None
    codes: Codes | None
    strings: Strings | None


@dataclass(frozen=True, slots=True)
class Entities:
    """Twins by row, or relationships of the name `edges` by number; `valid` None: none is null.

    Relationships of the name `ANY` are numbered over all names in the projection's order.
    """

    rows: slice | Rows
    edges: str | None = None
    valid: Bools | None = None


@dataclass(frozen=True, slots=True)
class Lists:
    """Lists: of each row so many `sizes` of `items`, from `starts` on. `valid` None: none is null.

    PERF: parts of lists, and lists of other rows, have the same items.
    """

    starts: Integers
    sizes: Integers
    items: Vector
    valid: Bools | None = None


@dataclass(frozen=True, slots=True)
class Maps:
    """Maps with the same keys: the values of each. `valid` None: none is null.

    With `is_partial`, some rows may lack some of the keys: the maps themselves are not known.
    """

    members: Mapping[str, Vector]
    valid: Bools | None = None
    is_partial: bool = False


@dataclass(frozen=True, slots=True)
class Paths:
    """Paths by their parts: nodes, and between them relationships or lists of these."""

    elements: tuple[Vector, ...]
    valid: Bools | None = None


Vector: TypeAlias = (
    Constant | Numbers | Texts | Pieces | Times | Truths | Mixed | Entities | Lists | Maps | Paths
)

NULL: Final = Constant(None)
_MANY: Final = 1_000
ANY: Final = " any"
"""A name that no relationship has."""


def read_column(column: Column, rows: slice | Rows, valid: Bools | None = None) -> Vector:
    """Return the values of these rows; null where `valid` is False."""
    if valid is None and not isinstance(rows, slice) and len(rows) > _MANY:
        found = _read_uniform(column, rows)
        if found is not None:
            return found
    kinds: Bytes = column.kinds[rows]
    if valid is not None:
        kinds = np.where(valid, kinds, np.uint8(k.NULL))
    return narrow(
        Mixed(
            kinds,
            None if column.numbers is None else column.numbers[rows],
            None if column.codes is None else column.codes[rows],
            column.strings,
        )
    )


def _read_uniform(column: Column, rows: Rows) -> Vector | None:
    """Return the values where all between the first and last row are texts, or of one type of
    number. PERF: the kinds in a row are looked at much faster than those of rows here and there.
    """
    kinds = column.kinds[int(rows.min()) : int(rows.max()) + 1]
    kind = int(kinds[0])
    if kind < k.INTEGER or kind > k.STRING or not (kinds == kind).all():
        return None
    if kind == k.STRING:
        if column.codes is None or column.strings is None:
            return None
        return Texts(column.codes[rows], column.strings)
    return None if column.numbers is None else Numbers(column.numbers[rows], kind == k.INTEGER)


def narrow(values: Mixed) -> Vector:
    """Return the same values in the narrowest class."""
    kinds = values.kinds
    if not len(kinds):
        return NULL
    low, high = int(kinds.min()), int(kinds.max())
    if high == k.NULL:
        return NULL
    present: Bools | None = None
    if low == k.NULL:
        present = kinds != k.NULL
        # PERF: in bytes the kind before null is the largest, so that no row is left out first.
        low = int((kinds - np.uint8(1)).min()) + 1
    if high <= k.TRUE:
        return Truths(kinds == k.TRUE, present)
    if low >= k.INTEGER and high <= k.FLOAT and values.numbers is not None:
        whole: bool | Bools = low == high == k.INTEGER if low == high else kinds == k.INTEGER
        return Numbers(values.numbers, whole, present)
    if low == high == k.STRING and values.codes is not None and values.strings is not None:
        return Texts(values.codes, values.strings, present)
    return values


def simplify(vector: Vector) -> Vector:
    """Return the vector in the narrowest class that holds its values."""
    if isinstance(vector, Mixed):
        return narrow(vector)
    return vector.sort() if isinstance(vector, Pieces) else vector


def is_null(vector: Vector, count: int) -> Bools:
    """Return for each row whether the value is null."""
    match vector:
        case Constant():
            return np.full(count, vector.value is None)
        case Truths():
            return np.zeros(count, np.bool_) if vector.known is None else ~vector.known
        case Mixed(kinds=kinds):
            nulls: Bools = kinds == k.NULL
            return nulls
        case _:
            return np.zeros(count, np.bool_) if vector.valid is None else ~vector.valid


# --- logic ------------------------------------------------------------------------------------


def read_truths(vector: Vector, count: int) -> Truths:
    """Return the vector as booleans; a value of another type would be an error."""
    if not count:
        return Truths(np.zeros(0, np.bool_))
    match vector:
        case Truths():
            return vector
        case Constant(value=None):
            return Truths(np.zeros(count, np.bool_), np.zeros(count, np.bool_))
        case Constant(value=bool()):
            return Truths(np.full(count, vector.value))
        case Mixed() if isinstance(narrowed := narrow(vector), Truths | Constant):
            return read_truths(narrowed, count)
        case _:
            raise CannotRun("A condition that is no boolean.")


def join_and(left: Truths, right: Truths) -> Truths:
    """`AND` in three-valued logic."""
    true = left.true & right.true
    if left.known is None and right.known is None:
        return Truths(true)
    return Truths(true, true | find_false(left) | find_false(right))


def join_or(left: Truths, right: Truths) -> Truths:
    """`OR` in three-valued logic."""
    true = left.true | right.true
    if left.known is None and right.known is None:
        return Truths(true)
    return Truths(true, true | (find_false(left) & find_false(right)))


def join_xor(left: Truths, right: Truths) -> Truths:
    """`XOR` in three-valued logic."""
    known = join_valid(left.known, right.known)
    true = left.true ^ right.true
    return Truths(true if known is None else true & known, known)


def negate(truths: Truths) -> Truths:
    """`NOT` in three-valued logic."""
    return Truths(find_false(truths), truths.known)


def find_false(truths: Truths) -> Bools:
    """Return the rows that are certainly false."""
    return ~truths.true if truths.known is None else truths.known & ~truths.true


def join_valid(left: Bools | None, right: Bools | None) -> Bools | None:
    """Return the rows that are valid on both sides."""
    if left is None:
        return right
    return left if right is None else left & right


def build_truths(true: Bools, known: Bools | None) -> Truths:
    """Return booleans that are null where they are not known."""
    return Truths(true if known is None else true & known, known)


# --- rows ---------------------------------------------------------------------------------------


def read_rows(rows: slice | Rows) -> Rows:
    """Return the numbers of rows as an array."""
    if isinstance(rows, slice):
        return np.arange(rows.start, rows.stop, dtype=np.int32)
    return rows


def is_plain_number(value: Any) -> bool:
    """Return whether it is a number that a float holds exactly."""
    if type(value) is float:
        return True
    return type(value) is int and -k.LARGEST_INTEGER < value < k.LARGEST_INTEGER


def take(vector: Vector, picked: Rows | slice) -> Vector:
    """Return the picked values."""
    match vector:
        case Constant():
            return vector
        case Numbers():
            whole = vector.is_integer
            return Numbers(
                vector.data[picked],
                whole if isinstance(whole, bool) else whole[picked],
                _pick(vector.valid, picked),
            )
        case Texts():
            return Texts(vector.codes[picked], vector.strings, _pick(vector.valid, picked))
        case Pieces():
            valid = _pick(vector.valid, picked)
            return Pieces(vector.numbers[picked], vector.heap, valid)
        case Times():
            valid = _pick(vector.valid, picked)
            return Times(vector.codes[picked], vector.strings, vector.layout, valid)
        case Truths():
            return Truths(vector.true[picked], _pick(vector.known, picked))
        case Mixed():
            return Mixed(
                vector.kinds[picked],
                None if vector.numbers is None else vector.numbers[picked],
                None if vector.codes is None else vector.codes[picked],
                vector.strings,
            )
        case Entities():
            rows = vector.rows
            rows = _pick_slice(rows, picked) if isinstance(rows, slice) else rows[picked]
            return Entities(rows, vector.edges, _pick(vector.valid, picked))
        case Lists(items=items):
            starts, sizes = vector.starts[picked], vector.sizes[picked]
            return Lists(starts, sizes, items, _pick(vector.valid, picked))
        case Maps(members=members):
            own = {name: take(one, picked) for name, one in members.items()}
            return Maps(own, _pick(vector.valid, picked), vector.is_partial)
        case Paths(elements=elements):
            parts = tuple(take(one, picked) for one in elements)
            return Paths(parts, _pick(vector.valid, picked))


def _pick(flags: Bools | None, picked: Rows | slice) -> Bools | None:
    return None if flags is None else flags[picked]


def _pick_slice(rows: slice, picked: Rows | slice) -> slice | Rows:
    if isinstance(picked, slice):
        inner = range(rows.start, rows.stop)[picked]
        return slice(inner.start, inner.stop) if inner.step == 1 else np.array(inner, np.int32)
    return (picked + np.int32(rows.start)).astype(np.int32, copy=False)
