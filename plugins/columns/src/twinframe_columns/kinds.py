"""The kinds of a value in a column: one byte for each row."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

NULL: Final = 0  # no such member, or JSON's null
FALSE: Final = 1
TRUE: Final = 2
INTEGER: Final = 3  # less than 2**53 in size, hence exact as a float
FLOAT: Final = 4
STRING: Final = 5
MAP: Final = 6
OTHER: Final = 7  # a list, or an integer that no float holds: its value is in the document alone

LARGEST_INTEGER: Final = 2**53

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.signedinteger[Any]]
Codes: TypeAlias = npt.NDArray[np.int32]
Bools: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]
Rows: TypeAlias = npt.NDArray[np.int32]
"""Numbers of rows."""


def find_kind(value: Any) -> int:
    """Return the kind of a JSON value."""
    match value:
        case None:
            return NULL
        case bool():
            return TRUE if value else FALSE
        case int():
            return INTEGER if -LARGEST_INTEGER < value < LARGEST_INTEGER else OTHER
        case float():
            return FLOAT
        case str():
            return STRING
        case dict():
            return MAP
        case _:
            return OTHER
