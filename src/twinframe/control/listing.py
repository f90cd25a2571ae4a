"""Slices of listings by limit and offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from twinframe.errors import InvalidArgument

T_co = TypeVar("T_co", covariant=True)

MAX_LIMIT: Final = 1000
"""The most items of a page, whatever the settings say."""
_LARGEST_OFFSET: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Slice:
    """The requested part of a listing: `limit` items from the zero-based `offset` on."""

    limit: int = 50
    offset: int = 0

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for numbers out of range."""
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidArgument(f"limit is from 1 to {MAX_LIMIT}, not {self.limit}.")
        if not 0 <= self.offset <= _LARGEST_OFFSET:
            raise InvalidArgument(f"offset is from 0 to {_LARGEST_OFFSET}, not {self.offset}.")

    @property
    def end(self) -> int:
        """The offset after the last item."""
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class Listed(Generic[T_co]):
    """A part of a listing, and the number of items in the whole for this caller."""

    items: tuple[T_co, ...]
    total: int
    wanted: Slice


FIRST: Final = Slice()
"""The first items, with the default limit."""
