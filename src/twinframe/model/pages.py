"""A request for a page of a listing and the page itself. How tokens are made is not said here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """`size`: most items wanted, None: the usual number. `token`: where to go on, None: start."""

    size: int | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Items and the token of the next page, None on the last. Only the last may be empty."""

    items: tuple[T, ...]
    token: str | None = None
