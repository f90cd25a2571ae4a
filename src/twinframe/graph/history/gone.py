"""Remembers which relationships to a twin are gone since a position, between pages of a listing."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinframe.storage.base import EntityKey, IncomingRelationship, Listed

IncomingRank: TypeAlias = tuple[tuple[str | int, ...], str, str]
"""The rank of a key of incoming relationships, then source and id."""
RankedIncoming: TypeAlias = Mapping[IncomingRank, Listed[IncomingRelationship]]

_MOST: Final = 50_000
"""Relationships that are remembered; each takes some 600 bytes."""


@dataclass(frozen=True, slots=True)
class Gone:
    """The `keys` of those deleted after a position, up to the event at `until`.

    Of those that led to the twin at the position, `ranks` has the order in which the store would
    have them, and `listed` has each.
    """

    until: int
    keys: Collection[EntityKey]
    ranks: Sequence[IncomingRank]
    listed: RankedIncoming


class GoneCache:
    """What was found for the last listings. Thread-safe, as nothing in it is changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, str], Gone] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, position: int, target_id: str) -> Gone:
        """Return what is known; nothing is deleted up to the position itself."""
        with self._lock:
            found = self._kept.get((position, target_id))
        return found or Gone(position, frozenset(), (), {})

    def keep(self, position: int, target_id: str, gone: Gone) -> None:
        """Remember it, and forget the oldest if there are too many."""
        with self._lock:
            self._kept.pop((position, target_id), None)
            if len(gone.keys) > _MOST:
                return
            self._kept[position, target_id] = gone
            room = _MOST - sum(len(each.keys) for each in self._kept.values())
            while room < 0:
                room += len(self._kept.popitem(last=False)[1].keys)
