"""What the parts of an import share: numbered lines, errors of lines. It does no work."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeVar

from twinframe.errors import Conflict, InputError, NotFound

T_co = TypeVar("T_co", covariant=True)

LINE_ERRORS: Final = (InputError, NotFound, Conflict)
"""Errors that one line has alone; all others end the import."""


class Numbered(NamedTuple, Generic[T_co]):
    """What stands in line `number` of the file, counted from 1.

    PERF: a tuple, as those below that are made for each line: half as long to make as a dataclass
    that is frozen.
    """

    number: int
    value: T_co
