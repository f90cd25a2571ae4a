"""Values that the parts of an import share: numbered lines, and the errors of single lines."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

from twinframe.errors import Conflict, InputError, NotFound

T_co = TypeVar("T_co", covariant=True)

LINE_ERRORS: Final = (InputError, NotFound, Conflict)
"""Errors that concern one line alone; all others end the import."""


class Numbered(NamedTuple, Generic[T_co]):
    """The value in line `number` of the file, counted from 1.

    PERF: a tuple, like the others that are made for each line: it takes half the time of a frozen
    dataclass.
    """

    number: int
    value: T_co
