"""Slices of listings by limit and offset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, Generic, TypeVar

from twinframe.errors import InvalidArgument
from twinframe.storage.control import Condition, ControlSession, Order, Record

T_co = TypeVar("T_co", covariant=True)

MAX_LIMIT: Final = 1000
"""The most items of a page, whatever the settings say."""
PAGE_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of stored items on a page; a page of the default size never has that many."""
_LOT: Final = 50
BY_ID: Final = Order("id")
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


def find_page(
    session: ControlSession,
    kind: str,
    conditions: Sequence[Condition],
    wanted: Slice,
    order: Order = BY_ID,
) -> tuple[list[Record], Slice]:
    """Return the records of a part, and the part, whose limit is lower if it was too large.

    If there are records, at least one is returned.
    """
    return _cut(_iterate(session, kind, conditions, order, wanted), wanted)


def merge_page(
    session: ControlSession, kind: str, sets: Sequence[Sequence[Condition]], wanted: Slice
) -> tuple[list[Record], Slice]:
    """Return the same of the records that meet any of these sets of conditions, by id.

    No record may meet two of them.
    """
    if len(sets) == 1:
        return find_page(session, kind, sets[0], wanted)
    start = Slice(wanted.limit)
    each = [_iterate(session, kind, one, BY_ID, start) for one in sets]
    return _cut(islice(merge(*each, key=attrgetter("id")), wanted.offset, None), wanted)


def _iterate(
    session: ControlSession,
    kind: str,
    conditions: Sequence[Condition],
    order: Order,
    wanted: Slice,
) -> Iterator[Record]:
    """Yield records, read in lots, so that a page that is full reads no more."""
    offset, lot = wanted.offset, min(wanted.limit, _LOT)
    while found := session.find(kind, conditions, order=order, offset=offset, limit=lot):
        yield from found
        if len(found) < lot:
            return
        offset += lot


def _cut(records: Iterator[Record], wanted: Slice) -> tuple[list[Record], Slice]:
    taken: list[Record] = []
    size = 0
    for record in islice(records, wanted.limit):
        size += len(record.body)
        if size > PAGE_BYTES and taken:
            return taken, replace(wanted, limit=len(taken))
        taken.append(record)
    return taken, wanted
