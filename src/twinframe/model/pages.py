"""A request for a page of a listing, and the page itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`size`: most items wanted, None: the default. `token`: where to continue, None: start."""

    size: int | None = None
    token: str | None = None


FIRST_PAGE: Final = PageRequest()
"""The first page, of the default size."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T_co]):
    """Items and the token of the next page, None on the last.

    Only the last may be empty, and one of a listing that searches for its items.
    """

    items: tuple[T_co, ...]
    token: str | None = None
