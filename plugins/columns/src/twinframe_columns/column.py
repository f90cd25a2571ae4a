"""A column: the values of one property of all twins, or of all relationships of a name."""

from __future__ import annotations

from typing import Any

import numpy as np

from twinframe_columns import kinds as k
from twinframe_columns.kinds import Bytes, Codes, Floats
from twinframe_columns.strings import Strings


class Column:
    """For each row the kind of its value, and the value where the kind does not say it.

    `numbers` are the integers and floats, `codes` those of texts in `strings`; each is None until
    a row needs it. Arrays are longer than the rows in use, so that rows can be added. With
    `has_null`, a null may be one of JSON; else no such member is there.
    """

    __slots__ = ("codes", "has_null", "kinds", "numbers", "strings")

    def __init__(
        self,
        kinds: Bytes,
        numbers: Floats | None,
        codes: Codes | None,
        strings: Strings | None,
        *,
        has_null: bool = False,
    ) -> None:
        self.has_null = has_null
        self.kinds = kinds
        self.numbers = numbers
        self.codes = codes
        self.strings = strings

    def set(self, row: int, kind: int, value: Any) -> None:
        """Set the value of one row; `value` is that of JSON."""
        # PERF: most members of a document that changed did not; a page is not copied for them.
        if self.kinds[row] == kind and self._has(row, kind, value):
            return
        self.kinds[row] = kind
        if kind in (k.INTEGER, k.FLOAT):
            if self.numbers is None:
                self.numbers = np.zeros(len(self.kinds), np.float64)
            self.numbers[row] = value
        elif kind == k.STRING:
            if self.codes is None or self.strings is None:
                self.codes = np.zeros(len(self.kinds), np.int32)
                self.strings = build_no_strings()
            self.codes[row] = self.strings.find_or_add(str(value))
        elif kind == k.NULL:
            self.has_null = True

    def _has(self, row: int, kind: int, value: Any) -> bool:
        if kind in (k.INTEGER, k.FLOAT):
            # NOTE: zero may have another sign.
            return self.numbers is not None and bool(value and self.numbers[row] == value)
        if kind == k.STRING:
            if self.codes is None or self.strings is None:
                return False
            return self.strings.read(int(self.codes[row])) == str(value)
        return kind != k.NULL or self.has_null

    def copy(self, row: int, to: int) -> None:
        """Set one row to the value of another."""
        self.kinds[to] = self.kinds[row]
        if self.numbers is not None:
            self.numbers[to] = self.numbers[row]
        if self.codes is not None:
            self.codes[to] = self.codes[row]

    def grow(self, rows: int) -> None:
        """Make room for at least this many rows."""
        missing = rows - len(self.kinds)
        if missing > 0:
            self.kinds = np.concatenate((self.kinds, np.zeros(missing, np.uint8)))
            if self.numbers is not None:
                self.numbers = np.concatenate((self.numbers, np.zeros(missing, np.float64)))
            if self.codes is not None:
                self.codes = np.concatenate((self.codes, np.zeros(missing, np.int32)))


def build_no_strings() -> Strings:
    """Strings without any text."""
    return Strings(np.zeros(1, np.int64), np.empty(0, np.uint8))


def build_column(rows: int) -> Column:
    """A column in which every row is null. PERF: pages of zeros take no memory until written."""
    return Column(np.zeros(rows, np.uint8), None, None, None)
