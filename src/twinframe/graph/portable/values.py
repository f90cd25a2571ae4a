"""What the parts of an import share: numbered lines, errors of lines. It does no work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from twinframe.errors import Conflict, InputError, NotFound

T_co = TypeVar("T_co", covariant=True)

LINE_ERRORS: Final = (InputError, NotFound, Conflict)
"""Errors that one line has alone; all others end the import."""


@dataclass(frozen=True, slots=True)
class Numbered(Generic[T_co]):
    """What stands in line `number` of the file, counted from 1."""

    number: int
    value: T_co
