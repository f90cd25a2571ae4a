"""Pages of listings by limit and offset. It finds nothing itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from twinframe.errors import InvalidArgument

T_co = TypeVar("T_co", covariant=True)

MAX_LIMIT: Final = 1000
"""Most items of a page, whatever the settings say."""
_LARGEST_OFFSET: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Slice:
    """Which part of a listing is wanted: `limit` items from the zero-based `offset` on."""

    limit: int = 50
    offset: int = 0

    def __post_init__(self) -> None:
        """`InvalidArgument` for figures out of their bounds."""
        if not 1 <= self.limit <= MAX_LIMIT:
            raise InvalidArgument(f"limit is from 1 to {MAX_LIMIT}, not {self.limit}.")
        if not 0 <= self.offset <= _LARGEST_OFFSET:
            raise InvalidArgument(f"offset is from 0 to {_LARGEST_OFFSET}, not {self.offset}.")

    @property
    def end(self) -> int:
        """The offset behind the last item wanted."""
        return self.offset + self.limit


@dataclass(frozen=True, slots=True)
class Listed(Generic[T_co]):
    """A part of a listing, and how many items the whole has for this caller."""

    items: tuple[T_co, ...]
    total: int
    wanted: Slice


FIRST: Final = Slice()
"""The first items, as many as usual."""
